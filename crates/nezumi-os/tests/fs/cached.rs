//! Reads of what is in memory, on file systems that can say so.
#![cfg(target_os = "linux")]

use crate::support::{TempDir, current_thread, multi_thread, one_blocking_thread, pattern, poll_once, stall};
use nezumi::fs::File;
use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use std::io::SeekFrom;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;

/// Whether the file system that the tests are on can say what it has in memory. On one that cannot, only the results are checked.
fn can_say(path: &Path) -> bool {
    let file = std::fs::File::open(path).unwrap();
    let mut byte = 0u8;
    let slice = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: one byte, ours.
    let n = unsafe {
        libc::syscall(libc::SYS_preadv2, file.as_raw_fd(), &raw const slice, 1, 0, 0, libc::RWF_NOWAIT)
    };
    n >= 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

/// Makes the OS forget a part of a file, if it will.
fn forget(path: &Path, offset: i64, len: i64) {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: advice about an open file.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, len, libc::POSIX_FADV_DONTNEED) };
}

/// What `future` answers without waiting.
fn now<F: Future>(future: F) -> F::Output {
    match poll_once(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn what_is_in_memory_is_read_and_sought_at_once() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let contents = pattern(100_000);
        let path = dir.file("file", &contents);
        if !can_say(&path) {
            return;
        }
        let opened = File::open(&path).await.unwrap();
        // Nothing is known of this one before it has been read.
        let mut taken_over = File::from_std(std::fs::File::open(&path).unwrap());
        taken_over.read_u8().await.unwrap();
        let stalled = stall();
        for mut file in [opened, taken_over] {
            assert_eq!(now(file.read(&mut [0; 9])).unwrap(), 9);
            let mut buf = [0; 4096];
            for start in [0, 50_000, 4_095, 98_000] {
                assert_eq!(now(file.seek(SeekFrom::Start(start as u64))).unwrap(), start as u64);
                let expected = &contents[start..contents.len().min(start + 4096)];
                assert_eq!(now(file.read(&mut buf)).unwrap(), expected.len());
                assert!(buf[..expected.len()] == *expected);
            }
            for (to, at) in [(SeekFrom::Start(7), 7), (SeekFrom::Current(-3), 4), (SeekFrom::End(-1), 99_999)]
            {
                assert_eq!(now(file.seek(to)).unwrap(), at);
            }
            assert_eq!(now(file.read_u8()).unwrap(), contents[99_999]);
            assert_eq!(now(file.read(&mut buf)).unwrap(), 0);
        }
        // Not one of them went to a blocking thread.
        drop(stalled);
    });
}

#[test]
fn a_read_that_is_half_in_memory_is_whole() {
    current_thread().block_on(async {
        let dir = TempDir::new();
        let contents = pattern(1 << 20);
        let path = dir.file("file", &contents);
        for (offset, len) in [(1 << 19, 0), (0, 1 << 19), (4096, 4096), (0, 0)] {
            forget(&path, offset, len);
            let mut file = File::open(&path).await.unwrap();
            let mut buf = vec![0; contents.len() - 10];
            assert_eq!(file.read(&mut buf).await.unwrap(), buf.len());
            assert!(buf == contents[..contents.len() - 10]);
            assert_eq!(file.read(&mut buf).await.unwrap(), 10, "the cursor is where the read ended");
        }
    });
}

#[test]
fn a_task_that_reads_from_memory_lets_others_run() {
    current_thread().block_on(async {
        let dir = TempDir::new();
        let mut file = File::open(dir.file("file", pattern(1000))).await.unwrap();
        let other = nezumi::spawn(async {});
        let mut byte = [0];
        while !other.is_finished() {
            file.read_exact(&mut byte).await.unwrap();
            file.seek(SeekFrom::Current(-1)).await.unwrap();
        }
    });
}

#[test]
fn a_shared_cursor_is_left_to_the_blocking_threads_while_it_is_shared() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        if !can_say(&path) {
            return;
        }
        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        let mut clone = file.try_clone().await.unwrap();
        let stalled = stall();
        for file in [&mut file, &mut clone] {
            assert!(poll_once(pin!(file.read_u8())).is_pending());
        }
        drop(stalled);
        let both = [file.read_u8().await.unwrap(), clone.read_u8().await.unwrap()];
        assert!(both == *b"12" || both == *b"21");
        drop(clone);
        assert_eq!(poll_once(pin!(file.read_u8())).map(Result::unwrap), Poll::Ready(b'3'));
    });
}

#[test]
fn a_read_after_a_write_sees_it() {
    multi_thread().block_on(async {
        let dir = TempDir::new();
        let mut file = File::create_new(dir.path("file")).await.unwrap();
        for round in 0..200u32 {
            file.rewind().await.unwrap();
            file.write_all(&round.to_le_bytes()).await.unwrap();
            // Not flushed: the write may still be under way.
            file.seek(SeekFrom::Current(-4)).await.unwrap();
            assert_eq!(file.read_u32_le().await.unwrap(), round);
            file.write_u8(7).await.unwrap();
            assert_eq!(file.read(&mut [0; 2]).await.unwrap(), 0);
        }
    });
}

#[test]
fn direct_io_is_left_to_the_blocking_threads() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", pattern(8192));
        let Ok(mut file) = File::options().read(true).custom_flags(libc::O_DIRECT).open(&path).await else {
            // This file system has none.
            return;
        };
        let mut buf = [0; 4096];
        let stalled = stall();
        assert!(poll_once(pin!(file.read(&mut buf))).is_pending());
        drop(stalled);
        let _ = file.read(&mut buf).await;
    });
}
