//! JSON text as a [`Document`], by the rules of Go's `json.Unmarshal`.

use super::json_text::{JsonEvent, decode_json_string, scan_value, skip_json_space};
use super::tree::{Kind, NONE, NodeData, NodeId};
use super::{Document, Mark, Scalar, YamlError};

impl Document {
    /// Reads JSON text that holds one value and nothing else. Every entry of an object is kept, in its order.
    pub fn parse_json(bytes: &[u8]) -> Result<Self, YamlError> {
        let mut builder =
            Builder { bytes, offset: 0, mark: Mark::default(), nodes: Vec::new(), open: Vec::new() };
        let end = scan_value(bytes, 0, |offset, event| builder.add(offset, event)).and_then(|end| {
            match skip_json_space(bytes, end) {
                rest if rest == bytes.len() => Ok(end),
                rest => {
                    Err(super::JsonError { offset: rest, reason: "unexpected text behind the JSON value" })
                }
            }
        });
        match end {
            Ok(_) => Ok(Self { nodes: builder.nodes, root: 0, every_entry: true }),
            Err(error) => Err(YamlError::at(builder.mark_at(error.offset), error.reason)),
        }
    }
}

struct Builder<'a> {
    bytes: &'a [u8],
    /// Where `mark` was taken; offsets only grow.
    offset: usize,
    mark: Mark,
    nodes: Vec<NodeData>,
    /// Open collections with their latest child.
    open: Vec<(NodeId, NodeId)>,
}

impl Builder<'_> {
    fn mark_at(&mut self, offset: usize) -> Mark {
        for byte in &self.bytes[self.offset..offset] {
            match byte {
                b'\n' => self.mark = Mark { line: self.mark.line + 1, column: 0 },
                byte if byte & 0xC0 == 0x80 => {}
                _ => self.mark.column += 1,
            }
        }
        self.offset = offset;
        self.mark
    }

    fn add(&mut self, offset: usize, event: JsonEvent<'_>) {
        let value = match event {
            JsonEvent::End => {
                self.open.pop();
                return;
            }
            JsonEvent::ObjectStart => Err(Kind::Mapping { first: NONE }),
            JsonEvent::ArrayStart => Err(Kind::Sequence { first: NONE }),
            JsonEvent::String(written) => Ok(Scalar::Text(decode_json_string(written).into())),
            JsonEvent::Number(written) => Ok(number(written)),
            JsonEvent::Bool(value) => Ok(Scalar::Bool(value)),
            JsonEvent::Null => Ok(Scalar::Null),
        };
        let mark = self.mark_at(offset);
        let id = self.nodes.len() as NodeId;
        if let Some((parent, latest)) = self.open.last_mut() {
            let (parent, latest) = (*parent, std::mem::replace(latest, id));
            if latest != NONE {
                self.nodes[latest as usize].next = id;
            } else if let Kind::Sequence { first } | Kind::Mapping { first } =
                &mut self.nodes[parent as usize].kind
            {
                *first = id;
            }
        }
        let kind = match value {
            Ok(value) => Kind::Scalar { value, merge: false },
            Err(collection) => {
                self.open.push((id, NONE));
                collection
            }
        };
        self.nodes.push(NodeData { mark, next: NONE, kind });
    }
}

fn number(written: &[u8]) -> Scalar {
    let text = String::from_utf8_lossy(written);
    match text.parse() {
        Ok(number) => Scalar::Int(number),
        Err(_) => Scalar::Float(text.parse().unwrap_or(f64::NAN)),
    }
}
