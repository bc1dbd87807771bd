use super::{Semaphore, TryAcquireError};
use crate::hand_polled::{assert_panics, panicking_waker, reentrant_waker, task};
use crate::testing::{panics, poll_by_a_waker_that_panics_when_dropped, throws_a_bomb, waker_with_a_bomb};
use nezumi_wake::coop;
use std::sync::Arc;

#[test]
fn what_is_there_is_taken_at_once() {
    let semaphore = Semaphore::new(10);
    task(semaphore.acquire(4)).assert_ready().unwrap();
    assert_eq!(semaphore.available_permits(), 6);
    semaphore.try_acquire(6).unwrap();
    assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::NoPermits));
    semaphore.release(10);
    assert_eq!(semaphore.available_permits(), 10);
}

#[test]
fn a_release_serves_the_head_of_the_queue() {
    let semaphore = Semaphore::new(5);
    semaphore.try_acquire(1).unwrap();
    let mut large = task(semaphore.acquire(5));
    let mut small = task(semaphore.acquire(3));
    large.assert_pending();
    small.assert_pending();
    assert_eq!(semaphore.available_permits(), 0, "what is left belongs to the head");
    semaphore.release(1);
    assert_eq!((large.wakes(), small.wakes()), (1, 0));
    large.assert_ready().unwrap();
    semaphore.release(1);
    semaphore.release(1);
    assert!(!small.is_woken());
    semaphore.release(1);
    assert_eq!(small.wakes(), 1);
    small.assert_ready().unwrap();
    semaphore.release(7);
    assert_eq!(semaphore.available_permits(), 7);
}

#[test]
fn nobody_overtakes_the_head() {
    let semaphore = Semaphore::new(2);
    let mut large = task(semaphore.acquire(3));
    large.assert_pending();
    assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::NoPermits));
    let mut small = task(semaphore.acquire(1));
    small.assert_pending();
    semaphore.release(1);
    small.assert_pending();
    large.assert_ready().unwrap();
}

#[test]
fn the_queue_is_served_in_order() {
    let semaphore = Semaphore::new(0);
    let mut waiters: Vec<_> = (0..100).map(|_| task(semaphore.acquire(1))).collect();
    waiters.iter_mut().for_each(|waiter| waiter.assert_pending());
    for served in 1..=50 {
        semaphore.release(1);
        assert_eq!(waiters.iter().take_while(|waiter| waiter.is_woken()).count(), served);
        assert_eq!(waiters.iter().filter(|waiter| waiter.is_woken()).count(), served);
    }
    // More than fit in one batch of wakers.
    semaphore.release(60);
    assert!(waiters.iter().all(|waiter| waiter.is_woken()));
    assert_eq!(semaphore.available_permits(), 10);
    waiters.iter_mut().for_each(|waiter| waiter.assert_ready().unwrap());
    assert_eq!(semaphore.available_permits(), 10);
}

#[test]
fn zero_permits_are_always_there() {
    let semaphore = Semaphore::new(0);
    semaphore.try_acquire(0).unwrap();
    let mut waiter = task(semaphore.acquire(1));
    waiter.assert_pending();
    task(semaphore.acquire(0)).assert_ready().unwrap();
    semaphore.release(0);
    assert!(!waiter.is_woken());
    semaphore.close();
    assert_eq!(semaphore.try_acquire(0), Err(TryAcquireError::Closed));
}

#[test]
fn a_dropped_waiter_lets_those_behind_through() {
    let semaphore = Semaphore::new(2);
    let mut large = task(semaphore.acquire(3));
    let mut small = task(semaphore.acquire(1));
    let mut last = task(semaphore.acquire(1));
    large.assert_pending();
    small.assert_pending();
    last.assert_pending();
    drop(last);
    large.drop_future();
    assert_eq!((small.wakes(), semaphore.available_permits()), (1, 1));
    small.assert_ready().unwrap();
}

#[test]
fn a_grant_nobody_looked_at_goes_on() {
    let semaphore = Semaphore::new(0);
    let (mut first, mut second) = (task(semaphore.acquire(2)), task(semaphore.acquire(1)));
    first.assert_pending();
    second.assert_pending();
    semaphore.release(2);
    assert!(first.is_woken() && !second.is_woken());
    first.drop_future();
    assert!(second.is_woken());
    second.drop_future();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn close_refuses_all_and_keeps_the_permits() {
    let semaphore = Semaphore::new(5);
    let mut waiters: Vec<_> = (0..70).map(|_| task(semaphore.acquire(6))).collect();
    waiters.iter_mut().for_each(|waiter| waiter.assert_pending());
    semaphore.close();
    semaphore.close();
    assert!(semaphore.is_closed());
    for waiter in &mut waiters {
        assert_eq!(waiter.wakes(), 1);
        assert_eq!(waiter.assert_ready().unwrap_err().to_string(), "semaphore closed");
    }
    drop(waiters);
    assert_eq!(semaphore.available_permits(), 5);
    task(semaphore.acquire(1)).assert_ready().unwrap_err();
    assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::Closed));
    semaphore.release(2);
    assert_eq!(semaphore.available_permits(), 7);
    assert!(Semaphore::new_closed().is_closed());
}

#[test]
fn what_the_head_held_is_out_until_it_has_heard_of_the_close() {
    for cancelled in [true, false] {
        let semaphore = Semaphore::new(3);
        let mut large = task(semaphore.acquire(5));
        let mut other = task(semaphore.acquire(1));
        large.assert_pending();
        other.assert_pending();
        semaphore.close();
        assert_eq!((large.wakes(), other.wakes()), (1, 1));
        semaphore.release(1);
        assert_eq!(semaphore.available_permits(), 1, "three are with the head");
        if cancelled {
            large.drop_future();
        } else {
            large.assert_ready().unwrap_err();
            assert_eq!(semaphore.available_permits(), 1);
            drop(large);
        }
        assert_eq!(semaphore.available_permits(), 4);
        other.assert_ready().unwrap_err();
        drop(other);
        assert_eq!(semaphore.available_permits(), 4);
    }
}

#[test]
fn close_beats_a_grant_that_was_not_polled() {
    let semaphore = Semaphore::new(0);
    let mut waiter = task(semaphore.acquire(2));
    waiter.assert_pending();
    semaphore.release(2);
    semaphore.close();
    waiter.assert_ready().unwrap_err();
    drop(waiter);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn permits_can_be_forgotten_but_not_those_of_a_waiter() {
    let semaphore = Semaphore::new(10);
    assert_eq!(semaphore.forget_permits(4), 4);
    let mut waiter = task(semaphore.acquire(7));
    waiter.assert_pending();
    assert_eq!(semaphore.forget_permits(6), 0);
    semaphore.release(3);
    waiter.assert_ready().unwrap();
    assert_eq!(semaphore.available_permits(), 2);
    assert_eq!(semaphore.forget_permits(usize::MAX), 2);
    assert_eq!(semaphore.forget_permits(1), 0);
    semaphore.release(7);
    assert_eq!(semaphore.available_permits(), 7);
}

#[test]
fn limits_are_checked() {
    const MAX: usize = Semaphore::MAX_PERMITS;
    let phrase = "a semaphore may not have more than MAX_PERMITS permits";
    assert_panics(phrase, || {
        let _ = Semaphore::new(MAX + 1);
    });
    let semaphore = Semaphore::new(MAX);
    assert_eq!(semaphore.available_permits(), MAX);
    for permits in [MAX + 1, 1 << (usize::BITS - 1)] {
        assert_panics(phrase, || drop(semaphore.try_acquire(permits)));
        assert_panics(phrase, || drop(semaphore.acquire(permits)));
        assert_panics("cannot add more than MAX_PERMITS permits", || semaphore.release(permits));
    }
    assert_panics("would overflow MAX_PERMITS", || semaphore.release(1));
}

#[test]
fn the_last_waker_counts() {
    let semaphore = Semaphore::new(0);
    let mut waiter = task(semaphore.acquire(1));
    waiter.assert_pending();
    waiter.assert_pending();
    assert_eq!(waiter.wakers(), 1);
    assert!(waiter.poll_with(std::task::Waker::noop()).is_pending());
    assert_eq!(waiter.wakers(), 0, "the replaced waker is dropped");
    waiter.assert_pending();
    semaphore.release(1);
    assert_eq!((waiter.wakes(), waiter.wakers()), (1, 0));
}

#[test]
fn wakers_run_outside_the_lock() {
    for end in [|s: &Semaphore| s.release(1), |s: &Semaphore| s.close(), |_: &Semaphore| ()] {
        let semaphore = Arc::new(Semaphore::new(0));
        let reentrant = || {
            let semaphore = semaphore.clone();
            // Takes the lock: the acquire queues and leaves the queue again.
            reentrant_waker(move || drop(task(semaphore.acquire(1000)).poll()))
        };
        let mut waiter = task(semaphore.acquire(1));
        assert!(waiter.poll_with(&reentrant()).is_pending());
        assert!(waiter.poll_with(&reentrant()).is_pending());
        end(&semaphore);
    }
}

#[test]
fn a_panicking_waker_does_not_stop_the_queue() {
    for close in [false, true] {
        let semaphore = Semaphore::new(0);
        let mut waiters: Vec<_> = (0..100).map(|_| task(semaphore.acquire(1))).collect();
        for (i, waiter) in waiters.iter_mut().enumerate() {
            if i % 40 == 0 {
                assert!(waiter.poll_with(&panicking_waker()).is_pending());
            } else {
                waiter.assert_pending();
            }
        }
        assert_panics(
            "a waker that panics",
            || if close { semaphore.close() } else { semaphore.release(100) },
        );
        for (i, waiter) in waiters.iter_mut().enumerate() {
            assert_eq!(waiter.is_woken(), i % 40 != 0);
            assert_eq!(waiter.assert_ready().is_ok(), !close);
        }
    }
}

fn spend_the_budget() {
    while coop::has_budget_remaining() {
        task(coop::consume_budget()).assert_ready();
    }
}

#[test]
fn a_task_without_budget_keeps_its_turn() {
    let semaphore = Semaphore::new(0);
    let mut first = task(semaphore.acquire(1));
    coop::budget(|| {
        spend_the_budget();
        first.assert_pending();
    });
    let mut second = task(semaphore.acquire(1));
    second.assert_pending();
    semaphore.release(1);
    assert_eq!((first.is_woken(), second.is_woken()), (true, false));
    first.assert_ready().unwrap();
}

#[test]
fn a_task_without_budget_gets_what_is_there_and_is_told_later() {
    for cancelled in [true, false] {
        let semaphore = Semaphore::new(1);
        let mut first = task(semaphore.acquire(1));
        coop::budget(|| {
            spend_the_budget();
            first.assert_pending();
            assert_eq!(first.wakes(), 1);
            first.assert_pending();
        });
        semaphore.try_acquire(1).unwrap_err();
        if cancelled {
            first.drop_future();
            semaphore.try_acquire(1).unwrap();
        } else {
            first.assert_ready().unwrap();
            drop(first);
            semaphore.try_acquire(1).unwrap_err();
        }
    }
}

#[test]
fn a_grant_waits_for_budget_too() {
    let semaphore = Semaphore::new(0);
    let mut first = task(semaphore.acquire(1));
    first.assert_pending();
    semaphore.release(1);
    coop::budget(|| {
        spend_the_budget();
        first.assert_pending();
    });
    first.assert_ready().unwrap();
}

#[test]
fn to_be_refused_costs_no_budget_and_needs_none() {
    let semaphore = Semaphore::new(0);
    let mut queued = task(semaphore.acquire(1));
    queued.assert_pending();
    semaphore.close();
    coop::budget(|| {
        for _ in 0..1000 {
            task(semaphore.acquire(1)).assert_ready().unwrap_err();
        }
        assert!(coop::has_budget_remaining());
        spend_the_budget();
        task(semaphore.acquire(1)).assert_ready().unwrap_err();
        queued.assert_ready().unwrap_err();
    });
}

#[test]
fn an_acquire_spends_budget_only_when_it_is_served() {
    let semaphore = Semaphore::new(200);
    coop::budget(|| {
        let held = Semaphore::new(0);
        task(held.acquire(1)).assert_pending();
        for _ in 0..128 {
            task(semaphore.acquire(1)).assert_ready().unwrap();
        }
        let mut late = task(semaphore.acquire(1));
        late.assert_pending();
        assert_eq!(late.wakes(), 1);
    });
    assert_eq!(semaphore.available_permits(), 72);
}

/// Two panics in one scope would end the process.
#[test]
fn a_waiter_that_leaves_and_those_it_lets_through_may_all_panic() {
    let semaphore = Semaphore::new(1);
    let (mut large, mut small) = (Box::pin(semaphore.acquire(2)), Box::pin(semaphore.acquire(1)));
    assert!(poll_by_a_waker_that_panics_when_dropped(large.as_mut()).is_pending());
    assert!(poll_by_a_waker_that_panics_when_dropped(small.as_mut()).is_pending());
    assert!(panics(|| drop(large)));
    task(small).assert_ready().unwrap();
}

#[test]
fn what_the_panics_of_wakers_carry_keeps_nobody_waiting() {
    let semaphore = Semaphore::new(0);
    let mut bad: Vec<_> = (0..70).map(|_| task(semaphore.acquire(1))).collect();
    for waiter in &mut bad {
        assert!(waiter.poll_with(&waker_with_a_bomb()).is_pending());
    }
    let mut good = task(semaphore.acquire(1));
    good.assert_pending();
    assert!(throws_a_bomb(|| semaphore.release(71)));
    assert_eq!(good.wakes(), 1);
    good.assert_ready().unwrap();
}
