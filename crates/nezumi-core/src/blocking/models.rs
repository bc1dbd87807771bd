//! Every interleaving of submits with the ends of threads. A keep-alive of zero runs out whenever the search lets it; any
//! other never does.

use super::{Config, Duty, Host, Job, Pool, SpawnError};
use loom::thread;
use nezumi_prim::Parker;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often each of the three fates of a job came about.
#[derive(Default)]
struct Fates {
    ran: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Fates {
    fn counts(&self) -> (usize, usize) {
        (self.ran.load(Ordering::Relaxed), self.cancelled.load(Ordering::Relaxed))
    }
}

struct Count(Arc<Fates>);

impl Job for Count {
    fn run(self) {
        self.0.ran.fetch_add(1, Ordering::Relaxed);
    }

    fn cancel(self) {
        self.0.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Nowhere;

impl Host for Nowhere {
    type Entered = ();

    fn enter(&self) {}
}

fn pool<J: Job>(max_threads: usize, keep_alive: Duration) -> Pool<J, Nowhere> {
    pool_for(max_threads, max_threads, keep_alive)
}

fn pool_for<J: Job>(max_threads: usize, max_jobs: usize, keep_alive: Duration) -> Pool<J, Nowhere> {
    let config = Config {
        thread_name: std::sync::Arc::new(String::new),
        stack_size: None,
        max_threads,
        max_jobs,
        keep_alive,
        after_start: None,
        before_stop: None,
    };
    Pool::with_limit(config, 1)
}

#[test]
fn expiry_races_a_submit() {
    loom::model(|| {
        let pool = pool(1, Duration::ZERO);
        let fates = Arc::new(Fates::default());
        for _ in 0..2 {
            pool.spawn(Count(fates.clone()), Duty::Mandatory, &Nowhere).unwrap();
        }
        assert!(pool.shutdown(None));
        assert_eq!(fates.counts(), (2, 0));
    });
}

#[test]
fn expiry_races_a_submit_without_shutdown() {
    struct Tell(Arc<Parker>);

    impl Job for Tell {
        fn run(self) {
            self.0.unpark();
        }

        fn cancel(self) {
            panic!("nobody shuts down");
        }
    }

    loom::model(|| {
        // The second job is waited for: if it were lost, loom would report the deadlock.
        let pool = pool(1, Duration::ZERO);
        let done = Arc::new(Parker::new());
        for _ in 0..2 {
            pool.spawn(Tell(done.clone()), Duty::Mandatory, &Nowhere).unwrap();
            done.park();
        }
        assert!(pool.shutdown(None));
    });
}

/// A submit by another thread.
fn submit(
    pool: &Arc<Pool<Count, Nowhere>>,
    fates: &Arc<Fates>,
    duty: Duty,
) -> thread::JoinHandle<Result<(), SpawnError<Count>>> {
    let (pool, fates) = (pool.clone(), fates.clone());
    thread::spawn(move || pool.spawn(Count(fates), duty, &Nowhere))
}

#[test]
fn a_full_pool_runs_what_waits() {
    loom::model(|| {
        let pool = Arc::new(pool(1, Duration::MAX));
        let fates = Arc::new(Fates::default());
        let other = submit(&pool, &fates, Duty::Mandatory);
        pool.spawn(Count(fates.clone()), Duty::Mandatory, &Nowhere).unwrap();
        other.join().unwrap().unwrap();
        assert_eq!(pool.threads(), 1);
        assert!(pool.shutdown(None));
        assert_eq!(fates.counts(), (2, 0));
    });
}

#[test]
fn shutdown_races_a_submit() {
    loom::model(|| {
        let pool = Arc::new(pool(2, Duration::MAX));
        let fates = Arc::new(Fates::default());
        pool.spawn(Count(fates.clone()), Duty::Optional, &Nowhere).unwrap();
        let other = submit(&pool, &fates, Duty::Optional);
        assert!(pool.shutdown(None));
        let refused = match other.join().unwrap() {
            Ok(()) => 0,
            Err(SpawnError::ShuttingDown(_)) => 1,
            Err(SpawnError::NoThreads(..)) => unreachable!("a model refuses no threads"),
        };
        let (ran, cancelled) = fates.counts();
        assert_eq!(ran + cancelled + refused, 2, "each has one fate");
    });
}

/// There is no thread yet, so that the job brings its own. None is run once the shutdown has returned.
#[test]
fn shutdown_races_the_first_submit() {
    loom::model(|| {
        let pool = Arc::new(pool(1, Duration::MAX));
        let fates = Arc::new(Fates::default());
        let other = submit(&pool, &fates, Duty::Optional);
        assert!(pool.shutdown(None));
        let (ran, cancelled) = fates.counts();
        let is_accepted = other.join().unwrap().is_ok();
        assert_eq!(ran + cancelled, usize::from(is_accepted), "by then");
    });
}

#[test]
fn an_arrival_sends_for_the_next() {
    struct Meet {
        own: Arc<Parker>,
        other: Arc<Parker>,
    }

    impl Job for Meet {
        fn run(self) {
            self.other.unpark();
            self.own.park();
        }

        fn cancel(self) {
            panic!("it is mandatory");
        }
    }

    loom::model(|| {
        // Each job waits for the other: with one thread for both, loom would report the deadlock.
        let pool = pool(2, Duration::MAX);
        let (a, b) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        for (own, other) in [(&a, &b), (&b, &a)] {
            let job = Meet { own: own.clone(), other: other.clone() };
            pool.spawn(job, Duty::Mandatory, &Nowhere).unwrap();
        }
        assert!(pool.shutdown(None));
    });
}

#[test]
fn who_ends_a_job_takes_the_one_for_which_there_was_a_thread_but_no_leave() {
    struct Alone(Arc<AtomicUsize>, Arc<Fates>);

    impl Job for Alone {
        fn run(self) {
            assert_eq!(self.0.fetch_add(1, Ordering::Relaxed), 0, "two are run at once");
            self.1.ran.fetch_add(1, Ordering::Relaxed);
            self.0.fetch_sub(1, Ordering::Relaxed);
        }

        fn cancel(self) {
            panic!("it is mandatory");
        }
    }

    loom::model(|| {
        let pool = pool_for(2, 1, Duration::MAX);
        let (now, fates) = (Arc::new(AtomicUsize::new(0)), Arc::new(Fates::default()));
        for _ in 0..3 {
            pool.spawn(Alone(now.clone(), fates.clone()), Duty::Mandatory, &Nowhere).unwrap();
        }
        assert!(pool.shutdown(None));
        assert_eq!(fates.counts(), (3, 0));
    });
}
