//! `cargo xtask fuzz`: every target for a short while.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::sh;

pub fn run(args: &[String]) -> Result<ExitCode> {
    let seconds: u32 = args.first().map_or(Ok(30), |text| text.parse()).context("SECONDS is a number")?;
    let tools = sh::target().join("tools");
    let fuzz = tools.join("bin/cargo-fuzz");
    if !fuzz.is_file() {
        println!("installing cargo-fuzz into {} (once)", tools.display());
        let mut install = sh::cargo_command();
        install.args(["install", "--locked", "--quiet", "cargo-fuzz", "--root"]).arg(&tools);
        sh::run(&mut install)?;
    }
    let nightly = Command::new("rustup").args(["run", "nightly", "rustc", "--version"]).output();
    if !nightly.is_ok_and(|output| output.status.success()) {
        bail!("libFuzzer needs a nightly toolchain: rustup toolchain install nightly");
    }
    for target in targets()? {
        println!("== {target}: {seconds} s");
        let limit = format!("-max_total_time={seconds}");
        let mut run = Command::new("rustup");
        run.args(["run", "nightly"]).arg(&fuzz).args([
            "run",
            &target,
            "--",
            &limit,
            "-rss_limit_mb=2048",
            "-timeout=10",
        ]);
        sh::run(run.current_dir(sh::root()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(sh::root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
