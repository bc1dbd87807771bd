//! Panics wherever code of the program's runs in a task.

use super::{spawn, spawn_cancellable};
use crate::seed::Rand;
use nezumi::task::yield_now;
use nezumi::time;
use std::panic;

/// What the panics here carry.
pub(crate) struct OnPurpose;

/// Those of this module are not reported; all others are, as ever.
pub(crate) fn silence_those_on_purpose() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<OnPurpose>() {
            report(info);
        }
    }));
}

fn panic_on_purpose() -> ! {
    panic::panic_any(OnPurpose)
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_on_purpose();
        }
    }
}

pub(super) async fn in_polls(mut rand: Rand) {
    let mut tasks = Vec::new();
    for number in 0..rand.between(1, 100) {
        let (yields, panics) = (rand.below(3), rand.one_in(2));
        let task = spawn_cancellable(async move {
            for _ in 0..yields {
                yield_now().await;
            }
            if panics {
                panic_on_purpose();
            }
            number
        });
        if rand.one_in(4) {
            // Nobody hears of it.
            drop(task);
        } else {
            tasks.push((number, panics, task));
        }
    }
    for (number, panics, task) in tasks {
        match task.await {
            Ok(output) => assert!(!panics && output.get() == number),
            Err(error) => assert!(panics && error.into_panic().is::<OnPurpose>()),
        }
    }
    let job = nezumi::task::spawn_blocking(|| panic_on_purpose());
    assert!(job.await.is_err_and(|error| error.is_panic()));
}

pub(super) async fn in_drops(mut rand: Rand) {
    for _ in 0..rand.between(1, 50) {
        match rand.below(3) {
            // The output, by whoever drops it: here, or the task itself if it has no handle any more.
            0 => {
                let task = spawn_cancellable(async { PanicsInDrop });
                if rand.one_in(2) {
                    yield_now().await;
                }
                // It is dropped by this thread only if the task is complete already.
                let dropped = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(task)));
                assert!(dropped.is_ok() || dropped.is_err_and(|payload| payload.is::<OnPurpose>()));
            }
            // A future that is cancelled.
            1 => {
                let task = spawn_cancellable(async {
                    let _panics = PanicsInDrop;
                    std::future::pending::<()>().await;
                });
                if rand.one_in(2) {
                    time::sleep(rand.micros(300)).await;
                }
                task.abort();
                let error = task.await.expect_err("it never ends by itself");
                assert!(error.is_cancelled() || error.into_panic().is::<OnPurpose>());
            }
            // A future whose poll has panicked already.
            _ => {
                let task = spawn(async {
                    let _panics = PanicsInDrop;
                    yield_now().await;
                    panic_on_purpose();
                });
                assert!(task.await.is_err_and(|error| error.is_panic()));
            }
        }
    }
}
