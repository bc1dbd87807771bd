//! Nezumi under the name of Tokio.
