//! What does it cost to hand work to the threads that may block?
//!
//! How the answer could mislead: the work does nothing, so it is the way there and back, and how many threads are woken for
//! it. The producers are threads of their own, so that they meet at the pool's queue whatever the number of workers; each
//! starts a batch and waits for all of it. On few cores sixteen of them mostly take turns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use super::start;
use crate::case::{Case, Done, Round, Setup};

const BATCH: u64 = 16;

pub(crate) fn cases() -> Vec<Case> {
    let case = |variant, producers, must| {
        let what = "so many threads hand over 100 batches of 16 calls each, and wait for each batch";
        Case::new(19, "spawn_blocking", what, must, move |setup| prepare(setup, producers))
            .variant(variant)
            .at("producers", producers)
    };
    vec![case("1 producer", 1, 1.0), case("4 producers", 4, 1.0), case("16 producers", 16, 2.0)]
}

fn prepare(setup: &Setup, producers: u64) -> Round {
    let runtime = start::runtime(setup);
    let batches = setup.size(100, 10, 2);
    Box::new(move || {
        let calls = Arc::new(AtomicU64::new(0));
        let barrier = Barrier::new(producers as usize + 1);
        let elapsed = thread::scope(|scope| {
            let produce = || {
                barrier.wait();
                for _ in 0..batches {
                    let call = |_| {
                        let calls = calls.clone();
                        runtime.handle().spawn_blocking(move || calls.fetch_add(1, Ordering::Relaxed))
                    };
                    let batch: Vec<_> = (0..BATCH).map(call).collect();
                    runtime.block_on(async {
                        for call in batch {
                            call.await.unwrap();
                        }
                    });
                }
            };
            let threads: Vec<_> = (0..producers).map(|_| scope.spawn(produce)).collect();
            barrier.wait();
            let start = Instant::now();
            for thread in threads {
                thread.join().expect("a producer panicked");
            }
            start.elapsed()
        });
        let ops = producers * batches * BATCH;
        assert_eq!(calls.load(Ordering::Relaxed), ops, "a call was lost");
        Done { elapsed: Some(elapsed), ..Done::ops(ops) }
    })
}
