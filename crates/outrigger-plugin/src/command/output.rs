//! What a command prints: stdout whole up to a cap, stderr's last lines.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// What a pipe holds at most; the first read asks for less, since most outputs are small.
const READ: usize = 64 * 1024;
const FIRST_READ: usize = 8 * 1024;
/// How much of stderr is kept.
const STDERR_TAIL: usize = 16 * 1024;

/// Reads to the end, or fails as too large as soon as there is more than `cap` bytes.
pub(super) async fn read_capped(fd: OwnedFd, cap: usize) -> std::io::Result<Vec<u8>> {
    let mut pipe = Receiver::from_owned_fd(fd)?;
    let mut all = Vec::new();
    loop {
        all.reserve(if all.is_empty() { FIRST_READ } else { READ });
        if pipe.read_buf(&mut all).await? == 0 {
            return Ok(all);
        }
        if all.len() > cap {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
}

/// Reads to the end, keeping the last lines in `tail`, where they can be seen meanwhile.
pub(super) async fn read_tail(fd: OwnedFd, tail: &std::sync::Mutex<Tail>) -> std::io::Result<()> {
    let mut pipe = Receiver::from_owned_fd(fd)?;
    let mut buffer = vec![0; 4096];
    loop {
        let read = pipe.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(&buffer[..read]);
    }
}

/// The last lines of something long.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Vec<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * STDERR_TAIL {
            self.kept.drain(..self.kept.len() - STDERR_TAIL);
            self.cut = true;
        }
    }

    /// The text with a line break at its end, or nothing.
    pub(super) fn lines(&self) -> String {
        let text = self.text();
        if text.is_empty() { text } else { text + "\n" }
    }

    /// The text, trimmed; where something was cut off, it starts at a line and says so.
    fn text(&self) -> String {
        let mut kept = self.kept.as_slice();
        let mut cut = self.cut;
        if kept.len() > STDERR_TAIL {
            kept = &kept[kept.len() - STDERR_TAIL..];
            cut = true;
        }
        if cut && let Some(line_end) = kept.iter().position(|byte| *byte == b'\n') {
            kept = &kept[line_end + 1..];
        }
        let text = String::from_utf8_lossy(kept);
        let text = text.trim();
        if cut { format!("[…]\n{text}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stderr_is_kept_whole() {
        let mut tail = Tail::default();
        tail.push(b"first\nsecond\n");
        assert_eq!(tail.text(), "first\nsecond");
    }

    #[test]
    fn a_long_stderr_is_kept_to_its_last_whole_lines() {
        let mut tail = Tail::default();
        for line in 0..100_000 {
            tail.push(format!("line {line}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("[…]\nline "), "{}", &text[..40]);
        assert!(text.ends_with("line 99999"));
        assert!(text.len() <= STDERR_TAIL + 8);
    }
}
