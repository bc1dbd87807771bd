use crate::hand::{Gate, Log, Soon, poll, run, run_within};
use nezumi::join;
use std::mem::size_of_val;
use std::pin::pin;
use std::task::Poll;

#[test]
fn outputs_come_in_the_order_written_whatever_completes_first() {
    let (first, second) = (Gate::default(), Gate::default());
    let mut both = pin!(async {
        join!(
            async {
                first.pass().await;
                "a"
            },
            async {
                second.pass().await;
                2
            }
        )
    });
    assert!(poll(both.as_mut()).is_pending());
    second.open();
    assert!(poll(both.as_mut()).is_pending());
    first.open();
    assert_eq!(poll(both.as_mut()), Poll::Ready(("a", 2)));
}

#[test]
fn every_form_is_accepted() {
    run(async {
        assert_eq!(join!(async { 1 }), (1,));
        assert_eq!(join!(async { 1 },), (1,));
        assert_eq!(join!(biased; async { 1 }), (1,));
        assert_eq!(join!(biased; async { 1 }, async { 2 },), (1, 2));
        assert_eq!(join!(Soon(3), Soon("x")), (3, "x"));
        let () = join!();
        let () = join!(biased;);
    });
}

#[test]
fn each_poll_starts_one_future_further() {
    let log = Log::default();
    run_within(4, async { join!(log.polled(1, 4), log.polled(2, 4), log.polled(3, 4)) });
    assert_eq!(log.take(), [1, 2, 3, 2, 3, 1, 3, 1, 2, 1, 2, 3]);
}

#[test]
fn biased_polls_as_written() {
    let log = Log::default();
    run_within(3, async { join!(biased; log.polled(1, 3), log.polled(2, 3)) });
    assert_eq!(log.take(), [1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_completed_future_is_dropped_at_once_and_never_polled_again() {
    let (log, gate) = (Log::default(), Gate::default());
    let mut both = pin!(async {
        join!(
            async {
                let _dropped = log.dropped(1);
            },
            gate.pass()
        )
    });
    assert!(poll(both.as_mut()).is_pending());
    assert_eq!(log.take(), [1]);
    gate.open();
    assert!(poll(both.as_mut()).is_ready());
    assert_eq!(log.take(), []);
}

#[test]
fn dropping_the_join_drops_the_futures_as_written() {
    let log = Log::default();
    {
        let waits = async |id| {
            let _dropped = log.dropped(id);
            std::future::pending::<()>().await;
        };
        let mut all = pin!(async { join!(waits(1), waits(2), waits(3)) });
        assert!(poll(all.as_mut()).is_pending());
    }
    assert_eq!(log.take(), [1, 2, 3]);
}

#[test]
fn more_than_64_futures_can_be_joined() {
    macro_rules! eighty {
        (@ $(($($future:expr),*))*) => {
            join!($($($future),*),*)
        };
        ($ten:tt) => {
            eighty!(@ $ten $ten $ten $ten $ten $ten $ten $ten)
        };
    }
    let one = || async { 1_u8 };
    let all = run(async { eighty!((one(), one(), one(), one(), one(), one(), one(), one(), one(), one())) });
    assert_eq!(size_of_val(&all), 80);
}

#[test]
fn names_of_the_caller_are_left_alone() {
    const COUNT: u32 = 7;
    let (slots, order, slot, pending) = (1, 2, 3, 4);
    let sum = run(async { join!(async { slots + order }, async { slot + pending + COUNT }) });
    assert_eq!(sum, (3, 14));
}

#[test]
fn an_output_without_values_is_accepted() {
    #[deny(warnings)]
    async fn joined(gate: Gate) -> ((), std::convert::Infallible) {
        join!(gate.pass(), std::future::pending())
    }
    let mut joined = pin!(joined(Gate::default()));
    assert!(poll(joined.as_mut()).is_pending());
}

#[test]
#[cfg(target_pointer_width = "64")]
fn it_takes_no_more_room_than_the_futures_a_reference_and_the_turn() {
    fn ready() -> std::future::Ready<i32> {
        std::future::ready(0)
    }
    let of =
        |one: usize, two: usize, biased_one: usize, biased_two: usize| [one, two, biased_one, biased_two];
    let sizes = of(
        size_of_val(&async { join!(ready()) }),
        size_of_val(&async { join!(ready(), ready()) }),
        size_of_val(&async { join!(biased; ready()) }),
        size_of_val(&async { join!(biased; ready(), ready()) }),
    );
    assert_eq!(sizes, of(32, 48, 24, 40));
}
