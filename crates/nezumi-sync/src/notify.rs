//! Wakes tasks, and carries nothing else.
//!
//! Called by users, and by `barrier` and `set_once`. Knows nothing of what happened.
//!
//! Promise: a `notify_one` wakes one task, the one that waits for the longest, or, if none waits, the next that comes; a
//! `notify_waiters` wakes every task whose `Notified` was made before. A notification whose future is dropped before it was
//! seen goes to the next.
//!
//! One word: `generation << 2 | WAITING | PERMIT`. WAITING says that the queue is not empty, PERMIT that a `notify_one` found
//! nobody; they exclude each other. The generation counts the calls of `notify_waiters`.
//!
//! ```text
//! waiter                                     notify_one                     notify_waiters
//! N0 note the generation                     O1 CAS: set PERMIT, if         G1 CAS: next generation, if
//! N1 lock the queue                             not WAITING (release)          not WAITING (release)
//! N2 CAS: set WAITING, if no PERMIT and      O2 else lock the queue,        G2 else lock the queue, next
//!    the generation is that of N0 (acquire)     pop one, notify it             generation, pop all, notify
//! N3 link the node, unlock
//! ```
//!
//! All write the one word, so one comes first: N2 first, and O1 and G1 see WAITING and wait for the lock until N3 is done; or
//! O1, G1 first, and N2 sees the permit or the generation, and what was written before the notification. While WAITING is set,
//! only the holder of the lock writes the word. So a waiter that joins a queue of others, and writes nothing at N2, is ordered
//! with everybody by the lock; and WAITING can be cleared by a plain store.
//!
//! `notify_waiters` moves the queue into a list of its own and wakes it by the batch. A waiter in there that is polled before
//! its batch sees by the generation that it has been notified; polled or dropped, it takes itself out.
//!
//! A node belongs to the lock while it is linked. The notifier unlinks it and takes its waker, and only then, as its last touch
//! of the node, stores the notification: from there on the node is its future's alone, which may free it without locking.
//!
//! Tests: `tests` below; loom: `models` below, one for each pair of notify_one, notify_waiters, register, and drop of a waiter.

mod notified;
mod wait;

pub use notified::{Notified, OwnedNotified};

use crate::wakers::Batches;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_queue::list::{Drained, LinkedList};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use wait::{Notification, Waiter};

const PERMIT: usize = 0b01;
const WAITING: usize = 0b10;
const GENERATION: usize = 0b100;

/// Tells tasks that something happened.
///
/// A `Notify` is like a [`Semaphore`](crate::Semaphore) that starts without permits and never has more than one. A task
/// waits by [`notified().await`](Self::notified); [`notify_one`](Self::notify_one) lets one task go on, and if none waits,
/// leaves a permit for the next that comes. The data itself is elsewhere: what was written before the notification is visible
/// to the task that it wakes.
///
/// Tasks are served in the order in which they began to wait.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Notify;
/// use std::sync::Arc;
///
/// # #[nezumi::main] async fn main() {
/// let ready = Arc::new(Notify::new());
/// let other = ready.clone();
/// let task = nezumi::spawn(async move {
///     other.notified().await;
///     "woken"
/// });
/// ready.notify_one();
/// assert_eq!(task.await.unwrap(), "woken");
/// # }
/// ```
///
/// A queue for several receivers. The condition is looked at after the future is made, so no notification is missed, and
/// again after each wake, since several values may have come with one permit:
///
/// ```
/// use nezumi::sync::Notify;
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Queue<T> {
///     values: Mutex<VecDeque<T>>,
///     pushed: Notify,
/// }
///
/// impl<T> Queue<T> {
///     fn push(&self, value: T) {
///         self.values.lock().unwrap().push_back(value);
///         self.pushed.notify_one();
///     }
///
///     async fn pop(&self) -> T {
///         let mut pushed = std::pin::pin!(self.pushed.notified());
///         loop {
///             // In the queue from here on: a push that comes now is not missed.
///             pushed.as_mut().enable();
///             if let Some(value) = self.values.lock().unwrap().pop_front() {
///                 return value;
///             }
///             pushed.as_mut().await;
///             pushed.set(self.pushed.notified());
///         }
///     }
/// }
/// # #[nezumi::main] async fn main() {
/// let queue = Queue::default();
/// queue.push(1);
/// assert_eq!(queue.pop().await, 1);
/// # }
/// ```
pub struct Notify {
    /// `generation * GENERATION | WAITING | PERMIT`.
    word: AtomicUsize,
    waiters: Mutex<LinkedList<Waiter>>,
}

impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Notify")
            .field("permit", &(word & PERMIT != 0))
            .field("waiting", &(word & WAITING != 0))
            .finish()
    }
}

impl Notify {
    /// Makes a `Notify` without a permit.
    pub fn new() -> Notify {
        Self { word: AtomicUsize::new(0), waiters: Mutex::new(LinkedList::new()) }
    }

    const_fn! {
        /// Makes a `Notify` without a permit, in a constant.
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::sync::Notify;
        ///
        /// static RELOAD: Notify = Notify::const_new();
        /// RELOAD.notify_one();
        /// ```
        pub fn const_new() -> Notify {
            Self { word: AtomicUsize::new(0), waiters: Mutex::new(LinkedList::new()) }
        }
    }

    /// Waits for a notification.
    ///
    /// The future is ready at once if there is a permit, which it takes. Otherwise it joins the queue when it is first polled,
    /// or by [`enable`](Notified::enable). A [`notify_waiters`](Self::notify_waiters) reaches it from the moment it is made,
    /// even before that.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it loses its place in the queue. If it was notified by [`notify_one`](Self::notify_one) and has not been
    /// polled since, the notification goes to the next who waits.
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified::new(self)
    }

    /// [`notified`](Self::notified), for a future that keeps the `Notify` alive.
    ///
    /// # Cancel safety
    ///
    /// As [`notified`](Self::notified).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Notify;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let notify = Arc::new(Notify::new());
    /// let task = nezumi::spawn(notify.clone().notified_owned());
    /// notify.notify_one();
    /// task.await.unwrap();
    /// # }
    /// ```
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified::new(self)
    }

    /// Lets the task go on that has been waiting for the longest. If none waits, the next one does not wait.
    ///
    /// Permits do not add up: however often this is called while nobody waits, one task goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Notify;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notified().await;
    /// # }
    /// ```
    #[inline]
    pub fn notify_one(&self) {
        self.notify(Notification::Oldest);
    }

    /// Lets the task go on that came last, the first to come being the last to be served. Otherwise as
    /// [`notify_one`](Self::notify_one).
    ///
    /// For pools of workers: the one that was busy most recently has the warmest caches.
    #[inline]
    pub fn notify_last(&self) {
        self.notify(Notification::Newest);
    }

    /// Lets every task go on that waits now, and every future go on that [`notified`](Self::notified) has returned by now. Leaves no
    /// permit for others.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Notify;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let notify = Notify::new();
    /// let (one, other) = (notify.notified(), notify.notified());
    /// notify.notify_waiters();
    /// one.await;
    /// other.await;
    /// # }
    /// ```
    pub fn notify_waiters(&self) {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & WAITING == 0 {
            let next = word.wrapping_add(GENERATION);
            // Release: pairs with the Acquire in `take_notification` and `join`.
            match self.word.compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(seen) => word = seen,
            }
        }
        self.notify_queue();
    }

    /// Excludes others who call this. Nobody joins or leaves the queue as long as the guard lives.
    pub(crate) fn lock(&self) -> impl Sized + '_ {
        self.waiters.lock()
    }

    #[inline]
    fn notify(&self, notification: Notification) {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & WAITING == 0 {
            // Even if the permit is there already: what our caller wrote must be visible to the one who takes it. Release: pairs
            // with the Acquire in `take_notification` and `join`.
            match self.word.compare_exchange_weak(word, word | PERMIT, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(seen) => word = seen,
            }
        }
        self.notify_in_queue(notification);
    }

    #[inline(never)]
    fn notify_in_queue(&self, notification: Notification) {
        let mut waiters = self.waiters.lock();
        let chosen = match notification {
            Notification::Newest => waiters.pop_back(),
            _ => waiters.pop_front(),
        };
        let Some(waiter) = chosen else {
            // They have all left since. Under the lock WAITING cannot come back. Release: as in `notify`.
            self.word.fetch_or(PERMIT, Ordering::Release);
            return;
        };
        if waiters.is_empty() {
            self.nobody_waits();
        }
        // SAFETY: it was linked and the lock is held, so its future has not freed it; `notify` is the last touch.
        let waker = unsafe { waiter.as_ref().notify(notification) };
        drop(waiters);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The last has left the queue. The caller holds the lock.
    fn nobody_waits(&self) {
        // Relaxed: who set WAITING acquired the word as it did so, holding the lock, which hands that on to us.
        let word = self.word.load(Ordering::Relaxed);
        if word & WAITING != 0 {
            // While WAITING is set only holders of the lock write the word: nothing is overwritten. Release: this ends the
            // release sequence of whoever wrote the word before, so it passes on what they released.
            self.word.store(word & !WAITING, Ordering::Release);
        }
    }

    #[inline(never)]
    fn notify_queue(&self) {
        let mut rest = pin!(Drained::new(&self.waiters));
        let mut wakers = Batches::new();
        let mut waiters = self.waiters.lock();
        // Under the lock WAITING is what the queue says.
        let ended = if waiters.is_empty() { 0 } else { WAITING };
        // SAFETY: the lock is the one that `rest` was made for, and it is held.
        unsafe { waiters.drain_into(rest.as_mut()) };
        // Release: as in `notify_waiters`.
        self.word.fetch_add(GENERATION.wrapping_sub(ended), Ordering::Release);
        loop {
            while wakers.has_room() {
                // SAFETY: the lock is held.
                let Some(waiter) = (unsafe { rest.as_mut().pop_front() }) else {
                    drop(waiters);
                    return wakers.wake_last();
                };
                // SAFETY: it was linked and the lock is held, so its future has not freed it; `notify` is the last touch.
                wakers.push(unsafe { waiter.as_ref().notify(Notification::All) });
            }
            drop(waiters);
            wakers.wake();
            waiters = self.waiters.lock();
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

#[cfg(all(test, nezumi_loom))]
mod models;
