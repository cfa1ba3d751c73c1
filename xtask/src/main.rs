//! One command per chore: `cargo xtask CHORE`.

mod dist;
mod fuzz;
mod sh;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask CHORE

  test [ARGS]            all tests; ends with `N passed, N failed, N skipped`. ARGS go to cargo test
  lint                   formatting and clippy, warnings denied
  dist                   one static, stripped binary at target/dist/outrigger
  bench [ARGS]           speed and memory, beside the real argocd-cmp-server where OUTRIGGER_BENCH_ARGOCD
                         names it (or target/peers/argocd is there)
  soak [RENDERS]         many renders with every tenth killed, timed out or cancelled (default 10000), then
                         1000 restarts under dialling clients; nothing may be left
  fuzz [SECONDS]         every fuzz target for some seconds (default 30); needs a nightly toolchain
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next();
    let rest: Vec<String> = args.collect();
    match run(chore.as_deref(), &rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Option<&str>, args: &[String]) -> Result<ExitCode> {
    match chore {
        Some("test") => test::run(args),
        Some("lint") => lint(),
        Some("dist") => dist::run(),
        Some("bench") => bench(args),
        Some("soak") => soak(args),
        Some("fuzz") => fuzz::run(args),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => bail!("there is no chore {other:?}; `cargo xtask help` lists them"),
    }
}

fn lint() -> Result<ExitCode> {
    sh::cargo(["fmt", "--all", "--check"])?;
    sh::cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    Ok(ExitCode::SUCCESS)
}

fn bench(args: &[String]) -> Result<ExitCode> {
    dist::run()?;
    let bench = ["bench", "--package", "outrigger", "--bench", "compare", "--"].map(String::from);
    sh::cargo(bench.iter().chain(args))?;
    Ok(ExitCode::SUCCESS)
}

fn soak(args: &[String]) -> Result<ExitCode> {
    let renders = args.first().map_or("10000", String::as_str);
    let mut cargo = sh::cargo_command();
    cargo.args([
        "test",
        "--release",
        "--package",
        "outrigger",
        "--test",
        "endurance",
        "--",
        "--nocapture",
        "--test-threads=1",
    ]);
    cargo.env("OUTRIGGER_SOAK_RENDERS", renders).env("OUTRIGGER_SOAK_RESTARTS", "1000");
    sh::run(&mut cargo)?;
    Ok(ExitCode::SUCCESS)
}
