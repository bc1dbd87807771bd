//! The Nezumi runtime: everything that knows a runtime exists.
//!
//! In reading order: [`task`] (what is scheduled), [`driver`] and [`timer`] (what wakes it), [`blocking`] (where blocking
//! work goes), [`scheduler`] (who runs what when), [`runtime`] (how one is built, entered and left), then what a program
//! calls: [`spawn`] and [`time`]. [`dump`] looks at it all from the side.
//!
//! Programs use the crate `nezumi`, which opens the doors its features name. What is public here and not there is for
//! `nezumi-os`.

pub mod blocking;
pub mod driver;
pub mod dump;
pub mod runtime;
pub mod scheduler;
pub mod spawn;
pub mod task;
pub mod time;
pub mod timer;
