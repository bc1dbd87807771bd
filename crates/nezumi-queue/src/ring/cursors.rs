//! The three cursors and the HOT bit, packed; every transition is a pure function.

/// `tail:16 | head:16 | steal:16`, HOT in the lowest bit. The tail, which moves most, is on top: it is added to in place, and when it wraps the
/// carry falls off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursors(u64);

const TAIL: u32 = 48;
const HEAD: u32 = 32;
const STEAL: u32 = 16;
const HOT: u64 = 1;

impl From<u64> for Cursors {
    #[inline]
    fn from(bits: u64) -> Self {
        Cursors(bits)
    }
}

impl Cursors {
    /// An empty ring at `cursor`.
    pub(super) fn at(cursor: u16) -> Self {
        Self::new(cursor, cursor, cursor, false)
    }

    #[inline]
    fn new(steal: u16, head: u16, tail: u16, hot: bool) -> Self {
        Cursors(
            u64::from(tail) << TAIL
                | u64::from(head) << HEAD
                | u64::from(steal) << STEAL
                | (HOT * u64::from(hot)),
        )
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn tail(self) -> u16 {
        (self.0 >> TAIL) as u16
    }

    #[inline]
    pub(super) fn head(self) -> u16 {
        (self.0 >> HEAD) as u16
    }

    #[inline]
    fn steal(self) -> u16 {
        (self.0 >> STEAL) as u16
    }

    #[inline]
    pub(super) fn is_hot(self) -> bool {
        self.0 & HOT != 0
    }

    /// Whether a thief has claimed and not released yet.
    #[inline]
    pub(super) fn is_being_copied(self) -> bool {
        self.steal() != self.head()
    }

    /// How many items are in the queue.
    #[inline]
    pub(super) fn live(self) -> usize {
        usize::from(self.tail().wrapping_sub(self.head()))
    }

    /// How many slots the owner may not write.
    #[inline]
    pub(super) fn used(self) -> usize {
        usize::from(self.tail().wrapping_sub(self.steal()))
    }

    #[inline]
    pub(super) fn tail_plus(self, count: usize) -> u16 {
        self.tail().wrapping_add(count as u16)
    }

    #[inline]
    pub(super) fn head_plus(self, count: usize) -> u16 {
        self.head().wrapping_add(count as u16)
    }

    #[inline]
    pub(super) fn pushed(self, count: usize, hot: bool) -> Self {
        let tail_moved = self.0.wrapping_add((count as u64) << TAIL);
        Cursors((tail_moved & !HOT) | (HOT * u64::from(hot)))
    }

    /// By the owner: what it takes is free at once, unless a thief in front of it is still copying.
    #[inline]
    pub(super) fn popped_front(self, count: usize) -> Self {
        let head = self.head_plus(count);
        let steal = if self.is_being_copied() { self.steal() } else { head };
        Self::new(steal, head, self.tail(), self.is_hot() && head != self.tail())
    }

    /// By the owner. Nothing behind the new tail was marked: there is one bit, and it was the old tail's.
    #[inline]
    pub(super) fn popped_back(self) -> Self {
        Cursors(self.0.wrapping_sub(1 << TAIL) & !HOT)
    }

    /// By a thief: `steal` stays behind until the slots have been read.
    #[inline]
    pub(super) fn claimed(self, count: usize) -> Self {
        let head = self.head_plus(count);
        Self::new(self.steal(), head, self.tail(), self.is_hot() && head != self.tail())
    }

    /// By the thief of the claim: what the owner popped meanwhile is free with it.
    #[inline]
    pub(super) fn released(self) -> Self {
        Self::new(self.head(), self.head(), self.tail(), self.is_hot())
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Cursors;

    #[test]
    fn the_tail_moves_in_place_and_wraps_alone() {
        for (steal, head, tail) in
            [(0, 0, 0), (7, 9, 9), (65_534, 65_535, 65_535), (65_535, 0, 2), (1, 65_535, 0)]
        {
            for was_hot in [false, true] {
                let now = Cursors::new(steal, head, tail, was_hot);
                for hot in [false, true] {
                    for count in [0, 1, 2, 300] {
                        let pushed = Cursors::new(steal, head, tail.wrapping_add(count), hot);
                        assert_eq!(now.pushed(usize::from(count), hot), pushed);
                    }
                }
                assert_eq!(now.popped_back(), Cursors::new(steal, head, tail.wrapping_sub(1), false));
            }
        }
    }
}
