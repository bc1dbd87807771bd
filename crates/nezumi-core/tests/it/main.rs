//! What this crate promises, from the outside: a runtime, and what runs on it.

mod time;
