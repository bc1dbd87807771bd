//! What kind of file it is: found out once, on a blocking thread.
//!
//! Tests: `tests/fs/special.rs`.

use super::nowait::Nowait;
use std::fs::File;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fs) struct Known {
    pub(super) nowait: Nowait,
    /// Bytes on a disk or what looks so: not a pipe, device or socket, for which each write is an event.
    pub(super) is_regular: bool,
}

impl Known {
    /// Nothing yet: the file comes from elsewhere, and to ask may block.
    pub(super) const NOTHING: Known = Known { nowait: Nowait::Unknown, is_regular: false };

    /// Looks at the file. May block.
    pub(in crate::fs) fn find_out(file: &File) -> Known {
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Known { nowait: if is_regular { Nowait::of_regular(file) } else { Nowait::Never }, is_regular }
    }
}
