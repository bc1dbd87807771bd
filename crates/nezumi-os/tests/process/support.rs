//! What the tests have in common: runtimes, a process of one's own, and a census of what is left.

use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::time::timeout;
use nezumi_os::process::{Child, Command};
use std::future::Future;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs `test` on each kind of runtime. It must end in time.
pub(crate) fn on_each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for runtime in [current_thread(), multi_thread()] {
        runtime.block_on(async { timeout(LONG, test()).await.expect("it hangs") });
    }
}

const ALONE: &str = "NEZUMI_TEST_ALONE";
const WITHOUT_PIDFD: &str = "NEZUMI_TEST_WITHOUT_PIDFD";

/// Runs `test` in a process of its own, in which no other test starts children or opens descriptors. `name` is the test's.
pub(crate) fn alone(name: &str, test: impl Fn()) {
    if is_alone(name) { test() } else { rerun(name, None) }
}

/// Runs `test` [`alone`], and then in another process, in which the kernel says that it has no descriptors of processes.
pub(crate) fn both_ways(name: &str, test: impl Fn()) {
    if is_alone(name) {
        if std::env::var_os(WITHOUT_PIDFD).is_some() {
            refuse_pidfd_open();
        }
        test();
    } else {
        rerun(name, None);
        rerun(name, Some(WITHOUT_PIDFD));
    }
}

fn is_alone(name: &str) -> bool {
    std::env::var_os(ALONE).is_some_and(|alone| alone == name)
}

fn rerun(name: &str, with: Option<&str>) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ALONE, name);
    if let Some(with) = with {
        command.env(with, "1");
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{with:?} {text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// From now on `pidfd_open` fails with `ENOSYS` on this thread, and on those that it starts.
fn refuse_pidfd_open() {
    let op = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let (load, equal, answer) = (libc::BPF_LD | libc::BPF_W, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    let mut program = [
        op((load | libc::BPF_ABS) as u16, 0, 0, 0), // the number of the call
        op((equal | libc::BPF_K) as u16, 0, 1, libc::SYS_pidfd_open as u32),
        op((answer | libc::BPF_K) as u16, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        op((answer | libc::BPF_K) as u16, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: `program` is valid for the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
        assert_eq!(libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0), -1);
    }
}

pub(crate) fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A child that has ended, by `exit code`, which nobody has asked for yet.
pub(crate) fn ended(code: i32) -> Child {
    let mut command = sh(&format!("read wait; exit {code}"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id().unwrap();
    child.stdin = None;
    eventually("it ends", || children().contains(&(pid, true)));
    child
}

/// All children of this process: their numbers, and whether they are zombies.
pub(crate) fn children() -> Vec<(u32, bool)> {
    let this = std::process::id();
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    pids.filter_map(|pid| {
        let (state, parent) = state_of(pid)?;
        (parent == this).then_some((pid, state == 'Z'))
    })
    .collect()
}

/// The state of a process, and its parent. `None` when there is no such process.
fn state_of(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name stands in parentheses, and may contain some.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether the process is a child of this one, running or not reaped.
pub(crate) fn is_child(pid: u32) -> bool {
    state_of(pid).is_some_and(|(_, parent)| parent == std::process::id())
}

/// Whether a thread looks after orphans.
pub(crate) fn nurse_is_there() -> bool {
    std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
        std::fs::read_to_string(task.unwrap().path().join("comm"))
            .is_ok_and(|name| name.trim() == "nezumi-orphans")
    })
}

pub(crate) fn open_fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Takes every descriptor that is left, but `spare`.
pub(crate) fn use_up_fds(spare: usize) -> Vec<std::fs::File> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = 64;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    taken.truncate(taken.len() - spare);
    taken
}

/// Waits until `holds` does.
#[track_caller]
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "{what}: {:?}", children());
        std::thread::sleep(Duration::from_millis(1));
    }
}
