//! What may go where: the same as in Tokio, or programs do not compile.

use nezumi::fs;
use std::future::Future;
use std::panic::UnwindSafe;

fn is<T: Send + Sync + Unpin>() {}

fn may_unwind<T: UnwindSafe>() {}

fn may_move<F: Future + Send + Sync>(_: impl Fn() -> F) {}

#[test]
fn types_and_futures_go_between_threads() {
    is::<fs::DirBuilder>();
    is::<fs::DirEntry>();
    is::<fs::File>();
    is::<fs::FileTimes>();
    is::<fs::OpenOptions>();
    is::<fs::ReadDir>();
    may_unwind::<fs::File>();
    may_unwind::<fs::OpenOptions>();
    may_move(|| fs::canonicalize(""));
    may_move(|| fs::copy("", ""));
    may_move(|| fs::create_dir(""));
    may_move(|| fs::create_dir_all(""));
    may_move(|| fs::hard_link("", ""));
    may_move(|| fs::metadata(""));
    may_move(|| fs::read(""));
    may_move(|| fs::read_dir(""));
    may_move(|| fs::read_link(""));
    may_move(|| fs::read_to_string(""));
    may_move(|| fs::remove_dir(""));
    may_move(|| fs::remove_dir_all(""));
    may_move(|| fs::remove_file(""));
    may_move(|| fs::rename("", ""));
    may_move(|| fs::symlink("", ""));
    may_move(|| fs::symlink_metadata(""));
    may_move(|| fs::try_exists(""));
    may_move(|| fs::write("", Vec::new()));
    may_move(|| fs::File::open(""));
    may_move(|| fs::File::create(""));
    may_move(|| fs::File::create_new(""));
    fn of_a_file<'a>(file: &'a fs::File, permissions: &'a std::fs::Permissions) {
        may_move(|| fs::set_permissions("", permissions.clone()));
        may_move(|| file.sync_all());
        may_move(|| file.sync_data());
        may_move(|| file.set_len(0));
        may_move(|| file.metadata());
        may_move(|| file.try_clone());
        may_move(|| file.set_permissions(permissions.clone()));
        may_move(|| file.set_times(fs::FileTimes::new()));
        may_move(|| file.set_modified(std::time::SystemTime::now()));
    }
    fn of_the_others(options: &fs::OpenOptions, builder: &fs::DirBuilder, entry: &fs::DirEntry) {
        may_move(|| options.open(""));
        may_move(|| builder.create(""));
        may_move(|| entry.metadata());
        may_move(|| entry.file_type());
    }
    fn taken(file: fs::File, mut entries: fs::ReadDir) -> impl Send + Sync {
        (file.into_std(), async move { entries.next_entry().await })
    }
    let _ = (of_a_file, of_the_others, taken);
}
