//! Durations as Go writes them (`1m30s`, `250ms`) and as people read them.

use std::time::Duration;

/// Reads a Go duration such as `90s`, `1m30s`, `1.5h` or `250ms`. Negative ones are refused.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration; write it like 90s, 1m30s or 250ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let seconds_per_unit = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let part = Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = tail;
    }
    Ok(total)
}

/// Writes a duration for people: `0.4ms`, `42ms`, `1.2s`, `3m05s`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.01 {
        format!("{:.1}ms", seconds * 1e3)
    } else if seconds < 1.0 {
        format!("{:.0}ms", seconds * 1e3)
    } else if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else {
        let whole = seconds.round() as u64;
        format!("{}m{:02}s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_understood() {
        for (text, millis) in [
            ("90s", 90_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("0", 0),
            ("+2s", 2_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for text in ["", "90", "s", "-5s", "1.2.3s", "5 s", "1d", "1e400h"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("1m30s"), "{text}: {error}");
        }
    }

    #[test]
    fn people_read_short_and_long_times() {
        assert_eq!(human(Duration::from_micros(400)), "0.4ms");
        assert_eq!(human(Duration::from_millis(42)), "42ms");
        assert_eq!(human(Duration::from_millis(1_234)), "1.2s");
        assert_eq!(human(Duration::from_secs(185)), "3m05s");
    }
}
