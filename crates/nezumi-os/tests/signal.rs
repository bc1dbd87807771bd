//! Signals, sent to this very process.
#![cfg(unix)]

use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::spawn;
use nezumi_core::time::timeout;
use nezumi_os::signal::unix::{SignalKind, signal};
use std::time::Duration;

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ]
}

fn send(kind: SignalKind) {
    // SAFETY: raises a signal whose handler is installed.
    assert_eq!(unsafe { libc::kill(libc::getpid(), kind.as_raw_value()) }, 0);
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn each_listener_in_each_runtime_hears_the_signal() {
    let kind = SignalKind::user_defined1();
    let [a, b] = runtimes();
    let mut there = b.block_on(async { signal(kind).unwrap() });
    a.block_on(async {
        let (mut first, mut second) = (signal(kind).unwrap(), signal(kind).unwrap());
        for _ in 0..3 {
            send(kind);
            assert_eq!(timeout(LONG, first.recv()).await.unwrap(), Some(()));
            assert_eq!(timeout(LONG, second.recv()).await.unwrap(), Some(()));
        }
    });
    b.block_on(async { timeout(LONG, there.recv()).await.unwrap().unwrap() });
}

#[test]
fn a_signal_between_two_receives_is_not_lost() {
    for rt in runtimes() {
        rt.block_on(async {
            let mut usr2 = signal(SignalKind::user_defined2()).unwrap();
            send(SignalKind::user_defined2());
            nezumi_core::time::sleep(Duration::from_millis(5)).await;
            timeout(LONG, usr2.recv()).await.unwrap().unwrap();
        });
    }
}

#[test]
fn a_dropped_listener_hears_nothing_and_hurts_nobody() {
    let [rt, _] = runtimes();
    rt.block_on(async {
        drop(signal(SignalKind::window_change()).unwrap());
        send(SignalKind::window_change());
        let mut again = signal(SignalKind::window_change()).unwrap();
        send(SignalKind::window_change());
        timeout(LONG, again.recv()).await.unwrap().unwrap();
    });
}

#[test]
fn a_storm_ends_and_its_last_signal_is_heard() {
    let [_, rt] = runtimes();
    let kind = SignalKind::from_raw(libc::SIGRTMIN() + 3);
    rt.block_on(async {
        let mut signals = signal(kind).unwrap();
        let counter = spawn(async move {
            let mut heard = 0u64;
            while timeout(Duration::from_millis(300), signals.recv()).await.is_ok() {
                heard += 1;
            }
            heard
        });
        nezumi_core::spawn::spawn_blocking(move || (0..20_000).for_each(|_| send(kind))).await.unwrap();
        assert!(counter.await.unwrap() > 0);
    });
}

#[test]
fn what_cannot_be_handled_is_refused() {
    let [rt, _] = runtimes();
    rt.block_on(async {
        for number in [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, -1, 0, 65, 1000] {
            let error = signal(SignalKind::from_raw(number)).unwrap_err();
            let phrase = if number >= 65 { "signal too large" } else { "Refusing to register signal" };
            assert_eq!(error.kind(), std::io::ErrorKind::Other);
            let text = error.to_string();
            assert!(text.starts_with(phrase) && text.contains(&number.to_string()), "{error}");
        }
    });
}

#[test]
fn without_io_it_says_so() {
    let rt = Builder::new_current_thread().build().unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rt.block_on(async { signal(SignalKind::hangup()).is_ok() })
    }));
    let message = outcome.unwrap_err();
    assert!(
        message
            .downcast_ref::<&str>()
            .unwrap()
            .starts_with("A Tokio 1.x context was found, but IO is disabled.")
    );
}
