//! `cargo xtask dist`: the binary that goes into any image.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

use crate::sh;

/// Static; and with the one function of the C library that lets the standard library start a program in a
/// directory without copying this process first. It asks for it only if it is there, which alone does not bring it in.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static \
                     -C link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np";
const LARGEST: u64 = 20 * 1000 * 1000;

pub fn run() -> Result<ExitCode> {
    let triple = host_triple()?;
    // With an explicit target the flags reach the program and not the build scripts, which must stay dynamic.
    let mut cargo = sh::cargo_command();
    cargo
        .args([
            "build",
            "--profile",
            "dist",
            "--package",
            "outrigger",
            "--bin",
            "outrigger",
            "--target",
            &triple,
        ])
        .env("RUSTFLAGS", FLAGS);
    sh::run(&mut cargo)?;
    let built = sh::target().join(&triple).join("dist/outrigger");
    let dist = sh::target().join("dist");
    std::fs::create_dir_all(&dist)?;
    let binary = dist.join("outrigger");
    std::fs::copy(&built, &binary).with_context(|| format!("cannot copy {}", built.display()))?;
    check(&binary)?;
    Ok(ExitCode::SUCCESS)
}

fn host_triple() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not tell its host")?.to_owned())
}

/// Static, small, and able to start.
fn check(binary: &Path) -> Result<()> {
    let bytes = std::fs::read(binary)?;
    ensure!(!needs_interpreter(&bytes), "{} is dynamically linked", binary.display());
    let length = bytes.len() as u64;
    ensure!(length <= LARGEST, "{} has {length} bytes, more than {LARGEST}", binary.display());
    let version = Command::new(binary).arg("--version").output()?;
    ensure!(version.status.success(), "{} does not start", binary.display());
    let version = String::from_utf8_lossy(&version.stdout);
    println!("{}: {}, static, {:.1} MB", binary.display(), version.trim(), length as f64 / 1e6);
    Ok(())
}

/// Whether a 64-bit little-endian ELF file asks for a dynamic loader (a program header of type PT_INTERP).
fn needs_interpreter(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = elf.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    let headers = || {
        let offset = usize::try_from(number(32, 8)?).ok()?;
        let (size, count) = (usize::try_from(number(54, 2)?).ok()?, usize::try_from(number(56, 2)?).ok()?);
        Some((0..count).map(move |index| offset + index * size))
    };
    headers().is_none_or(|mut headers| headers.any(|at| number(at, 4) == Some(u64::from(PT_INTERP))))
}
