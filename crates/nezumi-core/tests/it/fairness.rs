//! Who waits for whom, counted in polls and not in time: a crowded machine makes everything slower, and changes none of this.

use crate::support::{Census, eventually};
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::UnixStream;
use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::{self, spawn};
use nezumi_core::task::Priority;
use nezumi_core::time::{sleep, timeout};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::time::Duration;

/// The upper bound of the interval in which others get their turn, in polls.
const INTERVAL: usize = 128;

/// Nobody helps its workers, so that what they do is what the scheduler has them do.
fn unaided(workers: usize, configure: impl FnOnce(&mut Builder)) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).watch(false).enable_all();
    configure(&mut builder);
    builder.build().unwrap()
}

/// Counts polls, and ends the tasks that make them.
#[derive(Clone, Default)]
struct Load {
    polls: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
}

impl Load {
    /// A task that is always runnable.
    fn self_waker(&self, rt: &Runtime, priority: Priority, own_polls: &Arc<AtomicUsize>) {
        let (load, own_polls) = (self.clone(), own_polls.clone());
        let task = poll_fn(move |cx| {
            load.poll();
            own_polls.fetch_add(1, Ordering::Relaxed);
            if load.is_over() {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        spawn::Builder::new().priority(priority).spawn_on(task, rt.handle()).unwrap();
    }

    fn poll(&self) -> usize {
        self.polls.fetch_add(1, Ordering::Relaxed)
    }

    fn polls(&self) -> usize {
        self.polls.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    fn end(&self, rt: &Runtime) {
        self.end.store(true, Ordering::Relaxed);
        eventually("all tasks have ended", || rt.metrics().num_alive_tasks() == 0);
    }
}

/// The one that 99 in 100 are not above.
fn p99(delays: &Mutex<Vec<usize>>) -> usize {
    let mut delays = delays.lock().unwrap();
    delays.sort_unstable();
    delays[delays.len() * 99 / 100]
}

/// Under a load of tasks that are always runnable a task of high priority waits for a tenth, at the most, of what another waits for.
#[test]
fn high_priority_waits_for_a_tenth_of_what_others_wait_for() {
    for workers in [1, 2] {
        // Of two workers one may have nearly all of the load, and the other the probes: nobody waits there.
        let under_load = (0..50).map(|_| delays_under_load(workers)).find(|&(_, normal)| normal >= 100);
        let (high, normal) = under_load.expect("the probes meet the load in one of so many tries");
        assert!(
            high * 10 <= normal,
            "{workers} workers: {high} polls for high priority, {normal} for normal"
        );
    }
}

/// How many polls of others a task of high priority waits for beside 200 that are always runnable, and how many one of normal priority: of 99 in 100.
fn delays_under_load(workers: usize) -> (usize, usize) {
    const PROBES: usize = 400;
    // Without the slot for hot tasks: what is spawned last is else what runs next, whatever its priority.
    let rt = unaided(workers, |builder| {
        builder.disable_lifo_slot();
    });
    let (load, ignored) = (Load::default(), Arc::default());
    for _ in 0..200 {
        load.self_waker(&rt, Priority::Normal, &ignored);
    }
    let [high, normal] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
    let probe = |priority, delays: &Arc<Mutex<Vec<usize>>>| {
        let (load, delays) = (load.clone(), delays.clone());
        move || {
            let (load, delays, begin) = (load.clone(), delays.clone(), load.polls());
            let task = async move {
                let delay = load.polls() - begin;
                delays.lock().unwrap().push(delay);
            };
            spawn::Builder::new().priority(priority).spawn(task).unwrap()
        }
    };
    let (spawn_high, spawn_normal) = (probe(Priority::High, &high), probe(Priority::Normal, &normal));
    let probing = rt.spawn(async move {
        for _ in 0..PROBES {
            let (high, normal) = (spawn_high(), spawn_normal());
            high.await.unwrap();
            normal.await.unwrap();
        }
    });
    rt.block_on(probing).unwrap();
    load.end(&rt);
    (p99(&high), p99(&normal))
}

/// Also where what is always runnable has high priority, or normal, or both.
#[test]
fn background_gets_one_poll_in_each_interval() {
    for others in
        [&[Priority::Normal][..], &[Priority::High], &[Priority::High, Priority::Normal, Priority::Normal]]
    {
        let rt = unaided(1, |_| {});
        let load = Load::default();
        let [of_others, of_background] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        load.self_waker(&rt, Priority::Background, &of_background);
        for _ in 0..4 {
            for priority in others {
                load.self_waker(&rt, *priority, &of_others);
            }
        }
        eventually("it ran long enough", || load.polls() > 400 * INTERVAL);
        load.end(&rt);
        let (all, background) = (load.polls(), of_background.load(Ordering::Relaxed));
        assert!((background + 1) * INTERVAL >= all, "{others:?}: {background} of {all} polls");
        assert!(
            background * 2 < all,
            "{others:?}: {background} of {all} polls, as if it were as urgent as others"
        );
    }
}

/// What is not urgent gets its turn between runs of what is.
#[test]
fn high_priority_does_not_starve_others() {
    let rt = unaided(1, |_| {});
    let load = Load::default();
    let [of_high, of_normal] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    for _ in 0..50 {
        load.self_waker(&rt, Priority::High, &of_high);
    }
    load.self_waker(&rt, Priority::Normal, &of_normal);
    eventually("it ran long enough", || load.polls() > 400 * INTERVAL);
    load.end(&rt);
    let (all, normal) = (load.polls(), of_normal.load(Ordering::Relaxed));
    assert!((normal + 1) * INTERVAL >= all, "{normal} of {all} polls");
}

/// Four tasks each of which spawns the next one and ends, without end; tasks from outside get in between.
#[test]
fn what_comes_from_outside_is_polled_soon_under_chains_of_spawns() {
    const TASKS: usize = 100;

    fn next(load: Load) {
        spawn(async move {
            load.poll();
            if !load.is_over() {
                next(load);
            }
        });
    }

    let rt = unaided(1, |_| {});
    let load = Load::default();
    for _ in 0..4 {
        let load = load.clone();
        rt.spawn(async move { next(load) });
    }
    eventually("the chains run", || load.polls() > 1000);
    let mut delays = Vec::new();
    for _ in 0..TASKS {
        let (tell, told) = mpsc::channel();
        let (inside, begin) = (load.clone(), load.polls());
        rt.spawn(async move { tell.send(inside.polls()).unwrap() });
        delays.push(told.recv_timeout(Duration::from_secs(10)).unwrap() - begin);
    }
    load.end(&rt);
    // This thread may be put off its processor between the two: so not the longest of all.
    delays.sort_unstable();
    let most = delays[TASKS / 2];
    assert!(most <= 4 * INTERVAL, "half of them waited for more than {most} polls");
}

/// Each task that ends makes 1.2 new ones at first, and then 0.8: the queues grow, and are empty again in the end.
#[test]
fn queues_that_grew_under_overload_drain_after_it() {
    const OVERLOADED: usize = 20_000;

    #[derive(Default)]
    struct Flow {
        ended: AtomicUsize,
        census: Census,
        most: AtomicUsize,
    }

    fn work(flow: Arc<Flow>) {
        let alive = flow.census.enter();
        spawn(async move {
            let _alive = alive;
            let number = flow.ended.fetch_add(1, Ordering::Relaxed);
            flow.most.fetch_max(flow.census.alive(), Ordering::Relaxed);
            let fifths = if number < OVERLOADED { 6 } else { 4 };
            for _ in 0..(number + 1) * fifths / 5 - number * fifths / 5 {
                work(flow.clone());
            }
        });
    }

    for workers in [1, 2] {
        let rt = unaided(workers, |_| {});
        let flow = Arc::new(Flow::default());
        let first = flow.clone();
        rt.block_on(rt.spawn(async move { (0..10).for_each(|_| work(first.clone())) })).unwrap();
        eventually("it drains", || flow.census.alive() == 0);
        let most = flow.most.load(Ordering::Relaxed);
        assert!(most > OVERLOADED / 10, "the queues did not grow: {most}");
        let metrics = rt.metrics();
        eventually("all tasks have ended", || metrics.num_alive_tasks() == 0);
        assert_eq!(metrics.global_queue_depth(), 0);
        assert!((0..workers).all(|worker| metrics.worker_local_queue_depth(worker) == 0));
        assert_eq!(rt.block_on(rt.spawn(async { 7 })).unwrap(), 7);
    }
}

/// Two tasks that always wake each other: each is the hot task of the other.
fn ping_pong(rt: &Runtime, load: &Load) {
    let wakers: Arc<Mutex<[Option<Waker>; 2]>> = Arc::default();
    for me in 0..2 {
        let (load, wakers) = (load.clone(), wakers.clone());
        rt.spawn(poll_fn(move |cx| {
            load.poll();
            let other = {
                let mut wakers = wakers.lock().unwrap();
                wakers[me] = Some(cx.waker().clone());
                wakers[1 - me].clone()
            };
            if let Some(other) = other {
                other.wake();
            }
            if load.is_over() { Poll::Ready(()) } else { Poll::Pending }
        }));
    }
}

#[test]
fn pairs_and_self_wakers_starve_neither_timers_nor_sockets_nor_others() {
    for workers in [1, 2] {
        let rt = unaided(workers, |_| {});
        let (load, ignored) = (Load::default(), Arc::default());
        for _ in 0..4 {
            ping_pong(&rt, &load);
            load.self_waker(&rt, Priority::Normal, &ignored);
        }
        eventually("they run", || load.polls() > 1000);
        let all = async {
            let (mut ours, mut theirs) = UnixStream::pair().unwrap();
            let echo = spawn(async move {
                let mut byte = [0];
                while theirs.read_exact(&mut byte).await.is_ok() {
                    theirs.write_all(&byte).await.unwrap();
                }
            });
            for round in 0..20 {
                sleep(Duration::from_millis(1)).await;
                ours.write_all(&[round]).await.unwrap();
                assert_eq!(ours.read_u8().await.unwrap(), round);
                spawn(async {}).await.unwrap();
            }
            drop(ours);
            echo.await.unwrap();
        };
        let outcome = rt.block_on(rt.spawn(async { timeout(Duration::from_secs(10), all).await })).unwrap();
        load.end(&rt);
        outcome.unwrap_or_else(|_| panic!("starved, with {workers} workers"));
    }
}
