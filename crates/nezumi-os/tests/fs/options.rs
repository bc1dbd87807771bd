use crate::support::{TempDir, on_each};
use nezumi::fs::{File, OpenOptions};
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

#[test]
fn each_option_does_what_it_says() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path("file");
        let kind = |result: std::io::Result<File>| result.map(drop).map_err(|error| error.kind());
        assert_eq!(kind(File::open(&path).await), Err(ErrorKind::NotFound));
        assert_eq!(kind(OpenOptions::new().open(&path).await), Err(ErrorKind::InvalidInput));
        assert_eq!(kind(OpenOptions::new().write(true).open(&path).await), Err(ErrorKind::NotFound));

        let mut file = OpenOptions::new().write(true).create(true).mode(0o600).open(&path).await.unwrap();
        file.write_all(b"12345").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(kind(File::create_new(&path).await), Err(ErrorKind::AlreadyExists));

        let mut file = OpenOptions::new().append(true).open(&path).await.unwrap();
        file.write_all(b"67").await.unwrap();
        file.flush().await.unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
        file.write_all(b"ab").await.unwrap();
        let mut rest = String::new();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "34567");

        drop(File::create(&path).await.unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "it is cut");
        let link = dir.path("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW);
        assert!(options.open(&link).await.is_err());
        let options = options.custom_flags(0).clone();
        assert!(options.open(&link).await.is_ok());
    });
}

#[test]
fn options_of_std_are_taken_over() {
    on_each(async || {
        let mut std = std::fs::OpenOptions::new();
        std.read(true);
        let dir = TempDir::new();
        assert!(OpenOptions::from(std).open(dir.file("file", "")).await.is_ok());
        assert!(OpenOptions::default().open(dir.path("file")).await.is_err());
    });
}
