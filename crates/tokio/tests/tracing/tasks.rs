//! Tasks and their wakers.

use crate::recorder::{Recorder, Told};
use std::future::poll_fn;
use std::task::Poll;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{self, LocalSet};

const SPAWN: &str = "runtime.spawn";

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_task_is_a_span_that_says_who_it_is() {
    let (rt, recorder) = (runtime(), Recorder::new());
    let future = task::yield_now();
    let size = size_of_val(&future);
    let line = line!() + 3;
    let id = recorder.record(|| {
        rt.block_on(async {
            let task = task::Builder::new().name("carrier").spawn(future).unwrap();
            let id = task.id();
            task.await.unwrap();
            id
        })
    });
    let spans = recorder.spans(SPAWN, "kind", "task");
    let [(span, fields)] = &spans[..] else { panic!("{spans:?}") };
    let expected = [
        ("kind", "task".to_owned()),
        ("loc.col", fields["loc.col"].clone()),
        ("loc.file", file!().to_owned()),
        ("loc.line", line.to_string()),
        ("size.bytes", size.to_string()),
        ("task.id", id.to_string()),
        ("task.name", "carrier".to_owned()),
    ];
    assert!(fields.iter().map(|(name, value)| (name.as_str(), value.clone())).eq(expected), "{fields:?}");

    let told = recorder.told();
    let of = |pick: fn(&Told) -> Option<u64>| told.iter().filter(|told| pick(told) == Some(*span)).count();
    // Two polls, and the drop of the future.
    assert_eq!(of(|told| if let Told::Enter(id) = told { Some(*id) } else { None }), 3);
    assert_eq!(of(|told| if let Told::Exit(id) = told { Some(*id) } else { None }), 3);
    assert_eq!(of(|told| if let Told::Closed(id) = told { Some(*id) } else { None }), 1);
    assert!(told.iter().all(|told| match told {
        Told::New { id, target, parent, .. } if id == span => target == "tokio::task" && parent.is_none(),
        _ => true,
    }));
}

#[test]
fn kinds_of_tasks_are_told_apart() {
    fn called() -> u32 {
        7
    }

    let (rt, recorder) = (runtime(), Recorder::new());
    recorder.record(|| {
        LocalSet::new().block_on(&rt, async {
            task::spawn_local(async {}).await.unwrap();
            task::spawn_blocking(called).await.unwrap();
        });
        rt.handle().block_on(async {});
    });
    let blocking = recorder.spans(SPAWN, "kind", "blocking");
    assert_eq!(blocking.len(), 1);
    assert!(blocking[0].1["fn"].ends_with("kinds_of_tasks_are_told_apart::called"), "{blocking:?}");
    assert_eq!(blocking[0].1["loc.file"], file!());
    assert_eq!(recorder.spans(SPAWN, "kind", "local").len(), 1);
    let blocked_on = recorder.spans(SPAWN, "kind", "block_on");
    assert_eq!(blocked_on.len(), 2);
    assert!(blocked_on.iter().all(|(_, fields)| fields["loc.file"] == file!()));
}

#[test]
fn what_happens_to_a_waker_is_told_by_the_span_of_its_task() {
    let (rt, recorder) = (runtime(), Recorder::new());
    recorder.record(|| {
        let mut polls = 0;
        let task = rt.spawn(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            let waker = cx.waker().clone();
            let another = waker.clone();
            another.wake_by_ref();
            drop(another);
            waker.wake();
            Poll::Pending
        }));
        rt.block_on(task).unwrap();
    });
    let span = recorder.spans(SPAWN, "kind", "task")[0].0.to_string();
    let ops: Vec<_> = recorder
        .events("tokio::task::waker")
        .into_iter()
        .map(|(fields, _)| {
            assert_eq!(fields["task.id"], span);
            fields["op"].clone()
        })
        .collect();
    assert_eq!(ops, ["waker.clone", "waker.clone", "waker.wake_by_ref", "waker.drop", "waker.wake"]);
}

#[test]
fn a_subscriber_that_panics_when_a_task_is_polled_ends_that_task() {
    let rt = runtime();
    let armed = std::sync::atomic::AtomicBool::new(false);
    let armed = std::sync::Arc::new(armed);
    let when = armed.clone();
    let recorder = Recorder::calling(move || {
        assert!(!when.swap(false, std::sync::atomic::Ordering::Relaxed), "a subscriber that panics");
    });
    let task = recorder.record(|| rt.spawn(async {}));
    armed.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(rt.block_on(task).unwrap_err().is_panic());
    rt.block_on(rt.spawn(async {})).unwrap();
}
