//! What becomes of children that are dropped while they run.

use crate::support::*;
use nezumi_core::spawn::spawn;
use nezumi_os::process::{Child, Command};
use std::process::Stdio;

/// It holds none of our streams: whoever reads them to their end is to see that a test has failed, not to wait for the sleeper.
fn sleeper() -> Child {
    Command::new("sleep").arg("600").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(pid: u32) {
    // SAFETY: sends a signal to a child that was not reaped.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) }, 0);
}

/// It runs, and goes as soon as it is killed.
#[track_caller]
fn runs_and_is_reaped(pid: u32) {
    assert!(children().contains(&(pid, false)));
    kill(pid);
    eventually("it is reaped", || !is_child(pid));
}

#[test]
fn a_dropped_child_goes_on_and_is_reaped_when_it_ends() {
    both_ways("orphans::a_dropped_child_goes_on_and_is_reaped_when_it_ends", || {
        on_each(|| async {
            let child = sleeper();
            let pid = child.id().unwrap();
            drop(child);
            runs_and_is_reaped(pid);
        });
    });
}

#[test]
fn no_runtime_is_needed_for_it() {
    both_ways("orphans::no_runtime_is_needed_for_it", || {
        // Dropped outside; in one that nobody drives any more; with the tasks of one that is dropped.
        let runtime = current_thread();
        let (outside, inside) = runtime.block_on(async { (sleeper(), sleeper()) });
        let pids = [outside.id().unwrap(), inside.id().unwrap()];
        drop(outside);
        runtime.block_on(async { drop(inside) });
        pids.into_iter().for_each(runs_and_is_reaped);

        for runtime in [current_thread(), multi_thread()] {
            let pid = runtime.block_on(async {
                let mut child = sleeper();
                let pid = child.id().unwrap();
                spawn(async move { child.wait().await });
                nezumi_core::spawn::yield_now().await;
                pid
            });
            drop(runtime);
            runs_and_is_reaped(pid);
        }
    });
}

#[test]
fn kill_on_drop_kills_and_reaps() {
    both_ways("orphans::kill_on_drop_kills_and_reaps", || {
        on_each(|| async {
            let children: Vec<_> = (0..100)
                .map(|_| Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap())
                .collect();
            drop(children);
        });
        // Given up while it runs.
        on_each(|| async {
            let mut command = Command::new("sleep");
            drop(command.arg("600").kill_on_drop(true).status());
            drop(command.output());
        });
        eventually("all are reaped", || children().is_empty());
    });
}

#[test]
fn a_child_that_has_ended_is_reaped_by_the_drop() {
    both_ways("orphans::a_child_that_has_ended_is_reaped_by_the_drop", || {
        on_each(|| async {
            let child = ended(0);
            let pid = child.id().unwrap();
            drop(child);
            assert!(!is_child(pid));
        });
        assert!(!nurse_is_there());
    });
}

#[test]
fn the_nurse_leaves_after_the_last_and_comes_again() {
    both_ways("orphans::the_nurse_leaves_after_the_last_and_comes_again", || {
        let runtime = current_thread();
        let fds = {
            runtime.block_on(async { sleeper().kill().await.unwrap() });
            open_fds()
        };
        for _ in 0..2 {
            let pids: Vec<_> = runtime.block_on(async { (0..3).map(|_| sleeper().id().unwrap()).collect() });
            // A thread takes its name once it runs.
            eventually("she comes", nurse_is_there);
            pids.into_iter().for_each(runs_and_is_reaped);
            eventually("she leaves", || !nurse_is_there());
        }
        // Those of the signals stay, where signals were used.
        eventually("no descriptor is left", || open_fds() <= fds + 3);
    });
}

#[test]
fn where_no_nurse_can_come_the_next_start_reaps() {
    alone("orphans::where_no_nurse_can_come_the_next_start_reaps", || {
        let runtime = current_thread();
        runtime.block_on(async {
            let mut child = sleeper();
            let pid = child.id().unwrap();
            let taken = use_up_fds(0);
            child.start_kill().unwrap();
            // It may have ended already; then the drop itself has reaped it.
            drop(child);
            drop(taken);
            assert!(!nurse_is_there());
            eventually("it ends", || !children().contains(&(pid, false)));
            let mut next = Command::new("true").spawn().unwrap();
            assert!(!is_child(pid));
            next.wait().await.unwrap();
        });
    });
}

#[test]
fn where_the_kernel_reaps_nobody_else_does() {
    both_ways("orphans::where_the_kernel_reaps_nobody_else_does", || {
        // SAFETY: this process has no handlers.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let runtime = current_thread();
        let pid = runtime.block_on(async { sleeper().id().unwrap() });
        assert!(!nurse_is_there());
        runs_and_is_reaped(pid);
        // SAFETY: asks what there is.
        let handler = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        assert_eq!(handler, libc::SIG_IGN);
    });
}

#[test]
fn signals_for_the_program_do_not_go_to_the_nurse() {
    alone("orphans::signals_for_the_program_do_not_go_to_the_nurse", || {
        let runtime = current_thread();
        let child = runtime.block_on(async { sleeper() });
        let pid = child.id().unwrap();
        drop(child);
        eventually("she is there", || {
            blocked_by_nurse().is_some_and(|mask| mask & (1 << (libc::SIGTERM - 1)) != 0)
        });
        assert_eq!(blocked_by_nurse().unwrap() & (1 << (libc::SIGCHLD - 1)), 0);
        runs_and_is_reaped(pid);
    });
}

/// The signals that the nurse's thread blocks, as a mask.
fn blocked_by_nurse() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok())
        .find(|status| status.starts_with("Name:\tnezumi-orphans\n"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
