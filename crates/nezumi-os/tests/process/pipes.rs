//! What a process reads and writes.

use crate::support::*;
use nezumi_io::{AsyncReadExt, AsyncWriteExt};
use nezumi_os::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Stdio;

/// The flags that `pid` has its descriptor `fd` open with.
fn flags(pid: u32, fd: i32) -> i32 {
    let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    i32::from_str_radix(flags.trim(), 8).unwrap()
}

fn blocks(pid: u32, fd: i32) -> bool {
    flags(pid, fd) & libc::O_NONBLOCK == 0
}

#[test]
fn the_ends_that_the_process_has_block_and_ours_do_not() {
    on_each(|| async {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let pid = child.id().unwrap();
        assert!((0..3).all(|fd| blocks(pid, fd)));
        let this = std::process::id();
        let stdin = child.stdin.take().unwrap();
        assert!(!blocks(this, stdin.as_raw_fd()));
        assert_eq!(stdin.as_fd().as_raw_fd(), stdin.as_raw_fd());
        let stdin = stdin.into_owned_fd().unwrap();
        assert!(blocks(this, stdin.as_raw_fd()));
        let stdout = child.stdout.take().unwrap().into_owned_fd().unwrap();
        let stderr = child.stderr.take().unwrap().into_owned_fd().unwrap();
        assert!(blocks(this, stdout.as_raw_fd()) && blocks(this, stderr.as_raw_fd()));
    });
}

#[test]
fn a_pipe_can_be_handed_on_and_blocks_there() {
    on_each(|| async {
        let mut first =
            sh("echo out; echo err >&2").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let err: Stdio = first.stderr.take().unwrap().try_into().unwrap();
        let out = Command::new("cat").stdin(out).output();
        let err = Command::new("cat").stdin(err).output();
        assert_eq!(out.await.unwrap().stdout, b"out\n");
        assert_eq!(err.await.unwrap().stdout, b"err\n");
        assert!(first.wait().await.unwrap().success());

        // The other way round: the input of a process as the output of another.
        let mut second = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input: Stdio = second.stdin.take().unwrap().try_into().unwrap();
        assert!(sh("test ! -t 1; echo through").stdout(input).status().await.unwrap().success());
        assert_eq!(second.wait_with_output().await.unwrap().stdout, b"through\n");
    });
}

#[test]
fn more_goes_through_than_a_pipe_holds() {
    on_each(|| async {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let sent: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        let copy = sent.clone();
        let writer = nezumi_core::spawn::spawn(async move { to.write_all(&copy).await });
        let mut got = Vec::new();
        from.read_to_end(&mut got).await.unwrap();
        assert!(got == sent);
        writer.await.unwrap().unwrap();
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn a_process_that_reads_no_more_breaks_the_pipe() {
    on_each(|| async {
        let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        child.wait().await.unwrap();
        let error = stdin.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    });
}

#[test]
fn pipes_of_the_standard_library_are_taken_over() {
    on_each(|| async {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "cat; echo err >&2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = ChildStdin::from_std(child.stdin.take().unwrap()).unwrap();
        let mut stdout = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
        let mut stderr = ChildStderr::from_std(child.stderr.take().unwrap()).unwrap();
        stdin.write_all(b"in").await.unwrap();
        stdin.shutdown().await.unwrap();
        drop(stdin);
        let (mut out, mut err) = (String::new(), String::new());
        stdout.read_to_string(&mut out).await.unwrap();
        stderr.read_to_string(&mut err).await.unwrap();
        assert_eq!((&out[..], &err[..]), ("in", "err\n"));
        child.wait().unwrap();
    });
}

#[test]
fn no_descriptor_is_left_of_a_process() {
    both_ways("pipes::no_descriptor_is_left_of_a_process", || {
        on_each(|| async {
            let run = || async {
                let mut command = Command::new("cat");
                command.stdin(Stdio::piped());
                command.output().await.unwrap();
            };
            run().await;
            let before = open_fds();
            for _ in 0..20 {
                run().await;
            }
            assert_eq!(open_fds(), before);
        });
    });
}

#[test]
fn the_types_may_do_what_tokios_may() {
    fn all<T: Send + Sync + Unpin>() {}
    all::<Command>();
    all::<Child>();
    all::<ChildStdin>();
    all::<ChildStdout>();
    all::<ChildStderr>();
}
