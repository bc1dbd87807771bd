use crate::support::{TempDir, on_each, one_blocking_thread, pattern, poll_once, stall};
use nezumi::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::pin::pin;

#[test]
fn a_file_comes_back_as_it_went() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path("file");
        for contents in [Vec::new(), vec![7], pattern(5_000_003)] {
            fs::write(&path, contents.clone()).await.unwrap();
            assert!(fs::read(&path).await.unwrap() == contents);
            let copy = dir.path("copy");
            assert_eq!(fs::copy(&path, &copy).await.unwrap(), contents.len() as u64);
            assert!(std::fs::read(&copy).unwrap() == contents);
        }
    });
}

#[test]
fn whatever_is_bytes_can_be_written() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path("file");
        let borrowed = b"borrowed".to_vec();
        fs::write(&path, &borrowed[..3]).await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"bor");
        fs::write(&path, String::from("owned text")).await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "owned text");
        fs::write(&path, bytes::Bytes::from_static(b"shared")).await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"shared");
    });
}

#[test]
fn a_copy_has_the_permissions() {
    on_each(async || {
        let dir = TempDir::new();
        let (from, to) = (dir.file("from", "x"), dir.path("to"));
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o640)).unwrap();
        fs::copy(&from, &to).await.unwrap();
        assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o640);
    });
}

#[test]
fn what_cannot_be_is_told() {
    on_each(async || {
        let dir = TempDir::new();
        let no = dir.path("no");
        assert_eq!(fs::read(&no).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_to_string(&no).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::copy(&no, dir.path("to")).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::write(no.join("no"), "").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read(dir.root()).await.unwrap_err().kind(), ErrorKind::IsADirectory);
        let binary = dir.file("binary", b"\xff");
        assert_eq!(fs::read_to_string(&binary).await.unwrap_err().kind(), ErrorKind::InvalidData);
    });
}

#[test]
fn a_write_goes_on_without_its_future() {
    let dir = TempDir::new();
    let path = dir.path("file");
    let contents = pattern(3_000_000);
    one_blocking_thread().block_on(async {
        let stalled = stall();
        assert!(poll_once(pin!(fs::write(&path, contents.clone()))).is_pending());
        drop(stalled);
        // When this is done, that is.
        nezumi::task::spawn_blocking(|| ()).await.unwrap();
    });
    assert!(std::fs::read(&path).unwrap() == contents);
}
