//! One resource: what it is ready for, and who waits for that to change.
//!
//! Called by `turn` (an event came), by `registration` (the owner: try, wait, clear, leave) and by `waiter` (the queue).
//! Knows nothing of the selector, and nothing of tasks but their wakers.
//!
//! Promise: an event that comes while somebody goes to wait is either seen by him or wakes him; an event for a former
//! owner of the slot does not reach its successor; clearing never erases an event that came after the operation it is
//! about.
//!
//! *No wake is lost.* Both sides change the same word by read-modify-writes, so one of them is first:
//!
//! ```text
//! waiter                                   turn
//! W1 leave the waker in the place          T1 CAS: set readiness, bump the tick, take the waiting bit
//! W2 fetch_or: set the place's bit         T2 if the bit was set: take the waker from the place, wake it
//! W3 what W2 found ends the wait?
//! ```
//!
//! If T1 is first, W2 finds its readiness. If W2 is first, T1 finds the bit, and W1 comes before T2 (W2 releases, T1
//! acquires). The shut-down bit goes the same way. Model: `no_event_is_lost_to_a_waiter`, for each place.
//!
//! *No event for a predecessor.* An event may lie in the selector's buffer while its resource is deregistered and the slot
//! handed on. Its token names the generation it is for:
//!
//! ```text
//! turn                                     owner leaves
//! D1 load the word       (acquire)         F1 store the next generation
//! D2 load the generation, compare          F2 RMW the word: clear all, set the era  (release)
//! D3 CAS the word from what D1 saw
//! ```
//!
//! If F2 is before D1, D2 sees F1 and the event is dropped. If F2 is between D1 and D3, D3 fails and all is looked at again.
//! Else the event came while the owner was there. (D3 could be fooled if, between D1 and D3, the slot changed hands 64 times
//! and both ticks went round.) Model: `an_event_never_reaches_the_successor`.
//!
//! *Clearing* is a CAS that compares the ticks in the same word: `word::cleared`. Model: `clear_keeps_a_newer_event`.
//!
//! Every change of `word` is a read-modify-write, so a release by F2 is seen through all later ones.

use super::Readiness;
use super::waiter::Waiter;
use super::word::{Place, ReadyEvent, Word};
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use nezumi_queue::list::LinkedList;
use nezumi_wake::{AtomicWaker, WakeList, contain};
use std::task::{Poll, Waker};

/// The state of one registered resource, on cache lines of its own.
#[repr(align(128))]
pub(super) struct Slot {
    word: AtomicU64,
    /// Which of the slot's owners this is. Changed by the owner that leaves.
    generation: AtomicU32,
    /// The next slot that is free, while this one is. Guarded by the lock in `slots`.
    pub(super) next_free: AtomicU32,
    reader: AtomicWaker,
    writer: AtomicWaker,
    /// Those who wait beside the one reader and the one writer.
    pub(super) queue: Mutex<LinkedList<Waiter>>,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self::with_word(Word::NEW)
    }

    /// Starts from `word`. For tests of what happens when a tick wraps.
    pub(super) fn with_word(word: Word) -> Self {
        Slot {
            word: AtomicU64::new(word.0),
            generation: AtomicU32::new(0),
            next_free: AtomicU32::new(0),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            queue: Mutex::new(LinkedList::new()),
        }
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// What is known now.
    pub(super) fn word(&self) -> Word {
        // Acquire: pairs with the release of whoever set readiness, as the operation that follows may rely on it.
        Word(self.word.load(Ordering::Acquire))
    }

    /// Applies a pure transition, for those who hold the registration. Returns the word before.
    fn change(&self, f: impl Fn(Word) -> Word) -> Word {
        // Release: F2 of the module header. Nothing is acquired: what they do next does not rest on what was found here.
        match self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| Some(f(Word(word)).0)) {
            Ok(before) | Err(before) => Word(before),
        }
    }

    /// Says that somebody stands in `place`. Returns the word before.
    pub(super) fn mark(&self, place: Place) -> Word {
        // Release: publishes the waker left in the place (W2). Acquire: sees what an event before it published.
        Word(self.word.fetch_or(place.bit(), Ordering::AcqRel))
    }

    /// Waits in the reader's or the writer's place. Whoever stood there before is forgotten.
    pub(super) fn poll(&self, place: Place, waker: &Waker) -> Poll<ReadyEvent> {
        let wants = place.wants();
        if let Some(event) = self.word().ends_wait(wants) {
            return Poll::Ready(event);
        }
        self.single(place).register(waker);
        match self.mark(place).ends_wait(wants) {
            Some(event) => Poll::Ready(event),
            None => Poll::Pending,
        }
    }

    fn single(&self, place: Place) -> &AtomicWaker {
        match place {
            Place::Writer => &self.writer,
            Place::Reader | Place::Queue => &self.reader,
        }
    }

    /// Takes readiness for granted until an operation finds out.
    pub(super) fn assume(&self, ready: Readiness) {
        self.change(|word| word.assumed(ready));
    }

    /// Takes back what `event` said, unless a newer event has said it again.
    pub(super) fn clear(&self, event: ReadyEvent) {
        self.change(|word| word.cleared(event));
    }

    /// An event came for the owner of `generation`. Returns whether that one is still there.
    pub(super) fn dispatch(&self, generation: u32, says: Readiness, wakes: &mut Wakes) -> bool {
        let mut word = self.word(); // D1
        loop {
            // D2. Relaxed: ordered after D1 by its Acquire, and F1 before F2 by that one's Release.
            if self.generation() != generation {
                return false;
            }
            let next = word.dispatched(says).0;
            // D3, which is T1.
            match self.word.compare_exchange_weak(word.0, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => word = Word(now),
            }
        }
        self.wake(word, says, wakes);
        true
    }

    /// The driver goes: every wait ends, now and later.
    pub(super) fn shut_down(&self, wakes: &mut Wakes) {
        let before = Word(self.word.fetch_or(Word::SHUTDOWN, Ordering::AcqRel));
        self.wake(before, Readiness::ALL, wakes);
    }

    /// Wakes those who, by the word before, waited for what an event says.
    fn wake(&self, before: Word, says: Readiness, wakes: &mut Wakes) {
        for place in [Place::Reader, Place::Writer] {
            if before.has_waiter(place) && says.intersects(place.wants()) {
                if let Some(waker) = self.single(place).take() {
                    wakes.push(waker);
                }
            }
        }
        if before.has_waiter(Place::Queue) {
            self.wake_queue(says, wakes);
        }
    }

    /// Off the path of sockets with one reader and one writer. Those who come to wait meanwhile are not met by the loop,
    /// so it ends.
    #[cold]
    fn wake_queue(&self, says: Readiness, wakes: &mut Wakes) {
        Waiter::call(&self.queue, says, wakes, || {
            // Under the lock, so no one can have come to wait: `mark` is called under it as well.
            self.word.fetch_and(!Place::Queue.bit(), Ordering::AcqRel);
        });
    }

    /// The owner leaves. What wakers he left here come back, to be dropped under no lock.
    pub(super) fn leave(&self, next_generation: u32) -> [Option<Waker>; 2] {
        // F1. Relaxed: F2 releases it.
        self.generation.store(next_generation, Ordering::Relaxed);
        let before = self.change(|word| word.freed(next_generation)); // F2
        // A place whose bit is not set is empty, or is being emptied by a turn.
        let left = [Place::Reader, Place::Writer]
            .map(|place| before.has_waiter(place).then(|| self.single(place).take()).flatten());
        if before.has_waiter(Place::Queue) {
            // Somebody hangs there only if his future was forgotten where it stood; the slot must not keep his waker.
            Waiter::dismiss(&self.queue);
        }
        left
    }
}

/// Wakers on their way out of one turn: woken in batches, under no lock of ours.
///
/// A waker that panics has told the panic hook; the wakes and the events after it must not be lost with it, so the
/// panic ends here.
#[derive(Default)]
pub(super) struct Wakes {
    list: WakeList,
}

impl Wakes {
    pub(super) fn is_full(&self) -> bool {
        !self.list.can_push()
    }

    /// Adds a waker. Must not be called under a lock when full.
    pub(super) fn push(&mut self, waker: Waker) {
        if self.is_full() {
            self.wake_all();
        }
        self.list.push(waker);
    }

    pub(super) fn wake_all(&mut self) {
        contain(|| self.list.wake_all());
    }
}
