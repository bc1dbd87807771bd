use crate::support::{TempDir, multi_thread, on_each, one_blocking_thread, pattern, poll_once, stall};
use nezumi::fs::{File, FileTimes};
use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::PermissionsExt;
use std::pin::pin;
use std::time::{Duration, SystemTime};

#[test]
fn a_big_file_goes_and_comes() {
    on_each(async || {
        let dir = TempDir::new();
        let contents = pattern(7 * 1024 * 1024 + 3);
        let mut file = File::create_new(dir.path("file")).await.unwrap();
        file.write_all(&contents).await.unwrap();
        file.rewind().await.unwrap();
        let mut back = Vec::new();
        file.read_to_end(&mut back).await.unwrap();
        assert!(back == contents);
        assert_eq!(file.stream_position().await.unwrap(), contents.len() as u64);
        assert_eq!(file.read(&mut [0; 10]).await.unwrap(), 0);
    });
}

#[test]
fn a_read_is_short_only_at_the_end() {
    on_each(async || {
        let dir = TempDir::new();
        let contents = pattern(1_000_000);
        let mut file = File::open(dir.file("file", &contents)).await.unwrap();
        let mut buf = vec![0; 300_000];
        for (i, expected) in [300_000, 300_000, 300_000, 100_000, 0].into_iter().enumerate() {
            assert_eq!(file.read(&mut buf).await.unwrap(), expected);
            let start = contents.len().min(i * 300_000);
            assert!(buf[..expected] == contents[start..][..expected]);
        }
    });
}

#[test]
fn a_cancelled_read_loses_nothing() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "0123456789");
        let open = || {
            let std = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            // Not known yet: the first read goes to a blocking thread.
            File::from_std(std)
        };
        let cancelled = async || {
            let (mut file, stalled) = (open(), stall());
            assert!(poll_once(pin!(file.read(&mut [0; 8]))).is_pending());
            drop(stalled);
            // When this is done, the read is.
            nezumi::task::spawn_blocking(|| ()).await.unwrap();
            file
        };

        let mut file = cancelled().await;
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "0123456789");

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(file.stream_position().await.unwrap(), 1, "the cursor is where the program is");

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(file.seek(SeekFrom::Current(2)).await.unwrap(), 3);
        assert_eq!(file.read_u8().await.unwrap(), b'3');

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        file.write_all(b"!").await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'2', "over the second");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0!23456789");
        std::fs::write(&path, "0123456789").unwrap();

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(file.into_std().await.stream_position().unwrap(), 1);

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(file.try_into_std().unwrap().stream_position().unwrap(), 1);

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!([clone.read_u8().await.unwrap(), file.read_u8().await.unwrap()], *b"12");

        let mut file = cancelled().await;
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        file.set_len(3).await.unwrap();
        text.clear();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "12");
    });
}

#[test]
fn each_seeks_from_where_the_other_left() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::open(dir.file("file", "0123456789")).await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        assert_eq!(file.as_fd().as_raw_fd(), file.as_raw_fd());
        // SAFETY: the descriptor is open; the cursor is the one of `file`.
        let moved = unsafe { libc::lseek(file.as_raw_fd(), 3, libc::SEEK_CUR) };
        assert_eq!(moved, 4, "nothing was read ahead");
        assert_eq!(file.read_u8().await.unwrap(), b'4');
        let mut std = file.into_std().await;
        let mut buf = [0; 2];
        std.read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"56");
        // SAFETY: it is ours.
        let mut file = unsafe { File::from_raw_fd(std.into_raw_fd()) };
        assert_eq!(file.read_u8().await.unwrap(), b'7');
    });
}

#[test]
fn what_another_writes_is_read() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.file("file", "0123");
        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'0');
        let mut other = std::fs::File::options().write(true).open(&path).unwrap();
        other.write_all(b"abcdefg").unwrap();
        let mut rest = String::new();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "bcdefg");
        other.write_all(b"hi").unwrap();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "bcdefghi", "the end of a file is not the last word");
    });
}

#[test]
fn clones_share_the_cursor_and_may_be_used_at_once() {
    multi_thread().block_on(async {
        let dir = TempDir::new();
        let contents: Vec<u8> = (0..4000u32).flat_map(u32::to_le_bytes).collect();
        let file = File::open(dir.file("file", contents)).await.unwrap();
        let mut readers = Vec::new();
        for _ in 0..4 {
            let mut clone = file.try_clone().await.unwrap();
            readers.push(nezumi::spawn(async move {
                let mut seen = Vec::new();
                let mut word = [0; 4];
                while clone.read(&mut word).await.unwrap() == 4 {
                    seen.push(u32::from_le_bytes(word));
                }
                seen
            }));
        }
        let mut seen = Vec::new();
        for reader in readers {
            let own = reader.await.unwrap();
            assert!(own.is_sorted(), "each goes forward");
            seen.extend(own);
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..4000), "each word is read by one of them");
    });
}

#[test]
fn clones_append_whole_pieces() {
    multi_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.path("log");
        let log = File::options().append(true).create(true).open(&path).await.unwrap();
        let mut writers = Vec::new();
        for name in ["a", "b", "c"] {
            let mut clone = log.try_clone().await.unwrap();
            writers.push(nezumi::spawn(async move {
                let line = name.repeat(99) + "\n";
                for _ in 0..100 {
                    clone.write_all(line.as_bytes()).await.unwrap();
                }
                clone.flush().await.unwrap();
            }));
        }
        for writer in writers {
            writer.await.unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 300);
        assert!(
            text.lines().all(|line| line.len() == 99 && line.bytes().all(|byte| byte == line.as_bytes()[0]))
        );
    });
}

#[test]
fn a_limit_is_kept_and_inherited() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::create_new(dir.path("file")).await.unwrap();
        assert_eq!(file.max_buf_size(), 2 * 1024 * 1024);
        assert_eq!(file.write(&vec![1; 3_000_000]).await.unwrap(), 2 * 1024 * 1024);
        file.set_max_buf_size(3);
        assert_eq!(file.write(b"12345").await.unwrap(), 3);
        let slices = [IoSlice::new(b""), IoSlice::new(b"ab"), IoSlice::new(b"cd")];
        assert_eq!(file.write_vectored(&slices).await.unwrap(), 3);
        assert!(nezumi::io::AsyncWrite::is_write_vectored(&file));
        file.seek(SeekFrom::End(-6)).await.unwrap();
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(clone.max_buf_size(), 3);
        let mut buf = [0; 9];
        assert_eq!(clone.read(&mut buf).await.unwrap(), 3);
        assert_eq!(file.read(&mut buf[3..]).await.unwrap(), 3);
        assert_eq!(&buf[..6], b"123abc");
    });
}

#[test]
#[should_panic(expected = "`max_buf_size` must be greater than 0")]
fn a_limit_is_not_nothing() {
    let dir = TempDir::new();
    File::from_std(std::fs::File::open(dir.file("file", "")).unwrap()).set_max_buf_size(0);
}

#[test]
fn nothing_is_read_and_written_at_once() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::open(dir.file("file", "1")).await.unwrap();
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
        assert_eq!(file.write(&[]).await.unwrap(), 0);
        file.flush().await.unwrap();
        assert_eq!(file.read(&mut [0]).await.unwrap(), 1);
    });
}

#[test]
fn a_file_is_cut_and_stretched() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path("file");
        let mut file = File::create(&path).await.unwrap();
        file.write_all(b"0123456789").await.unwrap();
        file.set_len(4).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"0123");
        file.set_len(6).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"0123\0\0");
        assert_eq!(file.stream_position().await.unwrap(), 10);
        assert!(File::open(&path).await.unwrap().set_len(0).await.is_err());
    });
}

#[test]
fn times_and_permissions_are_set() {
    on_each(async || {
        let dir = TempDir::new();
        let mut file = File::create(dir.path("file")).await.unwrap();
        let second = |n| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        file.write_all(b"under way").await.unwrap();
        file.set_times(FileTimes::new().set_accessed(second(1_000)).set_modified(second(2_000)))
            .await
            .unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!(
            (metadata.accessed().unwrap(), metadata.modified().unwrap()),
            (second(1_000), second(2_000))
        );
        file.set_modified(second(3_000)).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!(
            (metadata.accessed().unwrap(), metadata.modified().unwrap()),
            (second(1_000), second(3_000))
        );
        file.set_permissions(PermissionsExt::from_mode(0o604)).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().permissions().mode() & 0o777, 0o604);
    });
}

#[test]
fn a_file_in_use_is_not_given_away_until_it_is_free() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let path = dir.path("file");
        let mut file = File::create(&path).await.unwrap();
        let stalled = stall();
        file.write_all(b"one").await.unwrap();
        let file = file.try_into_std().expect_err("it is being written");
        drop(stalled);
        let mut std = file.into_std().await;
        assert_eq!(std.stream_position().unwrap(), 3);
        std.write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
    });
}

#[test]
fn a_file_is_given_away_though_a_dropped_future_has_it_still() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        let file = File::open(dir.file("file", "contents")).await.unwrap();
        let stalled = stall();
        assert!(poll_once(pin!(file.metadata())).is_pending());
        let file = file.try_into_std().expect_err("the other has it");
        let mut text = String::new();
        file.into_std().await.read_to_string(&mut text).unwrap();
        assert_eq!(text, "contents");
        drop(stalled);
    });
}

#[test]
fn seeks_that_nobody_waits_for_are_done() {
    on_each(async || {
        use nezumi::io::AsyncSeek;
        use std::pin::Pin;
        let dir = TempDir::new();
        let mut file = File::open(dir.file("file", "0123456789")).await.unwrap();
        for _ in 0..2 {
            Pin::new(&mut file).start_seek(SeekFrom::Start(4)).unwrap();
            assert_eq!(file.read_u8().await.unwrap(), b'4');
            // It failed, and nobody cares any more.
            Pin::new(&mut file).start_seek(SeekFrom::Current(-9)).unwrap();
            assert_eq!(file.read_u8().await.unwrap(), b'5');
            assert_eq!(file.seek(SeekFrom::End(-1)).await.unwrap(), 9);
            let asked = std::future::poll_fn(|cx| Pin::new(&mut file).poll_complete(cx)).await;
            assert_eq!(asked.unwrap(), 9);
        }
    });
}

#[test]
fn it_says_what_it_is() {
    on_each(async || {
        let dir = TempDir::new();
        let file = File::open(dir.file("file", "")).await.unwrap();
        assert!(format!("{file:?}").starts_with("tokio::fs::File { std: File { fd:"));
    });
}
