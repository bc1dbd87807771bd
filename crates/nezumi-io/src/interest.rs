//! What one can want to know of an event source.

use crate::Ready;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

const READABLE: usize = 1;
const WRITABLE: usize = 1 << 1;
#[cfg(target_os = "freebsd")]
const AIO: usize = 1 << 2;
#[cfg(target_os = "freebsd")]
const LIO: usize = 1 << 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: usize = 1 << 4;
const ERROR: usize = 1 << 5;

/// The kinds of readiness to wait for: one of them, or several joined with `|`. Never none.
///
/// What comes back is a [`Ready`].
///
/// # Examples
///
/// ```
/// use nezumi::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both.remove(Interest::READABLE), Some(Interest::WRITABLE));
/// ```
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Interest(usize);

impl Interest {
    /// That an operation of POSIX AIO is done.
    #[cfg(target_os = "freebsd")]
    pub const AIO: Interest = Interest(AIO);

    /// That a list of operations of POSIX AIO is done.
    #[cfg(target_os = "freebsd")]
    pub const LIO: Interest = Interest(LIO);

    /// That there is something to read, or that nothing more will come.
    pub const READABLE: Interest = Interest(READABLE);

    /// That something can be written, or that nothing more will be taken.
    pub const WRITABLE: Interest = Interest(WRITABLE);

    /// That there is an error to be fetched. The operating system reports it whether asked or not.
    pub const ERROR: Interest = Interest(ERROR);

    /// That there is urgent data to read (`EPOLLPRI`).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Interest = Interest(PRIORITY);

    /// Whether [`READABLE`](Self::READABLE) is among what is wanted.
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Whether [`WRITABLE`](Self::WRITABLE) is among what is wanted.
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Whether [`ERROR`](Self::ERROR) is among what is wanted.
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Whether [`PRIORITY`](Self::PRIORITY) is among what is wanted.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Whether `AIO` is among what is wanted.
    #[cfg(target_os = "freebsd")]
    #[doc(hidden)]
    pub const fn is_aio(self) -> bool {
        self.0 & AIO != 0
    }

    /// Whether `LIO` is among what is wanted.
    #[cfg(target_os = "freebsd")]
    #[doc(hidden)]
    pub const fn is_lio(self) -> bool {
        self.0 & LIO != 0
    }

    /// What either of the two wants. The same as `|`, and usable in constants.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// What is left of `self` without `other`, if that is anything.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    pub fn remove(self, other: Interest) -> Option<Interest> {
        match self.0 & !other.0 {
            0 => None,
            rest => Some(Interest(rest)),
        }
    }

    /// Everything that answers this interest. A closed half answers too: whoever waits to read must learn of the end.
    #[doc(hidden)]
    #[must_use]
    pub const fn answers(self) -> Ready {
        let mut ready = Ready::EMPTY;
        if self.is_readable() {
            ready = ready.with(Ready::READABLE).with(Ready::READ_CLOSED);
        }
        #[cfg(target_os = "freebsd")]
        if self.is_aio() || self.is_lio() {
            ready = ready.with(Ready::READABLE).with(Ready::READ_CLOSED);
        }
        if self.is_writable() {
            ready = ready.with(Ready::WRITABLE).with(Ready::WRITE_CLOSED);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            ready = ready.with(Ready::PRIORITY).with(Ready::READ_CLOSED);
        }
        if self.is_error() {
            ready = ready.with(Ready::ERROR);
        }
        ready
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let named = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, "PRIORITY"),
            #[cfg(target_os = "freebsd")]
            (AIO, "AIO"),
            #[cfg(target_os = "freebsd")]
            (LIO, "LIO"),
            (ERROR, "ERROR"),
        ];
        named.into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, name)| name)
    }
}

impl BitOr for Interest {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = self.add(other);
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str(" | ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn interests_join_and_part() {
        let mut both = Interest::READABLE;
        both |= Interest::WRITABLE;
        assert_eq!(both, Interest::WRITABLE | Interest::READABLE);
        assert_eq!(both.remove(Interest::WRITABLE | Interest::ERROR), Some(Interest::READABLE));
        assert_eq!(both.remove(both), None);
        assert!(!both.is_error() && Interest::ERROR.is_error());
    }

    #[test]
    fn debug_names_what_is_wanted() {
        assert_eq!(format!("{:?}", Interest::READABLE), "READABLE");
        assert_eq!(
            format!("{:?}", Interest::ERROR | Interest::WRITABLE | Interest::READABLE),
            "READABLE | WRITABLE | ERROR"
        );
        #[cfg(target_os = "linux")]
        assert_eq!(format!("{:?}", Interest::PRIORITY | Interest::WRITABLE), "WRITABLE | PRIORITY");
    }

    #[test]
    fn a_closed_half_answers_who_waits_for_it_and_nobody_else() {
        assert!(Ready::READ_CLOSED.satisfies(Interest::READABLE));
        assert!(!Ready::READ_CLOSED.satisfies(Interest::WRITABLE));
        assert!(Ready::WRITE_CLOSED.satisfies(Interest::WRITABLE));
        assert!(!Ready::WRITE_CLOSED.satisfies(Interest::READABLE | Interest::ERROR));
        assert!(Ready::ERROR.satisfies(Interest::ERROR));
        assert!(!Ready::ERROR.satisfies(Interest::READABLE));
        #[cfg(target_os = "linux")]
        assert_eq!(Interest::PRIORITY.answers(), Ready::PRIORITY | Ready::READ_CLOSED);
    }
}
