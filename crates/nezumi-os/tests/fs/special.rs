//! Files that are none.
#![cfg(target_os = "linux")]

use crate::support::{TempDir, on_each, poll_once};
use nezumi::fs::{self, File, OpenOptions};
use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use std::io::{ErrorKind, SeekFrom, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::pin::pin;

fn fifo(dir: &TempDir) -> std::path::PathBuf {
    let path = dir.path("fifo");
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a name that ends.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    path
}

#[test]
fn a_pipe_gives_what_is_there_and_keeps_the_rest() {
    on_each(async || {
        let dir = TempDir::new();
        let path = fifo(&dir);
        // Both ends wait for each other to be opened.
        let mut write = OpenOptions::new();
        let (reader, writer) = nezumi::join!(File::open(&path), write.write(true).open(&path));
        let (mut reader, mut writer) = (reader.unwrap(), writer.unwrap());
        let mut buf = [0; 100];
        for message in ["one", "four"] {
            writer.write_all(message.as_bytes()).await.unwrap();
            writer.flush().await.unwrap();
            assert_eq!(reader.read(&mut buf).await.unwrap(), message.len(), "no more is waited for");
        }
        // Cancelled while there is nothing; what comes then is kept.
        assert!(poll_once(pin!(reader.read(&mut buf))).is_pending());
        writer.write_all(b"abcdef").await.unwrap();
        writer.flush().await.unwrap();
        reader.read_exact(&mut buf[..4]).await.unwrap();
        assert_eq!(&buf[..4], b"abcd");
        assert_eq!(reader.seek(SeekFrom::Start(0)).await.unwrap_err().kind(), ErrorKind::NotSeekable);
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).await.unwrap();
        // The seek gave up what it could not move back over.
        assert!(rest.is_empty());
    });
}

#[test]
fn messages_are_not_joined() {
    on_each(async || {
        let mut ends = [0; 2];
        // SAFETY: fills two descriptors in.
        assert_eq!(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, ends.as_mut_ptr()) }, 0);
        // SAFETY: they are ours.
        let [a, b] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        let mut sender = std::fs::File::from(a);
        for message in ["one", "two", "three"] {
            sender.write_all(message.as_bytes()).unwrap();
        }
        let mut receiver = File::from(b);
        let mut buf = [0; 100];
        for message in ["one", "two", "three"] {
            let n = receiver.read(&mut buf).await.unwrap();
            assert_eq!(&buf[..n], message.as_bytes());
        }
    });
}

#[test]
fn files_of_the_kernel_are_read_to_their_end() {
    on_each(async || {
        let own = std::process::id().to_string();
        let mut file = File::open("/proc/self/status").await.unwrap();
        for _ in 0..3 {
            let mut status = String::new();
            file.read_to_string(&mut status).await.unwrap();
            assert!(status.contains(&format!("\nPid:\t{own}\n")));
            // Written anew each time it is read from the start.
            assert_eq!(file.seek(SeekFrom::Start(0)).await.unwrap(), 0);
        }
        assert!(fs::read_to_string("/proc/self/maps").await.unwrap().contains("[stack]"));
    });
}

#[test]
fn devices_do_what_they_do() {
    on_each(async || {
        let mut zero = File::open("/dev/zero").await.unwrap();
        let mut buf = [1; 5000];
        zero.read_exact(&mut buf).await.unwrap();
        assert_eq!(buf, [0; 5000]);
        let mut null = OpenOptions::new().read(true).write(true).open("/dev/null").await.unwrap();
        null.write_all(&buf).await.unwrap();
        assert_eq!(null.read(&mut buf).await.unwrap(), 0);
        let mut full = OpenOptions::new().write(true).open("/dev/full").await.unwrap();
        full.write_all(b"x").await.unwrap();
        let error = full.write_all(b"y").await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        full.flush().await.unwrap();
    });
}

#[test]
fn a_directory_is_opened_and_not_read() {
    on_each(async || {
        let dir = TempDir::new();
        let mut opened = File::open(dir.root()).await.unwrap();
        assert!(opened.metadata().await.unwrap().is_dir());
        assert_eq!(opened.read(&mut [0; 8]).await.unwrap_err().kind(), ErrorKind::IsADirectory);
        opened.sync_all().await.unwrap();
    });
}

/// In memory, but on a file system that does not know the flag: the ordinary way, every time.
#[test]
fn a_file_system_that_cannot_say_is_read_all_the_same() {
    on_each(async || {
        let path = format!("/dev/shm/nezumi-fs-{}-{:?}", std::process::id(), std::thread::current().id());
        let _ = std::fs::remove_file(&path);
        let mut file = File::create_new(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let contents = crate::support::pattern(100_000);
        file.write_all(&contents).await.unwrap();
        for start in [0, 99_999, 50_000, 4096] {
            assert_eq!(file.seek(SeekFrom::Start(start)).await.unwrap(), start);
            let mut rest = Vec::new();
            file.read_to_end(&mut rest).await.unwrap();
            assert!(rest == contents[start as usize..]);
        }
    });
}
