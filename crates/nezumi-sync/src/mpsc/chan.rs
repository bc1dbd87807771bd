//! What both kinds of mpsc channel are made of: the shared part, and its two ends.
//!
//! The kinds differ in their *gate*: who may send, and when a closed channel is done. `bounded` and `unbounded` are the
//! faces.

use super::error::TryRecvError;
use super::position::{CLOSED, Position, STEP};
use super::slot::{Bed, Found, Slot};
use super::store::{Head, Store, Tail};
use crate::waiters::{Waiter, Waiting, wake_all};
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::sync::{Arc, Mutex};
use nezumi_prim::{CachePadded, hint};
use nezumi_queue::list::LinkedList;
use nezumi_wake::{FirstPanic, block_on, coop};
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// Who may send, and when a closed channel is done.
pub(super) trait Gate: fmt::Debug {
    /// How many messages there may be at once; `None` for any number.
    fn bound(&self) -> Option<usize>;

    /// The receiver took `count` messages.
    fn received(&self, count: usize);

    /// Lets nobody begin to send any more. Returns where the stream ends, if that is settled by it.
    fn close(&self, word: &AtomicUsize) -> Option<Position>;

    fn is_closed(&self, word: &AtomicUsize) -> bool;

    /// Of a closed channel whose end is not settled: whether nothing is under way any more.
    fn is_idle(&self) -> bool;
}

pub(super) struct Shared<T, G> {
    tail: CachePadded<Tail<T>>,
    pub(super) gate: CachePadded<G>,
    store: Store<T>,
    /// Where the receiver's waker lies while it waits at the slot of its head.
    bed: CachePadded<Bed>,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Senders that wait for the channel to be closed.
    closing: Mutex<LinkedList<Waiter>>,
}

// SAFETY: slots and bed are reached by one thread at a time (`slot`); messages go from senders to the receiver, or to
// whoever drops the channel, which `T: Send` allows.
unsafe impl<T: Send, G: Send> Send for Shared<T, G> {}
// SAFETY: as above.
unsafe impl<T: Send, G: Sync> Sync for Shared<T, G> {}
// A panic of user code (a destructor, a waker) leaves everything here as if it had returned.
impl<T, G> UnwindSafe for Shared<T, G> {}
impl<T, G> RefUnwindSafe for Shared<T, G> {}

pub(super) fn channel<T, G: Gate>(gate: G) -> (Tx<T, G>, Rx<T, G>) {
    channel_at(Position(0), gate)
}

/// A channel whose first message has the position `start`.
pub(super) fn channel_at<T, G: Gate>(start: Position, gate: G) -> (Tx<T, G>, Rx<T, G>) {
    let (store, tail, head) = Store::new(gate.bound(), start);
    let shared = Arc::new(Shared {
        tail: CachePadded::new(tail),
        gate: CachePadded::new(gate),
        store,
        bed: CachePadded::new(Bed::new()),
        senders: AtomicUsize::new(1),
        weak_senders: AtomicUsize::new(0),
        closing: Mutex::default(),
    });
    (Tx { shared: Arc::clone(&shared) }, Rx { shared, head, closed: false, end: None })
}

impl<T, G: Gate> Shared<T, G> {
    /// Claims the next position. Returns it, and the flag beside it.
    #[inline]
    pub(super) fn claim(&self) -> (Position, usize) {
        // AcqRel: S1 of `chain`; and hands on, from claim to claim, which slots of a ring are empty (`store`).
        let word = self.tail.word.fetch_add(STEP, Ordering::AcqRel);
        let at = Position::of(word);
        (at, word.wrapping_sub(at.0))
    }

    /// Fills a claimed position, and wakes the receiver if it waits for it.
    ///
    /// # Safety
    ///
    /// The caller claimed `at`, and fills it once.
    #[inline]
    pub(super) unsafe fn fill(&self, at: Position, value: T) {
        // SAFETY: handed on.
        let waker = unsafe { self.store.claimed(&self.tail, at).fill(value, &self.bed) };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Puts the end behind the last message, and wakes the receiver if it waits for it.
    ///
    /// # Safety
    ///
    /// Nobody will claim a position any more.
    #[cold]
    pub(super) unsafe fn end(&self) {
        // Relaxed: the caller comes after all claims, by the count of the senders or of the permits.
        let word = self.tail.word.load(Ordering::Relaxed);
        if word & CLOSED != 0 {
            // The close settled where the stream ends; behind that, positions were claimed in vain.
            return;
        }
        let at = Position::of(word);
        // SAFETY: handed on.
        let waker = unsafe { self.store.behind_all(&self.tail, at).end(&self.bed) };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.gate.is_closed(&self.tail.word)
    }

    /// Somebody gave up what it might have sent. If the channel is closed, and that was the last, the receiver is told.
    pub(super) fn gave_up(&self) {
        if self.gate.is_closed(&self.tail.word) && self.gate.is_idle() {
            // SAFETY: closed and idle: nobody may send, and nobody will.
            unsafe { self.end() };
        }
    }

    #[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
    pub(super) fn census(&self) -> Option<[usize; 3]> {
        self.store.census()
    }

    pub(super) fn strong_count(&self) -> usize {
        self.senders.load(Ordering::Acquire)
    }

    pub(super) fn weak_count(&self) -> usize {
        self.weak_senders.load(Ordering::Relaxed)
    }
}

impl<T, G> Drop for Shared<T, G> {
    fn drop(&mut self) {
        // Messages that were sent, by who had permission, when the receiver was gone.
        let mut panics = FirstPanic::new();
        self.store.for_each(|slot| {
            if slot.look() == Found::Message {
                // SAFETY: nobody else is left, so we are the receiver.
                let value = unsafe { slot.take() };
                panics.run(|| drop(value));
            }
        });
        panics.resume();
    }
}

impl<T, G: fmt::Debug> fmt::Debug for Shared<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chan")
            .field("semaphore", &*self.gate)
            .field("tx_count", &self.senders.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// The end that sends.
pub(super) struct Tx<T, G: Gate> {
    pub(super) shared: Arc<Shared<T, G>>,
}

impl<T, G: Gate> Tx<T, G> {
    pub(super) async fn closed(&self) {
        let shared = &*self.shared;
        if shared.is_closed() {
            return;
        }
        let mut waiting = pin!(Waiting::new(&shared.closing));
        // Closing closes the gate first, and takes this lock then: it finds us, or we see the gate.
        poll_fn(|cx| waiting.as_mut().poll(cx.waker(), |_| shared.is_closed().then_some(()))).await;
    }

    pub(super) fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(super) fn downgrade(&self) -> Weak<T, G> {
        Weak::new(&self.shared)
    }
}

impl<T, G: Gate> Clone for Tx<T, G> {
    fn clone(&self) -> Self {
        // Relaxed: the one that is cloned is counted.
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T, G: Gate> Drop for Tx<T, G> {
    fn drop(&mut self) {
        // AcqRel: the last one comes after whatever the others did.
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: no sender is left, nor can there be one again; permits keep a sender.
            unsafe { self.shared.end() };
        }
    }
}

impl<T, G: Gate> fmt::Debug for Tx<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").field("inner", &self.shared).finish()
    }
}

/// A handle that does not keep the channel open.
pub(super) struct Weak<T, G: Gate> {
    pub(super) shared: Arc<Shared<T, G>>,
}

impl<T, G: Gate> Weak<T, G> {
    fn new(shared: &Arc<Shared<T, G>>) -> Self {
        // Relaxed: a count for those who ask.
        shared.weak_senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(shared) }
    }

    pub(super) fn upgrade(&self) -> Option<Tx<T, G>> {
        let mut senders = self.shared.senders.load(Ordering::Acquire);
        while senders != 0 {
            // Relaxed: as for a clone, from one that is counted. Once the count was 0 it stays there.
            match self.shared.senders.compare_exchange_weak(
                senders,
                senders + 1,
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(Tx { shared: Arc::clone(&self.shared) }),
                Err(found) => senders = found,
            }
        }
        None
    }
}

impl<T, G: Gate> Clone for Weak<T, G> {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

impl<T, G: Gate> Drop for Weak<T, G> {
    fn drop(&mut self) {
        self.shared.weak_senders.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The end that receives.
pub(super) struct Rx<T, G: Gate> {
    pub(super) shared: Arc<Shared<T, G>>,
    head: Head<T>,
    /// Whether `close` was called.
    closed: bool,
    /// Where the stream ends, if `close` settled it.
    end: Option<Position>,
}

// SAFETY: `head` points into the shared part, and is used by whoever has the receiver alone.
unsafe impl<T: Send, G: Gate + Send + Sync> Send for Rx<T, G> {}
// SAFETY: through `&Rx` the head's position is read, and nothing else.
unsafe impl<T: Send, G: Gate + Send + Sync> Sync for Rx<T, G> {}
impl<T, G: Gate> UnwindSafe for Rx<T, G> {}
impl<T, G: Gate> RefUnwindSafe for Rx<T, G> {}

/// What there is at the head.
enum Next<T> {
    Message(T),
    /// Nothing, and nothing will come.
    End,
    Nothing,
}

impl<T, G: Gate> Rx<T, G> {
    #[inline]
    fn slot(&self) -> &Slot<T> {
        // SAFETY: our own head.
        unsafe { self.shared.store.first(&self.head) }
    }

    /// Takes the message at the head out, if there is one. The gate is not told yet.
    #[inline]
    fn take_next(&mut self) -> Next<T> {
        match self.slot().look() {
            Found::Message => {
                // SAFETY: we are the receiver, and found it.
                let value = unsafe { self.slot().take() };
                // SAFETY: our own head, and the message was taken.
                unsafe { self.shared.store.advance(&self.shared.tail, &mut self.head) };
                Next::Message(value)
            }
            Found::End => Next::End,
            Found::Nothing if self.closed && self.is_done() => Next::End,
            Found::Nothing => Next::Nothing,
        }
    }

    /// Of a closed channel with nothing at the head: whether nothing will come there.
    #[cold]
    fn is_done(&self) -> bool {
        match self.end {
            Some(end) => self.head.position == end,
            None => self.shared.gate.is_idle(),
        }
    }

    /// Waits at the head. False if something came meanwhile: look again.
    fn wait(&self, cx: &Context<'_>) -> bool {
        // SAFETY: we are the receiver, and wait at the head only.
        unsafe { self.slot().wait(cx.waker(), &self.shared.bed) }
    }

    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let coop = ready!(coop::poll_proceed(cx));
        loop {
            match self.take_next() {
                Next::Message(value) => {
                    self.shared.gate.received(1);
                    coop.made_progress();
                    return Poll::Ready(Some(value));
                }
                Next::End => {
                    coop.made_progress();
                    return Poll::Ready(None);
                }
                Next::Nothing if self.wait(cx) => return Poll::Pending,
                Next::Nothing => {}
            }
        }
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let coop = ready!(coop::poll_proceed(cx));
        let mut count = 0;
        if limit > 0 {
            loop {
                let is_end = self.take_many(buffer, limit, &mut count);
                if count > 0 || is_end {
                    break;
                }
                if self.wait(cx) {
                    return Poll::Pending;
                }
            }
        }
        coop.made_progress();
        Poll::Ready(count)
    }

    /// Moves what is there to `buffer`, up to `limit`, and tells the gate once. Returns whether it came to the end.
    fn take_many(&mut self, buffer: &mut Vec<T>, limit: usize, count: &mut usize) -> bool {
        let mut is_end = false;
        while *count < limit {
            match self.take_next() {
                Next::Message(value) => {
                    buffer.push(value);
                    *count += 1;
                }
                Next::End => {
                    is_end = true;
                    break;
                }
                Next::Nothing => break,
            }
        }
        if *count > 0 {
            self.shared.gate.received(*count);
        }
        is_end
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.take_next() {
            Next::Message(value) => {
                self.shared.gate.received(1);
                Ok(value)
            }
            Next::End => Err(TryRecvError::Disconnected),
            Next::Nothing if self.is_empty() => Err(TryRecvError::Empty),
            Next::Nothing => self.recv_claimed(),
        }
    }

    /// Somebody has claimed the head and is about to fill it. Others may have sent, and returned, since: to say that there is
    /// nothing would be wrong. It takes a few instructions, unless that thread was interrupted.
    #[cold]
    fn recv_claimed(&mut self) -> Result<T, TryRecvError> {
        for _ in 0..if cfg!(nezumi_loom) { 0 } else { 100 } {
            if self.slot().look() != Found::Nothing {
                return self.try_recv();
            }
            hint::spin_loop();
        }
        // This thread waits in the place of the task that did before, if one did. That one may look again then.
        // SAFETY: we are the receiver.
        let before = unsafe { self.slot().stop_waiting(&self.shared.bed) };
        block_on(poll_fn(|cx| {
            if self.slot().look() == Found::Nothing && self.wait(cx) {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        }));
        if let Some(waker) = before {
            waker.wake();
        }
        self.try_recv()
    }

    pub(super) fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.end = self.shared.gate.close(&self.shared.tail.word);
        wake_all(&self.shared.closing, self.shared.closing.lock());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed || self.shared.strong_count() == 0
    }

    pub(super) fn len(&self) -> usize {
        // Relaxed: a claim publishes no message, its slot does. Who comes after a send counts it.
        let end = self.end.unwrap_or_else(|| Position::of(self.shared.tail.word.load(Ordering::Relaxed)));
        end.since(self.head.position)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T, G: Gate> Drop for Rx<T, G> {
    fn drop(&mut self) {
        // SAFETY: we are the receiver.
        let waker = unsafe { self.slot().stop_waiting(&self.shared.bed) };
        let mut panics = FirstPanic::new();
        panics.run(|| drop(waker));
        panics.run(|| self.close());
        while let Next::Message(value) = self.take_next() {
            self.shared.gate.received(1);
            panics.run(|| drop(value));
        }
        panics.resume();
    }
}

impl<T, G: Gate> fmt::Debug for Rx<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rx").field("inner", &self.shared).finish()
    }
}
