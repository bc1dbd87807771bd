//! A point at which tasks wait for each other.
//!
//! A count of those who have arrived, and a generation that goes up when all have. The last to arrive starts the next
//! generation and notifies; the others wait until theirs is over.
//!
//! Promise: nobody passes before `n` have arrived, and everybody who arrived passes then; a newcomer of the next generation
//! is not let through by the notification of this one, since it looks at the generation and not at the notification.
//!
//! ```text
//! waiter                              last to arrive
//! B1 make the `notified` future       L1 next generation (release)
//! B2 read the generation (acquire)    L2 notify_waiters
//! B3 still mine: await the future
//! ```
//!
//! If B2 misses L1, then L2 comes after B1, and a `notified` future is reached from the moment it was made.
//!
//! Tests: `tests` below; loom: `models` below.

use crate::Notify;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_trace::Resource;
use nezumi_wake::coop::cooperative;
use std::fmt;

/// Lets a number of tasks wait for each other, and go on together.
///
/// It can be used again at once: those who have passed may come back to the next round.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Barrier;
/// use std::sync::Arc;
///
/// # #[nezumi::main] async fn main() {
/// let barrier = Arc::new(Barrier::new(3));
/// let mut tasks = Vec::new();
/// for _ in 0..3 {
///     let barrier = barrier.clone();
///     tasks.push(nezumi::spawn(async move {
///         // Everybody prepares, and nobody starts before all are ready.
///         barrier.wait().await.is_leader()
///     }));
/// }
/// let mut leaders = 0;
/// for task in tasks {
///     leaders += u32::from(task.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # }
/// ```
pub struct Barrier {
    resource: Resource,
    /// How many there are in a round; never 0.
    n: usize,
    arrived: Mutex<usize>,
    /// Written under the lock of `arrived`.
    generation: AtomicUsize,
    passed: Notify,
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("n", &self.n).field("arrived", &*self.arrived.lock()).finish()
    }
}

impl Barrier {
    /// Makes a barrier that opens whenever `n` tasks have come. A barrier for 0 is one for 1: it never makes anybody wait.
    #[track_caller]
    pub fn new(n: usize) -> Barrier {
        let resource = Resource::barrier(n.max(1));
        Self {
            resource,
            n: n.max(1),
            arrived: Mutex::new(0),
            generation: AtomicUsize::new(0),
            passed: Notify::new(),
        }
    }

    /// Waits until all have come. For one of them, the last to come, [`is_leader`](BarrierWaitResult::is_leader) is true of the
    /// result.
    ///
    /// # Cancel safety
    ///
    /// This is not cancel safe: a task has come when the future is first polled, and counts even if the future is then
    /// dropped.
    pub async fn wait(&self) -> BarrierWaitResult {
        self.resource.operation("Barrier::wait", "poll", || self.come()).await
    }

    async fn come(&self) -> BarrierWaitResult {
        let Some(generation) = self.arrive() else {
            self.passed.notify_waiters();
            self.resource.arrived(true);
            return BarrierWaitResult(true);
        };
        self.resource.arrived(false);
        loop {
            let passed = self.passed.notified();
            if self.is_over(generation) {
                return BarrierWaitResult(false);
            }
            cooperative(passed).await;
        }
    }

    fn is_over(&self, generation: usize) -> bool {
        // Acquire: pairs with the Release in `arrive`; what the others did before they came is visible after.
        self.generation.load(Ordering::Acquire) != generation
    }

    /// The generation to wait out; `None` for the last, who has started the next.
    fn arrive(&self) -> Option<usize> {
        let mut arrived = self.arrived.lock();
        let generation = self.generation.load(Ordering::Relaxed);
        *arrived += 1;
        if *arrived < self.n {
            return Some(generation);
        }
        *arrived = 0;
        // Release: pairs with the Acquire in `wait`; passes on what all others released with the lock.
        self.generation.store(generation.wrapping_add(1), Ordering::Release);
        None
    }
}

/// What [`Barrier::wait`] returns: whether this task was the one to open the barrier.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Barrier;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let barrier = Barrier::new(2);
/// let (one, other) = nezumi::join!(barrier.wait(), barrier.wait());
/// // One of them, and only one, has opened it.
/// assert_ne!(one.is_leader(), other.is_leader());
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for exactly one of the tasks of each round.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Barrier;
    use crate::hand_polled::{reentrant_waker, task};
    use std::sync::Arc;

    #[test]
    fn nobody_waits_for_nobody() {
        for n in [0, 1] {
            let barrier = Barrier::new(n);
            for _ in 0..3 {
                assert!(task(barrier.wait()).assert_ready().is_leader());
            }
        }
    }

    #[test]
    fn the_last_to_come_lets_all_through() {
        let barrier = Barrier::new(100);
        for _ in 0..3 {
            let mut waiters: Vec<_> = (0..99).map(|_| task(barrier.wait())).collect();
            waiters.iter_mut().for_each(|waiter| assert!(waiter.poll().is_pending()));
            assert!(task(barrier.wait()).assert_ready().is_leader());
            for waiter in &mut waiters {
                assert!(waiter.is_woken() && !waiter.assert_ready().is_leader());
            }
        }
    }

    #[test]
    fn the_next_round_can_begin_before_all_have_left() {
        let barrier = Barrier::new(2);
        let mut early = task(barrier.wait());
        assert!(early.poll().is_pending());
        assert!(task(barrier.wait()).assert_ready().is_leader());
        let mut next = task(barrier.wait());
        assert!(next.poll().is_pending());
        assert!(!early.assert_ready().is_leader());
        assert!(next.poll().is_pending() && !next.is_woken());
        assert!(task(barrier.wait()).assert_ready().is_leader());
        assert!(!next.assert_ready().is_leader());
    }

    #[test]
    fn one_who_left_has_come_all_the_same() {
        let barrier = Barrier::new(2);
        assert!(task(barrier.wait()).poll().is_pending());
        assert!(task(barrier.wait()).assert_ready().is_leader());
    }

    #[test]
    fn a_waker_may_come_back_to_the_barrier() {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let mut waiter = task(barrier.wait());
        let waker = reentrant_waker(move || assert!(format!("{other:?}").starts_with("Barrier { n: 2")));
        assert!(waiter.poll_with(&waker).is_pending());
        assert!(task(barrier.wait()).assert_ready().is_leader());
        assert!(!waiter.assert_ready().is_leader());
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Barrier;
    use loom::future::block_on;
    use nezumi_prim::cell::UnsafeCell;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::thread::{spawn, yield_now};

    /// A barrier, and a cell for each of the two who meet there.
    struct Meeting(Barrier, [UnsafeCell<bool>; 2]);

    // SAFETY: who comes first is what the model is about; loom reports it if the barrier does not order the two.
    unsafe impl Sync for Meeting {}
    // SAFETY: nothing in it belongs to a thread.
    unsafe impl Send for Meeting {}

    impl Meeting {
        fn visit(&self, me: usize) -> bool {
            // SAFETY: the other one looks after the barrier.
            self.1[me].with_mut(|mine| unsafe { *mine = true });
            let leader = block_on(self.0.wait()).is_leader();
            // SAFETY: the other one wrote before the barrier.
            assert!(self.1[1 - me].with(|other| unsafe { *other }));
            leader
        }
    }

    #[test]
    fn all_pass_and_see_what_the_others_did() {
        loom::model(|| {
            let meeting =
                Arc::new(Meeting(Barrier::new(2), [UnsafeCell::new(false), UnsafeCell::new(false)]));
            let thread = {
                let meeting = meeting.clone();
                spawn(move || meeting.visit(0))
            };
            let leader = meeting.visit(1);
            assert!(leader != thread.join().unwrap());
        });
    }

    #[test]
    fn who_finds_the_round_over_before_it_is_notified_sees_what_the_last_did() {
        loom::model(|| {
            let meeting =
                Arc::new(Meeting(Barrier::new(2), [UnsafeCell::new(false), UnsafeCell::new(false)]));
            let generation = meeting.0.arrive().unwrap();
            let last = {
                let meeting = meeting.clone();
                spawn(move || {
                    // SAFETY: the other one looks after the barrier.
                    meeting.1[0].with_mut(|mine| unsafe { *mine = true });
                    assert_eq!(meeting.0.arrive(), None);
                })
            };
            // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
            yield_now();
            if meeting.0.is_over(generation) {
                // SAFETY: the last wrote before it came.
                assert!(meeting.1[0].with(|other| unsafe { *other }));
            }
            last.join().unwrap();
        });
    }

    #[test]
    fn rounds_follow_each_other() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let twice = |barrier: &Barrier| {
                block_on(async {
                    barrier.wait().await;
                    barrier.wait().await;
                });
            };
            let thread = {
                let barrier = barrier.clone();
                spawn(move || twice(&barrier))
            };
            twice(&barrier);
            thread.join().unwrap();
        });
    }
}
