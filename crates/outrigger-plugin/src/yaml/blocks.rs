//! Block scalars: `|` and `>`.

use super::YamlError;
use super::scanner::Scanner;

/// What happens to line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<String, YamlError> {
        self.cursor.skip_ascii(1);
        let (chomping, increment) = self.block_header()?;
        let mut indent = increment.map_or(0, |increment| self.indent.max(0) + i64::from(increment));

        let mut out = String::new();
        let mut line_break = "";
        let mut empty_lines = String::new();
        let mut after_indented = false;
        self.skip_block_indentation(&mut indent, &mut empty_lines)?;
        while i64::from(self.cursor.mark.column) == indent && !self.cursor.at_end() {
            let indented = self.cursor.is_blank(0);
            let folds = !literal && !after_indented && !indented && line_break == "\n";
            if !folds {
                out.push_str(line_break);
            } else if empty_lines.is_empty() {
                out.push(' ');
            }
            out.push_str(&empty_lines);
            empty_lines.clear();
            after_indented = indented;
            let end = self.cursor.line_end();
            out.push_str(&self.cursor.text[self.cursor.pos..end]);
            self.cursor.skip_to(end);
            line_break = self.cursor.take_break().unwrap_or_default();
            self.skip_block_indentation(&mut indent, &mut empty_lines)?;
        }
        if chomping != Chomping::Strip {
            out.push_str(line_break);
        }
        if chomping == Chomping::Keep {
            out.push_str(&empty_lines);
        }
        Ok(out)
    }

    /// `+`, `-` and an indentation of 1 to 9, in either order, then the end of the line.
    fn block_header(&mut self) -> Result<(Chomping, Option<u8>), YamlError> {
        let mut chomping = None;
        let mut increment = None;
        loop {
            match self.cursor.peek(0) {
                b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
                b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
                b'0' if increment.is_none() => {
                    return self.error("a block scalar cannot be indented by 0");
                }
                digit @ b'1'..=b'9' if increment.is_none() => increment = Some(digit - b'0'),
                _ => break,
            }
            self.cursor.skip_ascii(1);
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return self.error("unexpected text behind the indicator of a block scalar");
        }
        self.cursor.take_break();
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    /// Steps over indentation and empty lines. An `indent` of 0 is not known yet and found out here.
    fn skip_block_indentation(
        &mut self,
        indent: &mut i64,
        empty_lines: &mut String,
    ) -> Result<(), YamlError> {
        let mut deepest = 0;
        loop {
            let inside = |column: u32, indent: i64| indent == 0 || i64::from(column) < indent;
            while inside(self.cursor.mark.column, *indent) && self.cursor.peek(0) == b' ' {
                self.cursor.skip_ascii(1);
            }
            deepest = deepest.max(i64::from(self.cursor.mark.column));
            if inside(self.cursor.mark.column, *indent) && self.cursor.peek(0) == b'\t' {
                return self.error("a tab cannot be used for indentation");
            }
            let Some(line_break) = self.cursor.take_break() else {
                break;
            };
            empty_lines.push_str(line_break);
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
