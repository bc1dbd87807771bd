use super::Notify;
use crate::modelling::{Cargo, poll_once};
use loom::future::block_on;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use nezumi_prim::thread::{spawn, yield_now};
use std::pin::pin;

#[test]
fn notify_one_is_not_lost_and_publishes() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        block_on(shared.0.notified());
        assert!(shared.1.load(Ordering::Relaxed));
        notifier.join().unwrap();
    });
}

#[test]
fn a_second_notify_one_publishes_too() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
        let notifiers: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.notify_one();
                })
            })
            .collect();
        // One permit may stand for both; then both are visible.
        while shared.1.load(Ordering::Relaxed) < 2 {
            block_on(shared.0.notified());
        }
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
}

#[test]
fn two_notifications_reach_two_waiters() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        block_on(async {
            let (mut one, mut other) = (pin!(notify.notified()), pin!(notify.notified()));
            one.as_mut().enable();
            other.as_mut().enable();
            let notifiers: Vec<_> = [Notify::notify_one, Notify::notify_last]
                .map(|call| {
                    let notify = notify.clone();
                    spawn(move || call(&notify))
                })
                .into();
            one.await;
            other.await;
            for notifier in notifiers {
                notifier.join().unwrap();
            }
        });
    });
}

#[test]
fn a_dropped_waiter_passes_it_on() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let quitter = {
            let notify = notify.clone();
            spawn(move || {
                if block_on(poll_once(notify.notified())).is_ready() {
                    notify.notify_one();
                }
            })
        };
        let notifier = {
            let notify = notify.clone();
            spawn(move || notify.notify_one())
        };
        block_on(notify.notified());
        quitter.join().unwrap();
        notifier.join().unwrap();
    });
}

#[test]
fn notify_waiters_meets_register() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_waiters();
            })
        };
        block_on(async {
            let change = shared.0.notified();
            if !shared.1.load(Ordering::Relaxed) {
                change.await;
                assert!(shared.1.load(Ordering::Relaxed));
            }
        });
        notifier.join().unwrap();
    });
}

#[test]
fn enable_then_look_misses_nothing() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        block_on(async {
            let mut change = pin!(shared.0.notified());
            let enabled = change.as_mut().enable();
            if !shared.1.load(Ordering::Relaxed) {
                assert!(!enabled);
                change.await;
            }
        });
        notifier.join().unwrap();
    });
}

#[test]
fn notify_waiters_meets_drop_and_notify_one() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let quitter = {
            let notify = notify.clone();
            spawn(move || {
                let _ = block_on(poll_once(notify.notified()));
            })
        };
        let notifier = {
            let notify = notify.clone();
            spawn(move || notify.notify_waiters())
        };
        let waiter = notify.notified();
        notify.notify_one();
        block_on(waiter);
        quitter.join().unwrap();
        notifier.join().unwrap();
    });
}

#[test]
fn a_waiter_that_leaves_hides_nothing_from_the_others() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let early = shared.0.notified();
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_waiters();
            })
        };
        let quitter = {
            let shared = shared.clone();
            spawn(move || {
                // Joins the queue and leaves it: WAITING is set, and cleared by a plain store.
                let _ = block_on(poll_once(shared.0.notified()));
            })
        };
        if block_on(poll_once(early)).is_ready() {
            assert!(shared.1.load(Ordering::Relaxed));
        }
        notifier.join().unwrap();
        quitter.join().unwrap();
    });
}

#[test]
fn a_look_without_a_wake_sees_what_was_published() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let mut waiter = Box::pin(shared.0.notified());
        waiter.as_mut().enable();
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        // Polled by chance, not since it was woken; and freed at once.
        let ready = waiter.as_mut().enable();
        drop(waiter);
        assert!(!ready || shared.1.load(Ordering::Relaxed));
        notifier.join().unwrap();
    });
}

#[test]
fn one_of_many_leaves_amid_notify_waiters() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let notifier = {
            let notify = notify.clone();
            spawn(move || notify.notify_waiters())
        };
        block_on(async {
            let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(notify.notified())).collect();
            for waiter in &mut waiters {
                waiter.as_mut().enable();
            }
            // In the middle of the list, which is woken one by one here.
            drop(waiters.remove(1));
            for waiter in waiters {
                waiter.await;
            }
        });
        notifier.join().unwrap();
        notify.notify_one();
        block_on(notify.notified());
    });
}

#[test]
fn a_plain_store_at_the_end_of_a_queue_hides_nothing() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), Cargo::new()));
        let early = shared.0.notified();
        let thread = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.write();
                shared.0.notify_waiters();
                // The word that `early` sees may be the one that this leaves.
                let _ = block_on(poll_once(shared.0.notified()));
            })
        };
        // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
        yield_now();
        if block_on(poll_once(early)).is_ready() {
            shared.1.look();
        }
        thread.join().unwrap();
    });
}

#[test]
fn notify_waiters_publishes_to_who_is_not_in_the_queue() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), Cargo::new()));
        let early = shared.0.notified();
        let mut queued = Box::pin(shared.0.notified());
        queued.as_mut().enable();
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.write();
                shared.0.notify_waiters();
            })
        };
        let mut early = pin!(early);
        yield_now();
        // By the generation alone, without the lock.
        let ready = early.as_mut().enable();
        if ready {
            shared.1.look();
        }
        notifier.join().unwrap();
    });
}

#[test]
fn who_loses_the_permit_to_a_generation_sees_what_came_with_it() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        shared.0.notify_one();
        let early = shared.0.notified();
        let notifier = {
            let shared = shared.clone();
            spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_waiters();
            })
        };
        assert!(block_on(poll_once(early)).is_ready());
        let seen = shared.1.load(Ordering::Relaxed);
        notifier.join().unwrap();
        // If the permit is left, it was the generation that made it ready.
        assert!(seen || block_on(poll_once(shared.0.notified())).is_pending());
    });
}

/// Though the permit is there by the time it comes into the queue.
#[test]
fn whom_notify_waiters_has_reached_leaves_the_permit_that_follows_to_others() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let early = notify.notified();
        let notifier = {
            let notify = notify.clone();
            spawn(move || {
                notify.notify_waiters();
                notify.notify_one();
            })
        };
        block_on(early);
        notifier.join().unwrap();
        assert!(block_on(poll_once(notify.notified())).is_ready(), "the permit is there");
    });
}
