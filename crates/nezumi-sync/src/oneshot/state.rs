//! The state word of a oneshot channel: what each bit means, and every move from one state to the next.
//!
//! Pure functions from a snapshot to the next one and to what the mover has to do, and one compare-and-swap loop that
//! applies them. Knows nothing of values and wakers, except whose they are.

use nezumi_prim::sync::atomic::{AtomicU32, Ordering};
use std::fmt;

/// The sender has sent or given up. Set by it, once.
pub(super) const ENDED: u32 = 1;
/// The value cell is full, and the receiver's. Set together with `ENDED`.
pub(super) const VALUE: u32 = 1 << 1;
/// The receiver refuses a value that was not sent yet. Set by it, once, and never after `ENDED`.
pub(super) const CLOSED: u32 = 1 << 2;
/// The receiver's waker lies in its place, to be taken by whoever clears this bit.
const RX_WAITS: u32 = 1 << 3;
/// The sender's waker lies in its place, to be taken by whoever clears this bit.
const TX_WAITS: u32 = 1 << 4;
/// The receiver does not touch the channel again. Whoever is the second to be gone frees it.
const RX_GONE: u32 = 1 << 5;
/// The sender does not touch the channel again.
const TX_GONE: u32 = 1 << 6;

/// One end of the channel, as the state word sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Tx,
    Rx,
}

impl Side {
    const fn waits(self) -> u32 {
        match self {
            Self::Tx => TX_WAITS,
            Self::Rx => RX_WAITS,
        }
    }

    const fn gone(self) -> u32 {
        match self {
            Self::Tx => TX_GONE,
            Self::Rx => RX_GONE,
        }
    }

    /// What this side waits for.
    const fn awaited(self) -> u32 {
        match self {
            Self::Tx => CLOSED,
            Self::Rx => ENDED,
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Tx => Self::Rx,
            Self::Rx => Self::Tx,
        }
    }
}

/// What a side has to do after it said its last word.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnEnd {
    /// The other side said its last word first: nothing was changed. Undo, then leave.
    TooLate,
    /// These wakers are the mover's now. Take them, leave, wake.
    Take { tx: bool, rx: bool },
    /// Done, and gone: the channel may be freed by the other side at any time.
    Left,
}

/// What a side has to do after it left.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnLeave {
    /// The other side left first: free the channel.
    Free,
    /// The other side is still there and will free it.
    Stays,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(u32);

impl Snapshot {
    #[inline]
    pub(super) const fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    const fn with(self, bits: u32) -> Self {
        Self(self.0 | bits)
    }

    const fn without(self, bits: u32) -> Self {
        Self(self.0 & !bits)
    }

    #[inline]
    pub(super) const fn waits(self, side: Side) -> bool {
        self.has(side.waits())
    }

    /// Whether what `side` waits for has happened.
    #[inline]
    pub(super) const fn answered(self, side: Side) -> bool {
        self.has(side.awaited())
    }

    /// The sender ends, leaving a value (`VALUE`) or nothing (0) behind.
    #[inline]
    const fn end(self, value: u32) -> (Self, OnEnd) {
        if self.has(CLOSED) {
            return (self, OnEnd::TooLate);
        }
        self.last_word(ENDED | value, TX_GONE)
    }

    /// The receiver refuses whatever has not been sent; `gone` is `RX_GONE` if it leaves as well.
    const fn close(self, gone: u32) -> (Self, OnEnd) {
        if self.has(ENDED | CLOSED) {
            return (self, OnEnd::TooLate);
        }
        self.last_word(CLOSED, gone)
    }

    /// With nobody's waker to look after, a side is gone with the same step in which it says its last word.
    #[inline]
    const fn last_word(self, word: u32, gone: u32) -> (Self, OnEnd) {
        let (tx, rx) = (self.has(TX_WAITS), self.has(RX_WAITS));
        if tx || rx {
            return (self.with(word).without(TX_WAITS | RX_WAITS), OnEnd::Take { tx, rx });
        }
        (self.with(word | gone), OnEnd::Left)
    }

    const fn leave(self, side: Side) -> (Self, OnLeave) {
        if self.has(side.other().gone()) {
            return (self, OnLeave::Free);
        }
        (self.with(side.gone()), OnLeave::Stays)
    }

    /// Publishes the waker of `side`, or says that there is nothing left to wait for.
    const fn publish(self, side: Side) -> (Self, bool) {
        if self.answered(side) {
            return (self, false);
        }
        (self.with(side.waits()), true)
    }

    /// Takes the published waker of `side` back, or says that the other side has it.
    const fn reclaim(self, side: Side) -> (Self, bool) {
        if self.answered(side) {
            return (self, false);
        }
        (self.without(side.waits()), true)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("is_complete", &self.has(ENDED))
            .field("is_closed", &self.has(CLOSED))
            .field("is_rx_task_set", &self.has(RX_WAITS))
            .field("is_tx_task_set", &self.has(TX_WAITS))
            .finish()
    }
}

pub(super) struct State(AtomicU32);

impl State {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Acquire: pairs with the Release of every move, so that the cells that the snapshot says are ours are visible.
    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Applies `step`. A step that changes nothing writes nothing.
    #[inline]
    fn transit<A>(&self, step: impl Fn(Snapshot) -> (Snapshot, A)) -> A {
        let mut now = self.load();
        loop {
            let (next, action) = step(now);
            if next == now {
                return action;
            }
            // Release publishes what this side wrote to the cells to the other side's Acquire, here and in `load`;
            // Acquire takes over what the other side wrote. A failure is a new snapshot, and must be as good.
            match self.0.compare_exchange_weak(now.0, next.0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return action,
                Err(found) => now = Snapshot(found),
            }
        }
    }

    #[inline]
    pub(super) fn send(&self) -> OnEnd {
        self.transit(|now| now.end(VALUE))
    }

    pub(super) fn give_up(&self) -> OnEnd {
        self.transit(|now| now.end(0))
    }

    pub(super) fn close(&self) -> OnEnd {
        self.transit(|now| now.close(0))
    }

    pub(super) fn close_and_leave(&self) -> OnEnd {
        self.transit(|now| now.close(RX_GONE))
    }

    #[inline]
    pub(super) fn leave(&self, side: Side) -> OnLeave {
        self.transit(|now| now.leave(side))
    }

    pub(super) fn publish(&self, side: Side) -> bool {
        self.transit(|now| now.publish(side))
    }

    pub(super) fn reclaim(&self, side: Side) -> bool {
        self.transit(|now| now.reclaim(side))
    }
}
