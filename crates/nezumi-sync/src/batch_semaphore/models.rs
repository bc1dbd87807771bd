use super::Semaphore;
use crate::modelling::{Cargo, poll_once};
use loom::future::block_on;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::thread::{spawn, yield_now};
use std::future::Future;

/// A semaphore of one permit, and what the permit guards.
struct Guarded {
    semaphore: Semaphore,
    value: UnsafeCell<usize>,
}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self { semaphore: Semaphore::new(1), value: UnsafeCell::new(0) })
    }

    /// Loom reports it if two do this at once.
    fn touch(&self) {
        // SAFETY: the caller holds the only permit.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    async fn visit(&self) {
        self.semaphore.acquire(1).await.unwrap();
        self.touch();
        self.semaphore.release(1);
    }
}

/// Loom's cells are not `Sync` by themselves.
unsafe impl Sync for Guarded {}
unsafe impl Send for Guarded {}

#[test]
fn one_permit_excludes() {
    loom::model(|| {
        let guarded = Guarded::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let guarded = guarded.clone();
                spawn(move || block_on(guarded.visit()))
            })
            .collect();
        block_on(guarded.visit());
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(guarded.semaphore.available_permits(), 1);
        guarded.value.with(|value| assert_eq!(unsafe { *value }, 3));
    });
}

#[test]
fn release_meets_acquire_and_passes_on_what_both_releasers_wrote() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.release(1);
                })
            })
            .collect();
        block_on(shared.0.acquire(2)).unwrap();
        assert_eq!(shared.1.load(Ordering::Relaxed), 2);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared.0.available_permits(), 0);
    });
}

#[test]
fn try_acquire_never_takes_what_is_not_there() {
    loom::model(|| {
        let guarded = Guarded::new();
        let thread = {
            let guarded = guarded.clone();
            spawn(move || {
                if guarded.semaphore.try_acquire(1).is_ok() {
                    guarded.touch();
                    guarded.semaphore.release(1);
                }
            })
        };
        block_on(guarded.visit());
        thread.join().unwrap();
        assert_eq!(guarded.semaphore.available_permits(), 1);
    });
}

#[test]
fn a_dropped_acquire_loses_no_permit() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let quitter = {
            let semaphore = semaphore.clone();
            spawn(move || {
                if block_on(poll_once(semaphore.acquire(1))).is_ready() {
                    semaphore.release(1);
                }
            })
        };
        let releaser = {
            let semaphore = semaphore.clone();
            spawn(move || semaphore.release(1))
        };
        // Whether the permit came to us directly or through the quitter, it comes.
        block_on(semaphore.acquire(1)).unwrap();
        quitter.join().unwrap();
        releaser.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn a_large_acquire_dropped_lets_the_small_one_through() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let quitter = {
            let semaphore = semaphore.clone();
            spawn(move || assert!(block_on(poll_once(semaphore.acquire(2))).is_pending()))
        };
        block_on(semaphore.acquire(1)).unwrap();
        quitter.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn close_refuses_whoever_it_meets() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let closer = {
            let semaphore = semaphore.clone();
            spawn(move || semaphore.close())
        };
        let releaser = {
            let semaphore = semaphore.clone();
            spawn(move || semaphore.release(1))
        };
        let kept = usize::from(block_on(semaphore.acquire(1)).is_ok());
        closer.join().unwrap();
        releaser.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1 - kept);
        block_on(semaphore.acquire(1)).unwrap_err();
    });
}

#[test]
fn what_close_leaves_with_the_head_comes_back() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let releaser = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(1, Ordering::Relaxed);
                shared.0.release(1);
            })
        };
        let closer = {
            let shared = shared.clone();
            spawn(move || shared.0.close())
        };
        block_on(shared.0.acquire(2)).unwrap_err();
        // Whoever counts it back has what its releaser wrote, though it went through the closer and the head.
        if shared.0.available_permits() == 1 {
            assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        }
        releaser.join().unwrap();
        closer.join().unwrap();
        assert_eq!(shared.0.available_permits(), 1);
    });
}

#[test]
fn forgetting_does_not_rob_a_waiter() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let semaphore = semaphore.clone();
                spawn(move || {
                    semaphore.release(1);
                    semaphore.forget_permits(1)
                })
            })
            .collect();
        let taken = usize::from(block_on(poll_once(semaphore.acquire(1))).is_ready());
        let forgotten: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(semaphore.available_permits(), 2 - taken - forgotten);
    });
}

#[test]
fn who_forgets_a_permit_sees_what_its_releaser_wrote() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(0), Cargo::new()));
        let releaser = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.write();
                shared.0.release(1);
            })
        };
        // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
        yield_now();
        if shared.0.forget_permits(1) == 1 {
            shared.1.look();
        }
        releaser.join().unwrap();
    });
}

#[test]
fn a_waiter_that_finds_the_close_by_chance_may_go_at_once() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut waiter = Box::pin(semaphore.acquire(2));
        let waker = std::task::Waker::noop();
        assert!(waiter.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        let closer = {
            let semaphore = semaphore.clone();
            spawn(move || semaphore.close())
        };
        // Not since it was woken. Freed while the closer is at its node, loom would report it.
        drop(waiter);
        closer.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}
