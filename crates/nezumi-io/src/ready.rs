//! What an event source is ready for.

use crate::Interest;
use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

const READABLE: usize = 1;
const WRITABLE: usize = 1 << 1;
const READ_CLOSED: usize = 1 << 2;
const WRITE_CLOSED: usize = 1 << 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: usize = 1 << 4;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PRIORITY: usize = 0;
const ERROR: usize = 1 << 5;

/// The kinds of readiness that an event source reported: any number of them, or none.
///
/// What is asked for is an [`Interest`].
///
/// # Examples
///
/// ```
/// use nezumi::io::Ready;
///
/// let ready = Ready::READABLE | Ready::WRITE_CLOSED;
/// assert!(ready.is_readable());
/// assert!(ready.is_writable(), "a write would not wait: it would fail");
/// assert_eq!(ready - Ready::READABLE, Ready::WRITE_CLOSED);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(usize);

impl Ready {
    /// Nothing at all.
    pub const EMPTY: Ready = Ready(0);

    /// There is something to read.
    pub const READABLE: Ready = Ready(READABLE);

    /// Something can be written.
    pub const WRITABLE: Ready = Ready(WRITABLE);

    /// Nothing more will come: the half that is read is closed.
    pub const READ_CLOSED: Ready = Ready(READ_CLOSED);

    /// Nothing more will be taken: the half that is written is closed.
    pub const WRITE_CLOSED: Ready = Ready(WRITE_CLOSED);

    /// There is urgent data to read.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Ready = Ready(PRIORITY);

    /// There is an error to be fetched.
    pub const ERROR: Ready = Ready(ERROR);

    /// Everything that there is on this platform.
    pub const ALL: Ready = Ready(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | PRIORITY | ERROR);

    /// Whether this is nothing at all.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a read would not wait: there is something, or the end is reached.
    pub fn is_readable(self) -> bool {
        self.0 & (READABLE | READ_CLOSED) != 0
    }

    /// Whether a write would not wait: something is taken, or nothing ever again.
    pub fn is_writable(self) -> bool {
        self.0 & (WRITABLE | WRITE_CLOSED) != 0
    }

    /// Whether the half that is read is closed.
    pub fn is_read_closed(self) -> bool {
        self.0 & READ_CLOSED != 0
    }

    /// Whether the half that is written is closed.
    pub fn is_write_closed(self) -> bool {
        self.0 & WRITE_CLOSED != 0
    }

    /// Whether there is urgent data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Whether there is an error to be fetched.
    pub fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// `|`, for constants.
    #[doc(hidden)]
    #[must_use]
    pub const fn with(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }

    /// The bits, to be kept in a packed word. All of them are below [`ALL`](Self::ALL)`.bits() + 1`, which is at most 64.
    #[doc(hidden)]
    #[must_use]
    pub const fn bits(self) -> usize {
        self.0
    }

    /// What [`bits`](Self::bits) gave. Bits without a meaning are dropped.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_bits(bits: usize) -> Ready {
        Ready(bits & Self::ALL.0)
    }

    /// What of this answers `interest`.
    #[doc(hidden)]
    #[must_use]
    pub const fn intersection(self, interest: Interest) -> Ready {
        Ready(self.0 & interest.answers().0)
    }

    /// Whether anything of this answers `interest`.
    #[doc(hidden)]
    #[must_use]
    pub const fn satisfies(self, interest: Interest) -> bool {
        self.intersection(interest).0 != 0
    }
}

impl BitOr<Ready> for Ready {
    type Output = Ready;

    #[inline]
    fn bitor(self, other: Ready) -> Ready {
        self.with(other)
    }
}

impl BitOrAssign<Ready> for Ready {
    #[inline]
    fn bitor_assign(&mut self, other: Ready) {
        *self = self.with(other);
    }
}

impl BitAnd<Ready> for Ready {
    type Output = Ready;

    #[inline]
    fn bitand(self, other: Ready) -> Ready {
        Ready(self.0 & other.0)
    }
}

/// What is in the left and not in the right.
impl Sub<Ready> for Ready {
    type Output = Ready;

    #[inline]
    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Ready");
        f.field("is_readable", &self.is_readable())
            .field("is_writable", &self.is_writable())
            .field("is_read_closed", &self.is_read_closed())
            .field("is_write_closed", &self.is_write_closed())
            .field("is_error", &self.is_error());
        #[cfg(any(target_os = "linux", target_os = "android"))]
        f.field("is_priority", &self.is_priority());
        f.finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn sets_join_meet_and_differ() {
        let mut ready = Ready::EMPTY;
        assert!(ready.is_empty());
        ready |= Ready::READABLE | Ready::ERROR;
        assert!(ready.is_readable() && ready.is_error() && !ready.is_writable() && !ready.is_empty());
        assert_eq!(ready & Ready::ALL, ready);
        assert_eq!(ready - Ready::ERROR, Ready::READABLE);
        assert!(Ready::EMPTY < Ready::READABLE && Ready::READABLE < Ready::ALL);
    }

    #[test]
    fn closed_means_that_nothing_would_wait() {
        assert!(Ready::READ_CLOSED.is_readable() && Ready::READ_CLOSED.is_read_closed());
        assert!(Ready::WRITE_CLOSED.is_writable() && Ready::WRITE_CLOSED.is_write_closed());
        assert!(!Ready::READABLE.is_read_closed() && !Ready::WRITABLE.is_write_closed());
    }

    #[test]
    fn bits_go_into_a_word_and_come_back() {
        assert!(Ready::ALL.bits() < 64);
        for bits in 0..128 {
            assert_eq!(Ready::from_bits(bits).bits(), bits & Ready::ALL.bits());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn debug_says_what_it_is_ready_for() {
        assert_eq!(
            format!("{:?}", Ready::READ_CLOSED | Ready::PRIORITY),
            "Ready { is_readable: true, is_writable: false, is_read_closed: true, is_write_closed: false, \
             is_error: false, is_priority: true }"
        );
    }
}
