use crate::hand::{Gate, Log, poll, run};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

nezumi::task_local! {
    /// With an attribute, and for others to see.
    #[allow(dead_code)]
    pub(crate) static NAME: String;
    static NUMBER: u32;
}

nezumi::task_local! {
    static CELL: Cell<u32>
}

nezumi::task_local!();

#[test]
fn two_futures_on_one_thread_see_their_own_values() {
    let gate = Gate::default();
    let read = async || {
        let before = NUMBER.get();
        gate.pass().await;
        (before, NUMBER.get())
    };
    let (mut one, mut two) = (pin!(NUMBER.scope(1, read())), pin!(NUMBER.scope(2, read())));
    assert!(poll(one.as_mut()).is_pending());
    assert!(poll(two.as_mut()).is_pending());
    assert!(NUMBER.try_get().is_err());
    gate.open();
    assert_eq!(poll(one), Poll::Ready((1, 1)));
    assert_eq!(poll(two), Poll::Ready((2, 2)));
}

#[test]
fn scopes_nest_and_end() {
    let seen = NUMBER.sync_scope(1, || {
        let inner = NUMBER.sync_scope(2, || NUMBER.get());
        (inner, NUMBER.get())
    });
    assert_eq!(seen, (2, 1));
    assert_eq!(NUMBER.try_with(|_| ()).unwrap_err().to_string(), "task-local value not set");
}

#[test]
fn the_value_is_the_same_one_in_every_poll() {
    let gate = Gate::default();
    let mut work = Box::pin(CELL.scope(Cell::new(1), async {
        CELL.with(|cell| cell.set(2));
        gate.pass().await;
        CELL.with(|cell| cell.set(cell.get() + 1));
    }));
    assert!(poll(work.as_mut()).is_pending());
    gate.open();
    assert!(poll(work.as_mut()).is_ready());
    assert_eq!(work.as_mut().take_value(), Some(Cell::new(3)));
    assert_eq!(work.as_mut().take_value(), None);
}

#[test]
fn without_its_value_the_future_finds_the_key_unset() {
    let mut work = Box::pin(NUMBER.scope(1, async { NUMBER.try_get() }));
    work.as_mut().take_value();
    // Not even the value of a scope around it.
    let seen = NUMBER.sync_scope(5, || run(work));
    assert!(seen.is_err());
}

/// Logs the value that is set while it is dropped.
struct LogsOnDrop(Log);

impl Drop for LogsOnDrop {
    fn drop(&mut self) {
        self.0.push(NUMBER.try_get().unwrap_or(0));
    }
}

#[test]
fn the_value_is_set_while_the_future_is_dropped() {
    let log = Log::default();
    let work = |gate: Gate| {
        let guard = LogsOnDrop(log.clone());
        NUMBER.scope(7, async move {
            let _guard = guard;
            gate.pass().await;
        })
    };
    drop(work(Gate::default()));
    assert_eq!(log.take(), [7], "never polled");
    {
        let mut half = pin!(work(Gate::default()));
        assert!(poll(half.as_mut()).is_pending());
    }
    assert_eq!(log.take(), [7], "cancelled");
    let open = Gate::default();
    open.open();
    let mut whole = pin!(work(open));
    assert!(poll(whole.as_mut()).is_ready());
    assert_eq!(log.take(), [7], "completed");
}

#[test]
fn a_poll_that_panics_restores_the_outer_value() {
    NUMBER.sync_scope(1, || {
        let mut panics = Box::pin(NUMBER.scope(2, async { panic!("in a scope") }));
        let caught = catch_unwind(AssertUnwindSafe(|| poll(panics.as_mut())));
        assert!(caught.is_err());
        assert_eq!(NUMBER.get(), 1);
    });
    assert!(NUMBER.try_get().is_err());
}

fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it should panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().expect("a text").to_string(),
    }
}

#[test]
fn misuse_panics_with_the_known_words() {
    assert_eq!(
        panic_message(|| NUMBER.get()),
        "cannot access a task-local storage value without setting it first"
    );
    assert_eq!(
        panic_message(|| NUMBER.sync_scope(1, || NUMBER.with(|_| NUMBER.sync_scope(2, || ())))),
        "cannot enter a task-local scope while the task-local storage is borrowed"
    );
    // Afterwards all is well again.
    assert_eq!(NUMBER.sync_scope(3, || NUMBER.get()), 3);

    let mut done = pin!(NUMBER.scope(1, async {}));
    assert!(poll(done.as_mut()).is_ready());
    assert_eq!(panic_message(|| poll(done.as_mut())), "`TaskLocalFuture` polled after completion");
}

#[test]
fn reading_inside_reading_is_fine() {
    let sum = NUMBER.sync_scope(2, || NUMBER.with(|a| NUMBER.with(|b| a + b)));
    assert_eq!(sum, 4);
}

#[test]
fn a_task_can_move_between_threads() {
    let mut work = Box::pin(NUMBER.scope(4, async {
        let mut first = true;
        std::future::poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) })
            .await;
        NUMBER.get()
    }));
    assert!(poll(work.as_mut()).is_pending());
    let seen = std::thread::spawn(move || poll(work.as_mut())).join().unwrap();
    assert_eq!(seen, Poll::Ready(4));
}

#[test]
fn the_key_and_the_future_say_what_they_are() {
    let work = NUMBER.scope(5, async {});
    assert_eq!(format!("{NUMBER:?}"), "LocalKey { .. }");
    assert_eq!(format!("{work:?}"), "TaskLocalFuture { value: 5 }");
    let mut work = Box::pin(work);
    work.as_mut().take_value();
    assert_eq!(format!("{work:?}"), "TaskLocalFuture { value: <missing> }");
}
