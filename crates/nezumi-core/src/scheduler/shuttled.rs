//! Whole runtimes under shuttle: workers, queues, parking, hand-overs, spares and the end, on threads whose every step shuttle chooses.
//!
//! What loom can only look at in pieces runs here as it is, but for three things: there is no I/O driver, the time is that of the steps taken (a
//! sleep with a timeout has none), and the watch is a step that the program takes itself. A wake that is lost is a deadlock, which shuttle reports;
//! what is dropped twice or not at all, each program counts.
//!
//! `cargo xtask shuttle` runs them; the number of schedules and the seed are in the environment. Nothing but these decides what a schedule is:
//! `a_seed_chooses_the_same_schedules_again`.

use super::shared::{self, Shared};
use super::{shutdown, thread};
use crate::runtime::{Builder, Handle, RngSeed, Runtime};
use crate::spawn::{block_in_place, spawn, yield_now};
use crate::task::{JoinHandle, Priority};
use nezumi_prim::Parker;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use nezumi_prim::thread as threads;
use nezumi_wake::AtomicWaker;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use std::future::{Future, poll_fn};
use std::task::Poll;

/// Preemptions that PCT plans for each schedule.
const PCT_DEPTH: usize = 3;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Runs the program under as many schedules as the environment says, one in `share` for those that take long: half of them random, half by PCT.
fn check(share: u64, program: impl Fn() + Send + Sync + Copy + 'static) {
    let seed = from_environment("NEZUMI_SHUTTLE_SEED").unwrap_or_else(|| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0)
    });
    let schedules = from_environment("NEZUMI_SHUTTLE_SCHEDULES").unwrap_or(1000);
    let half = usize::try_from(schedules / share / 2).unwrap().max(1);
    let again = || {
        // A closure is called `…::the_test::{{closure}}`.
        let name = std::any::type_name_of_val(&program).rsplit("::").nth(1).unwrap();
        format!("cargo xtask shuttle {name} --schedules {schedules} --seed {seed:#018x}")
    };
    run("random", again(), RandomScheduler::new_from_seed(seed, half), program);
    run("PCT", again(), PctScheduler::new_from_seed(seed, PCT_DEPTH, half), program);
}

fn run(
    kind: &'static str,
    again: String,
    scheduler: impl Scheduler + 'static,
    program: impl Fn() + Send + Sync + 'static,
) {
    struct Again(&'static str, String);

    impl Drop for Again {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("found by the {} scheduler; again: {}", self.0, self.1);
            }
        }
    }

    let mut config = shuttle::Config::new();
    config.stack_size = 512 * 1024;
    config.failure_persistence = shuttle::FailurePersistence::None;
    let _again = Again(kind, again);
    shuttle::Runner::new(scheduler, config).run(move || {
        shared::number_threads_anew();
        program();
    });
}

fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).max_spare_workers(1);
    // What would depend on the time that steps take.
    builder.global_queue_interval(3).event_interval(5).rng_seed(RngSeed::from_bytes(b"shuttle"));
    builder.build().unwrap()
}

/// What is alive of the tasks of one program.
#[derive(Clone)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn none() -> Self {
        Alive(Arc::new(AtomicUsize::new(0)))
    }

    fn enter(&self) -> Living {
        self.0.fetch_add(1, Ordering::Relaxed);
        Living(self.0.clone())
    }

    fn expect_none(&self) {
        assert_eq!(self.0.load(Ordering::Relaxed), 0, "dropped more or less than once");
    }
}

struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A task waits until it is open.
#[derive(Clone)]
struct Gate(Arc<(AtomicBool, AtomicWaker)>);

impl Gate {
    fn new() -> Self {
        Gate(Arc::new((AtomicBool::new(false), AtomicWaker::new())))
    }

    fn open(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.wake();
    }

    fn passed(&self) -> impl Future<Output = ()> + use<> {
        let gate = self.clone();
        poll_fn(move |cx| {
            gate.0.1.register(cx.waker());
            if gate.0.0.swap(false, Ordering::AcqRel) { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

async fn join_all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// What a seed has found it finds again, whatever was run before it in this process.
#[test]
fn a_seed_chooses_the_same_schedules_again() {
    let steps = |seed| {
        let steps = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let taken = steps.clone();
        run("random", "not needed".into(), RandomScheduler::new_from_seed(seed, 21), move || {
            let rt = runtime(2);
            let tasks = (0..2).map(|_| rt.spawn(yield_now())).collect();
            rt.block_on(join_all(tasks));
            drop(rt);
            taken.lock().unwrap().push(shuttle::current::context_switches());
        });
        std::mem::take(&mut *steps.lock().unwrap())
    };
    assert_eq!(steps(7), steps(7));
    assert_ne!(steps(7), steps(8));
}

#[test]
fn what_is_spawned_inside_and_outside_ends() {
    check(1, || {
        let (rt, alive) = (runtime(2), Alive::none());
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let (living, inside) = (alive.enter(), alive.clone());
                rt.spawn(async move {
                    let _living = living;
                    let living = inside.enter();
                    let child = spawn(async move {
                        yield_now().await;
                        drop(living);
                    });
                    child.await.unwrap();
                })
            })
            .collect();
        rt.block_on(join_all(tasks));
        drop(rt);
        alive.expect_none();
    });
}

#[test]
fn wakes_between_tasks_and_from_threads_arrive() {
    check(1, || {
        let rt = runtime(2);
        let (ping, pong, start) = (Gate::new(), Gate::new(), Gate::new());
        let one = {
            let (ping, pong, start) = (ping.clone(), pong.clone(), start.clone());
            rt.spawn(async move {
                start.passed().await;
                for _ in 0..2 {
                    ping.open();
                    pong.passed().await;
                }
            })
        };
        let other = rt.spawn(async move {
            for _ in 0..2 {
                ping.passed().await;
                pong.open();
            }
        });
        let opener = threads::spawn(move || start.open());
        rt.block_on(join_all(vec![one, other]));
        opener.join().unwrap();
        drop(rt);
    });
}

#[test]
fn spawns_race_the_end() {
    check(1, || {
        let (rt, alive) = (runtime(2), Alive::none());
        let (handle, outside) = (rt.handle().clone(), alive.clone());
        let spawner = threads::spawn(move || {
            for _ in 0..2 {
                let (living, inside) = (outside.enter(), outside.clone());
                drop(handle.spawn(async move {
                    let _living = living;
                    let living = inside.enter();
                    drop(spawn(async move {
                        let _living = living;
                        yield_now().await;
                    }));
                    std::future::pending::<()>().await;
                }));
            }
        });
        drop(rt);
        spawner.join().unwrap();
        alive.expect_none();
    });
}

#[test]
fn aborts_race_polls_wakes_and_joins() {
    check(1, || {
        let (rt, alive) = (runtime(2), Alive::none());
        let gate = Gate::new();
        let living = alive.enter();
        let task = {
            let gate = gate.clone();
            rt.spawn(async move {
                let _living = living;
                yield_now().await;
                gate.passed().await;
            })
        };
        let abort = task.abort_handle();
        let aborter = threads::spawn(move || abort.abort());
        let opener = threads::spawn(move || gate.open());
        match rt.block_on(task) {
            Ok(()) => {}
            Err(error) => assert!(error.is_cancelled()),
        }
        alive.expect_none();
        aborter.join().unwrap();
        opener.join().unwrap();
        drop(rt);
    });
}

/// The only worker is given away in the middle of a poll, and what waits for that poll's end runs on another thread.
#[test]
fn block_in_place_gives_the_worker_away() {
    check(1, || {
        let (rt, alive) = (runtime(1), Alive::none());
        let living = alive.enter();
        let task = rt.spawn(async move {
            let done = Arc::new(Parker::new());
            let tells = done.clone();
            let child = spawn(async move {
                let _living = living;
                yield_now().await;
                tells.unpark();
            });
            block_in_place(|| done.park());
            yield_now().await;
            child.await.unwrap();
        });
        rt.block_on(task).unwrap();
        drop(rt);
        alive.expect_none();
    });
}

#[test]
fn block_in_place_races_the_end() {
    check(1, || {
        let (rt, alive) = (runtime(1), Alive::none());
        for _ in 0..2 {
            let (living, inside) = (alive.enter(), alive.clone());
            rt.spawn(async move {
                let _living = living;
                block_in_place(|| {
                    let living = inside.enter();
                    drop(spawn(async move {
                        let _living = living;
                        std::future::pending::<()>().await;
                    }));
                });
                std::future::pending::<()>().await;
            });
        }
        drop(rt);
        alive.expect_none();
    });
}

/// The step of the watch that begins a spare. Whether there was one.
fn begin_spare(handle: &Handle, worker: usize) -> bool {
    let shared: &Shared = handle.shared();
    if !shutdown::spare_begins(shared) {
        return false;
    }
    assert_eq!(shared.spares.count(), 1);
    let Some(spare) = shared.spares.begin(worker, shared.workers()) else {
        shutdown::spare_left(shared);
        return false;
    };
    let is_begun = thread::hand_over(handle, shared.spare_index(spare)).is_ok();
    if !is_begun {
        shared.spares.not_begun(spare);
        shutdown::spare_left(shared);
    }
    is_begun
}

/// The step of the watch that sends one away.
fn send_spare_away(handle: &Handle) {
    let shared: &Shared = handle.shared();
    if let Some(spare) = shared.spares.send_away() {
        shared.wake(shared.spare_index(spare));
    }
}

/// Blocks its worker until the parker is unparked.
fn block(rt: &Runtime, end: &Arc<Parker>, is_blocked: &Arc<Parker>) -> JoinHandle<()> {
    let (end, is_blocked) = (end.clone(), is_blocked.clone());
    rt.spawn(async move {
        is_blocked.unpark();
        end.park();
    })
}

/// A spare serves what waits while the worker is blocked, is sent away while more is coming, and may be called back; the worker returns to what
/// is left.
#[test]
fn a_spare_comes_steals_and_goes() {
    check(1, || {
        let (rt, alive) = (runtime(1), Alive::none());
        let (end, is_blocked) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let blocked = block(&rt, &end, &is_blocked);
        is_blocked.park();
        let spawn_one = |rt: &Runtime| {
            let living = alive.enter();
            rt.spawn(async move {
                let _living = living;
                yield_now().await;
            })
        };
        let mut tasks = vec![spawn_one(&rt)];
        begin_spare(rt.handle(), 0);
        let handle = rt.handle().clone();
        let watch = threads::spawn(move || {
            send_spare_away(&handle);
            // One that is about to be gone can neither be called back nor begun: the watch would look again.
            while !handle.shared().spares.call_back() && !begin_spare(&handle, 0) {
                threads::yield_now();
            }
        });
        tasks.push(spawn_one(&rt));
        rt.block_on(tasks.pop().unwrap()).unwrap();
        watch.join().unwrap();
        send_spare_away(rt.handle());
        end.unpark();
        tasks.push(spawn_one(&rt));
        tasks.push(blocked);
        rt.block_on(join_all(tasks));
        drop(rt);
        alive.expect_none();
    });
}

/// A spare is begun, sent away, or at work on tasks of its own, while the runtime ends and the worker comes back.
#[test]
fn spares_race_the_end() {
    check(1, || {
        let (rt, alive) = (runtime(1), Alive::none());
        let (end, is_blocked) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        drop(block(&rt, &end, &is_blocked));
        is_blocked.park();
        for _ in 0..2 {
            let (living, inside) = (alive.enter(), alive.clone());
            rt.spawn(async move {
                let _living = living;
                let living = inside.enter();
                drop(spawn(async move {
                    let _living = living;
                    std::future::pending::<()>().await;
                }));
                yield_now().await;
                std::future::pending::<()>().await;
            });
        }
        let handle = rt.handle().clone();
        let watch = threads::spawn(move || {
            begin_spare(&handle, 0);
            send_spare_away(&handle);
            begin_spare(&handle, 0);
        });
        let returns = threads::spawn(move || end.unpark());
        drop(rt);
        // A spare that came too late for the end must be gone with it all the same.
        watch.join().unwrap();
        returns.join().unwrap();
        alive.expect_none();
    });
}

/// Each sits in its poll until the other has begun. Whoever has found the one while it searched wakes another for what came meanwhile.
#[test]
fn two_tasks_that_block_for_each_other_have_a_worker_each() {
    check(1, || {
        let rt = runtime(2);
        let (one, other) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let meet = |own: &Arc<Parker>, others: &Arc<Parker>| {
            let (own, others) = (own.clone(), others.clone());
            rt.spawn(async move {
                others.unpark();
                own.park();
            })
        };
        let tasks = vec![meet(&one, &other), meet(&other, &one)];
        rt.block_on(join_all(tasks));
        drop(rt);
    });
}

/// What a look of the watch does where workers are stuck.
fn mark_all_as_stuck(rt: &Runtime) {
    let shared = rt.handle().shared();
    for shard in shared.crew_shards() {
        shard.crowd.stuck.store(true, Ordering::Relaxed);
        if shard.has_stealable() {
            shared.notify();
        }
    }
}

/// The hot task of a worker that is stuck in a poll is taken by another once the watch has marked it: it is the only one that could end that poll.
#[test]
fn a_stuck_workers_hot_task_is_taken() {
    check(1, || {
        let rt = runtime(2);
        let (end, is_spawned) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let task = {
            let (end, is_spawned) = (end.clone(), is_spawned.clone());
            rt.spawn(async move {
                let opens = end.clone();
                let hot = spawn(async move { opens.unpark() });
                is_spawned.unpark();
                end.park();
                hot.await.unwrap();
            })
        };
        is_spawned.park();
        mark_all_as_stuck(&rt);
        rt.block_on(task).unwrap();
        drop(rt);
    });
}

/// So is a task that has yielded there, which else waits for a turn of the driver that does not come.
#[test]
fn what_has_yielded_is_taken_from_a_stuck_worker() {
    check(1, || {
        let rt = runtime(2);
        let (end, is_blocked) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let task = {
            let (end, is_blocked) = (end.clone(), is_blocked.clone());
            rt.spawn(async move {
                let opens = end.clone();
                let blocks = spawn(async move {
                    is_blocked.unpark();
                    end.park();
                });
                yield_now().await;
                opens.unpark();
                blocks.await.unwrap();
            })
        };
        is_blocked.park();
        mark_all_as_stuck(&rt);
        rt.block_on(task).unwrap();
        drop(rt);
    });
}

#[test]
fn tasks_of_all_priorities_are_stolen_and_end() {
    check(1, || {
        let (rt, alive) = (runtime(2), Alive::none());
        let inside = alive.clone();
        let task = rt.spawn(async move {
            let tasks = [Priority::Background, Priority::High, Priority::Normal, Priority::High]
                .into_iter()
                .map(|priority| {
                    let living = inside.enter();
                    crate::spawn::Builder::new()
                        .priority(priority)
                        .spawn(async move {
                            let _living = living;
                            yield_now().await;
                        })
                        .unwrap()
                })
                .collect();
            join_all(tasks).await;
        });
        rt.block_on(task).unwrap();
        drop(rt);
        alive.expect_none();
    });
}

/// A ring that is full gives half of itself to the relay, while thieves take from it.
#[test]
fn an_overflow_races_thieves() {
    check(100, || {
        let (rt, alive) = (runtime(2), Alive::none());
        let inside = alive.clone();
        let task = rt.spawn(async move {
            let tasks = (0..300)
                .map(|_| {
                    let living = inside.enter();
                    spawn(async move { drop(living) })
                })
                .collect();
            join_all(tasks).await;
        });
        rt.block_on(task).unwrap();
        drop(rt);
        alive.expect_none();
    });
}
