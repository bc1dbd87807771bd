//! Every place where a runtime calls code of the program's, and code that panics there.
//!
//! What is behind a place must be none the worse for it: after each, the runtime does all it should, and it ends with everything dropped.

use super::{builder, expect_works, runtime};
use crate::load::OnPurpose;
use crate::seed::Seed;
use crate::task::cancellable;
use nezumi::io::AsyncReadExt;
use nezumi::runtime::{Builder, Runtime};
use nezumi::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use nezumi::task::{JoinSet, LocalSet, block_in_place, spawn_blocking, yield_now};
use nezumi::time;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

fn bang() -> ! {
    panic::panic_any(OnPurpose)
}

struct BangOnDrop;

impl Drop for BangOnDrop {
    fn drop(&mut self) {
        bang();
    }
}

/// One place, on a runtime that must be none the worse.
type Place = (&'static str, fn(&Runtime));

fn try_each(workers: &[usize], places: &[Place]) {
    for &workers in workers {
        for (name, place) in places {
            let rt = runtime(workers);
            // What comes out here is the program's own.
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| place(&rt))) {
                assert!(payload.is::<OnPurpose>(), "{name} on {workers} workers");
            }
            expect_works(&rt);
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(rt))) {
                assert!(payload.is::<OnPurpose>(), "the end after {name} on {workers} workers");
            }
        }
    }
}

/// Never done, and its drop panics.
async fn pending_bomb() {
    let _bomb = BangOnDrop;
    std::future::pending::<()>().await;
}

pub(super) fn of_tasks(_: Seed) {
    const PLACES: &[Place] = &[
        ("the first poll", |rt| {
            let error =
                rt.block_on(rt.spawn(cancellable(async { bang() }))).err().map(|error| error.is_panic());
            assert_eq!(error, Some(true));
        }),
        ("a later poll", |rt| {
            let task = rt.spawn(cancellable(async {
                yield_now().await;
                time::sleep(Duration::from_millis(1)).await;
                bang()
            }));
            assert!(rt.block_on(task).is_err_and(|error| error.is_panic()));
        }),
        ("the poll of a task that nobody waits for", |rt| {
            drop(rt.spawn(cancellable(async { bang() })));
        }),
        ("the root future", |rt| rt.block_on(async { bang() })),
        ("the drop of an aborted future", |rt| {
            let task = rt.spawn(cancellable(pending_bomb()));
            rt.block_on(yield_now());
            task.abort();
            let _ = rt.block_on(task);
        }),
        ("the drop of a future that was never polled", |rt| {
            let bomb = BangOnDrop;
            let task = rt.spawn(cancellable(async move {
                let _bomb = &bomb;
                std::future::pending::<()>().await;
            }));
            task.abort();
            let _ = rt.block_on(task);
        }),
        ("the drop of a future at the runtime's end", |rt| {
            for _ in 0..10 {
                rt.spawn(cancellable(pending_bomb()));
            }
            rt.block_on(yield_now());
        }),
        ("the drop of an output that nobody wants", |rt| {
            for _ in 0..10 {
                drop(rt.spawn(cancellable(async { BangOnDrop })));
            }
            rt.block_on(async { time::sleep(Duration::from_millis(2)).await });
        }),
        ("the drop of an output with its handle", |rt| {
            let task = rt.spawn(cancellable(async { BangOnDrop }));
            rt.block_on(async {
                while !task.is_finished() {
                    time::sleep(Duration::from_millis(1)).await;
                }
            });
            drop(task);
        }),
        ("the drop of an output in a set", |rt| {
            let mut set = JoinSet::new();
            rt.block_on(async {
                set.spawn(cancellable(async { BangOnDrop }));
                time::sleep(Duration::from_millis(5)).await;
            });
            drop(set);
        }),
        ("the abort of a set", |rt| {
            rt.block_on(async {
                let mut set = JoinSet::new();
                for _ in 0..5 {
                    set.spawn(cancellable(pending_bomb()));
                }
                yield_now().await;
                set.shutdown().await;
            });
        }),
        ("a future in a timeout", |rt| {
            rt.block_on(async {
                let _ = time::timeout(Duration::from_millis(1), pending_bomb()).await;
            });
        }),
        ("the loser of a select", |rt| {
            rt.block_on(async {
                nezumi::select! {
                    () = pending_bomb() => {}
                    () = yield_now() => {}
                }
            });
        }),
        ("a local task, and its drop", |rt| {
            let local = LocalSet::new();
            local.spawn_local(cancellable(async { bang() }));
            local.spawn_local(cancellable(pending_bomb()));
            rt.block_on(local.run_until(async { time::sleep(Duration::from_millis(1)).await }));
            drop(local);
        }),
        ("the iterator that a set is made from", |rt| {
            let _inside = rt.enter();
            let tasks = (0..5).map(|number| {
                if number == 3 {
                    bang();
                }
                cancellable(std::future::pending::<()>())
            });
            drop(tasks.collect::<JoinSet<_>>());
        }),
    ];
    try_each(&[0, 1, 2], PLACES);
}

/// A waker that panics at one of the things that are done with wakers.
fn waker(panics_at: What) -> Waker {
    const fn table(panics_at: What) -> RawWakerVTable {
        match panics_at {
            What::Clone => RawWakerVTable::new(|_| bang(), |_| {}, |_| {}, |_| {}),
            What::Wake => RawWakerVTable::new(clone::<1>, |_| bang(), |_| bang(), |_| {}),
            // Its clones do it, too, when the runtime drops them.
            What::Drop => RawWakerVTable::new(clone::<2>, |_| bang(), |_| {}, |_| bang()),
        }
    }
    static TABLES: [RawWakerVTable; 3] = [table(What::Clone), table(What::Wake), table(What::Drop)];

    fn clone<const INDEX: usize>(data: *const ()) -> RawWaker {
        RawWaker::new(data, &TABLES[INDEX])
    }

    // SAFETY: the functions use no data, and do nothing that a waker must not.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLES[panics_at as usize])) }
}

#[derive(Clone, Copy)]
enum What {
    Clone,
    Wake,
    Drop,
}

/// Polls the future once by such a waker, and drops that waker without its own drop.
fn poll_by<F: Future>(panics_at: What, future: Pin<&mut F>) {
    let waker = std::mem::ManuallyDrop::new(waker(panics_at));
    let polled = panic::catch_unwind(AssertUnwindSafe(|| {
        let _: Poll<F::Output> = future.poll(&mut Context::from_waker(&waker));
    }));
    assert!(polled.is_ok() || polled.is_err_and(|payload| payload.is::<OnPurpose>()));
}

/// Has each kind of waker registered with the future that `make` makes, and then what would wake it, and the drop. Another waiter, made in the same way, must
/// hear all the same if `wakes`.
fn with_each<F: Future>(make: impl Fn() -> F, end: impl Fn()) {
    for panics_at in [What::Clone, What::Wake, What::Drop] {
        let future = Box::pin(make());
        let mut future = AssertUnwindSafe(future);
        poll_by(panics_at, future.as_mut());
        let _ = panic::catch_unwind(AssertUnwindSafe(&end));
        let _ = panic::catch_unwind(move || drop(future));
    }
}

pub(super) fn of_wakers(_: Seed) {
    const PLACES: &[Place] = &[
        ("a sleep", |rt| {
            let _inside = rt.enter();
            with_each(
                || time::sleep(Duration::from_millis(1)),
                || {
                    std::thread::sleep(Duration::from_millis(5));
                },
            );
        }),
        ("a join handle", |rt| {
            with_each(
                || rt.spawn(cancellable(time_in(rt, Duration::from_millis(1)))),
                || std::thread::sleep(Duration::from_millis(5)),
            );
        }),
        ("a job's handle", |rt| {
            with_each(
                || rt.spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))),
                || std::thread::sleep(Duration::from_millis(5)),
            );
        }),
        ("yielding, in a task", |rt| {
            for panics_at in [What::Clone, What::Wake, What::Drop] {
                let task = rt.spawn(cancellable(async move { poll_by(panics_at, pin!(yield_now())) }));
                let _ = panic::catch_unwind(AssertUnwindSafe(|| rt.block_on(task)));
            }
        }),
        ("a socket", |rt| {
            rt.block_on(async {
                for panics_at in [What::Clone, What::Wake, What::Drop] {
                    let (mut left, right) = nezumi::net::UnixStream::pair().unwrap();
                    let mut buffer = [0];
                    poll_by(panics_at, pin!(left.read(&mut buffer)));
                    right.writable().await.unwrap();
                    right.try_write(b"x").unwrap();
                    time::sleep(Duration::from_millis(2)).await;
                    // Who waits after it hears.
                    assert_eq!(left.read(&mut buffer).await.unwrap(), 1);
                }
            });
        }),
        ("notify", |_| {
            let notify = Notify::new();
            with_each(|| notify.notified(), || notify.notify_waiters());
            with_each(|| notify.notified(), || notify.notify_one());
        }),
        ("a semaphore", |_| {
            let semaphore = Semaphore::new(0);
            with_each(|| semaphore.acquire(), || semaphore.add_permits(1));
        }),
        ("a mutex", |rt| {
            let mutex = Mutex::new(());
            let held = std::cell::Cell::new(Some(rt.block_on(mutex.lock())));
            with_each(|| mutex.lock(), || drop(held.take()));
            assert!(mutex.try_lock().is_ok());
        }),
        ("channels", |_| {
            let (tx, rx) = mpsc::channel::<u32>(1);
            let rx = std::cell::RefCell::new(rx);
            with_each(
                || poll_fn(|cx| rx.borrow_mut().poll_recv(cx)),
                || {
                    let _ = tx.try_send(1);
                },
            );
            let (tx, rx) = watch::channel(0);
            with_each(
                || {
                    let mut rx = rx.clone();
                    async move { rx.changed().await }
                },
                || tx.send_replace(1).pipe(drop),
            );
            let (tx, rx) = broadcast::channel(4);
            with_each(
                || {
                    let mut rx = rx.resubscribe();
                    async move { rx.recv().await }
                },
                || tx.send(1).pipe(drop),
            );
            let slot = std::cell::Cell::new(None);
            with_each(
                || {
                    let (tx, rx) = oneshot::channel();
                    slot.set(Some(tx));
                    rx
                },
                || slot.take().map(|tx: oneshot::Sender<u32>| tx.send(1)).pipe(drop),
            );
        }),
    ];
    try_each(&[0, 1, 2], PLACES);
}

trait Pipe: Sized {
    fn pipe<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
}

impl<T> Pipe for T {}

/// A sleep that belongs to the runtime.
fn time_in(rt: &Runtime, time: Duration) -> time::Sleep {
    let _inside = rt.enter();
    time::sleep(time)
}

pub(super) fn of_hooks(_: Seed) {
    type Hook = (&'static str, fn(&mut Builder));
    const HOOKS: &[Hook] = &[
        ("thread_start", |builder| _ = builder.on_thread_start(|| bang())),
        ("thread_stop", |builder| _ = builder.on_thread_stop(|| bang())),
        ("thread_park", |builder| _ = builder.on_thread_park(|| bang())),
        ("thread_unpark", |builder| _ = builder.on_thread_unpark(|| bang())),
        ("thread_name", |builder| _ = builder.thread_name_fn(|| bang())),
        ("task_spawn", |builder| _ = builder.on_task_spawn(|_| bang())),
        ("before_poll", |builder| _ = builder.on_before_task_poll(|_| bang())),
        ("after_poll", |builder| _ = builder.on_after_task_poll(|_| bang())),
        ("task_terminate", |builder| _ = builder.on_task_terminate(|_| bang())),
        ("stuck", |builder| _ = builder.stuck_after(Duration::from_millis(1)).on_stuck(|_| bang())),
    ];
    for workers in [0, 1, 2] {
        for (name, set) in HOOKS {
            let mut builder = builder(workers);
            set(&mut builder);
            let Ok(built) = panic::catch_unwind(AssertUnwindSafe(|| builder.build())) else { continue };
            let rt = built.unwrap();
            let count = Arc::new(AtomicU32::new(0));
            for _ in 0..5 {
                let count = count.clone();
                // A hook that panics may do so in the spawn: then there is no task.
                let spawned = panic::catch_unwind(AssertUnwindSafe(|| {
                    rt.spawn(cancellable(async move {
                        std::thread::sleep(Duration::from_millis(2));
                        yield_now().await;
                        count.fetch_add(1, Ordering::Relaxed);
                    }))
                }));
                let rounds = AssertUnwindSafe(async {
                    let _ = time::timeout(Duration::from_millis(20), async {
                        if let Ok(task) = spawned {
                            let _ = task.await;
                        }
                    })
                    .await;
                });
                let _ = panic::catch_unwind(AssertUnwindSafe(|| rt.block_on(rounds.0)));
            }
            let ended = panic::catch_unwind(AssertUnwindSafe(|| drop(rt)));
            assert!(
                ended.is_ok() || ended.is_err_and(|payload| payload.is::<OnPurpose>()),
                "{name} on {workers} workers"
            );
        }
    }
}

pub(super) fn of_closures(_: Seed) {
    const PLACES: &[Place] = &[
        ("a blocking job", |rt| {
            assert!(rt.block_on(rt.spawn_blocking(|| bang())).is_err_and(|error| error.is_panic()));
        }),
        ("the drop of a job's output", |rt| {
            drop(rt.spawn_blocking(|| BangOnDrop));
            std::thread::sleep(Duration::from_millis(5));
        }),
        ("the drop of a job that is aborted", |rt| {
            let bomb = BangOnDrop;
            let job = rt.spawn_blocking(move || std::mem::forget(bomb));
            job.abort();
            let _ = rt.block_on(job);
        }),
        ("a job inside a job", |rt| {
            let job = rt.spawn_blocking(|| {
                let inner = spawn_blocking(|| bang());
                nezumi::runtime::Handle::current().block_on(inner)
            });
            assert!(rt.block_on(job).unwrap().is_err());
        }),
        ("a runtime entered twice", |rt| {
            let task = rt.spawn(cancellable(async {
                nezumi::runtime::Handle::current().block_on(async {});
            }));
            assert!(rt.block_on(task).is_err_and(|error| error.is_panic()));
            bang();
        }),
    ];
    const ON_WORKERS: &[Place] = &[
        ("block_in_place", |rt| {
            let task = rt.spawn(cancellable(async { block_in_place(|| bang()) }));
            assert!(rt.block_on(task).is_err_and(|error| error.is_panic()));
        }),
        ("a root future inside block_in_place", |rt| {
            let task = rt.spawn(cancellable(async {
                block_in_place(|| nezumi::runtime::Handle::current().block_on(async { bang() }))
            }));
            assert!(rt.block_on(task).is_err_and(|error| error.is_panic()));
        }),
    ];
    try_each(&[0, 1, 2], PLACES);
    try_each(&[1, 2], ON_WORKERS);
}
