//! The command `gateway`: see `gateway --help`, and the crate's library for all else.

use std::process::ExitCode;

fn main() -> ExitCode {
    gateway::cli::main()
}
