//! Which texts are times. Only `!!timestamp` and the times of object metadata ask.

/// What `!!timestamp` accepts: dates such as `2001-1-2`, alone or with a time as in RFC 3339 or behind a space.
pub(super) fn is_timestamp(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    if rest.date(1).is_none() {
        return false;
    }
    let separator = match rest.0 {
        [] => return true,
        [separator @ (b'T' | b't' | b' '), ..] => *separator,
        _ => return false,
    };
    rest.0 = &rest.0[1..];
    if separator == b' ' {
        // A blank in the layout accepts any number of blanks.
        while let [b' ', tail @ ..] = rest.0 {
            rest.0 = tail;
        }
    }
    rest.time(1).is_some() && (separator == b' ' || rest.zone().is_some()) && rest.0.is_empty()
}

/// What Go's `time.Parse(time.RFC3339, …)` accepts.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    let parsed = (|| {
        rest.date(2)?;
        rest.literal(b'T')?;
        rest.time(2)?;
        rest.zone()
    })();
    parsed.is_some() && rest.0.is_empty()
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn literal(&mut self, expected: u8) -> Option<()> {
        let tail = self.0.strip_prefix(&[expected])?;
        self.0 = tail;
        Some(())
    }

    /// `digits` or more, but at most two, digits within bounds.
    fn number(&mut self, digits: usize, least: u32, most: u32) -> Option<u32> {
        let length = self.0.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        let value = self.0[..length].iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'));
        self.0 = &self.0[length..];
        (length >= digits && (least..=most).contains(&value)).then_some(value)
    }

    fn date(&mut self, digits: usize) -> Option<()> {
        let year = self.0.get(..4).filter(|year| year.iter().all(u8::is_ascii_digit))?;
        let year = year.iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'));
        self.0 = &self.0[4..];
        self.literal(b'-')?;
        let month = self.number(digits, 1, 12)?;
        self.literal(b'-')?;
        let day = self.number(digits, 1, 31)?;
        (day <= days_in(year, month)).then_some(())
    }

    fn time(&mut self, digits: usize) -> Option<()> {
        // Go reads hours of one digit whatever the layout says.
        self.number(1, 0, 23)?;
        self.literal(b':')?;
        self.number(digits, 0, 59)?;
        self.literal(b':')?;
        self.number(digits, 0, 59)?;
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0 {
            let digits = self.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.0 = &self.0[1 + digits..];
        }
        Some(())
    }

    fn zone(&mut self) -> Option<()> {
        match *self.0 {
            [b'Z', ref tail @ ..] => {
                self.0 = tail;
                Some(())
            }
            [b'+' | b'-', h1, h2, b':', m1, m2, ref tail @ ..] => {
                let all_digits = [h1, h2, m1, m2].iter().all(u8::is_ascii_digit);
                let two = |high: u8, low: u8| u32::from(high - b'0') * 10 + u32::from(low - b'0');
                if !all_digits || two(h1, h2) > 24 || two(m1, m2) > 60 {
                    return None;
                }
                self.0 = tail;
                Some(())
            }
            _ => None,
        }
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
