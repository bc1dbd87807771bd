use crate::support::{TempDir, on_each, one_blocking_thread, poll_once, stall};
use nezumi::fs;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::pin::pin;
use std::task::Poll;

#[test]
fn each_of_five_thousand_entries_is_seen_once() {
    on_each(async || {
        let dir = TempDir::new();
        for i in 0..5000 {
            if i % 100 == 0 {
                std::fs::create_dir(dir.path(format!("{i:04}"))).unwrap();
            } else {
                dir.file(&format!("{i:04}"), "");
            }
        }
        let mut seen = BTreeMap::new();
        let mut entries = fs::read_dir(dir.root()).await.unwrap();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            let name = entry.file_name().into_string().unwrap();
            let file_type = entry.file_type().await.unwrap();
            assert!(file_type.is_dir() || file_type.is_file());
            assert!(seen.insert(name, file_type.is_dir()).is_none(), "twice");
        }
        let expected: BTreeMap<_, _> = (0..5000).map(|i| (format!("{i:04}"), i % 100 == 0)).collect();
        assert!(seen == expected);
        assert!(entries.next_entry().await.unwrap().is_none(), "the end stays the end");
    });
}

#[test]
fn an_entry_knows_itself() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.file("file", "12345");
        let mut entries = fs::read_dir(dir.root()).await.unwrap();
        let entry = entries.next_entry().await.unwrap().unwrap();
        assert_eq!((entry.path(), entry.file_name().as_os_str()), (path.clone(), "file".as_ref()));
        assert_eq!(entry.ino(), std::fs::metadata(&path).unwrap().ino());
        assert_eq!(entry.metadata().await.unwrap().len(), 5);
        // As it is when asked, not as it was when found.
        std::fs::write(&path, "123").unwrap();
        assert_eq!(entry.metadata().await.unwrap().len(), 3);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(entry.metadata().await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(entry.file_type().await.unwrap().is_file());
    });
}

#[test]
fn a_cancelled_next_entry_loses_none() {
    one_blocking_thread().block_on(async {
        let dir = TempDir::new();
        for i in 0..2000 {
            dir.file(&i.to_string(), "");
        }
        let (mut seen, mut cancelled) = (0, 0);
        let mut entries = fs::read_dir(dir.root()).await.unwrap();
        loop {
            let stalled = stall();
            let polled = poll_once(pin!(entries.next_entry()));
            drop(stalled);
            let entry = match polled {
                Poll::Ready(entry) => entry.unwrap(),
                Poll::Pending => {
                    cancelled += 1;
                    entries.next_entry().await.unwrap()
                }
            };
            if entry.is_none() {
                break;
            }
            seen += 1;
        }
        assert_eq!(seen, 2000);
        assert!(cancelled > 0);
    });
}

#[test]
fn directories_come_and_go() {
    on_each(async || {
        let dir = TempDir::new();
        let (one, deep) = (dir.path("one"), dir.path("a/b/c"));
        fs::create_dir(&one).await.unwrap();
        assert_eq!(fs::create_dir(&one).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::create_dir(&deep).await.unwrap_err().kind(), ErrorKind::NotFound);
        fs::create_dir_all(&deep).await.unwrap();
        fs::create_dir_all(&deep).await.unwrap();
        assert!(deep.is_dir());
        assert_eq!(fs::remove_dir(dir.path("a")).await.unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir(&one).await.unwrap();
        fs::remove_dir_all(dir.path("a")).await.unwrap();
        assert!(!one.exists() && !deep.exists());
        assert_eq!(fs::remove_dir_all(&one).await.unwrap_err().kind(), ErrorKind::NotFound);
        let file = dir.file("file", "");
        assert!(fs::create_dir_all(file.join("no")).await.is_err());
    });
}

#[test]
fn a_builder_makes_what_it_is_told() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path("a/b");
        let mut builder = fs::DirBuilder::new();
        assert_eq!(builder.create(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
        builder.recursive(true).mode(0o700).create(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    });
}

#[test]
fn what_is_no_directory_cannot_be_read_as_one() {
    on_each(async || {
        let dir = TempDir::new();
        assert_eq!(fs::read_dir(dir.path("no")).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(dir.file("file", "")).await.unwrap_err().kind(), ErrorKind::NotADirectory);
        assert!(fs::read_dir(dir.path(".")).await.unwrap().next_entry().await.unwrap().is_some());
    });
}
