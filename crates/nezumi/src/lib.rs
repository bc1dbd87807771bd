//! Nezumi: a work-stealing asynchronous runtime with Tokio's public API.
//!
//! A program written for Tokio moves here in one of two ways. It names this crate instead of `tokio`:
//!
//! ```
//! use nezumi::io::{AsyncReadExt, AsyncWriteExt};
//! use nezumi::net::{TcpListener, TcpStream};
//!
//! #[nezumi::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!
//!     let server = nezumi::spawn(async move {
//!         let (mut socket, _) = listener.accept().await?;
//!         let mut request = [0; 4];
//!         socket.read_exact(&mut request).await?;
//!         socket.write_all(&request).await
//!     });
//!
//!     let mut client = TcpStream::connect(address).await?;
//!     client.write_all(b"ping").await?;
//!     let mut answer = [0; 4];
//!     client.read_exact(&mut answer).await?;
//!     assert_eq!(&answer, b"ping");
//!     server.await?
//! }
//! ```
//!
//! Or it keeps every line, its dependencies too, and patches the package `tokio` with the facade of the same name that
//! lies beside this crate:
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { git = "https://github.com/nezumi-rs/nezumi" }
//! ```
//!
//! # What is where
//!
//! | to | see |
//! |---|---|
//! | run tasks, wait for them, stop them | [`spawn`], [`task`] |
//! | build and look into a runtime | [`runtime`], [`main`], [`test`] |
//! | wait for several things at once | [`select!`], [`join!`], [`try_join!`] |
//! | hand values over, share, take turns | [`sync`] |
//! | sleep, repeat, give up in time | [`time`] |
//! | read and write | [`io`], [`net`] |
//! | use files and directories | [`fs`] |
//! | hear signals | [`signal`] |
//! | run other programs | [`process`] |
//!
//! # Features
//!
//! None is on by default. `full` turns all of these on but `taskdump`, `test-util` and `tracing`.
//!
//! | feature | opens |
//! |---|---|
//! | `rt` | the runtime, tasks |
//! | `rt-multi-thread` | the scheduler on several threads |
//! | `macros` | [`select!`], [`join!`], [`try_join!`]; with `rt` also [`main`], [`test`] |
//! | `sync` | [`sync`] |
//! | `time` | [`time`] |
//! | `io-util` | the `Ext` traits and combinators of [`io`] |
//! | `io-std` | [`io::stdin`], [`io::stdout`], [`io::stderr`] |
//! | `net` | [`net`], [`io::unix`] |
//! | `fs` | [`fs`] |
//! | `process` | [`process`] |
//! | `signal` | [`signal`] |
//! | `taskdump` | stacks in [`runtime::dump`] and in reports of stuck tasks |
//! | `test-util` | a clock that tests can stop: [`time::pause`], [`time::advance`] |
//! | `tracing` | nothing, but tells subscribers of the crate `tracing` of tasks, wakers, and what tasks wait for |
//!
//! With `tracing`, tokio-console works as it does with Tokio: the spans and events have the same names, targets and fields, at the level
//! `TRACE`. Without it nothing of that is compiled in.
//!
//! What Tokio hides behind `--cfg tokio_unstable` is simply here.
//!
//! # What is promised
//!
//! Everything runnable can be stolen, always: no task waits behind another task's long poll while a core is free, not
//! even the one that was woken last. An idle runtime wakes up never. What that rests on is written down where it is
//! built, and proved by the models next to it.

#![cfg_attr(docsrs, feature(doc_cfg))]
// The docs speak of everything; what is not compiled in cannot be linked to.
#![cfg_attr(not(all(feature = "full", feature = "test-util")), allow(rustdoc::broken_intra_doc_links))]

#[doc(hidden)]
pub mod macros;

mod doors;

pub use doors::*;

#[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
#[doc(inline)]
pub use nezumi_macros::{main, test};

#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
#[doc(inline)]
pub use nezumi_macros::{main_rt as main, test_rt as test};

#[cfg(all(feature = "macros", not(feature = "rt")))]
#[doc(inline)]
pub use nezumi_macros::{main_fail as main, test_fail as test};
