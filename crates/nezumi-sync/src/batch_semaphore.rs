//! Permits, handed out in batches, first come, first served.
//!
//! Called by `semaphore`, `mutex`, `rwlock`, `once_cell` and the bounded `mpsc`. Knows nothing of what the permits stand
//! for.
//!
//! Promise: an acquire that could be served is served; nobody overtakes the head of the queue; permits granted to a
//! future that is dropped go on to those who wait.
//!
//! One word holds everything that the fast paths need: `permits << 2 | WAITERS | CLOSED`. While nobody waits, acquiring is
//! one CAS and releasing one `fetch_add`. WAITERS says that the queue is not empty: then the permits in the word belong to
//! the head of the queue, and nobody takes them but the holder of the queue's lock. So a waiter needs no partial share
//! of its own: it is granted all it asked for at once, and until then it holds nothing that could be lost.
//!
//! ```text
//! acquirer                                   releaser
//! A1 lock the queue                          R1 fetch_add permits (release)
//! A2 CAS: set WAITERS, unless enough there   R2 saw WAITERS: lock the queue,
//! A3 link the node, unlock                      grant to the heads while the permits last
//! ```
//!
//! Both write the one word, so one comes first. A2 first: R1 sees WAITERS, and R2 waits for A3. R1 first: A2's CAS fails
//! or finds the permits. A releaser that knows beforehand that somebody waits skips R1 and hands its permits to the heads
//! directly.
//!
//! WAITERS changes only under the lock, is set exactly while the queue is not empty when the lock is free, and every write
//! of the word is a read-modify-write. Hence whoever reads the word with Acquire sees what every releaser before wrote (the
//! release sequence is never broken), and may pass the permits on.
//!
//! Closing ends that: it hands the head what the word held, and the head, refused, gives it back when it is dropped. So a
//! channel that is closed under a reservation of many is idle only when that has gone.
//!
//! A node belongs to the lock while it is linked. The granter unlinks it and takes its waker, and only then, as its last
//! touch of the node, stores its `share`: from there on the node is its future's alone, which may free it without locking.
//!
//! A future takes its permits, or its place in the queue, before it asks for a unit of the task's budget: a task that has
//! used its budget up does not lose its turn. Without budget it keeps what it got, and tells its caller the next time. To be refused costs nothing.
//!
//! Tests: `tests` below, property `behaves_like_a_fair_counter` in `semaphore`; loom: `models` below, one for each pair of
//! acquire, release, drop of an acquire, and close.

use crate::wakers::{Batches, WakerSlot};
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::sync::{Mutex, MutexGuard};
use nezumi_queue::list::{Link, LinkedList, Links};
use nezumi_trace::{Granted, Slot, Waiting};
use nezumi_wake::{FirstPanic, block_on, coop, entered, leaf};
use pin_project_lite::pin_project;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

const CLOSED: usize = 0b01;
const WAITERS: usize = 0b10;
const SHIFT: u32 = 2;

/// The semaphore under all others.
pub(crate) struct Semaphore {
    /// For subscribers of `tracing`, who are told under no lock, of permits that come before they are there, of those that go when they are gone; empty without that feature.
    pub(crate) trace: nezumi_trace::Permits,
    /// `permits << SHIFT | WAITERS | CLOSED`.
    word: AtomicUsize,
    queue: Mutex<LinkedList<Waiter>>,
}

/// Says that a [`Semaphore`](crate::Semaphore) was closed while, or before, permits were asked of it.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Semaphore;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Semaphore::new(1);
/// semaphore.close();
/// assert!(semaphore.acquire().await.is_err());
/// # }
/// ```
#[derive(Debug)]
pub struct AcquireError(());

/// Why permits could not be had at once.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{Semaphore, TryAcquireError};
///
/// let semaphore = Semaphore::new(0);
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// semaphore.close();
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is [closed](crate::Semaphore::close) and gives out no more permits.
    Closed,

    /// There are not enough permits, or others have been waiting for longer.
    NoPermits,
}

impl Semaphore {
    /// How many permits there may be. The same limit as Tokio's.
    pub(crate) const MAX_PERMITS: usize = usize::MAX >> 3;

    const_fn! {
        /// A semaphore with `permits` permits, at most [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
        pub(crate) fn new(permits: usize) -> Self {
            assert_in_range(permits);
            Self {
                trace: nezumi_trace::Permits::none(),
                word: AtomicUsize::new(permits << SHIFT),
                queue: Mutex::new(LinkedList::new()),
            }
        }
    }

    const_fn! {
        /// A semaphore without permits that is closed from the start.
        pub(crate) fn new_closed() -> Self {
            Self {
                trace: nezumi_trace::Permits::none(),
                word: AtomicUsize::new(CLOSED),
                queue: Mutex::new(LinkedList::new()),
            }
        }
    }

    /// A semaphore that subscribers of `tracing` are told of.
    #[track_caller]
    pub(crate) fn traced(permits: usize, trace: nezumi_trace::Permits) -> Self {
        let mut semaphore = Self::new(permits);
        semaphore.trace = trace;
        semaphore
    }

    /// How many permits a newcomer could have. None while others wait: what there is then is theirs.
    #[inline]
    pub(crate) fn available_permits(&self) -> usize {
        let word = self.word.load(Ordering::Acquire);
        if word & WAITERS == 0 { word >> SHIFT } else { 0 }
    }

    /// Whether [`close`](Self::close) was called.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Takes `permits` if they are there and nobody waits. No permits are there unless it is closed.
    #[inline]
    #[track_caller]
    pub(crate) fn try_acquire(&self, permits: usize) -> Result<(), TryAcquireError> {
        assert_in_range(permits);
        self.take(permits)?;
        self.telling(permits, || self.trace.taken(permits));
        Ok(())
    }

    /// Tells that permits were taken, by `tell`. They go back if that panics.
    #[inline]
    fn telling(&self, permits: usize, tell: impl FnOnce()) {
        struct GiveBack<'a>(&'a Semaphore, usize);

        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.put_back(self.1);
            }
        }

        if nezumi_trace::IS_ON {
            let give_back = GiveBack(self, permits);
            tell();
            std::mem::forget(give_back);
        }
    }

    #[inline]
    fn take(&self, permits: usize) -> Result<(), TryAcquireError> {
        let need = permits << SHIFT;
        // Acquire, here and on failure: pairs with the Release in `close`; who is refused sees what the closer wrote.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & CLOSED != 0 {
                return Err(TryAcquireError::Closed);
            }
            if need == 0 {
                return Ok(());
            }
            if word & WAITERS != 0 || word < need {
                return Err(TryAcquireError::NoPermits);
            }
            // Acquire: pairs with the Release in `release` and `settle`; what their callers wrote is visible to ours.
            match self.word.compare_exchange_weak(word, word - need, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(seen) => word = seen,
            }
        }
    }

    /// Waits until `permits` can be had at once, behind all who asked before.
    #[inline]
    #[track_caller]
    pub(crate) fn acquire(&self, permits: usize) -> Acquire<'_> {
        assert_in_range(permits);
        let waiting = self.trace.acquire(permits);
        Acquire { semaphore: self, queued: false, waiting, waiter: Waiter::new(permits) }
    }

    /// [`acquire`](Self::acquire) for a thread that may block.
    #[track_caller]
    pub(crate) fn blocking_acquire(&self, permits: usize) -> Result<(), AcquireError> {
        entered::assert_may_block();
        // Without waiting if that is possible: `block_on` allocates.
        match self.try_acquire(permits) {
            Ok(()) => Ok(()),
            Err(TryAcquireError::Closed) => Err(AcquireError(())),
            Err(TryAcquireError::NoPermits) => block_on(self.acquire(permits)),
        }
    }

    /// Adds permits, and serves those at the head of the queue whom they suffice.
    #[inline]
    #[track_caller]
    pub(crate) fn release(&self, permits: usize) {
        self.release_telling(permits, || {});
    }

    /// The same. Subscribers of `tracing` are told by `tell` before it, so that whatever they are told of those who take the
    /// permits comes after.
    #[inline]
    #[track_caller]
    pub(crate) fn release_telling(&self, permits: usize, tell: impl FnOnce()) {
        struct PutBack<'a>(&'a Semaphore, usize);

        impl Drop for PutBack<'_> {
            fn drop(&mut self) {
                self.0.put_back(self.1);
            }
        }

        if permits == 0 {
            return tell();
        }
        if nezumi_trace::IS_ON {
            // Also when telling panics.
            let put_back = PutBack(self, permits);
            tell();
            self.trace.added(permits);
            std::mem::forget(put_back);
        }
        self.put_back(permits);
    }

    #[inline]
    #[track_caller]
    fn put_back(&self, permits: usize) {
        assert!(
            permits <= Self::MAX_PERMITS,
            "cannot add more than MAX_PERMITS permits ({})",
            Self::MAX_PERMITS
        );
        // Relaxed: only a hint which of the two ways is the shorter.
        if self.word.load(Ordering::Relaxed) & WAITERS != 0 {
            return self.serve(self.queue.lock(), permits);
        }
        // Release: pairs with the Acquire in `take` and `grant`.
        let before = self.word.fetch_add(permits << SHIFT, Ordering::Release);
        assert_no_overflow(before, permits);
        if before & WAITERS != 0 {
            // Somebody came to wait since: the permits in the word are theirs.
            self.serve(self.queue.lock(), 0);
        }
    }

    /// Takes up to `permits` out of the world, and returns how many. Those who wait are not robbed.
    pub(crate) fn forget_permits(&self, permits: usize) -> usize {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let taken = if word & WAITERS == 0 { permits.min(word >> SHIFT) } else { 0 };
            if taken == 0 {
                return 0;
            }
            let rest = word - (taken << SHIFT);
            // Acquire: as in `take`.
            match self.word.compare_exchange_weak(word, rest, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    self.trace.taken(taken);
                    return taken;
                }
                Err(seen) => word = seen,
            }
        }
    }

    /// Refuses all who wait and all who come. Permits that are out can still be released.
    pub(crate) fn close(&self) {
        let mut wakers = Batches::new();
        let mut of_head = 0;
        let mut queue = self.queue.lock();
        // From here on nobody joins the queue (`enqueue` looks under the lock), so the loop ends. Release: pairs with the
        // Acquire in `is_closed` and `take`. No Acquire: the head, which is refused, gives its share back to the word, and whoever
        // reads that there sees what the releasers wrote.
        let word = self.word.fetch_or(CLOSED, Ordering::Release);
        if let Some(head) = queue.front() {
            // SAFETY: it is linked and the lock is held, so its future has not freed it.
            let head = unsafe { head.as_ref() };
            let share = head.permits.min(word >> SHIFT);
            of_head = share;
            if share > 0 {
                // Relaxed: what it held goes on by the share. WAITERS is set: others only add to the word.
                self.word.fetch_sub(share << SHIFT, Ordering::Relaxed);
                // SAFETY: the lock is held.
                wakers.push(unsafe { head.waker.take() });
                queue.pop_front();
                // The last touch, as in `grant`.
                head.share.store(share, Ordering::Release);
            }
        }
        loop {
            while wakers.has_room() {
                let Some(waiter) = queue.pop_front() else { break };
                // SAFETY: it was linked, so its future has not freed it, and the lock is held. It is not touched after this.
                wakers.push(unsafe { waiter.as_ref().waker.take() });
            }
            let emptied = queue.is_empty();
            if emptied {
                // Relaxed: it only says what the lock knows; as a read-modify-write it keeps what others released.
                self.word.fetch_and(!WAITERS, Ordering::Relaxed);
            }
            drop(queue);
            if emptied {
                wakers.wake_last();
                if of_head > 0 {
                    self.trace.taken(of_head);
                }
                return;
            }
            wakers.wake();
            queue = self.queue.lock();
        }
    }

    /// Serves the heads of the queue with the permits in the word and `in_hand` more, and wakes them.
    #[cold]
    #[track_caller]
    fn serve<'a>(&'a self, mut queue: MutexGuard<'a, LinkedList<Waiter>>, mut in_hand: usize) {
        let mut wakers = Batches::new();
        let mut granted = Granted::new();
        loop {
            let (before, served_all) = self.grant(&mut queue, in_hand, &mut wakers, &mut granted);
            drop(queue);
            if served_all {
                wakers.wake_last();
                assert_no_overflow(before, in_hand);
                return self.trace.served(granted);
            }
            in_hand = 0;
            wakers.wake();
            queue = self.queue.lock();
        }
    }

    /// Grants to the heads while the permits last and `wakers` has room. Returns the word as it was, and whether all are
    /// served who can be.
    fn grant(
        &self,
        queue: &mut LinkedList<Waiter>,
        in_hand: usize,
        wakers: &mut Batches,
        granted: &mut Granted,
    ) -> (usize, bool) {
        // Acquire: pairs with the Release of every releaser whose permits we pass on.
        let word = self.word.load(Ordering::Acquire);
        let mut left = (word >> SHIFT) + in_hand;
        let mut served_all = true;
        while let Some(head) = queue.front() {
            // SAFETY: it is linked and the lock is held, so its future has not freed it.
            let waiter = unsafe { head.as_ref() };
            if waiter.permits > left {
                break;
            }
            if !wakers.has_room() {
                served_all = false;
                break;
            }
            left -= waiter.permits;
            queue.pop_front();
            // SAFETY: the lock is held.
            unsafe {
                wakers.push(waiter.waker.take());
                granted.push(&waiter.slot, waiter.permits);
            }
            // The last touch: the future may free the node at once. Release: pairs with the Acquire in `share`; hands on what
            // the releasers wrote.
            waiter.share.store(waiter.permits, Ordering::Release);
        }
        // The word may have grown since it was read. It is changed by the difference, never overwritten: whoever added to it
        // saw WAITERS and comes after us.
        let mut change = left.wrapping_sub(word >> SHIFT) << SHIFT;
        if word & WAITERS != 0 && queue.is_empty() {
            change = change.wrapping_sub(WAITERS);
        }
        if change != 0 {
            // Release: pairs with the Acquire in `take` and `grant`; some of `in_hand` may be among it.
            self.word.fetch_add(change, Ordering::Release);
        }
        (word, served_all)
    }

    /// Joins the queue, unless the permits can be had by now.
    #[cold]
    fn enqueue(
        &self,
        waiter: Pin<&Waiter>,
        waiting: &Waiting,
        cx: &Context<'_>,
    ) -> Poll<Result<(), AcquireError>> {
        // Before the lock: to clone is to run the user's code. Declared first, so that it is dropped after the lock, too.
        let waker = cx.waker().clone();
        // SAFETY: a waiter is shared from the moment on when it is queued, which it has never been.
        unsafe { waiter.slot.keep(waiting) };
        let mut queue = self.queue.lock();
        let need = waiter.permits << SHIFT;
        // Relaxed: CLOSED and WAITERS are set under the lock, which orders them.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & CLOSED != 0 {
                return Poll::Ready(Err(AcquireError(())));
            }
            if word & WAITERS != 0 {
                break;
            }
            let enough = word >= need;
            let next = if enough { word - need } else { word | WAITERS };
            // Acquire: as in `take`.
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if enough => return Poll::Ready(Ok(())),
                Ok(_) => break,
                Err(seen) => word = seen,
            }
        }
        // SAFETY: the lock is held. The future queues once and is pinned; its drop takes the node out, or finds it granted,
        // which unlinked it.
        unsafe {
            let former = waiter.waker.replace(Some(waker));
            debug_assert!(former.is_none(), "a waiter that is not queued holds no waker");
            queue.push_back(NonNull::from(waiter.get_ref()));
        }
        Poll::Pending
    }

    /// What a queued waiter finds: granted, refused, or still waiting, with the waker of `cx` from now on.
    fn poll_queued(&self, waiter: Pin<&Waiter>, cx: &Context<'_>) -> Poll<Result<(), AcquireError>> {
        if let Poll::Ready(result) = self.outcome(&waiter) {
            return Poll::Ready(result);
        }
        let mut fresh = None;
        loop {
            let queue = self.queue.lock();
            if let Poll::Ready(result) = self.outcome(&waiter) {
                drop(queue);
                return Poll::Ready(result);
            }
            // SAFETY: the lock is held.
            if unsafe { waiter.waker.would_wake(cx.waker()) } {
                drop(queue);
                return Poll::Pending;
            }
            if fresh.is_some() {
                // SAFETY: the lock is held.
                let stale = unsafe { waiter.waker.replace(fresh) };
                drop(queue);
                drop(stale);
                return Poll::Pending;
            }
            drop(queue);
            fresh = Some(cx.waker().clone());
        }
    }

    fn outcome(&self, waiter: &Waiter) -> Poll<Result<(), AcquireError>> {
        if self.is_closed() {
            // Even if it was granted before: its drop gives the permits back.
            Poll::Ready(Err(AcquireError(())))
        } else if waiter.is_granted() {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// A waiter goes away before it could tell whether it was granted.
    #[cold]
    fn abandon(&self, waiter: Pin<&Waiter>) {
        if waiter.share() == 0 {
            let mut queue = self.queue.lock();
            if waiter.share() == 0 {
                let node = NonNull::from(waiter.get_ref());
                let was_head = queue.front() == Some(node);
                // SAFETY: the node is live, it is in this list or (closed) in none, and the lock is held.
                let waker = unsafe {
                    queue.remove(node);
                    waiter.waker.take()
                };
                let mut panics = FirstPanic::new();
                if was_head {
                    // Those behind may ask for less; or none is left, and WAITERS must go.
                    panics.run(|| self.serve(queue, 0));
                } else {
                    drop(queue);
                }
                panics.run(|| drop(waker));
                return panics.resume();
            }
        }
        self.release(waiter.share());
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.available_permits()).finish()
    }
}

/// Also said at compile time, where numbers cannot be formatted.
const TOO_MANY: &str = match usize::BITS {
    64 => "a semaphore may not have more than MAX_PERMITS permits (2305843009213693951)",
    32 => "a semaphore may not have more than MAX_PERMITS permits (536870911)",
    _ => "a semaphore may not have more than MAX_PERMITS permits (usize::MAX >> 3)",
};

#[inline]
#[track_caller]
const fn assert_in_range(permits: usize) {
    assert!(permits <= Semaphore::MAX_PERMITS, "{}", TOO_MANY);
}

/// The word has two bits of room above `MAX_PERMITS`: what was added in excess has not touched the flags.
#[inline]
#[track_caller]
fn assert_no_overflow(before: usize, added: usize) {
    assert!(
        added == 0 || (before >> SHIFT) + added <= Semaphore::MAX_PERMITS,
        "number of added permits ({added}) would overflow MAX_PERMITS ({})",
        Semaphore::MAX_PERMITS
    );
}

/// For a lock, whose semaphore is never closed.
#[inline]
pub(crate) fn granted(acquired: Result<(), AcquireError>) {
    #[cold]
    fn closed() -> ! {
        unreachable!("the semaphore of a lock is never closed")
    }

    if acquired.is_err() {
        closed();
    }
}

/// A place in the queue.
struct Waiter {
    links: Links,
    /// How many it waits for, at least 1 if it is queued. Never changes.
    permits: usize,
    /// How many it was given when it was taken out of the queue: all, or fewer by `close`. 0 until then.
    share: AtomicUsize,
    waker: WakerSlot,
    slot: Slot,
}

// SAFETY: `links` is a field of the type `Links`, which only the list touches.
unsafe impl Link for Waiter {
    const OFFSET: usize = std::mem::offset_of!(Waiter, links);
}

impl Waiter {
    #[inline]
    fn new(permits: usize) -> Self {
        Self {
            links: Links::new(),
            permits,
            share: AtomicUsize::new(0),
            waker: WakerSlot::new(),
            slot: Slot::new(),
        }
    }

    fn share(&self) -> usize {
        // Acquire: pairs with the Release in `grant` and `close`.
        self.share.load(Ordering::Acquire)
    }

    fn is_granted(&self) -> bool {
        self.share() == self.permits
    }
}

pin_project! {
    /// Waits for permits. Dropped when queued, it leaves the queue; dropped when granted but not polled since, the permits go
    /// back.
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Acquire<'a> {
        semaphore: &'a Semaphore,
        // Whether the waiter has joined the queue and has not yet told the caller that it was granted.
        queued: bool,
        waiting: Waiting,
        #[pin]
        waiter: Waiter,
    }

    impl PinnedDrop for Acquire<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if *this.queued {
                this.semaphore.abandon(this.waiter.as_ref());
            }
        }
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("permits", &self.waiter.permits)
            .field("queued", &self.queued)
            .finish()
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !*this.queued {
            // Before it takes anything: who only looks must leave the permits where they are.
            ready!(leaf::poll_leaf(cx));
        }
        let waiter = this.waiter.as_ref();
        let trace = &this.semaphore.trace;
        let inside = trace.enter(this.waiting);
        let was_queued = *this.queued;
        let result = if was_queued {
            match this.semaphore.poll_queued(waiter, cx) {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    trace.polled(false);
                    return Poll::Pending;
                }
            }
        } else {
            match this.semaphore.take(waiter.permits) {
                Ok(()) => Ok(()),
                Err(TryAcquireError::Closed) => Err(AcquireError(())),
                Err(TryAcquireError::NoPermits) => match this.semaphore.enqueue(waiter, this.waiting, cx) {
                    Poll::Ready(result) => result,
                    Poll::Pending => {
                        *this.queued = true;
                        trace.taken(0);
                        trace.polled(false);
                        return Poll::Pending;
                    }
                },
            }
        };
        if result.is_err() {
            trace.polled(true);
            inside.leave();
            return Poll::Ready(result);
        }
        let taken = !was_queued;
        let Poll::Ready(coop) = coop::poll_proceed(cx) else {
            if waiter.permits > 0 {
                // As if it had been queued and granted: they are told of the next time, or go back.
                waiter.share.store(waiter.permits, Ordering::Relaxed);
                *this.queued = true;
            }
            if taken {
                trace.taken(waiter.permits);
                trace.obtained(waiter.permits);
            }
            trace.polled(false);
            return Poll::Pending;
        };
        if taken {
            this.semaphore.telling(waiter.permits, || {
                trace.taken(waiter.permits);
                trace.obtained(waiter.permits);
                trace.polled(true);
                inside.leave();
            });
        } else {
            trace.polled(true);
            inside.leave();
        }
        // The permits are the caller's now.
        *this.queued = false;
        coop.made_progress();
        Poll::Ready(result)
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

#[cfg(all(test, nezumi_loom))]
mod models;
