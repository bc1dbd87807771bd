//! Loom models of who sleeps and who is woken.

use super::bed::Bed;
use super::crowd::Crowd;
use super::idle::Idle;
use super::reduced::Reduced;
use super::spares::Spares;
use loom::thread;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use nezumi_prim::sync::{Arc, Mutex};

/// A lost wakeup is a deadlock here, which loom reports.
fn check(workers: usize, pushers: usize, tasks: usize) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.check(move || {
        let model = Reduced::new(workers, pushers * tasks);
        let mut threads = Vec::new();
        for worker in 0..workers {
            let model = model.clone();
            threads.push(thread::spawn(move || model.work(worker)));
        }
        for _ in 1..pushers {
            let model = model.clone();
            threads.push(thread::spawn(move || (0..tasks).for_each(|_| model.push())));
        }
        (0..tasks).for_each(|_| model.push());
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!model.idle.any_sleeping(), "a bit was left set");
    });
}

#[test]
fn push_races_last_sleeper_of_1() {
    check(1, 1, 1);
}

#[test]
fn push_races_last_sleeper_of_2() {
    check(2, 1, 1);
}

#[test]
fn push_races_last_sleeper_of_3() {
    let mut builder = loom::model::Builder::new();
    // Three workers and a pusher: one preemption less than elsewhere, or it takes minutes.
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(2).min(1));
    builder.max_branches = 20_000;
    builder.check(|| {
        let model = Reduced::new(3, 1);
        let threads: Vec<_> = (0..3)
            .map(|worker| {
                let model = model.clone();
                thread::spawn(move || model.work(worker))
            })
            .collect();
        model.push();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// One task waits, which was not worth a theft. Its owner finds that polls take longer now, and looks who sleeps, while the other worker lies down.
#[test]
fn enough_falls_while_a_worker_falls_asleep() {
    loom::model(|| {
        let model = Reduced::new(2, 1);
        let crowd = Arc::new(Crowd::new());
        crowd.tune(1);
        model.queued.store(1, Ordering::SeqCst);
        let thief = {
            let (model, crowd) = (model.clone(), crowd.clone());
            thread::spawn(move || {
                // As `Worker::park`.
                model.idle.fall_asleep(0, false);
                if !crowd.is_enough(model.queued.load(Ordering::SeqCst)) {
                    model.beds[0].sleep_on_parker(None);
                }
                if model.idle.wake_up(0) {
                    let _ = model.idle.stop_searching();
                }
                assert!(crowd.is_enough(model.queued.load(Ordering::SeqCst)));
            })
        };
        // As a round of `Upkeep`.
        crowd.tune(50_000);
        if crowd.is_enough(model.queued.load(Ordering::SeqCst)) {
            model.notify();
        }
        thief.join().unwrap();
    });
}

/// A waker that took the token while nobody slept gives it back, and a sleeper that came meanwhile is found.
#[test]
fn a_token_without_a_sleeper_is_given_back() {
    check(1, 2, 1);
}

#[test]
fn wake_races_a_sleep() {
    loom::model(|| {
        let bed = Arc::new(Bed::new());
        let written = Arc::new(AtomicUsize::new(0));
        let waker = {
            let (bed, written) = (bed.clone(), written.clone());
            thread::spawn(move || {
                written.store(1, Ordering::Relaxed);
                bed.wake(None);
            })
        };
        bed.sleep_on_parker(None);
        assert_eq!(written.load(Ordering::Relaxed), 1);
        waker.join().unwrap();
    });
}

/// The watch holds the driver's seat for a moment, and looks for sleepers once it has let go. A worker that found the seat taken meanwhile
/// sleeps on its parker, and must be woken to sit down: else nobody looks at the sockets, which is a deadlock here.
#[test]
fn nobody_sleeps_beside_an_empty_seat() {
    loom::model(|| {
        let model = Reduced::new(1, 0);
        let seat = Arc::new(Mutex::new(()));
        let worker = {
            let (model, seat) = (model.clone(), seat.clone());
            thread::spawn(move || {
                loop {
                    model.idle.fall_asleep(0, false);
                    fence(Ordering::SeqCst);
                    let sits = seat.try_lock();
                    if sits.is_none() {
                        model.beds[0].sleep_on_parker(None);
                    }
                    if model.idle.wake_up(0) {
                        let _ = model.idle.stop_searching();
                    }
                    if sits.is_some() {
                        return;
                    }
                }
            })
        };
        drop(seat.try_lock());
        fence(Ordering::SeqCst);
        if model.idle.any_sleeping() {
            model.notify();
        }
        worker.join().unwrap();
    });
}

/// A spare that searches is trusted by pushes. When it leaves instead, what it has goes to the shared queue, then it stops searching, then it
/// notifies: the sleeping worker finds all of it.
#[test]
fn a_spare_that_leaves_takes_nothing_with_it() {
    loom::model(|| {
        let model = Reduced::new(1, 2);
        assert!(model.idle.start_searching());
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.work(0))
        };
        let pusher = {
            let model = model.clone();
            thread::spawn(move || model.push())
        };
        // As `Worker::leave`: this thread is the spare, with one task of its own.
        model.queued.fetch_add(1, Ordering::SeqCst);
        let _ = model.idle.stop_searching();
        model.notify();
        pusher.join().unwrap();
        worker.join().unwrap();
    });
}

/// Touches what only the owner of a spare's shard may touch.
fn own(owned: &UnsafeCell<i32>) {
    owned.with_mut(|owned| {
        // SAFETY: loom checks that it is this thread's alone.
        unsafe { *owned += 1 };
    });
}

/// A spare that was begun and sent away; its thread says whether it has left.
fn sent_away(owned: &Arc<UnsafeCell<i32>>) -> (Arc<Spares>, thread::JoinHandle<bool>) {
    let spares = Arc::new(Spares::new(1));
    let spare = spares.begin(0, 1).unwrap();
    assert_eq!(spares.send_away(), Some(spare));
    let thread = {
        let (spares, owned) = (spares.clone(), owned.clone());
        thread::spawn(move || {
            own(&owned);
            let left = spares.leave(spare);
            if left {
                own(&owned);
                spares.is_gone(spare);
            }
            left
        })
    };
    (spares, thread)
}

/// The watch sends a spare away and then wants it back. Either the spare stays, or it leaves, and its shard can be had again only when it is
/// done with it.
#[test]
fn a_spare_is_called_back_or_gone() {
    loom::model(|| {
        // What only the owner of the spare's shard touches.
        let owned = Arc::new(UnsafeCell::new(0));
        let (spares, thread) = sent_away(&owned);
        let called_back = spares.call_back();
        if !called_back && spares.begin(0, 1).is_some() {
            // A new thread is the spare; this one stands for it.
            own(&owned);
        }
        assert_ne!(thread.join().unwrap(), called_back);
    });
}

/// Who ends the runtime ends the shards of dormant spares as well: the last owner of such a one is done with it.
#[test]
fn a_dormant_spare_has_left_its_shard() {
    loom::model(|| {
        let owned = Arc::new(UnsafeCell::new(0));
        let (spares, thread) = sent_away(&owned);
        // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
        thread::yield_now();
        if spares.is_dormant(0) {
            own(&owned);
        }
        assert!(thread.join().unwrap(), "nobody calls it back");
    });
}

/// What is for one certain worker, as a timer of its own, is seen in its last look, or whoever brings it sees that it sleeps.
#[test]
fn what_is_for_one_worker_is_seen_by_it_or_wakes_it() {
    loom::model(|| {
        let model = Reduced::new(1, 0);
        let due = Arc::new(AtomicBool::new(false));
        let worker = {
            let (model, due) = (model.clone(), due.clone());
            thread::spawn(move || {
                model.idle.fall_asleep(0, false);
                if !due.load(Ordering::Relaxed) {
                    model.beds[0].sleep_on_parker(None);
                }
                assert!(!model.idle.wake_up(0), "it was not claimed");
            })
        };
        due.store(true, Ordering::Relaxed);
        if model.idle.is_sleeping(0) {
            model.beds[0].wake(None);
        }
        worker.join().unwrap();
    });
}

/// A waker took the token and found nobody: the sleeper that it saw has woken by itself. A push trusts the token meanwhile, and another worker
/// lies down that does not see the push. Whoever gives the token back sees that worker.
#[test]
fn who_gives_the_token_back_finds_who_lay_down_meanwhile() {
    // In words of their own, so that to wake one is not to see the other.
    const FIRST: usize = 0;
    const OTHER: usize = 64;
    loom::model(|| {
        let model = Reduced::new(OTHER + 1, 1);
        model.idle.fall_asleep(FIRST, false);
        let claimer = {
            let model = model.clone();
            thread::spawn(move || {
                // Asked when the token has been taken, and before a sleeper is.
                let first_wakes_up = || {
                    model.idle.wake_up(FIRST);
                    // Loom does not find by itself that the others may come now. What they do need not be seen yet.
                    thread::yield_now();
                    None
                };
                if let Some(worker) = model.idle.claim(first_wakes_up) {
                    model.beds[worker].wake(None);
                }
            })
        };
        let pusher = {
            let model = model.clone();
            thread::spawn(move || {
                model.queued.fetch_add(1, Ordering::SeqCst);
                if model.idle.claim(|| None).is_some() {
                    // Whoever it is finds the task, and that is the end.
                    model.beds[OTHER].wake(None);
                }
            })
        };
        thread::yield_now();
        model.idle.fall_asleep(OTHER, false);
        if model.queued.load(Ordering::SeqCst) == 0 {
            model.beds[OTHER].sleep_on_parker(None);
        }
        model.idle.wake_up(OTHER);
        pusher.join().unwrap();
        claimer.join().unwrap();
    });
}

/// The last searcher has found a task, which will take it long. What was pushed during the search woke nobody: it sees that, and wakes another.
#[test]
fn what_was_pushed_during_a_search_wakes_another() {
    loom::model(|| {
        let model = Reduced::new(2, 1);
        model.idle.fall_asleep(1, false);
        assert!(model.idle.start_searching());
        let pusher = {
            let model = model.clone();
            thread::spawn(move || model.push())
        };
        // As `Worker::stop_searching`.
        if model.idle.stop_searching() && model.queued.load(Ordering::SeqCst) > 0 {
            model.notify();
        }
        pusher.join().unwrap();
        assert!(!model.idle.any_sleeping(), "nobody was woken");
    });
}

/// More workers than a word has bits: the last is in another one.
#[test]
fn push_races_the_sleeper_of_another_word() {
    loom::model(|| {
        let (idle, bed) = (Arc::new(Idle::new(65, 0)), Arc::new(Bed::new()));
        let pushed = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let (idle, bed, pushed) = (idle.clone(), bed.clone(), pushed.clone());
            thread::spawn(move || {
                idle.fall_asleep(64, false);
                if !pushed.load(Ordering::SeqCst) {
                    bed.sleep_on_parker(None);
                }
                idle.wake_up(64);
            })
        };
        pushed.store(true, Ordering::SeqCst);
        if let Some(worker) = idle.claim(|| None) {
            assert_eq!(worker, 64);
            bed.wake(None);
        }
        sleeper.join().unwrap();
    });
}

/// The watch sleeps when as many sleep as are at work. A spare that has left is none of these, and so must not be found among those: whoever does not
/// count it any more sees all that it did before it left.
#[test]
fn a_spare_that_has_left_is_not_among_the_sleepers() {
    loom::model(|| {
        let (idle, spares) = (Arc::new(Idle::new(1, 1)), Arc::new(Spares::new(1)));
        let owned = Arc::new(UnsafeCell::new(0));
        let spare = spares.begin(0, 1).unwrap();
        assert_eq!(spares.send_away(), Some(spare));
        let thread = {
            let (idle, spares, owned) = (idle.clone(), spares.clone(), owned.clone());
            thread::spawn(move || {
                idle.fall_asleep(1, false);
                // It is woken to leave.
                idle.wake_up(1);
                // Stands for the bit: of a SeqCst word loom shows no old value to a SeqCst load.
                own(&owned);
                assert!(spares.leave(spare));
            })
        };
        // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
        thread::yield_now();
        if spares.active() == 0 {
            own(&owned);
            assert_eq!(idle.sleeping(), 0);
        }
        thread.join().unwrap();
    });
}
