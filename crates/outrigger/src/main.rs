//! The command line: one binary, its role chosen by the name it is called by.

use std::ffi::OsString;
use std::process::ExitCode;

use outrigger::role::Role;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match Role::of_this_process() {
        Role::Outrigger => outrigger::run(&args),
        Role::CmpServer => outrigger::run_cmp_server(&args),
        Role::AskPass => outrigger::askpass::run(&args),
    }
}
