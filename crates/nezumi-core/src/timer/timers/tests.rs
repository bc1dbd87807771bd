//! Timers without a runtime: nodes armed by hand, with wakers that count, panic, or come back in.

use super::*;
use crate::timer::node::{IDLE, NOTED, UNARMED, is_pending};
use crate::timer::notes::Notebook;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::Wake;

/// A pinned node, cancelled when dropped, as an entry does it.
struct Timer {
    timers: Arc<Timers>,
    node: NonNull<Node>,
}

// SAFETY: whoever holds it is the owner of the node, and an owner may be on any thread.
unsafe impl Send for Timer {}

impl Timer {
    fn new(timers: &Arc<Timers>) -> Self {
        Self { timers: timers.clone(), node: NonNull::from(Box::leak(Box::new(Node::new()))) }
    }

    fn armed(timers: &Arc<Timers>, deadline_ms: u64, waker: &Waker) -> Self {
        let timer = Self::new(timers);
        assert!(matches!(timer.arm(deadline_ms, waker), Armed::Pending { .. }));
        timer
    }

    fn arm(&self, deadline_ms: u64, waker: &Waker) -> Armed {
        // SAFETY: the node is ours and on the heap, and `drop` cancels it.
        unsafe { self.timers.arm(self.node, deadline_ms, waker) }
    }

    fn renew(&self, waker: &Waker) -> bool {
        // SAFETY: the node is ours.
        unsafe { self.timers.renew(self.node, waker) }
    }

    fn bring_forward(&self, deadline_ms: u64) -> Armed {
        // SAFETY: the node is ours.
        unsafe { self.timers.bring_forward(self.node, deadline_ms) }
    }

    fn note(&self, notes: &Notebook, deadline_ms: u64, waker: &Waker) -> bool {
        // SAFETY: the node is ours, and `drop` takes it out of the notebook, or of the wheel.
        unsafe { notes.note(self.node, deadline_ms, waker, &raw const *self.timers) }
    }

    fn node(&self) -> &Node {
        // SAFETY: freed only in `drop`.
        unsafe { self.node.as_ref() }
    }

    fn state(&self) -> u64 {
        self.node().state.load(Ordering::Acquire)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the node is ours; after this nobody else knows it.
        unsafe {
            if self.state() != NOTED || !self.timers.renote(self.node, None) {
                self.timers.cancel(self.node);
            }
            drop(Box::from_raw(self.node.as_ptr()));
        }
    }
}

/// Counts its wakes, and then does what it is told.
#[derive(Default)]
struct Waiter {
    wakes: AtomicUsize,
    then: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Waiter {
    fn new() -> (Arc<Self>, Waker) {
        Self::then(None)
    }

    fn then(then: Option<Box<dyn Fn() + Send + Sync>>) -> (Arc<Self>, Waker) {
        let waiter = Arc::new(Self { wakes: AtomicUsize::new(0), then });
        let waker = Waker::from(waiter.clone());
        (waiter, waker)
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        if let Some(then) = &self.then {
            then();
        }
    }
}

#[test]
fn fires_when_due_and_gives_the_waker_up() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let timer = Timer::armed(&timers, 10, &waker);
    assert_eq!((timers.next_deadline_ms(), timers.live()), (10, 1));
    assert_eq!((timers.advance(9), waiter.wakes()), (0, 0));
    assert_eq!((timers.advance(10), waiter.wakes()), (1, 1));
    assert_eq!((timer.state(), timers.next_deadline_ms(), timers.live()), (FIRED, NEVER, 0));
    drop(waker);
    assert_eq!(Arc::strong_count(&waiter), 1);
}

#[test]
fn a_cancelled_timer_drops_its_waker_and_is_forgotten() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    drop(Timer::armed(&timers, 10, &waker));
    drop(waker);
    assert_eq!(Arc::strong_count(&waiter), 1);
    assert_eq!(timers.live(), 0);
    assert_eq!(
        timers.next_deadline_ms(),
        10,
        "the bound stays, so that the next timer need not announce itself"
    );
    timers.settle();
    assert_eq!(timers.next_deadline_ms(), NEVER);
}

#[test]
fn only_an_earlier_deadline_is_announced() {
    let timers = Arc::new(Timers::new());
    let (_waiter, waker) = Waiter::new();
    let arm = |deadline_ms| {
        let timer = Timer::new(&timers);
        let first = timer.arm(deadline_ms, &waker) == Armed::Pending { first: true };
        (timer, first)
    };
    let timers: Vec<_> = [50, 60, 50, 49, 1000, 1].map(arm).into();
    assert_eq!(
        timers.iter().map(|(_, first)| *first).collect::<Vec<_>>(),
        [true, false, false, true, false, true]
    );
}

#[test]
fn a_passed_deadline_needs_no_turn() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    assert!(timers.has_passed(0));
    timers.advance(10);
    assert!(timers.has_passed(10) && !timers.has_passed(11));
    let timer = Timer::new(&timers);
    assert_eq!((timer.arm(10, &waker), timer.state()), (Armed::Due, FIRED));
    assert_eq!(waiter.wakes(), 0);
}

#[test]
fn fires_in_batches_without_the_lock() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = {
        let timers = timers.clone();
        Waiter::then(Some(Box::new(move || assert!(!timers.shared.inner.is_taken()))))
    };
    let count = if cfg!(miri) { 70 } else { 1000 };
    let armed: Vec<_> = (0..count).map(|n| Timer::armed(&timers, 100 + n % 7, &waker)).collect();
    assert_eq!(timers.advance(106), count as usize);
    assert_eq!(waiter.wakes(), count as usize);
    assert!(armed.iter().all(|timer| timer.state() == FIRED));
}

#[test]
fn a_waker_may_drop_other_timers() {
    let timers = Arc::new(Timers::new());
    let others: Arc<StdMutex<Vec<Timer>>> = Arc::default();
    let (waiter, waker) = {
        let others = others.clone();
        Waiter::then(Some(Box::new(move || {
            let dropped = std::mem::take(&mut *others.lock().unwrap());
            drop(dropped);
        })))
    };
    others.lock().unwrap().extend((0..100).map(|_| Timer::armed(&timers, 10, &waker)));
    timers.advance(10);
    assert!((1..=32).contains(&waiter.wakes()), "the first batch at the most");
    assert_eq!(timers.live(), 0);
    drop((waker, others));
    assert_eq!(Arc::strong_count(&waiter), 1);
}

#[test]
fn a_panicking_waker_does_not_stop_the_rest() {
    let fire = |timers: &Timers| {
        timers.advance(10);
    };
    for end in [fire, Timers::shutdown] {
        let timers = Arc::new(Timers::new());
        let (_bad, bad) = Waiter::then(Some(Box::new(|| panic!("a waker that panics"))));
        let (good, waker) = Waiter::new();
        let armed: Vec<_> =
            (0..100).map(|n| Timer::armed(&timers, 10, if n % 40 == 3 { &bad } else { &waker })).collect();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| end(&timers))).unwrap_err();
        assert_eq!((good.wakes(), timers.live()), (97, 0));
        drop(armed);
    }
}

#[test]
fn shutdown_fires_what_is_pending_and_refuses_the_rest() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let armed: Vec<_> = (0..100).map(|n| Timer::armed(&timers, 1 << (n % 40), &waker)).collect();
    timers.shutdown();
    assert_eq!((waiter.wakes(), timers.live(), timers.next_deadline_ms()), (100, 0, NEVER));
    assert!(armed.iter().all(|timer| timer.state() == CLOSED));
    let late = Timer::new(&timers);
    assert_eq!((late.arm(5, &waker), late.state()), (Armed::Closed, CLOSED));
    timers.advance(10);
    assert!(!timers.has_passed(5), "the error comes before the time");
    timers.shutdown();
}

#[test]
fn the_task_of_the_latest_poll_is_woken() {
    let timers = Arc::new(Timers::new());
    let ((old, old_waker), (new, new_waker)) = (Waiter::new(), Waiter::new());
    let timer = Timer::armed(&timers, 10, &old_waker);
    assert!(timer.renew(&old_waker));
    assert_eq!(Arc::strong_count(&old), 3, "the same waker is not cloned again");
    assert!(timer.renew(&new_waker));
    assert_eq!(Arc::strong_count(&old), 2, "the former waker is dropped");
    timers.advance(10);
    assert_eq!((old.wakes(), new.wakes()), (0, 1));
    assert!(!timer.renew(&old_waker), "there is nothing to wait for any more");
    assert_eq!(Arc::strong_count(&old), 2);
}

#[test]
fn pushed_later_fires_later() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let timer = Timer::armed(&timers, 10, &waker);
    assert!(timer.node().push_later(500));
    assert!(!timer.node().push_later(499), "not later: that needs the lock");
    assert_eq!((timers.advance(10), timers.next_deadline_ms()), (0, 500));
    assert_eq!((timers.advance(499), timers.advance(500), waiter.wakes()), (0, 1, 1));
    assert!(!timer.node().push_later(1000));
}

#[test]
fn brought_forward_fires_earlier() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let timer = Timer::armed(&timers, 5000, &waker);
    assert_eq!(timer.bring_forward(100), Armed::Pending { first: true });
    assert_eq!((timers.advance(99), timers.next_deadline_ms()), (0, 100));
    // To a deadline that has passed: the task may not be polled otherwise.
    assert_eq!((timer.bring_forward(50), timer.state(), waiter.wakes()), (Armed::Due, FIRED, 1));
    assert_eq!(timer.bring_forward(20), Armed::Due);
    drop(waker);
    assert_eq!(Arc::strong_count(&waiter), 1);
}

/// Or the worker would be woken for it, in vain.
#[test]
fn what_is_brought_to_the_present_is_forgotten_as_a_bound() {
    let timers = Arc::new(Timers::new());
    let (_waiter, waker) = Waiter::new();
    timers.advance(100);
    let timer = Timer::armed(&timers, 5000, &waker);
    assert_eq!(timer.bring_forward(50), Armed::Due);
    timers.settle();
    assert_eq!((timers.next_deadline_ms(), timers.live()), (NEVER, 0));
}

#[test]
fn a_wheel_that_was_empty_starts_at_the_present() {
    let timers = Arc::new(Timers::new());
    let (_waiter, waker) = Waiter::new();
    timers.advance(1 << 30);
    let _timer = Timer::armed(&timers, (1 << 30) + 5, &waker);
    assert_eq!(timers.lock().wheel.elapsed_ms(), 1 << 30);
}

/// What the models say of two threads, said of real ones: drops, raised deadlines and new wakers, while others fire.
#[test]
fn owners_race_with_whoever_fires() {
    let timers = Arc::new(Timers::new());
    let (rounds, batch) = if cfg!(miri) { (2, 6) } else { (200, 100) };
    let (waiter, waker) = Waiter::new();
    let (other, other_waker) = Waiter::new();
    for round in 0..rounds {
        let now_ms = 1000 * (round + 1);
        let armed: Vec<_> = (0..batch).map(|n| Timer::armed(&timers, now_ms + n % 3, &waker)).collect();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| timers.advance(now_ms + 2));
            }
            for (n, timer) in armed.into_iter().enumerate() {
                match n % 3 {
                    0 => drop(timer),
                    1 => assert!(timer.node().push_later(now_ms + 500) || timer.state() == FIRED),
                    _ => assert!(timer.renew(&other_waker) || timer.state() == FIRED),
                }
            }
        });
        timers.advance(now_ms + 500);
        assert_eq!(timers.live(), 0);
    }
    drop((waker, other_waker));
    assert_eq!((Arc::strong_count(&waiter), Arc::strong_count(&other)), (1, 1));
}

/// Ends a poll.
fn take_up(notes: &Notebook) -> Option<u64> {
    // SAFETY: each test stays on one thread.
    unsafe { notes.take_up() }
}

#[test]
fn a_note_is_armed_at_the_end_of_the_poll() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let (near, far) = (Timer::new(&timers), Timer::new(&timers));
    {
        let notes = Notebook::new();
        assert!(far.note(&notes, 20, &waker) && near.note(&notes, 10, &waker));
        assert_eq!((near.state(), timers.live(), timers.next_deadline_ms()), (NOTED, 0, NEVER));
        assert_eq!(Arc::strong_count(&waiter), 2, "a note does not count the task");
        assert_eq!(take_up(&notes), Some(10), "the earlier is to be announced");
    }
    assert_eq!((near.state(), far.state(), timers.live()), (10, 20, 2));
    assert_eq!((timers.advance(10), timers.advance(20), waiter.wakes()), (1, 1, 2));
}

#[test]
fn a_note_erased_in_the_poll_leaves_its_place() {
    let timers = Arc::new(Timers::new());
    let (waiter, waker) = Waiter::new();
    let notes = Notebook::new();
    let short: Vec<_> = (0..100).map(|_| Timer::new(&timers)).collect();
    // None of this needs the lock.
    let inner = timers.shared.inner.lock();
    for timer in &short {
        assert!(timer.note(&notes, 10, &waker) && notes.has(timer.node()));
        notes.erase(timer.node());
        timer.node().state.store(UNARMED, Ordering::Relaxed);
    }
    drop(inner);
    let kept: Vec<_> = (0..4).map(|_| Timer::new(&timers)).collect();
    assert!(kept.iter().all(|timer| timer.note(&notes, 10, &waker)));
    assert_eq!(take_up(&notes), Some(10));
    assert_eq!((timers.live(), Arc::strong_count(&waiter)), (4, 6));
}

#[test]
fn a_note_needs_room_and_the_same_task() {
    let timers = Arc::new(Timers::new());
    let ((_waiter, waker), (_other, other)) = (Waiter::new(), Waiter::new());
    let notes = Notebook::new();
    let mut armed: Vec<_> = (0..6).map(|_| Timer::new(&timers)).collect();
    let noted: Vec<_> = armed.iter().map(|timer| timer.note(&notes, 10, &waker)).collect();
    assert_eq!(noted, [true, true, true, true, false, false]);
    // From elsewhere, under the lock, one in the middle is given up; its place can be had again.
    drop(armed.remove(1));
    assert!(!armed[4].note(&notes, 10, &other), "of another task");
    assert!(armed[4].note(&notes, 10, &waker) && !armed[3].note(&notes, 10, &waker));
    assert_eq!(take_up(&notes), Some(10));
    assert_eq!((timers.live(), armed[3].state()), (4, IDLE));
}

#[test]
fn a_note_whose_time_has_come_wakes_its_task() {
    for close in [false, true] {
        let timers = Arc::new(Timers::new());
        let (waiter, waker) = Waiter::new();
        let timer = Timer::new(&timers);
        let notes = Notebook::new();
        assert!(timer.note(&notes, 10, &waker));
        // The poll took long, and the watch has looked after the timers of this worker.
        let other = Timer::armed(&timers, 10, &waker);
        if close {
            timers.shutdown();
        } else {
            timers.advance(10);
        }
        assert_eq!(waiter.wakes(), 1);
        assert_eq!(take_up(&notes), None);
        assert_eq!((timer.state(), waiter.wakes()), (other.state(), 2));
    }
}

#[test]
fn a_note_may_be_given_another_deadline() {
    let timers = Arc::new(Timers::new());
    let (_waiter, waker) = Waiter::new();
    let (here, there) = (Timer::new(&timers), Timer::new(&timers));
    let notes = Notebook::new();
    assert!(here.note(&notes, 10, &waker) && there.note(&notes, 10, &waker));
    notes.set_deadline(here.node(), 30);
    // SAFETY: the node is ours.
    assert!(unsafe { timers.renote(there.node, Some(20)) });
    assert_eq!(take_up(&notes), Some(20));
    assert_eq!((here.state(), there.state()), (30, 20));
    // SAFETY: as above.
    assert!(!unsafe { timers.renote(there.node, Some(5)) }, "the poll has ended");
    assert!(is_pending(there.state()));
}
