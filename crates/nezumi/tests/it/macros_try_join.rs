use crate::hand::{Gate, Log, Soon, poll, run, run_within};
use nezumi::try_join;
use std::convert::Infallible;
use std::pin::pin;
use std::task::Poll;

fn ok<T>(value: T) -> Result<T, &'static str> {
    Ok(value)
}

#[test]
fn every_form_is_accepted() {
    run(async {
        assert_eq!(try_join!(async { ok(1) }), Ok((1,)));
        assert_eq!(try_join!(biased; async { ok(1) },), Ok((1,)));
        assert_eq!(try_join!(async { ok(1) }, async { ok("b") }), Ok((1, "b")));
        assert_eq!(try_join!(Soon(ok(1)), Soon(ok('c')),), Ok((1, 'c')));
        assert_eq!(try_join!() as Result<(), u8>, Ok(()));
        assert_eq!(try_join!(biased;) as Result<(), u8>, Ok(()));
    });
}

#[test]
fn the_first_error_ends_it_and_drops_the_others() {
    let (log, gate) = (Log::default(), Gate::default());
    let mut both = pin!(async {
        try_join!(
            async {
                let _dropped = log.dropped(1);
                std::future::pending::<Result<(), &str>>().await
            },
            async {
                gate.pass().await;
                Err::<u8, _>("failed")
            }
        )
    });
    assert!(poll(both.as_mut()).is_pending());
    gate.open();
    assert_eq!(poll(both.as_mut()), Poll::Ready(Err("failed")));
    assert_eq!(log.take(), [1]);
}

#[test]
fn an_error_keeps_those_behind_it_from_being_polled() {
    let log = Log::default();
    let result: Result<((), u32), u8> =
        run(async { try_join!(async { Err(9) }, async { Ok(log.polled(1, 1).await) }) });
    assert_eq!((result, log.take()), (Err(9), vec![]));
}

#[test]
fn each_poll_starts_one_future_further() {
    let log = Log::default();
    let polled = async |id| ok(log.polled(id, 4).await);
    assert_eq!(run_within(4, async { try_join!(polled(1), polled(2), polled(3)) }), Ok((1, 2, 3)));
    assert_eq!(log.take(), [1, 2, 3, 2, 3, 1, 3, 1, 2, 1, 2, 3]);
    assert_eq!(run_within(4, async { try_join!(biased; polled(1), polled(2)) }), Ok((1, 2)));
    assert_eq!(log.take(), [1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn the_error_need_implement_nothing() {
    struct Bare;
    let failed = run(async { try_join!(async { Ok::<_, Bare>(1) }, async { Err::<(), _>(Bare) }) });
    assert!(failed.is_err());
}

#[test]
fn types_without_values_cause_no_warning() {
    #[deny(warnings)]
    async fn cannot_fail() -> Result<(u8, u8), Infallible> {
        try_join!(async { Ok(1) }, async { Ok(2) })
    }
    #[deny(warnings)]
    async fn cannot_succeed() -> Result<(u8, Infallible), &'static str> {
        try_join!(async { Ok(1) }, async { Err("always") })
    }
    assert_eq!(run(cannot_fail()), Ok((1, 2)));
    assert_eq!(run(cannot_succeed()), Err("always"));
}

#[test]
fn the_question_mark_works_around_it() {
    async fn sum() -> Result<i32, &'static str> {
        let (a, b) = try_join!(async { ok(1) }, async { ok(2) })?;
        Ok(a + b)
    }
    assert_eq!(run(sum()), Ok(3));
}
