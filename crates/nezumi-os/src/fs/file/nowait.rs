//! Reads that need not wait, because the OS has the bytes in memory.
//!
//! Called by `io` before it hands a read to a blocking thread: `preadv2(RWF_NOWAIT)` gives what is in the page cache and refuses to go to
//! the disk. It moves the cursor as `read` does, and costs a fraction of a hop. When it refuses, the kernel has been told what is
//! wanted, and the blocking thread's `read` makes it read ahead: of a file that is read from front to back most reads find their bytes.
//!
//! Promise: *a read here is one that `read` could have made*, a short one included: fewer bytes than asked for mean the end of the file,
//! as they do there. If the cache ends before the file does, the cursor goes back and the whole read is done elsewhere. Nothing here waits
//! for a device.
//!
//! | a file that is | is read here | because |
//! |---|---|---|
//! | regular, on a file system that knows the flag | yes | |
//! | regular, on one that does not (tmpfs, `/proc`, NFS) | no, after one attempt | the kernel says so |
//! | opened with `O_DIRECT` | no | the kernel would wait for the device, flag or not |
//! | a pipe, a terminal, an event source | no | a read of it takes one message, and could not be taken back |
//! | on other systems than Linux | no | they have no such flag |
//!
//! On a file that was read here once, a seek is done here, too: the file systems that know the flag only do arithmetic for it.
//!
//! Outside a runtime nothing is done here, so that such a read panics always and not just when the bytes are not in memory.
//!
//! The figures are in `docs/decisions/fs-reads-inline.md`. Tests: `tests/fs/cached.rs`, `tests/fs/special.rs`.

use nezumi_core::runtime::Handle;
use nezumi_io::ReadBuf;
use std::fs::File;

/// What is known of how a file can be read without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nowait {
    /// Nothing. To find out may block.
    Unknown,
    /// It may be.
    Untried,
    /// It has been.
    Works,
    /// It cannot be.
    Never,
}

impl Nowait {
    /// What is known of a regular file that nobody has read. May block.
    pub(super) fn of_regular(file: &File) -> Nowait {
        if sys::is_candidate(file) { Nowait::Untried } else { Nowait::Never }
    }

    /// Reads up to `most` bytes if that needs no waiting. Returns whether it has.
    pub(super) fn read(&mut self, file: &File, to: &mut ReadBuf<'_>, most: usize) -> bool {
        if !matches!(self, Nowait::Untried | Nowait::Works) || !Handle::is_entered() {
            return false;
        }
        // SAFETY: what is initialized stays so: the kernel writes whole bytes.
        let space = unsafe { &mut to.unfilled_mut()[..most] };
        match sys::read(file, space) {
            sys::Attempt::Read(n) => {
                *self = Nowait::Works;
                // SAFETY: the kernel has written that many bytes.
                unsafe { to.assume_init(n) };
                to.advance(n);
                true
            }
            sys::Attempt::WouldWait => false,
            sys::Attempt::Cannot => {
                *self = Nowait::Never;
                false
            }
        }
    }

    /// Whether a seek needs no waiting.
    pub(super) fn may_seek(self) -> bool {
        self == Nowait::Works && Handle::is_entered()
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod sys {
    use std::fs::File;
    use std::io::{Error, Seek, SeekFrom};
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;

    pub(super) enum Attempt {
        /// So many bytes: all that were asked for, or up to the end of the file.
        Read(usize),
        WouldWait,
        /// Not of this file, ever. Whatever the reason, a plain read will tell it.
        Cannot,
    }

    pub(super) fn is_candidate(file: &File) -> bool {
        // SAFETY: asks for flags of an open descriptor.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        flags != -1 && flags & libc::O_DIRECT == 0
    }

    pub(super) fn read(mut file: &File, space: &mut [MaybeUninit<u8>]) -> Attempt {
        let mut read = 0;
        while read < space.len() {
            match read_once(file, &mut space[read..]) {
                Ok(0) => break,
                Ok(n) => read += n,
                Err(libc::EINTR) => {}
                Err(errno) => {
                    // A buffer's length fits.
                    if read > 0 && file.seek(SeekFrom::Current(-(read as i64))).is_err() {
                        return Attempt::Read(read);
                    }
                    return if errno == libc::EAGAIN { Attempt::WouldWait } else { Attempt::Cannot };
                }
            }
        }
        Attempt::Read(read)
    }

    /// What `read` does, or `EAGAIN`. Gives the number of the error.
    fn read_once(file: &File, space: &mut [MaybeUninit<u8>]) -> Result<usize, i32> {
        const AT_THE_CURSOR: libc::c_long = -1;
        let slice = libc::iovec { iov_base: space.as_mut_ptr().cast(), iov_len: space.len() };
        // By its number: not every C library has it.
        // SAFETY: `slice` is one slice, of memory that is ours alone.
        let n = unsafe {
            libc::syscall(
                libc::SYS_preadv2,
                file.as_raw_fd(),
                &raw const slice,
                1,
                AT_THE_CURSOR,
                AT_THE_CURSOR,
                libc::RWF_NOWAIT,
            )
        };
        usize::try_from(n).map_err(|_| Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod sys {
    use std::fs::File;
    use std::mem::MaybeUninit;

    #[allow(dead_code, reason = "there is no attempt")]
    pub(super) enum Attempt {
        Read(usize),
        WouldWait,
        Cannot,
    }

    pub(super) fn is_candidate(_: &File) -> bool {
        false
    }

    pub(super) fn read(_: &File, _: &mut [MaybeUninit<u8>]) -> Attempt {
        Attempt::Cannot
    }
}
