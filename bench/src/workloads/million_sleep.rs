//! How much memory does a sleeping task take, and how late is it woken?
//!
//! The figure is resident bytes per task: what the process grew by until all tasks had been spawned and polled. Each sample
//! is a process of its own, or one side would sleep in what the other left. Lateness is from the deadline to the poll that
//! follows it.
//!
//! How the answer could mislead: the allocator's rounding and its arenas are in it, and so is whatever the runtime's queues
//! grew to while it was spawning faster than polling. The tasks hold a deadline and a place to write to, 16 bytes of their own.
//! If it takes longer than a second until all sleep (it is noted), the first are gone by then and the figure is too low.
//! All deadlines lie within a few seconds, so lateness is that of 100 k wakes a second, and on a busy machine the
//! machine's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::meter;

const SLEEPERS: u64 = 1_000_000;

pub(crate) fn cases() -> Vec<Case> {
    let what = "1 M spawned sleepers of 1 to 10 s: resident bytes per task, lateness";
    vec![
        Case::new(18, "million_sleep", what, 1.5, prepare)
            .figure("resident bytes per task")
            .at_most("resident bytes per task", 600.0)
            .scaled("100 k sleepers of 0.2 to 0.8 s")
            .apart()
            .glacial(),
    ]
}

/// Where each task says how late it was, in µs. Written to before anything is measured, so that it is resident.
struct Log {
    lateness: Vec<AtomicU32>,
    polled: AtomicU64,
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let sleepers = setup.size(SLEEPERS, 100_000, 1000);
    let (first_ms, last_ms) = setup.size((1000, 10_000), (200, 800), (10, 50));
    Box::new(move || {
        let lateness = (0..sleepers).map(|_| AtomicU32::new(u32::MAX)).collect();
        let log = Arc::new(Log { lateness, polled: AtomicU64::new(0) });
        let mut tasks = Vec::with_capacity(sleepers as usize);
        // The room for the handles is the test's, not the tasks'.
        tasks.spare_capacity_mut().fill_with(std::mem::MaybeUninit::zeroed);
        let before = meter::resident_bytes();
        let start = Instant::now();
        let whole = log.clone();
        let (after, tasks) = start::on_worker(&runtime, async move {
            for i in 0..sleepers {
                // Scattered over the whole time, not in the order of spawning.
                let ms = first_ms + i * 7919 % (last_ms - first_ms);
                tasks.push(rt::spawn(sleep(i as usize, start + Duration::from_millis(ms), log.clone())));
            }
            while log.polled.load(Ordering::Relaxed) < sleepers {
                rt::task::yield_now().await;
            }
            (meter::resident_bytes(), tasks)
        });
        let spawning = start.elapsed();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        let grown = after.saturating_sub(before) as f64;
        let mut notes = vec![
            ("resident bytes per task", grown / sleepers as f64),
            ("ms until all sleep", spawning.as_secs_f64() * 1e3),
        ];
        notes.extend(percentiles(&whole));
        Done { figure: Some(grown), notes, ..Done::ops(sleepers) }
    })
}

async fn sleep(i: usize, deadline: Instant, log: Arc<Log>) {
    log.polled.fetch_add(1, Ordering::Relaxed);
    rt::time::sleep_until(deadline.into()).await;
    let late = Instant::now().checked_duration_since(deadline).expect("woken before the deadline");
    log.lateness[i].store(late.as_micros() as u32, Ordering::Relaxed);
}

fn percentiles(log: &Log) -> Vec<(&'static str, f64)> {
    let mut histogram = Histogram::<u64>::new(3).expect("3 digits are fine");
    for late in &log.lateness {
        let late = late.load(Ordering::Relaxed);
        assert_ne!(late, u32::MAX, "a sleeper never woke");
        histogram.record(u64::from(late)).expect("it grows by itself");
    }
    let ms = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    vec![("late p50 ms", ms(0.5)), ("late p99.9 ms", ms(0.999))]
}
