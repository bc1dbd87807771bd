//! How a process ends, and how we learn of it.

use crate::support::*;
use nezumi_core::runtime::is_rt_shutdown_err;
use nezumi_core::spawn::{JoinSet, spawn};
use nezumi_io::{AsyncReadExt, AsyncWriteExt};
use nezumi_os::process::Command;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::task::{Context, Waker};

#[test]
fn the_status_is_what_the_process_said_and_stays_so() {
    both_ways("wait::the_status_is_what_the_process_said_and_stays_so", || {
        on_each(|| async {
            let mut child = sh("exit 7").spawn().unwrap();
            let pid = child.id().unwrap();
            assert!(is_child(pid));
            assert_eq!(child.wait().await.unwrap().code(), Some(7));
            assert!(!is_child(pid));
            assert_eq!(child.id(), None);
            assert_eq!(child.wait().await.unwrap().code(), Some(7));
            assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        });
    });
}

#[test]
fn a_wait_that_was_given_up_can_be_begun_again() {
    both_ways("wait::a_wait_that_was_given_up_can_be_begun_again", || {
        on_each(|| async {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            // It goes on only when this is dropped, which the first wait must not do.
            let stdin = child.stdin.take().unwrap();
            for _ in 0..3 {
                let mut wait = pin!(child.wait());
                assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            drop(stdin);
            assert!(child.wait().await.unwrap().success());
        });
    });
}

/// Another child ends, and all who wait for one by the signal are woken; or the task is polled for a reason of its own.
#[test]
fn a_wake_for_nothing_does_not_end_the_wait() {
    both_ways("wait::a_wake_for_nothing_does_not_end_the_wait", || {
        on_each(|| async {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            // It goes on only when this is dropped, which the wait must not do.
            let stdin = child.stdin.take().unwrap();
            let mut wait = pin!(child.wait());
            for _ in 0..3 {
                assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                assert!(sh("exit 0").status().await.unwrap().success());
            }
            drop(stdin);
            assert!(wait.await.unwrap().success());
        });
    });
}

#[test]
fn waiting_ends_the_input_and_asking_does_not() {
    on_each(|| async {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        assert!(child.try_wait().unwrap().is_none());
        child.stdin.as_mut().unwrap().write_all(b"x").await.unwrap();
        let mut byte = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut byte).await.unwrap();
        assert!(child.wait().await.unwrap().success());
        assert!(child.stdin.is_none());
    });
}

#[test]
fn both_outputs_may_be_larger_than_their_pipes() {
    on_each(|| async {
        let script = "head -c 3000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait";
        let output = sh(script).output().await.unwrap();
        assert!(output.status.success());
        assert_eq!((output.stdout.len(), output.stderr.len()), (3_000_000, 2_000_000));
    });
}

#[test]
fn a_killed_process_says_so_and_killing_it_again_is_no_error() {
    both_ways("wait::a_killed_process_says_so_and_killing_it_again_is_no_error", || {
        on_each(|| async {
            let mut child = Command::new("sleep").arg("600").spawn().unwrap();
            child.start_kill().unwrap();
            child.start_kill().unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));
            child.start_kill().unwrap();
            child.kill().await.unwrap();

            // It has ended, and nobody has asked how.
            let mut child = ended(4);
            child.kill().await.unwrap();
            assert_eq!(child.wait().await.unwrap().code(), Some(4));
        });
    });
}

#[test]
fn a_child_is_waited_for_in_another_runtime() {
    both_ways("wait::a_child_is_waited_for_in_another_runtime", || {
        for polled_before in [false, true] {
            let first = current_thread();
            let mut child = first.block_on(async {
                let mut child = Command::new("sleep").arg("0.05").spawn().unwrap();
                if polled_before {
                    let mut wait = pin!(child.wait());
                    assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                }
                child
            });
            drop(first);
            let status = current_thread().block_on(async { child.wait().await });
            assert!(status.unwrap().success());
        }
    });
}

#[test]
fn a_child_is_waited_for_on_a_thread_without_a_runtime() {
    both_ways("wait::a_child_is_waited_for_on_a_thread_without_a_runtime", || {
        let runtime = multi_thread();
        let mut child = runtime.block_on(async { Command::new("sleep").arg("0.05").spawn().unwrap() });
        assert!(nezumi_wake::block_on(child.wait()).unwrap().success());
    });
}

#[test]
fn with_no_runtime_left_waiting_fails() {
    alone("wait::with_no_runtime_left_waiting_fails", || {
        let runtime = multi_thread();
        let mut child =
            runtime.block_on(async { Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap() });
        drop(runtime);
        assert!(is_rt_shutdown_err(&nezumi_wake::block_on(child.wait()).unwrap_err()));
    });
}

#[test]
fn a_thousand_processes_at_once_are_each_waited_for() {
    both_ways("wait::a_thousand_processes_at_once_are_each_waited_for", || {
        for runtime in [current_thread(), multi_thread()] {
            runtime.block_on(async {
                let mut waits = JoinSet::new();
                for number in 0..1000 {
                    // Without a shell: `false` ends at once, and some are over before they are waited for.
                    let mut child =
                        Command::new(if number % 2 == 0 { "true" } else { "false" }).spawn().unwrap();
                    waits.spawn(async move { child.wait().await.unwrap().code() == Some(number % 2) });
                }
                while let Some(right) = waits.join_next().await {
                    assert!(right.unwrap());
                }
            });
        }
        assert_eq!(children(), []);
        assert!(!nurse_is_there());
    });
}

#[test]
fn the_last_task_that_waits_is_woken() {
    both_ways("wait::the_last_task_that_waits_is_woken", || {
        on_each(|| async {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            {
                let mut wait = pin!(child.wait());
                assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            let waiter = spawn(async move { child.wait().await.unwrap() });
            nezumi_core::spawn::yield_now().await;
            drop(stdin);
            assert!(waiter.await.unwrap().success());
        });
    });
}

#[test]
fn somebody_else_who_reaps_is_told_of() {
    both_ways("wait::somebody_else_who_reaps_is_told_of", || {
        on_each(|| async {
            let mut child = ended(3);
            let pid = child.id().unwrap() as libc::pid_t;
            // SAFETY: asks for no status.
            assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid);
            assert_eq!(child.wait().await.unwrap_err().raw_os_error(), Some(libc::ECHILD));
            // The number may be anybody's by now: nobody is sent a signal.
            assert!(matches!(
                child.start_kill().unwrap_err().raw_os_error(),
                Some(libc::ESRCH | libc::ECHILD)
            ));
        });
        assert!(!nurse_is_there());
    });
}
