//! Headers: USTAR where everything fits, PAX records in front where it does not.

use std::fs::Metadata;
use std::io::{self, Write};

use super::owner_and_time;

const NAME: usize = 100;
const PREFIX: usize = 155;

/// Writes the header of one entry.
pub(super) struct HeaderWriter<'a> {
    path: &'a [u8],
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: i64,
}

impl<'a> HeaderWriter<'a> {
    pub(super) fn new(path: &'a [u8], metadata: &Metadata) -> Self {
        let (mode, uid, gid, mtime) = owner_and_time(metadata);
        Self { path, mode, uid, gid, mtime }
    }

    pub(super) fn write_dir(&mut self, output: &mut impl Write) -> io::Result<()> {
        self.write(b'5', b"", 0, output)
    }

    pub(super) fn write_link(&mut self, target: &[u8], output: &mut impl Write) -> io::Result<()> {
        self.write(b'2', target, 0, output)
    }

    pub(super) fn write_file(&mut self, size: u64, output: &mut impl Write) -> io::Result<()> {
        self.write(b'0', b"", size, output)
    }

    fn write(&self, typeflag: u8, link: &[u8], size: u64, output: &mut impl Write) -> io::Result<()> {
        let mut records = Vec::new();
        let (prefix, name) = match fit(self.path) {
            Some(parts) => parts,
            None => {
                record(&mut records, "path", self.path);
                (b"".as_slice(), &self.path[..self.path.len().min(NAME)])
            }
        };
        let short_link = if link.len() <= NAME && link.is_ascii() {
            link
        } else {
            record(&mut records, "linkpath", link);
            &link[..link.len().min(NAME)]
        };
        let mut block = Block::new(typeflag, name, prefix, short_link);
        block.number(100, 8, "", u64::from(self.mode), &mut records);
        block.number(108, 8, "uid", u64::from(self.uid), &mut records);
        block.number(116, 8, "gid", u64::from(self.gid), &mut records);
        block.number(124, 12, "size", size, &mut records);
        block.number(136, 12, "", u64::try_from(self.mtime).unwrap_or(0), &mut records);
        if !records.is_empty() {
            let mut extended = Block::new(b'x', b"PaxHeaders.0", b"", b"");
            extended.number(124, 12, "", records.len() as u64, &mut Vec::new());
            let padding = records.len().wrapping_neg() % 512;
            records.resize(records.len() + padding, 0);
            output.write_all(&extended.finish())?;
            output.write_all(&records)?;
        }
        output.write_all(&block.finish())
    }
}

/// A path as prefix and name, if it fits into the two fields.
fn fit(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if !path.is_ascii() {
        return None;
    }
    if path.len() <= NAME {
        return Some((b"", path));
    }
    let slash = path[..path.len().min(PREFIX + 1)].iter().rposition(|byte| *byte == b'/')?;
    let (prefix, name) = (&path[..slash], &path[slash + 1..]);
    (!prefix.is_empty() && !name.is_empty() && name.len() <= NAME).then_some((prefix, name))
}

/// Appends `length key=value\n`, where the length counts itself.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + rest.to_string().len();
    if length.to_string().len() > rest.to_string().len() {
        length += 1;
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

struct Block([u8; 512]);

impl Block {
    fn new(typeflag: u8, name: &[u8], prefix: &[u8], link: &[u8]) -> Self {
        let mut block = [0; 512];
        block[..name.len()].copy_from_slice(name);
        block[156] = typeflag;
        block[157..157 + link.len()].copy_from_slice(link);
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[345..345 + prefix.len()].copy_from_slice(prefix);
        let mut block = Self(block);
        for (start, length) in [(100, 8), (108, 8), (116, 8), (124, 12), (136, 12), (329, 8), (337, 8)] {
            block.octal(start, length, 0);
        }
        block
    }

    /// A number in octal, or zero here and the number in a PAX record if it is too large for that.
    fn number(&mut self, start: usize, length: usize, key: &str, value: u64, records: &mut Vec<u8>) {
        if value < 1 << (3 * (length - 1)) {
            self.octal(start, length, value);
        } else if !key.is_empty() {
            record(records, key, value.to_string().as_bytes());
        }
    }

    fn octal(&mut self, start: usize, length: usize, value: u64) {
        let digits = format!("{value:0width$o}\0", width = length - 1);
        self.0[start..start + length].copy_from_slice(digits.as_bytes());
    }

    fn finish(mut self) -> [u8; 512] {
        self.0[148..156].fill(b' ');
        let sum: u32 = self.0.iter().map(|byte| u32::from(*byte)).sum();
        let digits = format!("{sum:06o}\0 ");
        self.0[148..156].copy_from_slice(digits.as_bytes());
        self.0
    }
}
