//! Tasks that block at random among spawns, timers and sockets: each is polled to its end, and ends and is dropped once; nothing is left.

use crate::support::{alone, eventually};
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::UnixStream;
use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::{block_in_place, spawn, spawn_blocking, yield_now};
use nezumi_core::task::{JoinHandle, Priority};
use nezumi_core::time::{sleep, timeout};
use nezumi_prim::FastRand;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Tasks in all, of one round.
const TASKS: usize = 300;
/// Things that each of them does.
const STEPS: u32 = 12;
/// The longest block.
const MOST_MS: u32 = 20;

/// What has become of each task: how often it ended, in the low half, and how often it was dropped.
struct Fates {
    next: AtomicUsize,
    fates: Vec<AtomicU32>,
}

const ENDED: u32 = 1;
const DROPPED: u32 = 1 << 16;

struct Fate {
    fates: Arc<Fates>,
    number: usize,
}

impl Fates {
    /// For one task more, unless there are enough.
    fn take(self: &Arc<Self>) -> Option<Fate> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < TASKS).then(|| Fate { fates: self.clone(), number })
    }

    fn all_are(&self, fate: u32) -> bool {
        self.fates.iter().all(|each| each.load(Ordering::SeqCst) == fate)
    }
}

impl Fate {
    fn note(&self, what: u32) {
        self.fates.fates[self.number].fetch_add(what, Ordering::SeqCst);
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        self.note(DROPPED);
    }
}

fn begin(seed: u64, fate: Fate) -> JoinHandle<()> {
    let priority =
        [Priority::Normal, Priority::Normal, Priority::High, Priority::Background][fate.number % 4];
    let task = live(FastRand::new(seed ^ (fate.number as u64) << 20), seed, fate);
    nezumi_core::spawn::Builder::new().priority(priority).spawn(task).unwrap()
}

/// A life of one task. Boxed, since a life may begin others.
fn live(rand: FastRand, seed: u64, fate: Fate) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let mut children = Vec::new();
        for _ in 0..STEPS {
            let ms = Duration::from_millis(rand.below(MOST_MS + 1).into());
            match rand.below(16) {
                0 => thread::sleep(ms),
                1 => block_in_place(|| thread::sleep(ms / 4)),
                2 => spawn_blocking(move || thread::sleep(ms / 4)).await.unwrap(),
                3..6 => sleep(ms / 4).await,
                6 => drop(timeout(ms / 8, std::future::pending::<()>()).await),
                7..10 => children.extend(fate.fates.take().map(|fate| begin(seed, fate))),
                // Nobody waits for this one.
                10 => drop(fate.fates.take().map(|fate| begin(seed, fate))),
                11..14 => exchange(rand.below(3)).await,
                _ => yield_now().await,
            }
        }
        for child in children {
            child.await.unwrap();
        }
        fate.note(ENDED);
    })
}

/// A few bytes there and back.
async fn exchange(times: u32) {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let echo = spawn(async move {
        let mut byte = [0];
        while theirs.read_exact(&mut byte).await.is_ok() {
            theirs.write_all(&byte).await.unwrap();
        }
    });
    for round in 0..times {
        ours.write_all(&[round as u8]).await.unwrap();
        assert_eq!(ours.read_u8().await.unwrap(), round as u8);
    }
    drop(ours);
    echo.await.unwrap();
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

fn round(seed: u64, workers: usize) {
    let rt = runtime(workers);
    let fates =
        Arc::new(Fates { next: AtomicUsize::new(0), fates: (0..TASKS).map(|_| AtomicU32::new(0)).collect() });
    let first = fates.clone();
    rt.block_on(rt.spawn(async move {
        let mut roots = Vec::new();
        while let Some(fate) = first.take() {
            roots.push(begin(seed, fate));
            sleep(Duration::from_millis(1)).await;
        }
        for root in roots {
            root.await.unwrap();
        }
    }))
    .unwrap();
    // Those that nobody waited for.
    eventually(&format!("each task has ended and is gone, once (seed {seed}, {workers} workers)"), || {
        fates.all_are(ENDED + DROPPED)
    });
    eventually("none is counted any more", || rt.metrics().num_alive_tasks() == 0);
    eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
}

/// How many threads and descriptors this process has.
fn in_use() -> (usize, usize) {
    let count = |path| std::fs::read_dir(path).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn blocks_at_random_lose_nothing_and_leave_nothing_behind() {
    alone("chaos::blocks_at_random_lose_nothing_and_leave_nothing_behind", || {
        let before = in_use();
        for (seed, workers) in [(1, 1), (2, 2), (3, 4)] {
            round(seed, workers);
            eventually("threads and descriptors are given back", || in_use() == before);
        }
    });
}
