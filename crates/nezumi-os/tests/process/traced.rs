//! A process that another one traces: its end is the tracer's to see first.

use crate::support::*;
use nezumi_core::time::timeout;
use nezumi_io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use nezumi_os::process::{Child, Command};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

const TRACEE: &str = "NEZUMI_TEST_TRACEE";

/// Not a test: what the tracer runs. It traces a process, says so, and lets it go when it is told to.
#[test]
fn tracer() {
    let Ok(pid) = std::env::var(TRACEE) else { return };
    let pid: libc::pid_t = pid.parse().unwrap();
    // SAFETY: touches no memory of ours.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    assert_eq!(seized, 0, "{}", std::io::Error::last_os_error());
    println!("\ntracing");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    std::process::exit(0);
}

async fn trace(pid: u32) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "traced::tracer", "--nocapture"]).env(TRACEE, pid.to_string());
    command.env_remove("NEZUMI_TEST_ALONE");
    let mut tracer = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tracer.stdout.take().unwrap()).lines();
    while lines.next_line().await.unwrap().expect("the tracer says so") != "tracing" {}
    tracer
}

fn traceable() -> Command {
    let mut command = Command::new("sleep");
    // SAFETY: a system call that touches no memory.
    unsafe {
        command.arg("600").pre_exec(|| {
            // Where Yama is, only a parent may trace otherwise.
            libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0);
            Ok(())
        })
    };
    command
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn its_end_is_waited_for_without_spinning() {
    both_ways("traced::its_end_is_waited_for_without_spinning", || {
        on_each(|| async {
            let mut child = traceable().spawn().unwrap();
            let pid = child.id().unwrap();
            let mut tracer = trace(pid).await;
            child.start_kill().unwrap();
            eventually("it ends", || children().contains(&(pid, true)));

            // Nobody wakes us over and over.
            let wakes = Arc::new(Wakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            let mut wait = std::pin::pin!(child.wait());
            for _ in 0..20 {
                assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                timeout(Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_err();
            }
            let woken = wakes.0.load(Ordering::SeqCst);
            assert!(woken <= 4, "woken {woken} times");

            tracer.stdin.as_mut().unwrap().write_all(b"go\n").await.unwrap();
            assert!(!wait.await.unwrap().success());
            assert!(tracer.wait().await.unwrap().success());
        });
    });
}

#[test]
fn an_orphan_is_reaped_after_its_tracer() {
    both_ways("traced::an_orphan_is_reaped_after_its_tracer", || {
        on_each(|| async {
            let child = traceable().kill_on_drop(true).spawn().unwrap();
            let pid = child.id().unwrap();
            let mut tracer = trace(pid).await;
            drop(child);
            eventually("it ends", || children().contains(&(pid, true)));
            tracer.stdin.as_mut().unwrap().write_all(b"go\n").await.unwrap();
            assert!(tracer.wait().await.unwrap().success());
            eventually("it is reaped", || !is_child(pid));
        });
    });
}
