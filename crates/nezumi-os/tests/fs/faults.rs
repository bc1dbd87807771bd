//! What goes wrong is told, once, and leaves the file usable.

use crate::support::{TempDir, current_thread, multi_thread, on_each, pattern, poll_once};
use nezumi::fs::{self, File};
use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use nezumi::runtime::Handle;
use std::io::SeekFrom;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

#[test]
fn a_failed_write_is_told_once_by_the_next() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.file("file", "contents");
        // Opened for reading only: every write fails, at the OS.
        for kind in ["write", "flush", "shutdown"] {
            let mut file = File::open(&path).await.unwrap();
            assert_eq!(file.write(b"x").await.unwrap(), 1, "accepted");
            let told = match kind {
                "write" => file.write(b"y").await.map(drop),
                "flush" => file.flush().await,
                _ => file.shutdown().await,
            };
            assert_eq!(told.unwrap_err().raw_os_error(), Some(libc::EBADF));
            file.flush().await.unwrap();
        }
    });
}

#[test]
fn a_failed_write_is_not_told_by_others_and_not_forgotten() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.file("file", "contents");
        let mut file = File::open(&path).await.unwrap();
        file.write_all(b"x").await.unwrap();
        let mut buf = [0; 3];
        file.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"con");
        assert_eq!(file.stream_position().await.unwrap(), 3);
        file.sync_all().await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 8);
        assert_eq!(file.flush().await.unwrap_err().raw_os_error(), Some(libc::EBADF));
        file.flush().await.unwrap();
        file.write_all(b"x").await.unwrap();
        file.sync_data().await.unwrap();
        assert_eq!(file.write(b"y").await.unwrap_err().raw_os_error(), Some(libc::EBADF));
    });
}

#[test]
fn a_file_that_may_not_be_read_says_so_each_time() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::create(dir.path("file")).await.unwrap();
        for _ in 0..3 {
            assert_eq!(file.read(&mut [0; 9]).await.unwrap_err().raw_os_error(), Some(libc::EBADF));
        }
        assert!(file.seek(SeekFrom::Current(-1)).await.is_err());
        assert_eq!(file.seek(SeekFrom::Current(5)).await.unwrap(), 5);
        file.write_all(b"x").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 6);
    });
}

#[test]
fn a_seek_to_nowhere_fails_and_moves_nothing() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::open(dir.file("file", "0123456789")).await.unwrap();
        // The first on a blocking thread, the others perhaps not.
        for _ in 0..3 {
            assert_eq!(file.seek(SeekFrom::Start(4)).await.unwrap(), 4);
            assert!(file.seek(SeekFrom::Current(-5)).await.is_err());
            assert!(file.seek(SeekFrom::End(i64::MIN)).await.is_err());
            assert_eq!(file.read_u8().await.unwrap(), b'4');
            assert_eq!(file.stream_position().await.unwrap(), 5);
        }
    });
}

/// A runtime that has ended, of which a handle is left.
fn ended() -> Handle {
    let runtime = multi_thread();
    let handle = runtime.handle().clone();
    runtime.shutdown_timeout(Duration::from_secs(10));
    handle
}

#[test]
fn after_the_runtime_everything_fails_and_nothing_breaks() {
    let dir = TempDir::new();
    let path = dir.file("file", "contents");
    let handle = ended();
    let _entered = handle.enter();
    let std = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut file = File::from_std(std);
    let lost = |poll: Poll<std::io::Result<()>>| match poll {
        Poll::Ready(Err(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        lost(poll_once(pin!(async { file.read(&mut [0; 8]).await.map(drop) })));
        lost(poll_once(pin!(async { file.seek(SeekFrom::Start(0)).await.map(drop) })));
        lost(poll_once(pin!(file.set_len(0))));
        let told = lost(poll_once(pin!(async { file.write(b"x").await.map(drop) })));
        assert_eq!(told, "background task failed");
        assert!(poll_once(pin!(file.flush())).is_ready());
        assert_eq!(lost(poll_once(pin!(file.sync_all()))), "background task failed");
        assert_eq!(
            lost(poll_once(pin!(async { fs::read(&path).await.map(drop) }))),
            "background task failed"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"contents");
    assert!(file.try_into_std().is_ok());
}

#[test]
fn outside_a_runtime_it_panics_whether_or_not_the_bytes_are_in_memory() {
    let dir = TempDir::new();
    let path = dir.file("file", "contents");
    let mut file = current_thread().block_on(async {
        let mut file = File::open(&path).await.unwrap();
        file.read_u8().await.unwrap();
        file
    });
    let says = |f: &mut dyn FnMut()| {
        let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it did not panic");
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(text.starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        ));
    };
    says(&mut || _ = poll_once(pin!(file.read(&mut [0; 2]))));
    says(&mut || _ = poll_once(pin!(file.seek(SeekFrom::Start(1)))));
    says(&mut || _ = poll_once(pin!(file.write(b"x"))));
    says(&mut || _ = poll_once(pin!(fs::metadata(&path))));
    says(&mut || _ = poll_once(pin!(fs::read_dir(&dir.root()))));
    // And is none the worse for it.
    assert_eq!(current_thread().block_on(file.read_u8()).unwrap(), b'o');
}

#[test]
fn what_was_accepted_is_written_though_the_file_is_dropped_and_the_runtime_ends() {
    for end in 0..3 {
        let dir = TempDir::new();
        let path = dir.path("file");
        let contents = pattern(2_000_000);
        let runtime = multi_thread();
        runtime.block_on(async {
            let mut file = File::create(&path).await.unwrap();
            // One piece: accepted at once.
            assert_eq!(file.write(&contents).await.unwrap(), contents.len());
            drop(file);
        });
        match end {
            0 => drop(runtime),
            1 => runtime.shutdown_timeout(Duration::from_secs(10)),
            _ => runtime.shutdown_background(),
        }
        let begin = std::time::Instant::now();
        // In the background it takes its time.
        while std::fs::metadata(&path).unwrap().len() < contents.len() as u64 {
            assert!(end == 2 && begin.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
        assert!(std::fs::read(&path).unwrap() == contents);
    }
}
