//! What this crate promises, from the outside: a runtime, and what runs on it, on real threads.
#![cfg(not(any(nezumi_loom, nezumi_shuttle)))]

mod calm;
mod chaos;
mod current_thread;
mod dump;
mod fairness;
mod hostile;
mod join_set;
mod latency;
mod local_set;
mod rescues;
mod scheduler;
mod shutdown;
mod spares;
mod stuck;
mod support;
mod time;
mod yields;
