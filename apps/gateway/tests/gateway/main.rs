//! The gateway as its clients, its servers and its operator see it.
//!
//! Most tests run it in their own process, through the library; what concerns a process as a whole (signals, exit
//! codes, descriptors, messages) runs the program itself.

mod harness;

mod balancing;
mod bodies;
mod config;
mod demo;
mod descriptors;
mod drain;
mod hostile;
mod http2;
mod limits;
mod metrics;
mod priority;
mod routing;
mod statuses;
mod upgrades;
mod vanishing;
