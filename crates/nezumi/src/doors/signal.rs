//! Signals that the operating system sends to this process.
//!
//! ```no_run
//! # #[nezumi::main] async fn main() -> std::io::Result<()> {
//! nezumi::signal::ctrl_c().await?;
//! println!("winding up");
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use nezumi_os::signal::ctrl_c;

#[cfg(unix)]
#[doc(inline)]
pub use nezumi_os::signal::unix;

#[cfg(windows)]
#[doc(inline)]
pub use nezumi_os::signal::windows;
