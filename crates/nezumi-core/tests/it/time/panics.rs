//! What panics, with which words, and at whose line.

use super::{ms, single, workers};
use nezumi_core::runtime::Builder;
use nezumi_core::time::{self, Duration, Instant};
use std::any::Any;
use std::cell::RefCell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// The message of the panic of `f`, which must point into this file.
#[track_caller]
fn message(f: impl FnOnce()) -> String {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let message =
                text.or_else(|| payload.downcast_ref().map(String::as_str)).unwrap_or_default().to_owned();
            let file = info.location().map_or_else(String::new, |location| location.file().to_owned());
            LAST.with(|last| *last.borrow_mut() = Some((message, file)));
            former(info);
        }));
    });
    catch_unwind(AssertUnwindSafe(f)).expect_err("it must panic");
    let (message, file) = LAST.with(|last| last.borrow_mut().take()).unwrap();
    assert_eq!(file, file!(), "{message}");
    message
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied()).unwrap()
}

fn untimed() -> nezumi_core::runtime::Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn timers_outside_a_runtime() {
    let calls: [fn(); 5] = [
        || drop(time::sleep(ms(1))),
        || drop(time::sleep_until(Instant::now())),
        || drop(time::interval(ms(1))),
        || drop(time::timeout(ms(1), pending::<()>())),
        || drop(time::timeout_at(Instant::now(), pending::<()>())),
    ];
    for call in calls {
        assert!(message(call).starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        ));
    }
    // Past the end of the clock there is no timer to make.
    drop(time::timeout(Duration::MAX, pending::<()>()));
}

#[test]
fn timers_of_a_runtime_without_time() {
    let calls: [fn(); 5] = [
        || drop(time::sleep(ms(1))),
        || drop(time::sleep_until(Instant::now())),
        || drop(time::interval_at(Instant::now(), ms(1))),
        || drop(time::timeout(ms(1), pending::<()>())),
        || drop(time::timeout_at(Instant::now(), pending::<()>())),
    ];
    for call in calls {
        let message = message(|| untimed().block_on(async { call() }));
        assert_eq!(
            message,
            "A Tokio 1.x context was found, but timers are disabled. Call `enable_time` on the runtime builder to enable timers."
        );
    }
}

#[test]
fn a_period_of_zero() {
    let calls: [fn(); 2] =
        [|| drop(time::interval(Duration::ZERO)), || drop(time::interval_at(Instant::now(), Duration::ZERO))];
    for call in calls {
        assert_eq!(message(call), "`period` must be non-zero.");
    }
}

#[test]
fn a_clock_that_cannot_be_stopped() {
    let outside = "time cannot be frozen from outside the Tokio runtime";
    let calls: [fn(); 2] = [|| time::pause(), || time::resume()];
    for call in calls {
        assert_eq!(message(call), outside);
    }
    let multi = message(|| workers(1).block_on(async { time::pause() }));
    assert!(multi.starts_with("`time::pause()` requires the `current_thread` Tokio runtime."), "{multi}");
    let twice = message(|| {
        single().block_on(async {
            time::pause();
            time::pause();
        });
    });
    assert_eq!(twice, "time is already frozen");
    assert_eq!(message(|| single().block_on(async { time::resume() })), "time is not frozen");
}

#[test]
fn a_clock_that_cannot_be_moved() {
    let advance = |paused| {
        let runtime = Builder::new_current_thread().enable_time().start_paused(paused).build().unwrap();
        catch_unwind(AssertUnwindSafe(|| runtime.block_on(time::advance(Duration::MAX)))).unwrap_err()
    };
    assert_eq!(text(&*advance(false)), "time is not frozen");
    assert_eq!(text(&*advance(true)), "overflow when adding duration to instant");
}

#[test]
fn a_timer_whose_runtime_is_gone() {
    for polled in [false, true] {
        let gone = single();
        let mut timer = {
            let _guard = gone.enter();
            Box::pin(time::sleep(ms(50)))
        };
        if polled {
            assert!(super::poll_once(timer.as_mut()).is_pending());
        }
        drop(gone);
        let ended = catch_unwind(AssertUnwindSafe(|| super::poll_once(pin!(timer).as_mut())));
        let payload = ended.unwrap_err();
        let message = text(&*payload);
        assert!(message.starts_with("A Tokio 1.x context was found, but it is being shutdown."), "{message}");
    }
}

#[test]
fn whoever_waits_for_a_runtime_that_goes_is_woken() {
    let (gone, here) = (workers(1), single());
    let timer = {
        let _guard = gone.enter();
        time::sleep(Duration::from_secs(3600))
    };
    let waiter = here.spawn(timer);
    here.block_on(async {
        nezumi_core::spawn::yield_now().await;
        std::thread::spawn(move || drop(gone));
        assert!(waiter.await.unwrap_err().is_panic());
    });
}
