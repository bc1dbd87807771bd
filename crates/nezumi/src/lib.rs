//! Nezumi
