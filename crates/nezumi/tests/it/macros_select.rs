use crate::hand::{Gate, Log, Soon, poll, run};
use nezumi::select;
use std::cell::Cell;
use std::future::{pending, poll_fn, ready};
use std::mem::size_of_val;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

#[test]
fn every_form_of_a_branch_is_accepted() {
    run(async {
        assert_eq!(select! { v = async { 1 } => v }, 1);
        assert_eq!(select! { v = async { 1 } => v, }, 1);
        assert_eq!(select! { v = async { 1 } => { v } }, 1);
        assert_eq!(select! { v = async { 1 } => { v }, }, 1);
        assert_eq!(select! { v = async { 1 }, if true => v }, 1);
        assert_eq!(select! { biased; v = async { 1 }, if true => { v } }, 1);
        assert_eq!(
            select! {
                _ = pending::<()>() => { 0 }
                _ = pending::<()>(), if false => { 0 },
                _ = pending::<()>(), if 1 < 2 => 0,
                v = Soon(3) => v + 1,
                else => 9,
            },
            4
        );
        assert_eq!(select! { else => 1 }, 1);
        assert_eq!(select! { biased; else => 1, }, 1);
    });
}

#[test]
fn the_first_to_complete_wins_and_the_others_are_dropped() {
    let (log, gate) = (Log::default(), Gate::default());
    let mut waits = pin!(async {
        select! {
            () = async {
                let _dropped = log.dropped(1);
                pending().await
            } => unreachable!(),
            () = gate.pass() => log.push(2),
        }
    });
    assert!(poll(waits.as_mut()).is_pending());
    gate.open();
    assert!(poll(waits.as_mut()).is_ready());
    assert_eq!(log.take(), [1, 2], "dropped before the handler ran");
}

#[test]
fn only_one_branch_is_polled_when_all_are_ready() {
    let log = Log::default();
    run(async {
        select! {
            _ = log.polled(1, 1) => {}
            _ = log.polled(2, 1) => {}
        }
    });
    assert_eq!(log.take().len(), 1);
}

#[test]
fn every_branch_is_first_at_times_and_all_are_polled_in_a_ring() {
    let log = Log::default();
    let mut first = [0; 3];
    for _ in 0..300 {
        let mut waits = pin!(async {
            select! {
                _ = log.polled(0, 2) => {}
                _ = log.polled(1, 2) => {}
                _ = log.polled(2, 2) => {}
            }
        });
        assert!(poll(waits.as_mut()).is_pending());
        let polled = log.take();
        let start = polled[0];
        assert_eq!(polled, [start, (start + 1) % 3, (start + 2) % 3]);
        first[start as usize] += 1;
    }
    assert!(first.iter().all(|&times| times > 50), "{first:?}");
}

#[test]
fn biased_always_starts_at_the_first() {
    let log = Log::default();
    for _ in 0..50 {
        let mut waits = pin!(async {
            select! {
                biased;
                _ = log.polled(1, 3) => {}
                _ = log.polled(2, 3) => {}
                _ = log.polled(3, 3) => {}
            }
        });
        assert!(poll(waits.as_mut()).is_pending());
        assert!(poll(waits.as_mut()).is_pending());
        assert_eq!(log.take(), [1, 2, 3, 1, 2, 3]);
    }
}

#[test]
fn conditions_run_first_then_all_futures_are_made_then_the_enabled_are_polled() {
    let log = Log::default();
    let made = |id| {
        log.push(id);
        poll_fn(move |_| Poll::Ready(id))
    };
    let condition = |id, holds| {
        log.push(id);
        holds
    };
    let value = run(async {
        select! {
            biased;
            _ = made(20), if condition(10, false) => unreachable!(),
            v = made(21), if condition(11, true) => v,
        }
    });
    assert_eq!((value, log.take()), (21, vec![10, 11, 20, 21]));
}

#[test]
fn an_output_that_does_not_match_disables_its_branch() {
    let gate = Gate::default();
    let polls = Cell::new(0);
    let mut waits = pin!(async {
        select! {
            Some(()) = poll_fn(|_| {
                polls.set(polls.get() + 1);
                Poll::Ready(None)
            }) => unreachable!(),
            () = gate.pass() => "gate",
        }
    });
    assert!(poll(waits.as_mut()).is_pending());
    assert!(poll(waits.as_mut()).is_pending());
    gate.open();
    assert_eq!(poll(waits.as_mut()), Poll::Ready("gate"));
    assert_eq!(polls.get(), 1);
}

#[test]
fn an_output_that_does_not_match_is_dropped_at_once() {
    let log = Log::default();
    let mut waits = pin!(async {
        select! {
            Err(()) = async { Ok::<_, ()>(log.dropped(1)) } => {}
            () = pending() => {}
        }
    });
    assert!(poll(waits.as_mut()).is_pending());
    assert_eq!(log.take(), [1]);
}

#[test]
fn else_runs_when_nothing_is_left() {
    run(async {
        let nothing = select! {
            Some(v) = ready(None::<u8>) => v,
            Ok(v) = ready(Err::<u8, ()>(())) => v,
            _ = pending::<()>(), if false => 0,
            else => 7,
        };
        assert_eq!(nothing, 7);
    });
}

#[test]
fn without_else_it_panics_where_it_was_written() {
    let line = line!() + 2;
    #[rustfmt::skip]
    let waits = async { select! { Some(()) = ready(None) => {} } };

    let place = Arc::new(Mutex::new(None));
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new({
        let place = place.clone();
        move |info| {
            // Other tests panic, too.
            if info.payload_as_str() == Some("all branches are disabled and there is no else branch") {
                *place.lock().unwrap() = info.location().map(|at| (at.file().to_owned(), at.line()));
            }
        }
    }));
    let caught = catch_unwind(AssertUnwindSafe(|| run(waits)));
    std::panic::set_hook(former);
    assert!(caught.is_err());
    assert_eq!(*place.lock().unwrap(), Some((file!().to_owned(), line)));
}

#[test]
fn handlers_may_borrow_what_the_futures_borrowed() {
    async fn change(value: &mut u32) {
        *value += 1;
    }
    let mut value = 1;
    run(async {
        select! {
            biased;
            () = change(&mut value) => value += 10,
            () = ready(()) => value += 100,
            else => value += 1000,
        }
    });
    assert_eq!(value, 12);
}

#[test]
fn handlers_may_await_return_break_and_fail() {
    async fn handled(mut rounds: u32) -> Result<u32, std::num::ParseIntError> {
        loop {
            select! {
                () = ready(()), if rounds == 0 => break,
                text = ready("x"), if rounds == 3 => { text.parse::<u32>()?; }
                () = ready(()), if rounds == 2 => return Ok(ready(20).await),
                () = ready(()), if rounds == 1 => {
                    rounds = 0;
                    continue;
                }
            }
        }
        Ok(1)
    }
    assert_eq!(run(handled(1)), Ok(1));
    assert_eq!(run(handled(2)), Ok(20));
    assert!(run(handled(3)).is_err());
}

#[test]
fn patterns_bind_in_every_way() {
    #[derive(Debug, PartialEq)]
    struct Pair {
        left: String,
        right: Option<String>,
    }
    let pair = || Pair { left: "l".into(), right: Some("r".into()) };
    run(async {
        // By value, changed in place.
        select! { mut text = ready("a".to_owned()) => {
            text.push('b');
            assert_eq!(text, "ab");
        }}
        select! { Some(mut text) = ready(Some("a".to_owned())) => {
            text.push('b');
            assert_eq!(text, "ab");
        }}
        // By reference.
        select! { Some(ref text) = ready(Some("a".to_owned())) => assert_eq!(*text, "a") }
        select! { Some(ref mut text) = ready(Some("a".to_owned())) => {
            text.push('b');
            assert_eq!(*text, "ab");
        }}
        // Part by part, moved and borrowed.
        select! { Pair { left, right: Some(ref mut right) } = ready(pair()) => {
            right.push_str(&left);
            assert_eq!(*right, "rl");
        }}
        // Through a reference, with a literal, a range, alternatives, a subpattern, a slice.
        select! { &n = ready(&5) => assert_eq!(n, 5) }
        select! { "go" = ready("go") => {} }
        select! { n @ 1..=9 = ready(5) => assert_eq!(n, 5) }
        select! { Ok(n) | Err(n) = ready(Err::<u8, u8>(5)) => assert_eq!(n, 5) }
        select! { [first, .., last] = ready([1, 2, 3]) => assert_eq!(first + last, 4) }
        select! { ((), (a, _)) = ready(((), (1, 2))) => assert_eq!(a, 1) }
    });
}

#[test]
fn a_temporary_in_a_branch_lives_as_long_as_the_wait() {
    run(async {
        select! { () = &mut ready(()) => {} }
        select! { v = &mut Box::pin(async { 3 }) => assert_eq!(v, 3) }
    });
}

#[test]
fn selects_nest_everywhere() {
    let value = run(async {
        select! {
            outer = async { select! { inner = ready(1) => inner + 1 } } => select! {
                again = ready(outer) => again + 1,
            }
        }
    });
    assert_eq!(value, 3);
}

#[test]
fn a_future_that_never_returns_causes_no_warning() {
    async fn never() -> ! {
        pending().await
    }
    #[deny(warnings)]
    async fn selected() -> u8 {
        select! {
            _ = never() => 0,
            v = ready(1) => v,
        }
    }
    assert_eq!(run(selected()), 1);
}

#[test]
fn names_of_the_caller_are_left_alone() {
    const BRANCHES: u8 = 1;
    enum Out {
        Selected,
    }
    let (disabled, pending, start, futures, output) = (1, 2, 3, 4, 5);
    let sum = run(async {
        select! {
            n = async { disabled + pending + start }, if matches!(Out::Selected, Out::Selected) => {
                n + futures + output + i32::from(BRANCHES)
            }
        }
    });
    assert_eq!(sum, 16);
}

#[test]
fn sixty_four_branches() {
    macro_rules! select_64 {
        (@ $($n:literal)*; $($last:tt)*) => {
            select! {
                $(_ = pending::<()>() => { $n })*
                $($last)*
                else => 65,
            }
        };
        ($($last:tt)*) => {
            select_64!(@ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
                0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0; $($last)*)
        };
    }
    assert_eq!(run(async { select_64!(v = ready(64) => v,) }), 64);
    assert_eq!(
        run(async {
            select! { biased; v = ready(1), if false => v, else => 65 }
        }),
        65
    );
}

#[test]
fn without_budget_no_branch_is_polled() {
    use nezumi_wake::coop;
    use std::task::{Context, Waker};

    let mut cx = Context::from_waker(Waker::noop());
    let one = || {
        Box::pin(async {
            select! {
                biased;
                () = coop::consume_budget() => 1,
                () = ready(()) => 2,
            }
        })
    };
    coop::budget(|| {
        for _ in 0..128 {
            assert_eq!(one().as_mut().poll(&mut cx), Poll::Ready(1));
        }
        assert_eq!(one().as_mut().poll(&mut cx), Poll::Pending);
    });
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let choices = || {
        let _seed = nezumi_wake::rng::seed(11);
        (0..20)
            .map(|_| {
                run(async {
                    select! { v = ready(0) => v, v = ready(1) => v, v = ready(2) => v }
                })
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(choices(), choices());
}

#[test]
#[cfg(target_pointer_width = "64")]
fn it_takes_no_more_room_than_the_futures_two_references_and_a_bit_each() {
    fn ready() -> std::future::Ready<i32> {
        std::future::ready(0)
    }
    let one = async {
        select! { _ = ready() => {} }
    };
    let two = async {
        select! { _ = ready() => {}, _ = ready() => {} }
    };
    let three = async {
        select! { _ = ready() => {}, _ = ready() => {}, _ = ready() => {} }
    };
    assert_eq!([size_of_val(&one), size_of_val(&two), size_of_val(&three)], [32, 40, 48]);
}

#[test]
fn a_runtime_s_seed_repeats_its_choices_on_every_flavor() {
    use nezumi::runtime::{Builder, RngSeed};

    async fn choices() -> Vec<u8> {
        let mut choices = Vec::new();
        for _ in 0..20 {
            choices.push(select! { v = ready(0) => v, v = ready(1) => v, v = ready(2) => v });
        }
        choices
    }
    let run = |builder: &mut Builder, seed: &[u8]| {
        let runtime = builder.rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
        [runtime.block_on(choices()), runtime.block_on(choices())]
    };
    for builder in [Builder::new_current_thread, Builder::new_multi_thread] {
        let first = run(&mut builder(), b"seed");
        // The second entry is another part of the same sequence.
        assert_ne!(first[0], first[1]);
    }
    assert_eq!(run(&mut Builder::new_current_thread(), b"a"), run(&mut Builder::new_current_thread(), b"a"));
    assert_ne!(run(&mut Builder::new_current_thread(), b"a"), run(&mut Builder::new_current_thread(), b"b"));
}

/// Nothing says what the first future would have returned: it only panics, and is never polled.
#[nezumi::test]
async fn a_disabled_future_that_only_panics_needs_no_type() {
    #[allow(clippy::diverging_sub_expression, unreachable_code)]
    let never = poll_fn(|_| panic!("polled"));
    let out = nezumi::select! {
        _ = never, if false => 1,
        _ = async {} => 2,
    };
    assert_eq!(out, 2);
}
