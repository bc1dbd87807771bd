//! One place for one message, and the bed of a receiver that waits for it.
//!
//! Messages are received in order, so a receiver waits for one slot at a time, and the sender of that very slot wakes it: no
//! other sender looks at, or writes, anything of the receiver's.
//!
//! ```text
//! state     means                                      value cell       waker cell (of the channel)
//! EMPTY     nothing is here                            its sender's     the receiver's
//! WAITING   the receiver waits for what comes here     its sender's     full; of who moves the state on
//! TAKING    a sender takes the waker out               its sender's     that sender's
//! READY     a message is here                          the receiver's   the receiver's
//! END       nothing will come here                     nobody's         the receiver's
//! ```
//!
//! ```text
//! sender                                  receiver
//! S1 write the value                      R1 write the waker
//! S2 CAS EMPTY -> READY                   R2 CAS EMPTY -> WAITING
//!    or CAS WAITING -> TAKING, take the      fails: take the waker back, look again
//!    waker, store READY, wake
//! ```
//!
//! S2 and R2 change one word: if S2 is first, R2 fails and the receiver sees READY; if R2 is first, S2 finds the waker. The
//! slot is not touched by its sender after it is READY, nor by the receiver after it is EMPTY again.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicU8, Ordering};
use nezumi_wake::drop_each;
use std::mem::MaybeUninit;
use std::task::Waker;

const EMPTY: u8 = 0;
const WAITING: u8 = 1;
const TAKING: u8 = 2;
const READY: u8 = 3;
const END: u8 = 4;

pub(super) struct Slot<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    state: AtomicU8,
}

/// What a receiver finds in a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Message,
    End,
    Nothing,
}

/// Where the one waker of a channel lies while its receiver waits.
pub(super) struct Bed(UnsafeCell<MaybeUninit<Waker>>);

impl Bed {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    ///
    /// The cell is empty, and the caller's.
    unsafe fn put(&self, waker: Waker) {
        // SAFETY: as the caller promises.
        self.0.with_mut(|cell| unsafe { (*cell).write(waker) });
    }

    /// # Safety
    ///
    /// The cell is full, and the caller's. It counts as empty after this.
    unsafe fn take(&self) -> Waker {
        // SAFETY: as the caller promises. A plain read, so that it may overlap `would_wake`.
        self.0.with(|cell| unsafe { (*cell).assume_init_read() })
    }

    /// # Safety
    ///
    /// The caller is the receiver, and filled the cell.
    unsafe fn would_wake(&self, waker: &Waker) -> bool {
        // SAFETY: only the receiver writes the cell. A sender may be moving the waker out, which only reads; `will_wake` looks
        // at the two words of a waker, not at what they point to.
        self.0.with(|cell| unsafe { (*cell).assume_init_ref().will_wake(waker) })
    }
}

impl<T> Slot<T> {
    pub(super) fn new() -> Self {
        Self { value: UnsafeCell::new(MaybeUninit::uninit()), state: AtomicU8::new(EMPTY) }
    }

    #[inline]
    pub(super) fn look(&self) -> Found {
        // Acquire: pairs with the Release in `publish`; the message is visible.
        match self.state.load(Ordering::Acquire) {
            READY => Found::Message,
            END => Found::End,
            _ => Found::Nothing,
        }
    }

    /// Puts a message in. Returns the waker of a receiver that waits for it.
    ///
    /// # Safety
    ///
    /// The caller claimed this slot, and fills it once.
    #[inline]
    pub(super) unsafe fn fill(&self, value: T, bed: &Bed) -> Option<Waker> {
        // SAFETY: the cell is its sender's until READY.
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
        // SAFETY: `bed` is this channel's.
        unsafe { self.publish(READY, bed) }
    }

    /// Says that nothing will come here, or anywhere after. Returns the waker of a receiver that waits for it.
    ///
    /// # Safety
    ///
    /// Nobody claimed this slot, or will.
    pub(super) unsafe fn end(&self, bed: &Bed) -> Option<Waker> {
        // SAFETY: `bed` is this channel's.
        unsafe { self.publish(END, bed) }
    }

    /// # Safety
    ///
    /// `bed` is that of the channel of this slot.
    #[inline]
    unsafe fn publish(&self, what: u8, bed: &Bed) -> Option<Waker> {
        let mut now = EMPTY;
        loop {
            // Release: publishes the value to `look`, and, in a ring, lets the state's next life begin after this one.
            // Acquire (WAITING -> TAKING): pairs with the Release in `wait`; the waker is visible.
            let next = if now == EMPTY { what } else { TAKING };
            match self.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(EMPTY) => return None,
                Ok(_) => break,
                Err(found @ (EMPTY | WAITING)) => now = found,
                // Two may say that it is the end.
                Err(_) => {
                    debug_assert!(what == END);
                    return None;
                }
            }
        }
        // SAFETY: we moved the state from WAITING to TAKING.
        let waker = unsafe { bed.take() };
        // Release: publishes the value, and gives the emptied bed back.
        self.state.store(what, Ordering::Release);
        Some(waker)
    }

    /// Takes the message out, and leaves the slot empty.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, and found a message here.
    #[inline]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: READY, seen with Acquire, makes the cell the receiver's, and full.
        let value = self.value.with(|cell| unsafe { (*cell).assume_init_read() });
        // Relaxed: the slot's next sender is ordered after this by what it learns the room from: a permit, or a block.
        self.state.store(EMPTY, Ordering::Relaxed);
        value
    }

    /// Leaves `waker` to be woken by what comes here. False if it has come: look again.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, `bed` is its channel's, and this is the only slot it waits for.
    pub(super) unsafe fn wait(&self, waker: &Waker, bed: &Bed) -> bool {
        let mut fresh = None;
        let mut stale = None;
        loop {
            // Relaxed: EMPTY and WAITING are the receiver's own; whatever else it is, the caller looks again.
            match self.state.load(Ordering::Relaxed) {
                EMPTY => {
                    // To clone is to run the user's code: the bed is ours and empty, so it may do what it likes.
                    // SAFETY: EMPTY: the bed is the receiver's.
                    unsafe { bed.put(fresh.take().unwrap_or_else(|| waker.clone())) };
                    // Release: publishes the waker to `publish`.
                    let waits =
                        self.state.compare_exchange(EMPTY, WAITING, Ordering::Release, Ordering::Relaxed);
                    if waits.is_ok() {
                        drop(stale);
                        return true;
                    }
                    // SAFETY: it was not published.
                    fresh = Some(unsafe { bed.take() });
                }
                // SAFETY: we filled the bed when we made this WAITING.
                WAITING if unsafe { bed.would_wake(waker) } => return true,
                WAITING => {
                    if fresh.is_none() {
                        fresh = Some(waker.clone());
                    }
                    // SAFETY: as for this function.
                    stale = unsafe { self.stop_waiting(bed) };
                }
                TAKING => {
                    drop_each([fresh, stale]);
                    // Whoever waited here before is about to be woken, and the message to be ready. If that was another task
                    // than ours, ours must look again by itself.
                    waker.wake_by_ref();
                    nezumi_prim::hint::spin_loop();
                    return true;
                }
                _ => {
                    drop_each([fresh, stale]);
                    return false;
                }
            }
        }
    }

    /// Takes the waker back, unless a sender is at it.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, and `bed` is its channel's.
    pub(super) unsafe fn stop_waiting(&self, bed: &Bed) -> Option<Waker> {
        // Relaxed: the waker is our own; a message, if there is one, is looked at with Acquire.
        self.state
            .compare_exchange(WAITING, EMPTY, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
            // SAFETY: we moved the state from WAITING.
            .then(|| unsafe { bed.take() })
    }
}
