//! Where in the stream of messages: counts up, and wraps without harm.

/// How many messages a block holds.
#[cfg(not(nezumi_loom))]
pub(super) const BLOCK: usize = 32;
/// Small, so that a model meets its borders.
#[cfg(nezumi_loom)]
pub(super) const BLOCK: usize = 2;

/// A channel for fewer messages than this has a ring.
#[cfg(not(nezumi_loom))]
pub(super) const RING: usize = BLOCK;
/// Small, but large enough for a ring in which senders hand on from one to the other what is empty.
#[cfg(nezumi_loom)]
pub(super) const RING: usize = 4;

/// One message further. The lowest bit of the tail's word is a flag.
pub(super) const STEP: usize = 2;
/// Set in the tail's word by the close of an unbounded channel.
pub(super) const CLOSED: usize = 1;

/// The place of a message in the stream. A multiple of `STEP`, modulo the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(pub(super) usize);

impl Position {
    /// Where the tail stands.
    #[inline]
    pub(super) const fn of(word: usize) -> Self {
        Self(word & !CLOSED)
    }

    #[inline]
    pub(super) const fn next(self) -> Self {
        Self(self.0.wrapping_add(STEP))
    }

    /// How many messages there are from `earlier` to here.
    #[inline]
    pub(super) const fn since(self, earlier: Self) -> usize {
        self.0.wrapping_sub(earlier.0) / STEP
    }

    /// Whether `later` comes after this. The two are less than half the word apart, since memory is finite.
    pub(super) const fn is_before(self, later: Self) -> bool {
        (self.0.wrapping_sub(later.0) as isize) < 0
    }

    /// Where the block of this position begins.
    #[inline]
    pub(super) const fn block(self) -> Self {
        Self(self.0 & !(BLOCK * STEP - 1))
    }

    pub(super) const fn next_block(self) -> Self {
        Self(self.0.wrapping_add(BLOCK * STEP))
    }

    /// Which slot of its block.
    #[inline]
    pub(super) const fn offset(self) -> usize {
        self.index(BLOCK)
    }

    /// Which slot of a ring of `len`, a power of two.
    #[inline]
    pub(super) const fn index(self, len: usize) -> usize {
        (self.0 / STEP) & (len - 1)
    }
}
