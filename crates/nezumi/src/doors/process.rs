//! Child processes.
//!
//! [`Command`] is `std::process::Command` with a [`spawn`](Command::spawn), [`status`](Command::status) and
//! [`output`](Command::output) that do not block the thread.
//!
//! ```
//! use nezumi::process::Command;
//!
//! # #[nezumi::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use nezumi_os::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
