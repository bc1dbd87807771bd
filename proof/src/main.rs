//! Called by `cargo xtask soak`, `chaos` and `faults`; each of these says in its help what it does.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    nezumi_proof::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: the census counts what /proc shows, and so needs Linux");
    ExitCode::FAILURE
}
