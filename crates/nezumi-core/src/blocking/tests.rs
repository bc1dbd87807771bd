use super::{Config, Duty, Host, Job, Pool, SpawnError};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

const MANY: usize = if cfg!(miri) { 20 } else { 20_000 };
const FOREVER: Duration = Duration::from_secs(1000);

/// A closure, or what is to be said when it is cancelled.
struct Work {
    run: Box<dyn FnOnce() + Send>,
    cancelled: Arc<AtomicUsize>,
    is_resident: bool,
}

impl Job for Work {
    fn run(self) {
        (self.run)();
    }

    fn cancel(self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    fn is_resident(&self) -> bool {
        self.is_resident
    }
}

fn work(run: impl FnOnce() + Send + 'static) -> Work {
    Work { run: Box::new(run), cancelled: Arc::default(), is_resident: false }
}

fn add_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone)]
struct Flag;

struct Entered;

impl Host for Flag {
    type Entered = Entered;

    fn enter(&self) -> Entered {
        assert!(!ENTERED.replace(true));
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.set(false);
    }
}

fn config(max_threads: usize, keep_alive: Duration) -> Config {
    Config {
        thread_name: Arc::new(|| "pool".to_owned()),
        stack_size: None,
        max_threads,
        max_jobs: max_threads,
        keep_alive,
        after_start: None,
        before_stop: None,
    }
}

fn pool(max_threads: usize) -> Pool<Work, Flag> {
    Pool::new(config(max_threads, FOREVER))
}

/// Waits for what a thread of the pool is about to do by itself.
fn wait_until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::yield_now();
    }
}

/// Keeps a thread of the pool busy until the returned sender is dropped or used. Returns once it is.
fn block(pool: &Pool<Work, Flag>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (started, start) = mpsc::channel();
    let job = work(move || {
        started.send(()).unwrap();
        let _ = released.recv();
    });
    pool.spawn(job, Duty::Optional, &Flag).unwrap();
    start.recv().unwrap();
    release
}

fn run<R: Send + 'static>(pool: &Pool<Work, Flag>, f: impl FnOnce() -> R + Send + 'static) -> R {
    let (send, receive) = mpsc::channel();
    pool.spawn(work(move || send.send(f()).unwrap()), Duty::Optional, &Flag).unwrap();
    receive.recv().unwrap()
}

#[test]
fn a_job_runs_on_a_named_thread_that_has_entered_the_host() {
    let pool = pool(4);
    let (name, entered) = run(&pool, || (std::thread::current().name().map(str::to_owned), ENTERED.get()));
    assert_eq!((name.as_deref(), entered), (Some("pool"), true));
    assert!(pool.shutdown(None));
    assert_eq!(pool.threads(), 0);
}

#[test]
fn an_idle_thread_is_used_again() {
    let pool = pool(4);
    let first = run(&pool, || std::thread::current().id());
    for _ in 0..10 {
        wait_until(|| pool.idle_threads() == 1);
        assert_eq!(run(&pool, || std::thread::current().id()), first);
    }
    assert_eq!(pool.threads(), 1);
}

#[test]
fn jobs_that_wait_for_each_other_all_get_threads() {
    // With at most one thread on its way, each must send for the next before it runs its job.
    let count = if cfg!(miri) { 4 } else { 64 };
    for limit in [1, 3] {
        let pool: Pool<Work, Flag> = Pool::with_limit(config(count + 1, FOREVER), limit);
        for _ in 0..2 {
            let barrier = Arc::new(Barrier::new(count + 1));
            for _ in 0..count {
                let barrier = barrier.clone();
                let job = work(move || _ = barrier.wait());
                pool.spawn(job, Duty::Optional, &Flag).unwrap();
            }
            barrier.wait();
        }
        assert!((count..=count + 1).contains(&pool.threads()));
        assert!(pool.shutdown(None));
    }
}

#[test]
fn a_full_pool_runs_all_jobs_with_no_more_threads() {
    for max_threads in [1, 2] {
        let pool = pool(max_threads);
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..MANY / 10 {
            let done = done.clone();
            let job = work(move || add_one(&done));
            pool.spawn(job, Duty::Optional, &Flag).unwrap();
            assert!(pool.threads() <= max_threads);
        }
        wait_until(|| done.load(Ordering::Relaxed) == MANY / 10);
        assert_eq!(pool.queue_depth(), 0);
    }
}

#[test]
fn jobs_of_a_full_pool_run_in_order() {
    let pool = pool(1);
    let release = block(&pool);
    let (send, receive) = mpsc::channel();
    for n in 0..5 {
        let send = send.clone();
        pool.spawn(work(move || send.send(n).unwrap()), Duty::Optional, &Flag).unwrap();
    }
    assert_eq!((pool.queue_depth(), pool.idle_threads()), (5, 0));
    drop((release, send));
    assert_eq!(receive.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_thread_ends_after_its_keep_alive_and_another_follows() {
    let stops = Arc::new(AtomicUsize::new(0));
    let count = {
        let stops = stops.clone();
        move || {
            assert!(ENTERED.get());
            stops.fetch_add(1, Ordering::Relaxed);
        }
    };
    let config = Config {
        after_start: Some(Arc::new(count.clone())),
        before_stop: Some(Arc::new(count)),
        ..config(4, Duration::from_millis(1))
    };
    let pool: Pool<Work, Flag> = Pool::new(config);
    for round in 1..=3 {
        run(&pool, || ());
        wait_until(|| pool.threads() == 0);
        wait_until(|| stops.load(Ordering::Relaxed) == 2 * round);
    }
    assert!(pool.shutdown(None));
}

#[test]
fn expiry_against_submits_loses_nothing() {
    for max_threads in [1, 3] {
        let pool: Arc<Pool<Work, Flag>> = Arc::new(Pool::new(config(max_threads, Duration::ZERO)));
        let done = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n in 0..MANY / 20 {
                        let done = done.clone();
                        let job = work(move || add_one(&done));
                        pool.spawn(job, Duty::Optional, &Flag).unwrap();
                        if n % 16 == 0 {
                            // So that threads expire in between.
                            std::thread::yield_now();
                        }
                        let (idle, threads) = {
                            let state = pool.shared.state.lock();
                            (state.idle.len(), state.threads)
                        };
                        assert!(idle <= threads && threads <= max_threads);
                    }
                });
            }
        });
        wait_until(|| done.load(Ordering::Relaxed) == 3 * (MANY / 20));
        assert!(pool.shutdown(None));
    }
}

#[test]
fn shutdown_cancels_the_optional_and_runs_the_mandatory() {
    let pool = pool(1);
    let release = block(&pool);
    let (ran, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for duty in [Duty::Optional, Duty::Mandatory, Duty::Optional] {
        let ran = ran.clone();
        let run = Box::new(move || add_one(&ran));
        pool.spawn(Work { run, cancelled: cancelled.clone(), is_resident: false }, duty, &Flag).unwrap();
    }
    std::thread::scope(|scope| {
        let shutdown = scope.spawn(|| pool.shutdown(None));
        wait_until(|| pool.shared.state.lock().is_shutdown);
        let refused = pool.spawn(work(|| panic!("after the shutdown")), Duty::Mandatory, &Flag);
        assert!(matches!(refused, Err(SpawnError::ShuttingDown(_))));
        drop(release);
        assert!(shutdown.join().unwrap());
    });
    assert_eq!((ran.load(Ordering::Relaxed), cancelled.load(Ordering::Relaxed)), (1, 2));
    assert!(pool.shutdown(None), "a second time there is nothing to wait for");
}

/// A pool of `threads`, of which one is on its way and would send for the others, is shut down before that one arrives. Of `jobs` optional ones,
/// none of which ends before there are `threads` of them, so many are run and the rest is cancelled.
fn shut_down_before_the_first_arrives(threads: usize, jobs: usize, expected: usize) {
    let (open, opened) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(opened);
    let mut config = config(threads, FOREVER);
    config.after_start = Some(Arc::new(move || gate.lock().unwrap().recv().unwrap_or(())));
    let pool = Pool::with_limit(config, 1);
    let (ran, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let together = Arc::new(Barrier::new(threads));
    for _ in 0..jobs {
        let (ran, together) = (ran.clone(), together.clone());
        let run = Box::new(move || {
            together.wait();
            add_one(&ran);
        });
        let work = Work { run, cancelled: cancelled.clone(), is_resident: false };
        pool.spawn(work, Duty::Optional, &Flag).unwrap();
    }
    std::thread::scope(|scope| {
        let shutdown = scope.spawn(|| pool.shutdown(None));
        wait_until(|| pool.shared.state.lock().is_shutdown);
        drop(open);
        assert!(shutdown.join().unwrap());
    });
    assert_eq!((ran.load(Ordering::Relaxed), cancelled.load(Ordering::Relaxed)), (expected, jobs - expected));
}

#[test]
fn a_job_that_a_thread_was_started_for_runs_though_the_shutdown_comes_first() {
    shut_down_before_the_first_arrives(1, 2, 1);
}

#[test]
fn jobs_that_only_wait_for_threads_to_arrive_run_though_the_shutdown_comes_first() {
    shut_down_before_the_first_arrives(3, 5, 3);
}

#[test]
fn shutdown_gives_up_after_its_timeout() {
    let pool = pool(2);
    let release = block(&pool);
    run(&pool, || ());
    assert!(!pool.shutdown(Some(Duration::from_millis(1))));
    assert!(!pool.shutdown(None), "later calls do not wait");
    drop(release);
    wait_until(|| pool.shutdown(None));
}

#[test]
fn shutdown_on_a_thread_of_the_pool_waits_for_the_others_only() {
    let pool = Arc::new(pool(4));
    run(&pool, || ());
    let inside = pool.clone();
    assert!(run(&pool, move || inside.shutdown(None)));
    wait_until(|| pool.threads() == 0);
}

#[test]
fn an_empty_pool_shuts_down_at_once() {
    assert!(pool(1).shutdown(None));
    let pool = pool(1);
    assert!(pool.shutdown(Some(Duration::ZERO)));
    assert!(matches!(pool.spawn(work(|| ()), Duty::Optional, &Flag), Err(SpawnError::ShuttingDown(_))));
}

#[test]
fn a_dropped_pool_lets_its_threads_go() {
    let host = Arc::new(());
    #[derive(Clone)]
    struct Held(#[allow(dead_code, reason = "held for its count")] Arc<()>);
    impl Host for Held {
        type Entered = ();
        fn enter(&self) {}
    }
    let pool: Pool<Work, Held> = Pool::new(config(2, FOREVER));
    pool.spawn(work(|| ()), Duty::Optional, &Held(host.clone())).unwrap();
    drop(pool);
    wait_until(|| Arc::strong_count(&host) == 1);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // What this one carries is leaked on purpose: it has no memory.
        std::panic::panic_any(());
    }
}

#[test]
fn panics_stay_where_they_are() {
    let config = Config {
        thread_name: Arc::new(|| panic!("the name panics")),
        after_start: Some(Arc::new(|| panic!("the hook panics"))),
        before_stop: Some(Arc::new(|| panic!("the hook panics"))),
        ..config(1, FOREVER)
    };
    let pool: Pool<Work, Flag> = Pool::new(config);
    let first = run(&pool, || std::thread::current().id());
    pool.spawn(work(|| panic!("the job panics")), Duty::Optional, &Flag).unwrap();
    pool.spawn(work(|| std::panic::panic_any(Bomb)), Duty::Optional, &Flag).unwrap();
    assert_eq!(run(&pool, || std::thread::current().id()), first);
    assert_eq!(pool.threads(), 1);
    assert!(pool.shutdown(None));
}

/// A thread that has ended and that nobody joins keeps its stack.
#[test]
fn a_shutdown_that_gives_up_lets_go_of_all_threads() {
    let pool = pool(2);
    let (end, has_ended) = std::sync::mpsc::channel::<()>();
    pool.spawn(work(move || _ = has_ended.recv()), Duty::Optional, &Flag).unwrap();
    run(&pool, || ());
    assert!(!pool.shutdown(Some(Duration::from_millis(1))));
    assert!(pool.shared.state.lock().handles.is_empty());
    end.send(()).unwrap();
    wait_until(|| pool.shared.state.lock().alive == 0);
}

#[test]
fn a_refused_first_thread_gives_the_job_back() {
    let pool = pool(2);
    pool.shared.refusals.store(1, Ordering::Relaxed);
    let refused = pool.spawn(work(|| panic!("refused")), Duty::Optional, &Flag);
    let Err(SpawnError::NoThreads(error, _job)) = refused else { panic!("there is no thread") };
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!((pool.threads(), pool.queue_depth()), (0, 0));
    run(&pool, || ());
}

#[test]
#[cfg(not(miri))]
fn a_stack_that_the_system_refuses_gives_the_job_back() {
    let pool: Pool<Work, Flag> = Pool::new(Config { stack_size: Some(1 << 60), ..config(2, FOREVER) });
    assert!(matches!(pool.spawn(work(|| ()), Duty::Optional, &Flag), Err(SpawnError::NoThreads(..))));
    assert!(pool.shutdown(None));
}

#[test]
fn a_refused_further_thread_leaves_the_job_to_the_others() {
    let pool = pool(4);
    let release = block(&pool);
    pool.shared.refusals.store(usize::MAX, Ordering::Relaxed);
    let (send, receive) = mpsc::channel();
    for n in 0..3 {
        let send = send.clone();
        pool.spawn(work(move || send.send(n).unwrap()), Duty::Optional, &Flag).unwrap();
    }
    assert_eq!((pool.threads(), pool.queue_depth()), (1, 3));
    drop((release, send));
    assert_eq!(receive.iter().collect::<Vec<_>>(), [0, 1, 2]);
    // And an idle thread is sent for although no other can be made.
    wait_until(|| pool.idle_threads() == 1);
    run(&pool, || ());
    assert!(pool.shutdown(None));
}

#[test]
fn nobody_counts_on_the_thread_of_a_resident() {
    let pool = pool(3);
    let release = [(), ()].map(|()| {
        let (release, released) = mpsc::channel::<()>();
        let job = Work { is_resident: true, ..work(move || _ = released.recv()) };
        pool.spawn(job, Duty::Mandatory, &Flag).unwrap();
        release
    });
    assert_eq!(pool.threads(), 2, "each has its thread at once");
    pool.shared.refusals.store(1, Ordering::Relaxed);
    let refused = pool.spawn(work(|| panic!("refused")), Duty::Optional, &Flag);
    assert!(matches!(refused, Err(SpawnError::NoThreads(..))));
    run(&pool, || ());
    drop(release);
    wait_until(|| pool.idle_threads() == 3);
    pool.shared.refusals.store(usize::MAX, Ordering::Relaxed);
    run(&pool, || ());
    assert!(pool.shutdown(None));
}

/// How many of eight jobs ran at once, of which `expected` at a time wait for each other.
fn most_at_once(pool: &Pool<Work, Flag>, expected: usize) -> usize {
    let jobs = 8;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let barrier = Arc::new(Barrier::new(expected));
    let (send, receive) = mpsc::channel();
    for _ in 0..jobs {
        let (now, most, barrier, send) = (now.clone(), most.clone(), barrier.clone(), send.clone());
        let run = move || {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            barrier.wait();
            std::thread::sleep(Duration::from_millis(2));
            now.fetch_sub(1, Ordering::Relaxed);
            send.send(()).unwrap();
        };
        pool.spawn(work(run), Duty::Mandatory, &Flag).unwrap();
    }
    drop(send);
    assert_eq!(receive.iter().count(), jobs);
    most.load(Ordering::Relaxed)
}

#[test]
fn a_thread_that_a_resident_has_left_does_not_add_to_the_jobs_at_once() {
    for max_jobs in [1, 2] {
        let config = Config { max_jobs, ..config(max_jobs + 2, FOREVER) };
        let pool = Pool::with_limit(config, 2);
        assert_eq!(most_at_once(&pool, max_jobs), max_jobs, "before there were residents");
        for _ in 0..2 {
            let (begun, begins) = mpsc::channel();
            let job = Work { is_resident: true, ..work(move || begun.send(()).unwrap()) };
            pool.spawn(job, Duty::Mandatory, &Flag).unwrap();
            begins.recv().unwrap();
        }
        assert_eq!(most_at_once(&pool, max_jobs), max_jobs);
        assert!(pool.shutdown(None));
    }
}

#[test]
fn a_resident_does_not_wait_behind_jobs_that_do() {
    let pool = Pool::new(Config { max_jobs: 1, ..config(2, FOREVER) });
    let release = block(&pool);
    let late = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let late = late.clone();
        pool.spawn(work(move || add_one(&late)), Duty::Mandatory, &Flag).unwrap();
    }
    let (begun, begins) = mpsc::channel();
    let job = Work { is_resident: true, ..work(move || begun.send(()).unwrap()) };
    pool.spawn(job, Duty::Mandatory, &Flag).unwrap();
    begins.recv().unwrap();
    assert_eq!((late.load(Ordering::Relaxed), pool.queue_depth()), (0, 2));
    drop(release);
    assert!(pool.shutdown(None));
    assert_eq!(late.load(Ordering::Relaxed), 2);
}
