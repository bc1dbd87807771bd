//! What a program calls to start work.

pub mod task_local;
