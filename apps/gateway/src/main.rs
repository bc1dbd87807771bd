//! An HTTP reverse proxy on Nezumi.
fn main() {}
