use crate::support::{TempDir, on_each};
use nezumi::fs;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_name_tells_what_std_tells() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.file("file", "five!");
        let link = dir.path("link");
        fs::symlink("file", &link).await.unwrap();
        assert_eq!(fs::metadata(&link).await.unwrap().ino(), std::fs::metadata(&path).unwrap().ino());
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        assert_eq!(fs::read_link(&link).await.unwrap().as_os_str(), "file");
        assert_eq!(fs::canonicalize(&link).await.unwrap(), std::fs::canonicalize(&path).unwrap());
        assert!(fs::try_exists(&link).await.unwrap());
        fs::remove_file(&path).await.unwrap();
        assert!(!fs::try_exists(&link).await.unwrap(), "it leads nowhere");
        assert!(fs::symlink_metadata(&link).await.is_ok());
    });
}

#[test]
fn names_change() {
    on_each(async || {
        let dir = TempDir::new();
        let (a, b, c) = (dir.file("a", "A"), dir.file("b", "B"), dir.path("c"));
        fs::rename(&a, &b).await.unwrap();
        assert_eq!((a.exists(), std::fs::read_to_string(&b).unwrap()), (false, "A".to_owned()));
        fs::hard_link(&b, &c).await.unwrap();
        assert_eq!(std::fs::metadata(&c).unwrap().nlink(), 2);
        fs::remove_file(&b).await.unwrap();
        assert_eq!(std::fs::read_to_string(&c).unwrap(), "A");
        fs::set_permissions(&c, PermissionsExt::from_mode(0o400)).await.unwrap();
        assert_eq!(std::fs::metadata(&c).unwrap().permissions().mode() & 0o777, 0o400);
    });
}

#[test]
fn a_missing_name_is_not_found() {
    on_each(async || {
        let dir = TempDir::new();
        let (no, there) = (dir.path("no"), dir.file("there", ""));
        let kinds = [
            fs::canonicalize(&no).await.unwrap_err().kind(),
            fs::metadata(&no).await.unwrap_err().kind(),
            fs::symlink_metadata(&no).await.unwrap_err().kind(),
            fs::read_link(&no).await.unwrap_err().kind(),
            fs::remove_file(&no).await.unwrap_err().kind(),
            fs::rename(&no, &there).await.unwrap_err().kind(),
            fs::hard_link(&no, dir.path("new")).await.unwrap_err().kind(),
            fs::set_permissions(&no, PermissionsExt::from_mode(0o400)).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::NotFound; 8]);
        assert!(!fs::try_exists(&no).await.unwrap());
        // Beyond a file is not nowhere.
        assert!(fs::try_exists(there.join("beyond")).await.is_err());
        assert_eq!(fs::symlink("x", &there).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_link(&there).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn names_need_not_be_text() {
    on_each(async || {
        let dir = TempDir::new();
        let path = dir.path(OsStr::from_bytes(b"\xff\xfe \x80"));
        fs::write(&path, "there").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "there");
        assert_eq!(fs::canonicalize(&path).await.unwrap().file_name(), path.file_name());
        let mut entries = fs::read_dir(dir.root()).await.unwrap();
        let entry = entries.next_entry().await.unwrap().unwrap();
        assert_eq!((Some(&*entry.file_name()), entry.path()), (path.file_name(), path.clone()));
        fs::remove_file(&path).await.unwrap();
    });
}

#[test]
fn a_name_with_a_nul_in_it_is_invalid() {
    on_each(async || {
        assert_eq!(fs::metadata("a\0b").await.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}
