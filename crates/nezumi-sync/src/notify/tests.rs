use super::Notify;
use crate::hand_polled::{Task, assert_panics, panicking_waker, reentrant_waker, task};
use nezumi_prim::FastRand;
use nezumi_wake::{block_on, block_on_timeout};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

fn waiting<'a>(notify: &'a Notify) -> Task<super::Notified<'a>> {
    let mut waiter = task(notify.notified());
    waiter.assert_pending();
    waiter
}

#[test]
fn a_permit_waits_for_the_next_and_does_not_add_up() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_last();
    task(notify.notified()).assert_ready();
    task(notify.notified()).assert_pending();
}

#[test]
fn notify_one_wakes_the_oldest_and_notify_last_the_newest() {
    let notify = Notify::const_new();
    let mut waiters: Vec<_> = (0..4).map(|_| waiting(&notify)).collect();
    let woken = |waiters: &[Task<_>]| waiters.iter().map(Task::wakes).collect::<Vec<_>>();
    notify.notify_one();
    assert_eq!(woken(&waiters), [1, 0, 0, 0]);
    notify.notify_last();
    assert_eq!(woken(&waiters), [1, 0, 0, 1]);
    notify.notify_last();
    notify.notify_one();
    assert_eq!(woken(&waiters), [1; 4]);
    waiters.iter_mut().for_each(|waiter| waiter.assert_ready());
    task(notify.notified()).assert_pending();
}

#[test]
fn a_ready_future_stays_ready() {
    let notify = Notify::new();
    let mut waiter = waiting(&notify);
    notify.notify_one();
    waiter.assert_ready();
    waiter.assert_ready();
    drop(waiter);
    task(notify.notified()).assert_pending();
}

#[test]
fn notify_waiters_reaches_all_that_were_made_before() {
    let notify = Arc::new(Notify::new());
    let mut polled: Vec<_> = (0..100).map(|_| waiting(&notify)).collect();
    let (mut unpolled, mut owned) = (task(notify.notified()), task(notify.clone().notified_owned()));
    notify.notify_waiters();
    let mut later = task(notify.notified());
    for waiter in &mut polled {
        assert_eq!(waiter.wakes(), 1);
        waiter.assert_ready();
    }
    unpolled.assert_ready();
    owned.assert_ready();
    later.assert_pending();
    notify.notify_waiters();
    assert!(later.is_woken());
    task(notify.notified()).assert_pending();
}

#[test]
fn notify_waiters_leaves_a_permit_where_it_is() {
    let notify = Notify::new();
    let mut before = task(notify.notified());
    notify.notify_one();
    notify.notify_waiters();
    before.assert_ready();
    task(notify.notified()).assert_ready();
    task(notify.notified()).assert_pending();
}

#[test]
fn what_a_dropped_waiter_was_told_goes_to_the_next() {
    let notify = Notify::new();
    let (mut first, mut second, third) = (waiting(&notify), waiting(&notify), waiting(&notify));
    notify.notify_one();
    first.drop_future();
    assert!(second.is_woken() && !third.is_woken());
    second.drop_future();
    assert!(third.is_woken());
    drop(third);
    task(notify.notified()).assert_ready();

    let (first, second, mut third) = (waiting(&notify), waiting(&notify), waiting(&notify));
    notify.notify_last();
    third.drop_future();
    assert!(!first.is_woken() && second.is_woken(), "the last again");
    drop((first, second));
    task(notify.notified()).assert_ready();

    let mut last = waiting(&notify);
    notify.notify_waiters();
    last.drop_future();
    task(notify.notified()).assert_pending();
}

#[test]
fn a_waiter_that_leaves_takes_its_place_with_it() {
    let notify = Notify::new();
    let mut only = waiting(&notify);
    only.drop_future();
    assert_eq!(only.wakers(), 0);
    notify.notify_one();
    task(notify.notified()).assert_ready();
    let (first, mut middle, last) = (waiting(&notify), waiting(&notify), waiting(&notify));
    middle.drop_future();
    notify.notify_one();
    notify.notify_one();
    assert!(first.is_woken() && last.is_woken());
}

#[test]
fn enable_takes_a_place_without_a_waker() {
    let notify = Arc::new(Notify::new());
    let (mut enabled, mut owned) = (task(notify.notified()), task(notify.clone().notified_owned()));
    assert!(!enabled.pin().enable() && !owned.pin().enable());
    let mut polled = waiting(&notify);
    notify.notify_one();
    assert!(!polled.is_woken() && enabled.pin().enable());
    enabled.assert_ready();
    owned.assert_pending();
    assert!(!owned.pin().enable(), "and the waker stays");
    notify.notify_one();
    assert!(owned.is_woken() && owned.pin().enable());
    notify.notify_one();
    polled.assert_ready();
    notify.notify_one();
    assert!(task(notify.notified()).pin().enable());
}

#[test]
fn the_last_waker_counts() {
    let notify = Notify::new();
    let mut waiter = waiting(&notify);
    waiter.assert_pending();
    assert_eq!(waiter.wakers(), 1);
    assert!(waiter.poll_with(Waker::noop()).is_pending());
    assert_eq!(waiter.wakers(), 0, "the replaced waker is dropped");
    waiter.assert_pending();
    notify.notify_one();
    assert_eq!((waiter.wakes(), waiter.wakers()), (1, 0));
}

#[test]
fn wakers_run_outside_the_lock() {
    fn check<F: Future<Output = ()>>(end: fn(&Notify), make: impl Fn(&Arc<Notify>) -> F) {
        let notify = Arc::new(Notify::new());
        let reentrant = || {
            let notify = notify.clone();
            // Takes the lock: the waiter queues and leaves the queue again.
            reentrant_waker(move || assert!(task(notify.notified()).poll().is_pending()))
        };
        let mut waiter = task(make(&notify));
        assert!(waiter.poll_with(&reentrant()).is_pending());
        assert!(waiter.poll_with(&reentrant()).is_pending());
        end(&notify);
    }
    for end in [Notify::notify_one, Notify::notify_last, Notify::notify_waiters, |_: &Notify| ()] {
        check(end, |notify| notify.clone().notified_owned());
    }
}

#[test]
fn a_waker_may_poll_or_drop_those_not_yet_woken() {
    for poll in [false, true] {
        let notify = Arc::new(Notify::new());
        let make = || task(notify.clone().notified_owned());
        let rest: Arc<Mutex<Vec<_>>> = Arc::default();
        // One batch, so that its wakes happen while the rest is still to come.
        let mut first: Vec<_> = (0..32).map(|_| make()).collect();
        for waiter in &mut first {
            let rest = rest.clone();
            let waker = reentrant_waker(move || {
                let mut rest = rest.lock().unwrap();
                if poll {
                    rest.iter_mut().for_each(Task::assert_ready);
                } else {
                    rest.clear();
                }
            });
            assert!(waiter.poll_with(&waker).is_pending());
        }
        rest.lock().unwrap().extend((0..40).map(|_| make()));
        rest.lock().unwrap().iter_mut().for_each(Task::assert_pending);
        notify.notify_waiters();
        assert!(rest.lock().unwrap().iter().all(|waiter| !waiter.is_woken()));
        assert!(first.iter_mut().all(|waiter| waiter.poll().is_ready()));
        task(notify.notified()).assert_pending();
        notify.notify_one();
        task(notify.notified()).assert_ready();
    }
}

#[test]
fn a_panicking_waker_does_not_keep_the_rest_asleep() {
    let notify = Notify::new();
    let mut waiters: Vec<_> = (0..100).map(|_| task(notify.notified())).collect();
    for (i, waiter) in waiters.iter_mut().enumerate() {
        if i % 40 == 0 {
            assert!(waiter.poll_with(&panicking_waker()).is_pending());
        } else {
            waiter.assert_pending();
        }
    }
    assert_panics("a waker that panics", || notify.notify_waiters());
    for (i, waiter) in waiters.iter_mut().enumerate() {
        assert_eq!(waiter.is_woken(), i % 40 != 0);
        waiter.assert_ready();
    }
}

#[test]
fn an_owned_future_keeps_it_alive() {
    let notify = Arc::new(Notify::new());
    let mut waiter = task(notify.clone().notified_owned());
    waiter.assert_pending();
    notify.notify_one();
    drop(notify);
    waiter.assert_ready();
}

#[test]
fn texts() {
    let notify = Notify::default();
    notify.notify_one();
    assert_eq!(format!("{notify:?}"), "Notify { permit: true, waiting: false }");
    let waiter = notify.notified();
    assert_eq!(
        format!("{waiter:?}"),
        "Notified { notify: Notify { permit: true, waiting: false }, state: New }"
    );
}

/// A queue of numbers with a `Notify`, as in the docs: a push tells one, a pop waits.
#[derive(Default)]
struct Queue {
    values: Mutex<Vec<usize>>,
    pushed: Notify,
}

impl Queue {
    fn push(&self, value: usize) {
        self.values.lock().unwrap().push(value);
        self.pushed.notify_one();
    }

    async fn pop(&self) -> usize {
        let mut pushed = pin!(self.pushed.notified());
        loop {
            pushed.as_mut().enable();
            if let Some(value) = self.values.lock().unwrap().pop() {
                return value;
            }
            pushed.as_mut().await;
            pushed.set(self.pushed.notified());
        }
    }
}

/// Consumers that wait, and consumers that give up: whatever they do, no push is left without one who knows of it.
#[test]
fn threads_that_give_up_lose_no_notification() {
    const EACH: usize = if cfg!(miri) { 4 } else { 5_000 };
    let queue = Arc::new(Queue::default());
    let consumers: Vec<_> = (0..2)
        .map(|id| {
            let queue = queue.clone();
            std::thread::spawn(move || {
                let random = FastRand::new(id);
                let mut sum = 0;
                loop {
                    let value = if random.below(2) == 0 {
                        block_on_timeout(queue.pop(), Duration::ZERO)
                    } else {
                        Some(block_on(queue.pop()))
                    };
                    match value {
                        Some(0) => return sum,
                        Some(value) => sum += value,
                        None => std::thread::yield_now(),
                    }
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            std::thread::spawn(move || (1..=EACH).for_each(|value| queue.push(value)))
        })
        .collect();
    producers.into_iter().for_each(|thread| thread.join().unwrap());
    // The zeros end the consumers, so they come last.
    while !queue.values.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    queue.push(0);
    queue.push(0);
    let sum: usize = consumers.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(sum, EACH * (EACH + 1));
}
