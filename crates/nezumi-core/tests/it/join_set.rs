//! `JoinSet`.

use crate::support::{Census, current_thread, runtime};
use nezumi_core::spawn::{JoinSet, yield_now};
use nezumi_core::time::sleep;
use std::collections::HashSet;
use std::future::{Future, pending};
use std::time::Duration;

#[test]
fn outputs_come_out_in_the_order_in_which_tasks_end() {
    let rt =
        nezumi_core::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    rt.block_on(async {
        let mut set = JoinSet::new();
        for i in [3u64, 1, 2] {
            set.spawn(async move {
                sleep(Duration::from_secs(i)).await;
                i
            });
        }
        let mut order = Vec::new();
        while let Some(output) = set.join_next().await {
            order.push(output.unwrap());
        }
        assert_eq!(order, [1, 2, 3]);
        assert!(set.is_empty());
    });
}

#[test]
fn every_output_once_from_many_workers() {
    let rt = runtime(4);
    rt.block_on(async {
        let mut set = JoinSet::new();
        let mut seen = HashSet::new();
        for i in 0..2000 {
            set.spawn(async move {
                if i % 2 == 0 {
                    yield_now().await;
                }
                i
            });
            if i % 7 == 0 {
                seen.extend(set.join_next().await.map(Result::unwrap));
            }
        }
        while let Some(output) = set.join_next().await {
            assert!(seen.insert(output.unwrap()));
        }
        assert_eq!(seen.len(), 2000);
    });
}

#[test]
fn drop_aborts_and_detach_does_not() {
    let rt = current_thread();
    let census = Census::default();
    rt.block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..5 {
            let alive = census.enter();
            set.spawn(async move {
                let _alive = alive;
                pending::<()>().await;
            });
        }
        yield_now().await;
        drop(set);
        yield_now().await;
        assert_eq!(census.alive(), 0);

        let mut set = JoinSet::new();
        let alive = census.enter();
        set.spawn(async move {
            let _alive = alive;
            yield_now().await;
        });
        set.detach_all();
        drop(set);
        assert_eq!(census.alive(), 1);
        // At a time of its own, and not after some time: on a machine that is crowded any may be over before it was polled twice.
        for _ in 0..4 {
            yield_now().await;
        }
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn abort_all_and_try_join_next() {
    let rt = current_thread();
    rt.block_on(async {
        let mut set: JoinSet<()> = (0..3).map(|_| pending::<()>()).collect();
        assert!(set.try_join_next().is_none());
        set.abort_all();
        yield_now().await;
        let mut cancelled = 0;
        while let Some(result) = set.try_join_next() {
            assert!(result.unwrap_err().is_cancelled());
            cancelled += 1;
        }
        assert_eq!((cancelled, set.len()), (3, 0));
        assert!(set.join_next().await.is_none());
    });
}

#[test]
fn an_awaited_handle_that_is_dropped_loses_nothing() {
    let rt = current_thread();
    rt.block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async {
            yield_now().await;
            1
        });
        // Dropped while it waits.
        {
            let mut next = std::pin::pin!(set.join_next());
            let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(next.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
        }
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
    });
}
