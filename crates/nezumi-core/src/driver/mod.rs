//! Not written yet.

/// The shared side of the I/O driver.
#[derive(Debug)]
pub struct Handle(());
