//! Small writes do not wait for each other, and none is lost.

use crate::support::{TempDir, multi_thread, on_each, one_blocking_thread, pattern, poll_once, stall};
use nezumi::fs::File;
use nezumi::io::{AsyncSeekExt, AsyncWriteExt};
use std::future::Future;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::pin::pin;
use std::task::Poll;

/// What `future` answers without waiting.
fn now<F: Future>(future: F) -> F::Output {
    match poll_once(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// A file that has been written to.
async fn written(path: &Path, contents: &str) -> File {
    let mut file = File::create(path).await.unwrap();
    file.write_all(contents.as_bytes()).await.unwrap();
    file.flush().await.unwrap();
    file
}

#[test]
fn small_writes_do_not_wait_for_each_other() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.path("file");
        let mut file = written(&path, "0").await;
        let stalled = stall();
        for i in 1..10 {
            assert_eq!(now(file.write(i.to_string().as_bytes())).unwrap(), 1);
        }
        assert!(poll_once(pin!(file.write(&[b'x'; 100_000]))).is_pending(), "that is not small");
        assert!(poll_once(pin!(file.flush())).is_pending());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0");
        drop(stalled);
        file.flush().await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0123456789");
        assert_eq!(file.stream_position().await.unwrap(), 10);
    });
}

#[test]
fn nobody_waits_behind_the_first_write_or_one_of_a_shared_file() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let mut file = File::create(dir.path("file")).await.unwrap();
        let stalled = stall();
        assert_eq!(now(file.write(b"1")).unwrap(), 1);
        assert!(poll_once(pin!(file.write(b"2"))).is_pending());
        drop(stalled);
        file.flush().await.unwrap();
        let clone = file.try_clone().await.unwrap();
        let stalled = stall();
        assert_eq!(now(file.write(b"1")).unwrap(), 1);
        assert!(poll_once(pin!(file.write(b"2"))).is_pending());
        drop((stalled, clone));
    });
}

#[test]
fn what_waits_is_written_though_the_file_is_dropped() {
    let dir = TempDir::new();
    let path = dir.path("file");
    let runtime = one_blocking_thread();
    runtime.block_on(async {
        let mut file = written(&path, "a").await;
        let stalled = stall();
        for piece in ["b", "c", "d"] {
            assert_eq!(now(file.write(piece.as_bytes())).unwrap(), 1);
        }
        drop((file, stalled));
    });
    drop(runtime);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcd");
}

/// The largest offset that a file here can have: a write there fails.
fn end_of_all_files(path: &Path) -> u64 {
    let mut file = std::fs::File::open(path).unwrap();
    let (mut can, mut cannot) = (0, i64::MAX as u64);
    while can + 1 < cannot {
        let middle = can + (cannot - can) / 2;
        match file.seek(SeekFrom::Start(middle)) {
            Ok(_) => can = middle,
            Err(_) => cannot = middle,
        }
    }
    can
}

#[test]
fn a_failure_is_told_once_and_what_waited_is_not_written() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.path("file");
        for told_by in ["write", "flush"] {
            let mut file = written(&path, "contents").await;
            file.seek(SeekFrom::Start(end_of_all_files(&path))).await.unwrap();
            let stalled = stall();
            for _ in 0..3 {
                assert_eq!(now(file.write(b"beyond")).unwrap(), 6);
            }
            drop(stalled);
            // Is known when this is done.
            file.sync_data().await.unwrap();
            let told = match told_by {
                "write" => file.write(b"x").await.map(drop),
                _ => file.flush().await,
            };
            assert_eq!(told.unwrap_err().raw_os_error(), Some(libc::EFBIG));
            file.flush().await.unwrap();
            assert_eq!(file.metadata().await.unwrap().len(), 8);
            file.rewind().await.unwrap();
            file.write_all(b"C").await.unwrap();
            file.write_all(b"O").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "COntents");
        }
    });
}

#[test]
fn many_small_writes_arrive_in_order() {
    multi_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.path("file");
        let contents = pattern(200_000);
        let mut file = File::create(&path).await.unwrap();
        let mut rest = &contents[..];
        let mut len = 1;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(len.min(rest.len()));
            file.write_all(piece).await.unwrap();
            (rest, len) = (after, len % 97 + 1);
        }
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == contents);
    });
}

#[test]
fn a_task_that_writes_lets_others_run() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = written(&dir.path("file"), "0").await;
        let other = nezumi::spawn(async {});
        while !other.is_finished() {
            file.write_all(b"1").await.unwrap();
        }
    });
}
