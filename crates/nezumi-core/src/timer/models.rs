//! The races of a timer: with a worker that falls asleep, with its own firing, with the drop of its owner.

use super::NEVER;
use super::node::{CLOSED, FIRED, NOTED, Node, is_pending};
use super::notes::{Notebook, ROOM};
use super::timers::{Armed, Timers};
use nezumi_prim::Parker;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// Runs the model twice: the second time, what is told to `turn` lets the other thread go first. Loom looks for races of an
/// access with the last one only, and so finds no other order by itself where a load of `fire` hides that of the owner.
fn both_ways(model: impl Fn(fn()) + Copy + Send + Sync + 'static) {
    loom::model(move || model(|| ()));
    loom::model(move || model(loom::thread::yield_now));
}

/// A waker that counts wakes and says, by its reference count, whether it was dropped.
fn waker(count: &Arc<AtomicUsize>) -> Waker {
    static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, dropped);
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: `data` came out of `Arc::into_raw`, and this waker's count is left as it is.
        let count = unsafe { std::mem::ManuallyDrop::new(Arc::from_raw(data.cast::<AtomicUsize>())) };
        RawWaker::new(Arc::into_raw(Arc::clone(&count)).cast(), &VTABLE)
    }
    unsafe fn wake(data: *const ()) {
        // SAFETY: handed on.
        unsafe {
            wake_by_ref(data);
            dropped(data);
        }
    }
    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: the count is alive as long as the waker.
        unsafe { (*data.cast::<AtomicUsize>()).fetch_add(1, Ordering::Release) };
    }
    unsafe fn dropped(data: *const ()) {
        // SAFETY: takes back this waker's count.
        drop(unsafe { Arc::from_raw(data.cast::<AtomicUsize>()) });
    }
    // SAFETY: the table's functions keep to the contract of `RawWaker`, with the count of an `Arc`.
    unsafe { Waker::new(Arc::into_raw(Arc::clone(count)).cast(), &VTABLE) }
}

/// A node on the heap that one thread owns.
struct Timer {
    timers: Arc<Timers>,
    node: NonNull<Node>,
}

// SAFETY: as for an entry: the owner may be on any thread.
unsafe impl Send for Timer {}

impl Timer {
    fn armed(timers: &Arc<Timers>, deadline_ms: u64, waker: &Waker) -> (Self, Armed) {
        let node = NonNull::from(Box::leak(Box::new(Node::new())));
        let timer = Timer { timers: timers.clone(), node };
        // SAFETY: the node is ours, on the heap, and cancelled by `drop`.
        let armed = unsafe { timers.arm(node, deadline_ms, waker) };
        (timer, armed)
    }

    fn node(&self) -> &Node {
        // SAFETY: freed only in `drop`.
        unsafe { self.node.as_ref() }
    }

    fn state(&self) -> u64 {
        self.node().state()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // As an entry does it: without the lock if the wait has ended.
        let state = self.state();
        // SAFETY: the node is ours.
        unsafe {
            if (state == NOTED && !self.timers.renote(self.node, None)) || is_pending(state) {
                self.timers.cancel(self.node);
            }
        }
        // SAFETY: it is not pending, so nobody else knows it. The write stands for the free, which the model does not check.
        unsafe {
            self.node().set_waker(None);
            drop(Box::from_raw(self.node.as_ptr()));
        }
    }
}

/// A worker that sleeps on these timers, and whom the armer wakes as the scheduler does.
struct Sleeper {
    timers: Timers,
    idle: AtomicBool,
    parker: Parker,
}

/// How long the modelled worker sleeps when it knows of no deadline: for ever.
fn sleep_until_armed(sleeper: &Sleeper, settle: bool) {
    if settle {
        sleeper.timers.settle();
    }
    sleeper.idle.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if sleeper.timers.next_deadline_ms() > 10 {
        // Slept past it if nobody comes.
        sleeper.parker.park();
    }
}

fn armer(sleeper: &Sleeper, node: NonNull<Node>, waker: &Waker) {
    // SAFETY: the caller owns the node, and cancels it before it goes.
    let armed = unsafe { sleeper.timers.arm(node, 10, waker) };
    if armed == (Armed::Pending { first: true }) && sleeper.idle.load(Ordering::Relaxed) {
        sleeper.parker.unpark();
    }
}

fn check_sleeper(cancelled_before: bool) {
    loom::model(move || {
        let sleeper =
            Arc::new(Sleeper { timers: Timers::new(), idle: AtomicBool::new(false), parker: Parker::new() });
        let count = Arc::new(AtomicUsize::new(0));
        let node = NonNull::from(Box::leak(Box::new(Node::new())));
        if cancelled_before {
            // Leaves a bound that is too early, which `settle` is about to raise.
            // SAFETY: the node is ours.
            unsafe {
                let _ = sleeper.timers.arm(node, 5, &waker(&count));
                sleeper.timers.cancel(node);
            }
        }
        let worker = {
            let sleeper = sleeper.clone();
            loom::thread::spawn(move || sleep_until_armed(&sleeper, cancelled_before))
        };
        armer(&sleeper, node, &waker(&count));
        worker.join().unwrap();
        assert!(sleeper.timers.next_deadline_ms() <= 10);
        assert_eq!(sleeper.timers.advance(10), 1);
        assert_eq!(count.load(Ordering::Acquire), 1);
        // SAFETY: it has fired.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
        assert_eq!(Arc::strong_count(&count), 1);
    });
}

#[test]
fn armed_while_falling_asleep() {
    check_sleeper(false);
}

#[test]
fn armed_while_the_bound_is_settled() {
    check_sleeper(true);
}

/// A spare takes up what it has noted for the worker that it stands in for, while that one falls asleep.
#[test]
fn noted_while_falling_asleep() {
    loom::model(|| {
        let sleeper =
            Arc::new(Sleeper { timers: Timers::new(), idle: AtomicBool::new(false), parker: Parker::new() });
        let count = Arc::new(AtomicUsize::new(0));
        let polled = waker(&count);
        let node = NonNull::from(Box::leak(Box::new(Node::new())));
        let worker = {
            let sleeper = sleeper.clone();
            loom::thread::spawn(move || sleep_until_armed(&sleeper, false))
        };
        let notes = Notebook::new();
        // SAFETY: the node is ours, and fires before it is freed; this is the notebook's thread.
        let first_ms = unsafe {
            assert!(notes.note(node, 10, &polled, &raw const sleeper.timers));
            notes.take_up()
        };
        assert_eq!(first_ms, Some(10));
        // As `Home::timer_armed_in`.
        if sleeper.idle.load(Ordering::Relaxed) {
            sleeper.parker.unpark();
        }
        worker.join().unwrap();
        assert_eq!(sleeper.timers.advance(10), 1);
        assert_eq!(count.load(Ordering::Acquire), 1);
        // SAFETY: it has fired.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    });
}

#[test]
fn fired_while_dropped() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let (timer, _) = Timer::armed(&timers, 10, &waker(&count));
        let firer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(10))
        };
        turn();
        drop(timer);
        let fired = firer.join().unwrap();
        assert_eq!(count.load(Ordering::Acquire), fired);
        assert_eq!((Arc::strong_count(&count), timers.live()), (1, 0));
    });
}

#[test]
fn cancelled_beside_an_insertion() {
    loom::model(|| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let (first, _) = Timer::armed(&timers, 70, &waker(&count));
        let (second, _) = Timer::armed(&timers, 70, &waker(&count));
        let other = {
            let (timers, count) = (timers.clone(), count.clone());
            loom::thread::spawn(move || Timer::armed(&timers, 70, &waker(&count)).0)
        };
        drop(first);
        let third = other.join().unwrap();
        assert_eq!(timers.live(), 2);
        assert_eq!(timers.advance(70), 2);
        assert_eq!((second.state(), third.state()), (FIRED, FIRED));
        assert_eq!((count.load(Ordering::Acquire), Arc::strong_count(&count)), (2, 1));
    });
}

#[test]
fn pushed_later_while_fired() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let (timer, _) = Timer::armed(&timers, 10, &waker(&count));
        let firer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(10))
        };
        turn();
        // Either it fires at 10, or not before 20; never both, never neither.
        let pushed = timer.node().push_later(20);
        let fired = firer.join().unwrap();
        assert_eq!(fired, usize::from(!pushed));
        if pushed {
            assert_eq!((timer.state(), timers.next_deadline_ms() <= 20), (20, true));
            assert_eq!(timers.advance(20), 1);
        }
        assert_eq!((timer.state(), count.load(Ordering::Acquire)), (FIRED, 1));
    });
}

#[test]
fn brought_forward_while_fired() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let (timer, _) = Timer::armed(&timers, 10, &waker(&count));
        let firer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(10))
        };
        turn();
        // SAFETY: the node is ours.
        let armed = unsafe { timers.bring_forward(timer.node, 5) };
        firer.join().unwrap();
        timers.advance(10);
        assert!(matches!(armed, Armed::Due | Armed::Pending { .. }));
        assert_eq!((timer.state(), count.load(Ordering::Acquire)), (FIRED, 1));
    });
}

#[test]
fn renewed_while_fired() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let (old, new) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (timer, _) = Timer::armed(&timers, 10, &waker(&old));
        let firer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(10))
        };
        turn();
        // A poll that says Pending is followed by a wake of its own task.
        // SAFETY: the node is ours.
        let pending = unsafe { timers.renew(timer.node, &waker(&new)) };
        firer.join().unwrap();
        let wakes = (old.load(Ordering::Acquire), new.load(Ordering::Acquire));
        assert_eq!(wakes, if pending { (0, 1) } else { (1, 0) });
        drop(timer);
        assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 1));
    });
}

#[test]
fn the_same_waker_is_renewed_without_the_lock() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let waker = waker(&count);
        let (timer, _) = Timer::armed(&timers, 10, &waker);
        let firer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(10))
        };
        turn();
        // SAFETY: the node is ours.
        assert!(unsafe { timers.renew(timer.node, &waker) });
        firer.join().unwrap();
        assert_eq!(count.load(Ordering::Acquire), 1);
    });
}

#[test]
fn two_threads_advance() {
    loom::model(|| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let armed: Vec<_> = (0..2).map(|n| Timer::armed(&timers, 10 + n, &waker(&count)).0).collect();
        let rescuer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.advance(11))
        };
        let fired = timers.advance(11) + rescuer.join().unwrap();
        assert_eq!((fired, count.load(Ordering::Acquire)), (2, 2));
        assert!(armed.iter().all(|timer| timer.state() == FIRED));
        assert_eq!(timers.next_deadline_ms(), NEVER);
    });
}

/// A spare arms and fires among the timers of the worker that it stands in for, while that one comes back to them.
#[test]
fn a_stand_in_arms_and_fires_beside_the_owner() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let arm_and_fire = |timers: Arc<Timers>, waker: Waker, deadline_ms: u64| {
            let (timer, armed) = Timer::armed(&timers, deadline_ms, &waker);
            let fired = timers.advance(10);
            (timer, matches!(armed, Armed::Pending { .. }), fired)
        };
        let stand_in = {
            let (timers, waker) = (timers.clone(), waker(&count));
            loom::thread::spawn(move || arm_and_fire(timers, waker, 10))
        };
        turn();
        let (own, own_pends, by_owner) = arm_and_fire(timers.clone(), waker(&count), 11);
        let (other, other_pends, by_stand_in) = stand_in.join().unwrap();
        // Whoever sleeps next is told of what is left.
        assert_eq!(timers.live(), usize::from(own_pends) + usize::from(other_pends) - by_owner - by_stand_in);
        assert!(timers.live() == 0 || timers.next_deadline_ms() <= 11);
        let fired = by_owner + by_stand_in + timers.advance(11);
        assert_eq!(fired, usize::from(own_pends) + usize::from(other_pends));
        assert_eq!(count.load(Ordering::Acquire), fired, "each once");
        drop((own, other));
        assert_eq!((timers.live(), timers.next_deadline_ms()), (0, NEVER));
    });
}

#[test]
fn armed_while_shut_down() {
    loom::model(|| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let closer = {
            let timers = timers.clone();
            loom::thread::spawn(move || timers.shutdown())
        };
        let (timer, armed) = Timer::armed(&timers, 10, &waker(&count));
        closer.join().unwrap();
        assert_eq!(timer.state(), CLOSED);
        let woken = usize::from(armed != Armed::Closed);
        assert_eq!((count.load(Ordering::Acquire), timers.live()), (woken, 0));
    });
}

/// A timer that its poll has noted for millisecond 10, with the waker of the poll's task, which counts.
fn noted() -> (Arc<Timers>, Arc<AtomicUsize>, Waker, Timer, Box<Notebook>) {
    let timers = Arc::new(Timers::new());
    let count = Arc::new(AtomicUsize::new(0));
    let polled = waker(&count);
    let node = NonNull::from(Box::leak(Box::new(Node::new())));
    let timer = Timer { timers: timers.clone(), node };
    // The node points to its place in there, which may not move.
    let notes = Box::new(Notebook::new());
    // SAFETY: the node is the timer's, on the heap, and out of everything when that is dropped.
    assert!(unsafe { notes.note(node, 10, &polled, &raw const *timers) });
    (timers, count, polled, timer, notes)
}

/// A timer is noted in a poll, and sent to another thread before that poll ends. `there` is what its new owner does with it; `end`
/// looks at it when all is over, and is told how often the task of the poll was woken.
fn noted_here(there: fn(&Timer, &Waker), end: fn(Option<&Timer>, &Timers, usize), dropped: bool) {
    both_ways(move |turn| {
        let (timers, count, polled, timer, notes) = noted();
        let other = {
            let polled = polled.clone();
            loom::thread::spawn(move || {
                there(&timer, &polled);
                (!dropped).then_some(timer)
            })
        };
        turn();
        // SAFETY: this is the notebook's thread.
        unsafe { notes.take_up() };
        drop(notes);
        let timer = other.join().unwrap();
        timers.advance(10);
        end(timer.as_ref(), &timers, count.load(Ordering::Acquire));
        drop((timer, polled));
        assert_eq!((Arc::strong_count(&count), timers.live()), (1, 0));
    });
}

#[test]
fn noted_here_dropped_there() {
    noted_here(|_, _| (), |_, _, wakes| assert_eq!(wakes, 0), true);
}

#[test]
fn noted_here_polled_there() {
    noted_here(
        |timer, waker| {
            // With the same waker, so that it does not matter who arms it.
            // SAFETY: the node is ours.
            unsafe {
                if timer.state() == NOTED && timer.timers.renote(timer.node, None) {
                    let _ = timer.timers.arm(timer.node, 10, waker);
                } else {
                    assert!(timer.timers.renew(timer.node, waker));
                }
            }
        },
        |timer, _, wakes| assert_eq!((timer.unwrap().state(), wakes), (FIRED, 1)),
        false,
    );
}

#[test]
fn noted_here_reset_there() {
    noted_here(
        |timer, _| {
            // SAFETY: the node is ours.
            let noted = unsafe { timer.timers.renote(timer.node, Some(20)) };
            assert!(noted || timer.node().push_later(20));
        },
        |timer, timers, wakes| {
            assert_eq!((timer.unwrap().state(), wakes), (20, 0));
            assert_eq!((timers.advance(20), timer.unwrap().state()), (1, FIRED));
        },
        false,
    );
}

/// The time of a timer that was noted has come by the end of the poll: the task is woken, and the timer is its owner's again, on whatever thread.
#[test]
fn a_note_that_is_taken_up_too_late_has_fired() {
    both_ways(|turn| {
        let (timers, count, polled, timer, notes) = noted();
        timers.advance(10);
        let other = loom::thread::spawn(move || drop(timer));
        turn();
        // SAFETY: this is the notebook's thread.
        assert_eq!(unsafe { notes.take_up() }, None);
        other.join().unwrap();
        // Unless its owner was first.
        assert!(count.load(Ordering::Acquire) <= 1);
        drop(polled);
        assert_eq!((Arc::strong_count(&count), timers.live()), (1, 0));
    });
}

#[test]
fn a_place_erased_there_is_used_here() {
    both_ways(|turn| {
        let timers = Arc::new(Timers::new());
        let count = Arc::new(AtomicUsize::new(0));
        let polled = waker(&count);
        let new = || Timer { timers: timers.clone(), node: NonNull::from(Box::leak(Box::new(Node::new()))) };
        let notes = Notebook::new();
        let note = |timer: &Timer| {
            // SAFETY: the node is ours, on the heap, and out of everything when it is dropped.
            unsafe { notes.note(timer.node, 10, &polled, &raw const *timers) }
        };
        let mut timers_noted: Vec<_> = (0..ROOM).map(|_| new()).collect();
        assert!(timers_noted.iter().all(note));
        let sent = timers_noted.remove(1);
        let other = loom::thread::spawn(move || drop(sent));
        turn();
        // The place may be free or not yet; if it is, the new note is the new timer's alone.
        let late = new();
        let noted = note(&late);
        // SAFETY: this is the notebook's thread.
        unsafe { notes.take_up() };
        assert_eq!(is_pending(late.state()), noted);
        other.join().unwrap();
        assert_eq!(timers.advance(10), timers_noted.len() + usize::from(noted));
        assert_eq!(count.load(Ordering::Acquire), timers_noted.len() + usize::from(noted));
        drop((late, timers_noted, polled));
        assert_eq!((Arc::strong_count(&count), timers.live()), (1, 0));
    });
}
