//! `cargo xtask test`: every test, one summary, and the skipped ones by name.

use std::io::{BufRead as _, BufReader};
use std::process::{ExitCode, Stdio};

use anyhow::{Context as _, Result};

use crate::sh;

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
}

impl Tally {
    /// Reads one line of a test runner's output.
    fn read(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
        } else if let Some((name, reason)) =
            line.strip_prefix("test ").and_then(|test| test.split_once(" ... ignored"))
        {
            self.skipped.push(format!("{name}{}", reason.replacen(',', ":", 1)));
        }
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

pub fn run(args: &[String]) -> Result<ExitCode> {
    let mut cargo = sh::cargo_command();
    cargo.args(["test", "--workspace", "--no-fail-fast"]).args(args).stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cannot run cargo test")?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            tally.read(&line);
        }
    }
    let status = child.wait()?;
    if !status.success() && tally.failed == 0 {
        // It did not get as far as a test: that is a failure all the same.
        tally.failed = 1;
        println!("\ncargo test itself failed ({status}); see above");
    }
    println!();
    for skipped in &tally.skipped {
        println!("skipped {skipped}");
    }
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped.len());
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_runs_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
            "test a::b ... ignored, needs root",
            "test a::c ... ok",
        ] {
            tally.read(line);
        }
        assert_eq!(tally, Tally { passed: 15, failed: 2, skipped: vec!["a::b: needs root".to_owned()] });
    }
}
