//! Who runs what, and when.

mod home;

pub use home::Home;
