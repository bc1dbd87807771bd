//! Streams are not here: they are in the crate [`tokio-stream`](https://docs.rs/tokio-stream), which works on this
//! runtime, too, when the package `tokio` is patched.
