//! The one allocation of a oneshot channel: the state word and the three cells that it guards.

use super::state::{OnLeave, Side, Snapshot, State};
use nezumi_prim::block;
use nezumi_prim::cell::UnsafeCell;
use nezumi_wake::drop_each;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

pub(super) struct Channel<T> {
    state: State,
    tx_waker: UnsafeCell<MaybeUninit<Waker>>,
    rx_waker: UnsafeCell<MaybeUninit<Waker>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Channel<T> {
    pub(super) fn allocate() -> NonNull<Self> {
        let room = block::room::<Self>();
        // SAFETY: the room is ours.
        unsafe {
            room.write(Self {
                state: State::new(),
                tx_waker: UnsafeCell::new(MaybeUninit::uninit()),
                rx_waker: UnsafeCell::new(MaybeUninit::uninit()),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            });
        }
        room
    }

    #[inline]
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    pub(super) fn snapshot(&self) -> Snapshot {
        self.state.load()
    }

    /// Says that `side` is gone, and frees the channel if the other one is, too.
    ///
    /// # Safety
    ///
    /// `channel` comes from [`allocate`](Self::allocate); the caller is `side`, has taken out whatever the state says is
    /// its own, and does not touch the channel again.
    #[inline]
    pub(super) unsafe fn leave(channel: NonNull<Self>, side: Side) {
        // SAFETY: this side is not gone yet, so the channel is not freed yet.
        if unsafe { channel.as_ref() }.state.leave(side) == OnLeave::Free {
            // SAFETY: both sides are gone; the second one is the only to see `Free`. The cells hold nothing any more, and
            // would not drop it.
            unsafe { block::free(channel) };
        }
    }

    /// Fills the value cell.
    ///
    /// # Safety
    ///
    /// The caller is the sender, and has not ended.
    #[inline]
    pub(super) unsafe fn put_value(&self, value: T) {
        // SAFETY: until `ENDED` the value cell is the sender's (table in the module header).
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
    }

    /// Empties the value cell.
    ///
    /// # Safety
    ///
    /// The cell is full and the caller's: the sender's until `ENDED`, the receiver's after. It is not read again.
    #[inline]
    pub(super) unsafe fn take_value(&self) -> T {
        // SAFETY: as the caller promises.
        self.value.with_mut(|cell| unsafe { (*cell).assume_init_read() })
    }

    fn place(&self, side: Side) -> &UnsafeCell<MaybeUninit<Waker>> {
        match side {
            Side::Tx => &self.tx_waker,
            Side::Rx => &self.rx_waker,
        }
    }

    /// Moves the waker of `side` out of its place.
    ///
    /// # Safety
    ///
    /// The caller cleared the `WAITS` bit of `side`, or failed to publish what it had put there; it calls this once.
    pub(super) unsafe fn take_waker(&self, side: Side) -> Waker {
        // SAFETY: the place is full, and the caller's since it cleared the bit. A plain read: see `wait`.
        self.place(side).with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Leaves `waker` to be woken when what `side` waits for happens. False if it has happened, and nothing was left.
    ///
    /// # Safety
    ///
    /// The caller is `side`, which calls this from one thread at a time.
    pub(super) unsafe fn wait(&self, side: Side, waker: &Waker) -> bool {
        let now = self.snapshot();
        if now.answered(side) {
            return false;
        }
        // User code (clone, drop) runs while the place is whole and published, or while it is ours alone.
        let mut old = None;
        if now.waits(side) {
            // SAFETY: we published it. The other side may be moving it out right now, which only reads; `will_wake`
            // looks at the two words of the waker and not at what they point to, and if the other side has it, it is
            // about to wake it.
            let same = self.place(side).with(|place| unsafe { (*place).assume_init_ref().will_wake(waker) });
            if same {
                return true;
            }
            let new = waker.clone();
            if !self.state.reclaim(side) {
                return false;
            }
            // SAFETY: `reclaim` cleared our bit.
            old = Some(unsafe { self.take_waker(side) });
            // SAFETY: the place is ours until `publish`.
            self.place(side).with_mut(|place| unsafe { (*place).write(new) });
        } else {
            let new = waker.clone();
            // SAFETY: the bit is clear, and only we set it: the place is ours and empty.
            self.place(side).with_mut(|place| unsafe { (*place).write(new) });
        }
        if self.state.publish(side) {
            drop(old);
            return true;
        }
        // SAFETY: it was not published, so it is still ours.
        let new = unsafe { self.take_waker(side) };
        drop_each([Some(new), old]);
        false
    }
}
