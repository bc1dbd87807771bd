//! All that is known of one resource, in one word. Pure: no atomics, no wakers.
//!
//! ```text
//! bits 0..6    readiness
//! bit  6       SHUTDOWN   the driver is gone: every wait ends with an error
//! bit  7       READER     somebody may stand in the reader's place
//! bit  8       WRITER     somebody may stand in the writer's place
//! bit  9       QUEUE      somebody may stand in the queue of further waiters
//! bits 10..16  era        low bits of the generation, so that a word of an earlier resource is never met again
//! bits 16..40  read tick  counts the events that said something about reading
//! bits 40..64  write tick counts the events that said something about writing
//! ```
//!
//! The ticks are what makes clearing safe. Who tries an operation first notes the word ([`ReadyEvent`]); if it would block,
//! the bits are cleared only if no event about the same direction has come since. They are per direction, so that a
//! stream of events about writing cannot keep a reader from clearing what it saw (it would spin), and they have 24 bits:
//! to be taken for an old one, 2²⁴ events about one direction of one resource must be dispatched between an operation and
//! the clearing that follows it, on the next line. Nothing resets them, not even a new owner of the slot.
//!
//! The waiting bits make *look, then wait* one step against *set, then wake*: see `slot`.

use super::Readiness;
use std::fmt;

const SHUTDOWN: u64 = 1 << 6;
const READER: u64 = 1 << 7;
const WRITER: u64 = 1 << 8;
const QUEUE: u64 = 1 << 9;
const WAITING: u64 = READER | WRITER | QUEUE;

const ERA: Field = Field { shift: 10, bits: 6 };
const READ_TICK: Field = Field { shift: 16, bits: 24 };
const WRITE_TICK: Field = Field { shift: 40, bits: 24 };

/// What is said about reading. What is said about writing is the rest.
const READ_SIDE: Readiness =
    Readiness::from_bits(Readiness::READ.bits() | Readiness::PRIORITY.bits() | Readiness::ERROR.bits());
const WRITE_SIDE: Readiness = Readiness::WRITE;

/// A counter inside the word, which wraps within its own bits.
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    const fn get(self, word: u64) -> u32 {
        ((word >> self.shift) & ((1 << self.bits) - 1)) as u32
    }

    const fn with(self, word: u64, value: u32) -> u64 {
        let mask = ((1 << self.bits) - 1) << self.shift;
        (word & !mask) | (((value as u64) << self.shift) & mask)
    }

    const fn next(self, word: u64) -> u64 {
        self.with(word, self.get(word).wrapping_add(1))
    }
}

/// Which of the places a wait is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Reader,
    Writer,
    Queue,
}

impl Place {
    /// The bit that says that somebody stands there.
    pub(super) const fn bit(self) -> u64 {
        match self {
            Place::Reader => READER,
            Place::Writer => WRITER,
            Place::Queue => QUEUE,
        }
    }

    /// What ends a wait in this place. In the queue everybody waits for something else.
    pub(super) const fn wants(self) -> Readiness {
        match self {
            Place::Reader => Readiness::READ,
            Place::Writer => Readiness::WRITE,
            Place::Queue => Readiness::ALL,
        }
    }
}

/// One value of a slot's word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

impl Word {
    /// Of a slot that nobody has owned.
    pub(super) const NEW: Word = Word(0);
    pub(super) const SHUTDOWN: u64 = SHUTDOWN;

    /// A word whose ticks are about to reach the given ones. For tests of the wrap.
    #[cfg(test)]
    pub(super) fn with_ticks(self, read: u32, write: u32) -> Word {
        Word(WRITE_TICK.with(READ_TICK.with(self.0, read), write))
    }

    pub(super) fn readiness(self) -> Readiness {
        Readiness::from_bits(self.0 as u8)
    }

    pub(super) fn is_shut_down(self) -> bool {
        self.0 & SHUTDOWN != 0
    }

    pub(super) fn has_waiter(self, place: Place) -> bool {
        self.0 & place.bit() != 0
    }

    /// What ends a wait for `wants`, if anything does.
    pub(super) fn ends_wait(self, wants: Readiness) -> Option<ReadyEvent> {
        let event = self.event(wants);
        (!event.ready.is_empty() || event.is_shut_down).then_some(event)
    }

    /// What this word says about `wants`.
    pub(super) fn event(self, wants: Readiness) -> ReadyEvent {
        ReadyEvent {
            ready: self.readiness() & wants,
            is_shut_down: self.is_shut_down(),
            read_tick: READ_TICK.get(self.0),
            write_tick: WRITE_TICK.get(self.0),
        }
    }

    /// After an event. Who is to be woken stands in the word *before*; a place that is woken is free afterwards, but the
    /// queue, where only its lock tells who stays.
    pub(super) fn dispatched(self, says: Readiness) -> Word {
        let mut word = self.0 | u64::from(says.bits());
        if says.intersects(READ_SIDE) {
            word = READ_TICK.next(word);
        }
        if says.intersects(WRITE_SIDE) {
            word = WRITE_TICK.next(word);
        }
        if says.intersects(Place::Reader.wants()) {
            word &= !READER;
        }
        if says.intersects(Place::Writer.wants()) {
            word &= !WRITER;
        }
        Word(word)
    }

    /// After a guess that needs no event: an operation that finds it wrong clears it.
    pub(super) fn assumed(self, ready: Readiness) -> Word {
        Word(self.0 | u64::from(ready.bits()))
    }

    /// After an operation that would block, or did less than asked, although `event` had said that it was ready. Closed stays
    /// closed.
    pub(super) fn cleared(self, event: ReadyEvent) -> Word {
        let mut gone = Readiness::EMPTY;
        if READ_TICK.get(self.0) == event.read_tick {
            gone |= event.ready & READ_SIDE;
        }
        if WRITE_TICK.get(self.0) == event.write_tick {
            gone |= event.ready & WRITE_SIDE;
        }
        Word(self.0 & !u64::from((gone - Readiness::CLOSED).bits()))
    }

    /// Without an owner, ready for the next one of `generation`. The ticks go on.
    pub(super) fn freed(self, generation: u32) -> Word {
        let word = self.0 & !(u64::from(Readiness::ALL.bits()) | SHUTDOWN | WAITING);
        Word(ERA.with(word, generation))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("readiness", &self.readiness())
            .field("shut_down", &self.is_shut_down())
            .field("waiting", &((self.0 & WAITING) >> READER.trailing_zeros()))
            .field("era", &ERA.get(self.0))
            .field("read_tick", &READ_TICK.get(self.0))
            .field("write_tick", &WRITE_TICK.get(self.0))
            .finish()
    }
}

/// What was known of a resource when an operation on it was tried: what [`Registration::clear_readiness`] needs to clear
/// no more than that.
///
/// [`Registration::clear_readiness`]: super::Registration::clear_readiness
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyEvent {
    /// What it was ready for, of what was asked.
    pub ready: Readiness,
    /// Whether the driver was gone.
    pub is_shut_down: bool,
    read_tick: u32,
    write_tick: u32,
}

impl ReadyEvent {
    /// The same moment, about `ready` only.
    #[must_use]
    pub fn with_ready(self, ready: Readiness) -> Self {
        Self { ready, ..self }
    }
}
