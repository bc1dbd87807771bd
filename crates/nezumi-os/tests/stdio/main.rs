//! The standard streams. Each test runs its other half in a process of its own, whose streams are pipes.

#![cfg(unix)]

use nezumi_core::runtime::{Builder, Runtime};
use nezumi_io::{AsyncReadExt, AsyncWriteExt};
use nezumi_os::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};

const INSIDE: &str = "NEZUMI_TEST_INSIDE";

/// Runs `inside` in a process of its own, gives it `input`, and returns what it wrote to its output and its error, without what the test
/// harness adds. `name` is the test's.
fn outputs_of(name: &str, input: &[u8], inside: impl FnOnce()) -> (Vec<u8>, Vec<u8>) {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == name) {
        print!("<<<");
        io::stdout().flush().unwrap();
        inside();
        println!(">>>");
        io::stdout().flush().unwrap();
        std::process::exit(0);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let at = |mark: &[u8]| output.stdout.windows(3).position(|window| window == mark).expect(&error);
    (output.stdout[at(b"<<<") + 3..at(b">>>")].to_vec(), output.stderr)
}

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).build().unwrap(),
    ]
}

/// Bytes without a `>`, no two lines the same.
fn some(len: usize) -> Vec<u8> {
    (0..len).map(|i| if i % 61 == 60 { b'\n' } else { b'a' + (i / 7 % 26) as u8 }).collect()
}

#[test]
fn what_comes_in_goes_out_and_no_driver_is_needed() {
    let input = some(3_000_000);
    let (out, _) = outputs_of("what_comes_in_goes_out_and_no_driver_is_needed", &input, || {
        runtimes()[1].block_on(async {
            let (mut from, mut to) = (stdin(), stdout());
            let mut buf = vec![0; 100_000];
            loop {
                match from.read(&mut buf).await.unwrap() {
                    0 => break,
                    len => to.write_all(&buf[..len]).await.unwrap(),
                }
            }
            to.flush().await.unwrap();
        });
    });
    assert!(out == input, "{} of {}", out.len(), input.len());
}

#[test]
fn what_was_written_is_there_when_the_runtime_is_gone() {
    let (out, err) = outputs_of("what_was_written_is_there_when_the_runtime_is_gone", b"", || {
        for runtime in runtimes() {
            runtime.block_on(async {
                // No flush; but each ends with a line.
                stdout().write_all(&some(500_000)).await.unwrap();
                stdout().write_all(b"\n").await.unwrap();
                stderr().write_all(b"unfinished").await.unwrap();
            });
        }
    });
    // Two handles: their pieces may be in either order.
    assert_eq!(out.len(), 2 * 500_001);
    assert_eq!(
        out.iter().filter(|&&byte| byte == b'a').count(),
        2 * some(500_000).iter().filter(|&&byte| byte == b'a').count()
    );
    assert_eq!(err, b"unfinishedunfinished");
}

#[test]
fn a_flush_finishes_a_line_as_does_the_end() {
    let (out, _) = outputs_of("a_flush_finishes_a_line_as_does_the_end", b"", || {
        runtimes()[0].block_on(async {
            let mut to = stdout();
            to.write_all(b"one ").await.unwrap();
            to.flush().await.unwrap();
            to.write_all(b"two ").await.unwrap();
            to.shutdown().await.unwrap();
            to.write_all(b"three").await.unwrap();
            to.flush().await.unwrap();
        });
        // Written past what the standard library holds: all of the above must be there already.
        // SAFETY: writes from memory that is valid.
        assert_eq!(unsafe { libc::write(1, b"|".as_ptr().cast(), 1) }, 1);
    });
    assert_eq!(out, b"one two three|");
}

#[test]
fn the_standard_library_and_we_read_the_same_stream() {
    let (out, _) =
        outputs_of("the_standard_library_and_we_read_the_same_stream", b"first\nsecond\nthird", || {
            let mut line = String::new();
            io::stdin().read_line(&mut line).unwrap();
            runtimes()[0].block_on(async {
                let mut bytes = [0; 7];
                stdin().read_exact(&mut bytes).await.unwrap();
                line.push_str(std::str::from_utf8(&bytes).unwrap());
            });
            io::stdin().read_to_string(&mut line).unwrap();
            print!("{line}");
        });
    assert_eq!(out, b"first\nsecond\nthird");
}

#[test]
fn a_write_error_comes_at_the_next_call() {
    let (_, err) = outputs_of("a_write_error_comes_at_the_next_call", b"", || {
        runtimes()[1].block_on(async {
            let mut to = stderr();
            let mut ends = [0; 2];
            // SAFETY: `ends` has room for what the call writes; the descriptors are this function's. Nobody reads the pipe.
            let kept = unsafe {
                assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
                let kept = libc::dup(2);
                libc::dup2(ends[1], 2);
                libc::close(ends[0]);
                libc::close(ends[1]);
                kept
            };
            let first = to.write(b"lost").await;
            let flushed = to.flush().await;
            // SAFETY: as above.
            unsafe { libc::dup2(kept, 2) };
            assert_eq!(first.unwrap(), 4);
            assert_eq!(flushed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
            to.write_all(b"kept").await.unwrap();
            to.flush().await.unwrap();
        });
    });
    assert_eq!(err, b"kept");
}

#[test]
fn a_runtime_that_is_left_behind_leaves_its_reader_too() {
    // The input stays open and says nothing: with `drop` this would wait for ever.
    let mut child = Command::new(std::env::current_exe().unwrap());
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == "left behind") {
        let [_, runtime] = runtimes();
        let reading = runtime.spawn(async { stdin().read_u8().await });
        runtime.block_on(nezumi_core::spawn::yield_now());
        assert!(!reading.is_finished());
        runtime.shutdown_background();
        std::process::exit(0);
    }
    child.args(["--exact", "a_runtime_that_is_left_behind_leaves_its_reader_too", "--nocapture"]);
    let mut child =
        child.env(INSIDE, "left behind").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let input = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(input);
}

#[test]
fn the_handles_have_their_descriptors_and_may_do_what_tokios_may() {
    assert_eq!([stdin().as_raw_fd(), stdout().as_raw_fd(), stderr().as_raw_fd()], [0, 1, 2]);
    assert_eq!(stdin().as_fd().as_raw_fd(), 0);
    fn all<T: Send + Sync + Unpin + std::fmt::Debug + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    all::<Stdin>();
    all::<Stdout>();
    all::<Stderr>();
}
