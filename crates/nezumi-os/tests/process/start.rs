//! How a process is started, and what is left when it cannot be.

use crate::support::*;
use nezumi_core::runtime::Builder;
use nezumi_os::process::Command;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;

fn message(panics: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
    match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => payload.downcast_ref::<String>().unwrap().clone(),
    }
}

#[test]
fn without_a_runtime_or_its_io_it_panics_and_nothing_runs() {
    alone("start::without_a_runtime_or_its_io_it_panics_and_nothing_runs", || {
        let called = Cell::new(false);
        let start = || {
            let _ = Command::new("sleep").arg("600").spawn_with(|command| {
                called.set(true);
                command.spawn()
            });
        };
        assert!(message(start).starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        ));
        let runtime = Builder::new_current_thread().build().unwrap();
        assert!(message(|| runtime.block_on(async { start() })).contains("IO is disabled"));
        assert!(message(|| drop(Command::new("true").status())).starts_with("there is no reactor running"));
        assert!(message(|| drop(Command::new("true").output())).starts_with("there is no reactor running"));
        assert!(!called.get());
        assert_eq!(children(), []);
    });
}

#[test]
fn what_cannot_be_started_says_why_and_leaves_nothing() {
    alone("start::what_cannot_be_started_says_why_and_leaves_nothing", || {
        on_each(|| async {
            let fds = open_fds();
            let error = Command::new("no-such-program").output().await.unwrap_err();
            assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::NotFound, Some(libc::ENOENT)));
            let error = Command::new("/").status().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(Command::new("true").current_dir("/no/such/directory").spawn().is_err());
            let mut command = Command::new("true");
            // SAFETY: the closure does nothing but fail.
            unsafe { command.pre_exec(|| Err(io::Error::from_raw_os_error(libc::EDOM))) };
            let error = command.stdin(Stdio::piped()).output().await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EDOM));
            assert_eq!(children(), []);
            assert_eq!(open_fds(), fds);
        });
    });
}

#[test]
fn with_too_few_descriptors_it_starts_in_full_or_not_at_all() {
    both_ways("start::with_too_few_descriptors_it_starts_in_full_or_not_at_all", || {
        let runtime = current_thread();
        runtime.block_on(async {
            // Has the signals' pipe opened, where signals are used.
            Command::new("true").status().await.unwrap();
            let fds = open_fds();
            let mut started = 0;
            for spare in 0..16 {
                let taken = use_up_fds(spare);
                let mut command = Command::new("cat");
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                match command.spawn() {
                    Ok(child) => {
                        started += 1;
                        assert!(child.wait_with_output().await.unwrap().status.success());
                    }
                    Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EMFILE)),
                }
                drop(taken);
                assert_eq!((children(), open_fds()), (vec![], fds), "with {spare} left");
            }
            assert!((1..16).contains(&started));
        });
    });
}

#[test]
fn when_the_pipes_cannot_be_registered_the_process_is_killed() {
    both_ways("start::when_the_pipes_cannot_be_registered_the_process_is_killed", || {
        let runtime = multi_thread();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let error = Command::new("sleep").arg("600").stdout(Stdio::piped()).spawn().unwrap_err();
        assert!(nezumi_core::runtime::is_rt_shutdown_err(&error));
        eventually("it is reaped", || children().is_empty());
    });
}

#[test]
fn it_starts_before_it_is_polled_and_borrows_nothing() {
    on_each(|| async {
        let dir = std::env::temp_dir().join(format!("nezumi-started-{}", std::process::id()));
        let (status, output) = {
            let mut command = sh("echo >$FILE");
            command.env("FILE", &dir);
            (command.status(), command.output())
        };
        eventually("it runs", || dir.exists());
        let both = nezumi_core::spawn::spawn(async { (status.await, output.await) }).await.unwrap();
        assert!(both.0.unwrap().success() && both.1.unwrap().status.success());
        std::fs::remove_file(dir).unwrap();
    });
}

#[test]
fn status_closes_the_pipes_at_once() {
    on_each(|| async {
        let mut command = Command::new("cat");
        assert!(command.stdin(Stdio::piped()).status().await.unwrap().success());
        // SIGPIPE, which Rust programs ignore and their children do not.
        assert!(!Command::new("yes").stdout(Stdio::piped()).status().await.unwrap().success());
    });
}

#[test]
fn a_child_that_was_waited_for_already_is_as_good() {
    both_ways("start::a_child_that_was_waited_for_already_is_as_good", || {
        on_each(|| async {
            let mut child = sh("exit 5")
                .spawn_with(|command| {
                    let mut child = command.spawn()?;
                    child.wait()?;
                    Ok(child)
                })
                .unwrap();
            assert_eq!(child.id(), None);
            child.start_kill().unwrap();
            assert_eq!(child.wait().await.unwrap().code(), Some(5));
        });
    });
}

#[test]
fn what_is_set_reaches_the_program() {
    on_each(|| async {
        let mut command = sh("echo $0 $A $B $C; pwd");
        command.arg0("shell").env_clear().env("A", "1").envs([("B", "2"), ("C", "3")]).env_remove("B");
        command.env("PATH", "/usr/bin:/bin").current_dir("/");
        assert_eq!(command.output().await.unwrap().stdout, b"shell 1 3\n/\n");

        let output =
            sh("ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat").process_group(0).output().await.unwrap();
        let group: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert_ne!(group, std::process::id());
    });
}

#[test]
fn what_the_standard_library_has_set_stays() {
    let mut std = std::process::Command::new("printf");
    std.arg("%s");
    let mut command = Command::from(std);
    assert!(!command.get_kill_on_drop());
    command.arg("x").kill_on_drop(true);
    assert!(command.get_kill_on_drop());
    assert_eq!(command.as_std().get_args().count(), 2);
    command.as_std_mut().arg("y");
    assert!(
        format!("{command:?}")
            .starts_with("Command { std: \"printf\" \"%s\" \"x\" \"y\", kill_on_drop: true")
    );
    assert_eq!(command.into_std().get_program(), "printf");
}
