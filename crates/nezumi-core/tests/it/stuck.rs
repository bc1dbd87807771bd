//! Polls that do not end: what is told of them, and where their threads are.

use nezumi_core::dump::TaskState;
use nezumi_core::runtime::{Builder, Runtime, StuckTask};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Whether stacks of threads can be had here.
const HAS_STACKS: bool =
    cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)));

fn runtime(workers: usize) -> (Runtime, Receiver<StuckTask>) {
    let (reports, reported) = mpsc::channel();
    let rt = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .stuck_after(Duration::from_millis(10))
        .stuck_backtraces(true)
        // The other end may be gone.
        .on_stuck(move |task| _ = reports.send(task.clone()))
        .build()
        .unwrap();
    (rt, reported)
}

#[inline(never)]
fn sleeps_in_the_middle_of_a_poll(time: Duration) {
    thread::sleep(time);
}

#[inline(never)]
fn burns_in_the_middle_of_a_poll(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Has tasks get stuck, one after the other, until one of the reports has a backtrace: on a machine with other work a thread may get no processor for the time it is waited for.
fn backtrace_of(stuck: fn(Duration)) -> String {
    let (rt, reported) = runtime(2);
    for _ in 0..100 {
        let task = rt.spawn(async move { stuck(Duration::from_millis(150)) });
        rt.block_on(task).unwrap();
        // Nor may the watch, and then it saw too little of the poll to tell of it.
        let Ok(report) = reported.recv_timeout(Duration::from_secs(1)) else { continue };
        if let Some(backtrace) = report.backtrace() {
            return backtrace.to_string();
        }
        assert!(HAS_STACKS || report.backtrace().is_none());
    }
    String::new()
}

#[test]
fn the_backtrace_of_a_task_that_sleeps_names_the_function_it_sleeps_in() {
    let backtrace = backtrace_of(sleeps_in_the_middle_of_a_poll);
    if HAS_STACKS {
        assert!(backtrace.contains("sleeps_in_the_middle_of_a_poll"), "{backtrace}");
        assert!(backtrace.contains(file!()), "{backtrace}");
        assert!(!backtrace.contains("nezumi_core::scheduler"), "{backtrace}");
    }
}

#[test]
fn the_backtrace_of_a_task_that_burns_names_the_function_it_burns_in() {
    let backtrace = backtrace_of(burns_in_the_middle_of_a_poll);
    if HAS_STACKS {
        assert!(backtrace.contains("burns_in_the_middle_of_a_poll"), "{backtrace}");
    }
}

/// Unless the program says so, no thread is interrupted.
#[test]
fn nobody_is_asked_where_the_program_did_not_say_so() {
    let (reports, reported) = mpsc::channel();
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .stuck_after(Duration::from_millis(10))
        .on_stuck(move |task| _ = reports.send(task.clone()))
        .build()
        .unwrap();
    rt.spawn(async { sleeps_in_the_middle_of_a_poll(Duration::from_millis(60)) });
    assert!(reported.recv().unwrap().backtrace().is_none());
}

/// A dump has the stack of a task that is stuck, also without a hook.
#[test]
fn a_dump_tells_where_the_thread_of_a_stuck_task_is() {
    let rt =
        Builder::new_multi_thread().worker_threads(1).enable_all().stuck_backtraces(true).build().unwrap();
    let (begun, has_begun) = mpsc::channel();
    let task = rt.spawn(async move {
        begun.send(()).unwrap();
        sleeps_in_the_middle_of_a_poll(Duration::from_secs(3));
    });
    has_begun.recv().unwrap();
    // One that gets no answer in time has no trace.
    let told = (0..20).find_map(|_| {
        let dump = rt.block_on(rt.handle().dump());
        let stuck = dump.all_tasks().find(|told| told.id() == task.id())?;
        assert!(matches!(stuck.state(), TaskState::Stuck { worker: 0, .. }), "{dump}");
        let trace = stuck.trace().to_string();
        (!trace.is_empty()).then_some(trace)
    });
    if HAS_STACKS {
        let told = told.unwrap();
        assert!(told.contains("sleeps_in_the_middle_of_a_poll"), "{told}");
    }
    rt.shutdown_background();
}

/// A thread that has blocked all signals cannot answer. It is not waited for, and the report comes all the same.
#[test]
#[cfg(unix)]
fn a_thread_that_blocks_all_signals_is_reported_without_a_backtrace() {
    let (rt, reported) = runtime(1);
    let task = rt.spawn(async {
        // SAFETY: both sets are plain memory of ours, which the calls fill and read.
        unsafe {
            let (mut all, mut former) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut former);
            sleeps_in_the_middle_of_a_poll(Duration::from_millis(100));
            // The signal comes now, and nobody wants anything any more.
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const former, std::ptr::null_mut());
        }
    });
    let report = reported.recv().unwrap();
    assert!(report.backtrace().is_none());
    assert_eq!(report.id(), task.id());
    rt.block_on(task).unwrap();
    assert_eq!(rt.block_on(rt.spawn(async { 7 })).unwrap(), 7);
}

/// Many threads of two runtimes are stuck at once, again and again: each poll is reported once, and the stacks that come are of the tasks that they are told of.
#[test]
fn a_storm_of_stuck_polls() {
    #[inline(never)]
    fn even_numbered(time: Duration) {
        thread::sleep(time);
        std::hint::black_box(0);
    }
    #[inline(never)]
    fn odd_numbered(time: Duration) {
        thread::sleep(time);
        std::hint::black_box(1);
    }

    let runtimes = [runtime(4), runtime(4)];
    let (rounds, most_rounds) = if cfg!(miri) { (1, 1) } else { (8, 100) };
    let mut is_even = std::collections::HashMap::new();
    let mut reports: [Vec<StuckTask>; 2] = [Vec::new(), Vec::new()];
    let mut round = 0;
    // On a machine with other work it may take some before a thread comes to write its stack down.
    let has_stack = |reports: &[Vec<StuckTask>; 2]| {
        reports
            .iter()
            .flatten()
            .filter_map(StuckTask::backtrace)
            .any(|stack| stack.to_string().contains("numbered"))
    };
    while round < rounds || (HAS_STACKS && round < most_rounds && !has_stack(&reports)) {
        round += 1;
        let start = Arc::new(Barrier::new(8));
        let tasks: Vec<_> = (0..8)
            .map(|i| {
                let start = start.clone();
                let task = runtimes[i % 2].0.spawn(async move {
                    start.wait();
                    let time = Duration::from_millis(60);
                    if i % 4 < 2 { even_numbered(time) } else { odd_numbered(time) }
                });
                is_even.insert(task.id(), i % 4 < 2);
                (i, task)
            })
            .collect();
        for (i, task) in tasks {
            runtimes[i % 2].0.block_on(task).unwrap();
        }
        for (so_far, (_, reported)) in reports.iter_mut().zip(&runtimes) {
            so_far.extend(reported.try_iter());
        }
    }
    for ((rt, reported), mut reports) in runtimes.into_iter().zip(reports.clone()) {
        let metrics = rt.metrics();
        // The watch has ended with it.
        drop(rt);
        reports.extend(reported.try_iter());
        assert_eq!(reports.len() as u64, metrics.stuck_poll_count());
        for report in &reports {
            assert!(report.elapsed() >= Duration::from_millis(10));
            let Some(backtrace) = report.backtrace() else { continue };
            let text = backtrace.to_string();
            // It may have been interrupted at the barrier, or on its way.
            let (even, odd) = (text.contains("even_numbered"), text.contains("odd_numbered"));
            assert!(if is_even[&report.id()] { !odd } else { !even }, "{text}");
        }
    }
    assert!(!HAS_STACKS || has_stack(&reports));
}

/// Runtimes end while their watch waits for a stack.
#[test]
fn a_runtime_ends_while_a_stack_is_on_its_way() {
    for round in 0..if cfg!(miri) { 1 } else { 10 } {
        let (rt, reported) = runtime(1);
        rt.spawn(async { burns_in_the_middle_of_a_poll(Duration::from_millis(40)) });
        thread::sleep(Duration::from_millis(10 + round));
        rt.shutdown_background();
        // Ends when the hook is gone, and with it the watch.
        assert!(reported.into_iter().count() <= 1);
    }
}
