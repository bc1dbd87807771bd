//! What a subscriber of `tracing` is told, as console-subscriber reads it: `cargo test -p tokio --features tracing --test tracing`.

mod recorder;
mod resources;
mod stuck;
mod tasks;
