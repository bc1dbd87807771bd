//! The way in from outside: tasks spawned or woken by threads that own no ring.
//!
//! Called by `scheduler::schedule` off the workers, and by workers that look for work. Knows nothing of who sleeps.
//!
//! Promise: a push is one CAS that waits for nobody, allocates nothing, and is complete when it returns; what one thread
//! pushes with one hint comes out in that order; a push that races [`Inject::close`] is found by the closer's
//! [`Inject::take_all`] or is refused; a consumer that finds another at work goes on elsewhere.
//!
//! **Shards.** Each is two cache lines. On the producers' line stands a stack of arrivals (Treiber 1986), chained through
//! the items. On the consumers' line stand a token and the *line*: items in order of arrival. Whoever holds the token takes
//! all arrivals at once, turns them round, hangs them behind the line, and takes from its front. So each item is turned
//! once, and the time of a take is bounded by what it takes plus what came since the last one.
//!
//! A stack and not a queue of swap-then-link, since there a producer that is interrupted between its swap and its
//! link hides everything pushed after it, and workers would find a queue that is neither empty nor to be taken from. Here no
//! such state exists: before its CAS a push is invisible, after it the item can be taken.
//!
//! | word | written by | order, partner |
//! |---|---|---|
//! | `arrivals` | producers (CAS), token holder (swap) | push releases the item and its link; the swap acquires. SeqCst, for the idle protocol, as in `ring` |
//! | `arrivals == CLOSED` | closer, with the token, once | a push that sees it is refused; no one overwrites it |
//! | `token` | consumers (CAS), holder (store) | acquire / release: hands the line over |
//! | `line_len` | token holder | SeqCst store and load, for the idle protocol |
//! | `pushed`, `taken` | producers before their CAS / token holder | for `len` only; `taken` releases, so that `pushed` is never behind it |
//!
//! **A take is a push of what it leaves.** Between the swap and the store of `line_len` the items are in the taker's
//! hands, and `is_empty` does not count them. So a worker that takes must look at [`Inject::is_empty`] after, and if there
//! is more, wake another as if it had pushed that itself (fence, then look at the idle word). It is awake, so nothing is
//! stranded in between.
//!
//! Tests: `one_thread_is_first_in_first_out`, `behaves_like_a_deque`, `closing_refuses_and_keeps`,
//! `many_threads_lose_and_double_nothing`. Models: `two_producers_and_a_consumer`, `a_stalled_producer_hides_nobody`,
//! `two_consumers`, `a_push_races_the_close`, `who_closes_second_finds_it_closed`, `a_close_races_a_consumer`, `a_push_races_the_last_look`,
//! `a_take_races_the_last_look`, `len_counts_no_take_before_its_push`, `who_finds_it_closed_sees_why`.

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

use crate::{Batch, Item, look};
use nezumi_prim::CachePadded;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use nezumi_prim::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::fmt;
use std::ptr::{self, NonNull};

/// A queue for many producers, who never wait, and many consumers, who take batches and never wait either.
///
/// A *hint* chooses the shard where a call starts. A producer that gives the same hint each time keeps its order and its
/// cache line; the number is reduced to the number of shards.
pub struct Inject<T: Item> {
    shards: Box<[Shard<T>]>,
    closed: AtomicBool,
}

struct Shard<T: Item> {
    door: CachePadded<Door>,
    line: CachePadded<Line<T>>,
}

/// The producers' side.
struct Door {
    /// The newest arrival; its link leads to the one before it, and so on to null. Or [`CLOSED`].
    arrivals: AtomicPtr<()>,
    pushed: AtomicUsize,
}

/// The consumers' side.
struct Line<T: Item> {
    token: AtomicBool,
    /// Belongs to the holder of the token.
    items: UnsafeCell<Batch<T>>,
    line_len: AtomicUsize,
    taken: AtomicUsize,
}

/// What stands for the arrivals when none will come any more: no item has this address.
const CLOSED: *mut () = ptr::without_provenance_mut(1);

// SAFETY: it owns its items; those on their way in are reached by the holder of the token alone.
unsafe impl<T: Item + Send> Send for Inject<T> {}
// SAFETY: as above; the table in the module header says who writes what.
unsafe impl<T: Item + Send> Sync for Inject<T> {}

impl<T: Item> fmt::Debug for Inject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inject").field("len", &self.len()).field("is_closed", &self.is_closed()).finish()
    }
}

impl<T: Item> Inject<T> {
    /// An empty queue of `shards` shards, at least one, rounded up to a power of two.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        let shards = (0..shards.max(1).next_power_of_two()).map(|_| Shard::new()).collect();
        Self { shards, closed: AtomicBool::new(false) }
    }

    /// Adds `item`.
    ///
    /// # Errors
    ///
    /// Gives it back if the queue is closed.
    #[inline]
    pub fn push(&self, item: T, hint: usize) -> Result<(), T> {
        let item = item.into_raw();
        // SAFETY: a chain of one, fresh from `into_raw`.
        if unsafe { self.shard(hint).push_chain(item, item, 1) } {
            return Ok(());
        }
        // SAFETY: a refused push leaves the item ours.
        Err(unsafe { T::from_raw(item) })
    }

    /// Adds all items of `batch`, in their order, with one CAS.
    ///
    /// # Errors
    ///
    /// Gives the batch back if the queue is closed.
    pub fn push_batch(&self, mut batch: Batch<T>, hint: usize) -> Result<(), Batch<T>> {
        let Some((oldest, newest, len)) = batch.take_chain() else {
            return if self.is_closed() { Err(batch) } else { Ok(()) };
        };
        // SAFETY: the batch has let go of this chain, and `turn` needs the last link to be null.
        unsafe {
            T::link(newest).store(ptr::null_mut(), Relaxed);
            turn::<T>(oldest);
            if self.shard(hint).push_chain(newest, oldest, len) {
                return Ok(());
            }
            // Refused: the chain is still ours. Its last link may hold what was at the door.
            T::link(oldest).store(ptr::null_mut(), Relaxed);
            turn::<T>(newest);
            batch.append_chain(oldest, newest, len);
        }
        Err(batch)
    }

    /// Takes the oldest items, at most `max`: from the shard of `hint`, and if that has fewer, from the following ones.
    ///
    /// A shard at which another consumer is at work is passed by. If anything is left after, somebody else should be woken
    /// for it (module header).
    #[must_use]
    pub fn take(&self, hint: usize, max: usize) -> Batch<T> {
        let mut batch = Batch::new();
        for index in 0..self.shards.len() {
            let shard = self.shard(hint.wrapping_add(index));
            if batch.len() < max && !shard.is_empty() && shard.line.try_hold() {
                // SAFETY: the token is ours.
                unsafe { shard.take(max - batch.len(), &mut batch) };
                shard.line.let_go();
            }
        }
        batch
    }

    /// Takes everything, and waits for consumers that are at work. For the end, when nobody may be passed by.
    #[must_use]
    pub fn take_all(&self) -> Batch<T> {
        let mut batch = Batch::new();
        for shard in &self.shards {
            shard.line.hold();
            // SAFETY: the token is ours.
            unsafe { shard.take(usize::MAX, &mut batch) };
            shard.line.let_go();
        }
        batch
    }

    /// Refuses all pushes from now on, and says whether this call is the one that did it. What was pushed before stays, and
    /// can be taken.
    ///
    /// Pushes that overlap the call are refused, or are in the queue when it returns. That holds for every caller, the first or not: who comes
    /// second does not rely on the first, which may have been interrupted half way.
    pub fn close(&self) -> bool {
        let is_first = !self.closed.swap(true, SeqCst);
        for shard in &self.shards {
            shard.line.hold();
            // SAFETY: the token is ours.
            unsafe {
                shard.gather(CLOSED);
                shard.line.show_len();
            }
            shard.line.let_go();
        }
        is_first
    }

    /// Whether [`close`](Self::close) was called. It may not have returned yet.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// How many items are in the queue. Exact while nobody pushes or takes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(Shard::len).sum()
    }

    /// Whether there is nothing that a take would find. What a take that is under way will leave is not counted.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Shard::is_empty)
    }

    #[inline]
    fn shard(&self, hint: usize) -> &Shard<T> {
        // The number of shards is a power of two.
        &self.shards[hint & (self.shards.len() - 1)]
    }
}

impl<T: Item> Drop for Inject<T> {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}

impl<T: Item> Shard<T> {
    fn new() -> Self {
        Self {
            door: CachePadded::new(Door {
                arrivals: AtomicPtr::new(ptr::null_mut()),
                pushed: AtomicUsize::new(0),
            }),
            line: CachePadded::new(Line {
                token: AtomicBool::new(false),
                items: UnsafeCell::new(Batch::new()),
                line_len: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
            }),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        let arrivals = look::chain(&self.door.arrivals, SeqCst);
        (arrivals.is_null() || arrivals == CLOSED) && self.line.line_len.load(SeqCst) == 0
    }

    fn len(&self) -> usize {
        // Acquire: pairs with the release in `take`; every push whose item was taken is in `pushed`.
        let taken = self.line.taken.load(Acquire);
        self.door.pushed.load(Relaxed).wrapping_sub(taken)
    }

    /// Puts a chain on the arrivals; false if the door is closed.
    ///
    /// # Safety
    ///
    /// From `newest`, `len - 1` links lead to `oldest`. The caller owns these items, and gives them away if the answer is true.
    #[inline]
    unsafe fn push_chain(&self, newest: NonNull<()>, oldest: NonNull<()>, len: usize) -> bool {
        // Before the CAS, so that no take can count an item first.
        self.door.pushed.fetch_add(len, Relaxed);
        let mut arrivals = look::chain(&self.door.arrivals, Relaxed);
        while arrivals != CLOSED {
            // SAFETY: ours until the CAS.
            unsafe { T::link(oldest) }.store(arrivals, Relaxed);
            // SeqCst, for its release half: pairs with the swap in `gather`; publishes the items and their links.
            match self.door.arrivals.compare_exchange_weak(arrivals, newest.as_ptr(), SeqCst, Relaxed) {
                Ok(_) => return true,
                Err(seen) => arrivals = seen,
            }
        }
        self.door.pushed.fetch_sub(len, Relaxed);
        false
    }

    /// Moves the oldest items, at most `max`, behind `batch`.
    ///
    /// # Safety
    ///
    /// The caller holds the token.
    unsafe fn take(&self, max: usize, batch: &mut Batch<T>) {
        // SAFETY: handed on.
        unsafe { self.gather(ptr::null_mut()) };
        let taken = self.line.items.with_mut(|line| {
            // SAFETY: the line belongs to the holder of the token.
            let mut front = unsafe { (*line).split_front(max) };
            let taken = front.len();
            batch.append(&mut front);
            taken
        });
        // SAFETY: handed on.
        unsafe { self.line.show_len() };
        // Release: pairs with the load in `len`.
        self.line.taken.store(self.line.taken.load(Relaxed).wrapping_add(taken), Release);
    }

    /// Hangs all arrivals behind the line, and leaves `mark` at the door unless that is closed.
    ///
    /// # Safety
    ///
    /// The caller holds the token.
    unsafe fn gather(&self, mark: *mut ()) {
        let seen = look::chain(&self.door.arrivals, Relaxed);
        if seen == CLOSED || seen == mark {
            return;
        }
        // Only a holder of the token closes the door, so what we swap out is not CLOSED. Acquire, and with it all pushes: each
        // is a read-modify-write, so the release sequence of the first of them reaches to the last.
        let Some(newest) = NonNull::new(self.door.arrivals.swap(mark, SeqCst)) else { return };
        self.line.items.with_mut(|line| {
            // SAFETY: the swap made the chain ours, and it ends with null; the line belongs to the holder of the token.
            unsafe {
                let (oldest, len) = turn::<T>(newest);
                (*line).append_chain(oldest, newest, len);
            }
        });
    }
}

impl<T: Item> Line<T> {
    /// Tells `is_empty` how long the line is now.
    ///
    /// # Safety
    ///
    /// The caller holds the token.
    unsafe fn show_len(&self) {
        // SAFETY: the line belongs to the holder of the token.
        let len = self.items.with(|items| unsafe { (*items).len() });
        if len != self.line_len.load(Relaxed) {
            self.line_len.store(len, SeqCst);
        }
    }

    /// Takes the token, if it is free.
    #[inline]
    fn try_hold(&self) -> bool {
        // Acquire: pairs with the release in `let_go`; the line is as its last holder left it.
        self.token.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Takes the token, and waits for it: its holders keep it for a few hundred instructions.
    fn hold(&self) {
        while !self.try_hold() {
            nezumi_prim::hint::spin_loop();
            nezumi_prim::thread::yield_now();
        }
    }

    #[inline]
    fn let_go(&self) {
        // Release: pairs with the acquire in `try_hold`.
        self.token.store(false, Release);
    }
}

/// Turns a chain round: its last item, which becomes the first, and its length.
///
/// # Safety
///
/// The caller owns the items of the chain, and its last link is null.
unsafe fn turn<T: Item>(first: NonNull<()>) -> (NonNull<()>, usize) {
    let (mut turned, mut len) = (ptr::null_mut(), 0);
    let mut item = first;
    loop {
        // SAFETY: the caller owns the item.
        let link = unsafe { T::link(item) };
        let next = link.load(Relaxed);
        link.store(turned, Relaxed);
        len += 1;
        match NonNull::new(next) {
            None => return (item, len),
            Some(next) => {
                turned = item.as_ptr();
                item = next;
            }
        }
    }
}
