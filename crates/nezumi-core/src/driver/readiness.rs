use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// What a resource is ready for, or what somebody wants it to be ready for: a set of bits in one byte.
///
/// The bits have the values of `nezumi_io::Ready`, the public face of this type, which this crate does not know.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Readiness(u8);

impl Readiness {
    /// Nothing.
    pub const EMPTY: Readiness = Readiness(0);
    /// A read would return something.
    pub const READABLE: Readiness = Readiness(0b00_0001);
    /// A write would take something.
    pub const WRITABLE: Readiness = Readiness(0b00_0010);
    /// Nothing more will come to be read than what is there.
    pub const READ_CLOSED: Readiness = Readiness(0b00_0100);
    /// Nothing will be taken any more.
    pub const WRITE_CLOSED: Readiness = Readiness(0b00_1000);
    /// Out-of-band data is there.
    pub const PRIORITY: Readiness = Readiness(0b01_0000);
    /// An error is there to be fetched.
    pub const ERROR: Readiness = Readiness(0b10_0000);
    /// Everything.
    pub const ALL: Readiness = Readiness(0b11_1111);

    /// What ends the wait of a reader.
    pub const READ: Readiness = Readiness(Self::READABLE.0 | Self::READ_CLOSED.0);
    /// What ends the wait of a writer.
    pub const WRITE: Readiness = Readiness(Self::WRITABLE.0 | Self::WRITE_CLOSED.0);
    /// What stays once it has come: an operation that would block says nothing about it.
    pub const CLOSED: Readiness = Readiness(Self::READ_CLOSED.0 | Self::WRITE_CLOSED.0);

    /// From the byte that [`bits`](Self::bits) gives; bits without a meaning are dropped.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Readiness(bits & Self::ALL.0)
    }

    /// As a byte.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether it is nothing.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the two have anything in common.
    #[inline]
    #[must_use]
    pub const fn intersects(self, other: Readiness) -> bool {
        self.0 & other.0 != 0
    }

    /// What an event of the selector says.
    pub(super) fn of_event(event: &mio::event::Event) -> Self {
        let says = [
            (event.is_readable(), Self::READABLE),
            (event.is_writable(), Self::WRITABLE),
            (event.is_read_closed(), Self::READ_CLOSED),
            (event.is_write_closed(), Self::WRITE_CLOSED),
            (event.is_priority(), Self::PRIORITY),
            (event.is_error(), Self::ERROR),
            (event.is_aio() || event.is_lio(), Self::READABLE),
        ];
        says.iter().fold(Self::EMPTY, |all, &(said, bit)| if said { all | bit } else { all })
    }
}

impl BitOr for Readiness {
    type Output = Readiness;

    #[inline]
    fn bitor(self, other: Readiness) -> Readiness {
        Readiness(self.0 | other.0)
    }
}

impl BitOrAssign for Readiness {
    #[inline]
    fn bitor_assign(&mut self, other: Readiness) {
        self.0 |= other.0;
    }
}

impl BitAnd for Readiness {
    type Output = Readiness;

    #[inline]
    fn bitand(self, other: Readiness) -> Readiness {
        Readiness(self.0 & other.0)
    }
}

impl Sub for Readiness {
    type Output = Readiness;

    #[inline]
    fn sub(self, other: Readiness) -> Readiness {
        Readiness(self.0 & !other.0)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["READABLE", "WRITABLE", "READ_CLOSED", "WRITE_CLOSED", "PRIORITY", "ERROR"];
        let mut names = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        match names.next() {
            None => f.write_str("EMPTY"),
            Some((_, first)) => {
                f.write_str(first)?;
                names.try_for_each(|(_, name)| write!(f, " | {name}"))
            }
        }
    }
}
