//! How long tasks wait to be polled, where the program asked.

use crate::support::current_thread;
use nezumi_core::runtime::{Builder, HistogramConfiguration, Runtime, RuntimeMetrics, TaskMeta};
use nezumi_core::spawn::{spawn, yield_now};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Three buckets: up to 5 ms, up to 10, and more.
fn measured(builder: &mut Builder) -> Runtime {
    builder
        .enable_metrics_schedule_latency_histogram()
        .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::linear(5 * MS, 3))
        .build()
        .unwrap()
}

fn counted(metrics: &RuntimeMetrics) -> Vec<u64> {
    let of_bucket = |bucket| {
        let workers = 0..metrics.num_workers();
        workers.map(|worker| metrics.schedule_latency_histogram_bucket_count(worker, bucket)).sum()
    };
    (0..metrics.schedule_latency_histogram_num_buckets()).map(of_bucket).collect()
}

fn polls(metrics: &RuntimeMetrics) -> u64 {
    (0..metrics.num_workers()).map(|worker| metrics.worker_poll_count(worker)).sum()
}

#[test]
fn every_poll_ends_one_wait() {
    for builder in [&mut Builder::new_current_thread(), Builder::new_multi_thread().worker_threads(2)] {
        let rt = measured(builder);
        let metrics = rt.metrics();
        // More at once than the table of stamps has room for at first, spawned from outside and from inside.
        let outside: Vec<_> = (0..300).map(|_| rt.spawn(yield_now())).collect();
        rt.block_on(async {
            let inside = (0..300).map(|_| spawn(yield_now())).collect::<Vec<_>>();
            for task in outside.into_iter().chain(inside) {
                task.await.unwrap();
            }
            let nested = spawn(async { spawn(async {}).await });
            nested.await.unwrap().unwrap();
        });
        drop(rt);
        assert!(metrics.schedule_latency_histogram_enabled());
        assert_eq!(counted(&metrics).iter().sum::<u64>(), polls(&metrics));
        assert!(polls(&metrics) >= 1203, "{}", polls(&metrics));
    }
}

#[test]
fn a_wait_ends_where_the_poll_begins_and_is_told_on_either_side_of_it() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = || {
        let told = Arc::clone(&told);
        move |meta: &TaskMeta<'_>| told.lock().unwrap().push(meta.schedule_latency().unwrap())
    };
    let mut builder = Builder::new_current_thread();
    builder.on_before_task_poll(tell()).on_after_task_poll(tell());
    builder.on_task_spawn(|meta| assert_eq!(meta.schedule_latency(), None));
    builder.on_task_terminate(|meta| assert_eq!(meta.schedule_latency(), None));
    let rt = measured(&mut builder);
    let task = rt.spawn(async { std::thread::sleep(20 * MS) });
    std::thread::sleep(12 * MS);
    rt.block_on(task).unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2);
    assert!(told[0] == told[1] && told[0] >= 12 * MS, "{told:?}");
    assert_eq!(counted(&rt.metrics()), [0, 0, 1]);
}

#[test]
fn a_wake_of_what_is_scheduled_already_does_not_begin_anew() {
    let rt = measured(&mut Builder::new_current_thread());
    let mut polls = 0;
    let (give, take) = std::sync::mpsc::channel();
    let task = rt.spawn(std::future::poll_fn(move |cx| {
        polls += 1;
        give.send(cx.waker().clone()).unwrap();
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    }));
    rt.block_on(yield_now());
    let waker = take.recv().unwrap();
    waker.wake_by_ref();
    std::thread::sleep(12 * MS);
    waker.wake();
    rt.block_on(task).unwrap();
    assert_eq!(counted(&rt.metrics())[2], 1);
}

#[test]
fn only_who_asked_is_told() {
    let rt = current_thread();
    rt.block_on(async { spawn(async {}).await.unwrap() });
    let metrics = rt.metrics();
    assert!(!metrics.schedule_latency_histogram_enabled());
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 0);
    assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, 0), 0);
    assert!(metrics.schedule_latency_histogram_bucket_range(0).is_empty());

    // For the hooks alone there is no histogram.
    let rt = Builder::new_current_thread()
        .track_task_schedule_latency()
        .on_before_task_poll(|meta| assert!(meta.schedule_latency().is_some()))
        .build()
        .unwrap();
    rt.block_on(async { spawn(async {}).await.unwrap() });
    assert!(!rt.metrics().schedule_latency_histogram_enabled());
}
