//! The command line: one binary, its role chosen by the name it is called by.

use std::process::ExitCode;

use outrigger::role::Role;

fn main() -> ExitCode {
    match Role::of_this_process() {
        Role::Outrigger => outrigger::run(std::env::args_os()),
        Role::CmpServer => outrigger::run_cmp_server(std::env::args_os()),
        Role::AskPass => outrigger::askpass::run(&std::env::args().collect::<Vec<_>>()),
    }
}
