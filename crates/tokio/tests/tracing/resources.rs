//! What tasks wait for.

use crate::recorder::{Fields, Recorder, Told};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::{Barrier, Mutex, RwLock, RwLockWriteGuard, Semaphore, mpsc, oneshot};

const RESOURCE: &str = "runtime.resource";
const OPERATION: &str = "runtime.resource.async_op";
const UPDATE: &str = "runtime::resource::state_update";
const OPERATION_UPDATE: &str = "runtime::resource::async_op::state_update";

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls what is ready at once.
fn now<F: Future>(future: F) -> F::Output {
    match poll(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}

/// The value of a resource's attribute after all updates.
fn attribute(recorder: &Recorder, resource: u64, name: &str) -> i64 {
    let number = |fields: &Fields| match fields[name].as_str() {
        "true" => 1,
        "false" => 0,
        number => number.parse().unwrap(),
    };
    let of_resource = recorder.events(UPDATE).into_iter().filter(|(fields, inside)| {
        inside.iter().find(|span| is_resource(recorder, **span)) == Some(&resource)
            && fields.contains_key(name)
    });
    of_resource.fold(0, |value, (fields, _)| match fields.get(&format!("{name}.op")).map(String::as_str) {
        None | Some("override") => number(&fields),
        Some("add") => value + number(&fields),
        Some("sub") => value - number(&fields),
        Some(other) => panic!("{other}"),
    })
}

fn is_resource(recorder: &Recorder, span: u64) -> bool {
    recorder
        .told()
        .iter()
        .any(|told| matches!(told, Told::New { id, name, .. } if *id == span && *name == RESOURCE))
}

/// The one resource whose type is this.
fn resource(recorder: &Recorder, of_type: &str) -> u64 {
    recorder.spans(RESOURCE, "concrete_type", of_type)[0].0
}

#[test]
fn permits_are_told_as_the_semaphore_counts_them() {
    let recorder = Recorder::new();
    recorder.record(|| {
        let semaphore = Semaphore::new(3);
        let permits = recorder.spans(RESOURCE, "is_internal", "true")[0].0;
        let agrees = || {
            assert_eq!(attribute(&recorder, permits, "permits"), semaphore.available_permits() as i64);
        };
        agrees();
        let two = now(semaphore.acquire_many(2)).unwrap();
        agrees();
        let one = semaphore.try_acquire().unwrap();
        agrees();
        let mut third = Box::pin(semaphore.acquire_many(2));
        assert!(poll(third.as_mut()).is_pending());
        let mut fourth = Box::pin(semaphore.acquire_many(1));
        assert!(poll(fourth.as_mut()).is_pending());
        drop(two);
        drop(one);
        agrees();
        // Granted, but never told of it.
        drop(fourth);
        agrees();
        now(third).unwrap().forget();
        agrees();
        semaphore.add_permits(4);
        agrees();
        assert_eq!(semaphore.forget_permits(2), 2);
        agrees();
    });
}

#[test]
fn who_is_granted_permits_hears_of_it_in_their_own_operation() {
    let recorder = Recorder::new();
    recorder.record(|| {
        let semaphore = Semaphore::new(0);
        let mut acquire = pin!(semaphore.acquire_many(2));
        assert!(poll(acquire.as_mut()).is_pending());
        semaphore.add_permits(2);
        let own = recorder.spans(OPERATION, "source", "Acquire::new")[0].0;
        let updates = recorder.events(OPERATION_UPDATE);
        let (fields, inside) = updates.last().unwrap();
        assert_eq!(fields["permits_obtained"], "2");
        assert_eq!(inside, &[own]);
        assert!(poll(acquire.as_mut()).is_ready());
        // Once.
        assert_eq!(recorder.events(OPERATION_UPDATE).len(), updates.len());
    });
}

#[test]
fn locks_tell_who_holds_them() {
    let recorder = Recorder::new();
    recorder.record(|| {
        let mutex = Arc::new(Mutex::new((1, 2)));
        let resource_of_mutex = resource(&recorder, "Mutex");
        let locked = || attribute(&recorder, resource_of_mutex, "locked") == 1;
        assert!(!locked());
        let guard = now(mutex.lock());
        assert!(locked());
        let part = tokio::sync::MutexGuard::map(guard, |pair| &mut pair.1);
        assert!(locked());
        drop(part);
        assert!(!locked());
        let guard = mutex.clone().try_lock_owned().unwrap();
        assert!(locked());
        drop(guard);
        assert!(!locked());

        let lock = RwLock::new(0);
        let resource_of_lock = resource(&recorder, "RwLock");
        let state =
            || ["write_locked", "current_readers"].map(|name| attribute(&recorder, resource_of_lock, name));
        let readers = (now(lock.read()), lock.try_read().unwrap());
        assert_eq!(state(), [0, 2]);
        drop(readers);
        let writer = now(lock.write());
        assert_eq!(state(), [1, 0]);
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(state(), [0, 1]);
        drop(reader);
        assert_eq!(state(), [0, 0]);
    });
    assert_eq!(recorder.spans(OPERATION, "source", "Mutex::lock").len(), 1);
    assert_eq!(recorder.spans(OPERATION, "source", "RwLock::write").len(), 1);
}

#[test]
fn a_oneshot_tells_what_became_of_the_value() {
    let recorder = Recorder::new();
    recorder.record(|| {
        let (tx, mut rx) = oneshot::channel();
        let channel = resource(&recorder, "Sender|Receiver");
        let state = || {
            ["value_sent", "value_received", "tx_dropped", "rx_dropped"]
                .map(|name| attribute(&recorder, channel, name))
        };
        assert!(poll(Pin::new(&mut rx)).is_pending());
        assert_eq!(state(), [0, 0, 0, 0]);
        tx.send(1).unwrap();
        assert_eq!(state(), [1, 0, 0, 0]);
        assert_eq!(now(&mut rx), Ok(1));
        drop(rx);
        assert_eq!(state(), [1, 1, 0, 0]);
    });
    let polls = recorder.events("runtime::resource::poll_op");
    let polls: Vec<_> =
        polls.iter().map(|(fields, _)| (fields["op_name"].as_str(), fields["is_ready"].as_str())).collect();
    assert_eq!(polls, [("poll_recv", "false"), ("poll_recv", "true")]);
}

#[test]
fn a_timer_tells_how_long_it_takes() {
    let recorder = Recorder::new();
    let rt = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    recorder.record(|| {
        rt.block_on(async {
            let mut sleep = pin!(tokio::time::sleep(Duration::from_millis(7)));
            assert!(poll(sleep.as_mut()).is_pending());
            let timer = resource(&recorder, "Sleep");
            assert_eq!(attribute(&recorder, timer, "duration"), 7);
            sleep.as_mut().reset(tokio::time::Instant::now() + Duration::from_millis(20));
            assert_eq!(attribute(&recorder, timer, "duration"), 20);
            sleep.await;
            tokio::time::interval(Duration::from_millis(1)).tick().await;
        });
    });
    let timer = &recorder.spans(RESOURCE, "concrete_type", "Sleep")[0].1;
    assert_eq!((timer["kind"].as_str(), timer["loc.file"].as_str()), ("timer", file!()));
    assert_eq!(recorder.spans(OPERATION, "source", "Sleep::reset").len(), 1);
    assert_eq!(recorder.spans(OPERATION, "source", "Interval::tick").len(), 1);
}

#[test]
fn a_subscriber_is_told_under_no_lock() {
    let (semaphore, barrier) = (Arc::new(Semaphore::new(0)), Arc::new(Barrier::new(2)));
    let (of_subscriber, gate) = (semaphore.clone(), barrier.clone());
    // Both take the locks of what they look at.
    let recorder = Recorder::calling(move || {
        assert!(poll(pin!(of_subscriber.acquire_many(1 << 20))).is_pending());
        assert!(format!("{gate:?}").contains("arrived"));
    });
    recorder.record(|| {
        let mut waiting: Vec<_> = (0..50).map(|_| Box::pin(semaphore.acquire())).collect();
        for acquire in &mut waiting {
            assert!(poll(acquire.as_mut()).is_pending());
        }
        semaphore.add_permits(40);
        drop(waiting);
        let mut first = pin!(barrier.wait());
        assert!(poll(first.as_mut()).is_pending());
        assert!(now(barrier.wait()).is_leader());
        assert!(!now(first).is_leader());
    });
    assert!(recorder.told().len() > 500);
}

#[test]
fn what_a_channel_does_without_waiting_is_not_told() {
    // A subscriber may do that itself while it is told something for the first time, as console-subscriber does.
    let recorder = Recorder::new();
    recorder.record(|| {
        let (tx, mut rx) = mpsc::channel(2);
        let before = recorder.told().len();
        tx.try_send(1).unwrap();
        tx.try_reserve().unwrap().send(2);
        assert!(tx.try_send(3).is_err());
        assert_eq!(rx.try_recv(), Ok(1));
        drop(tx.try_reserve().unwrap());
        assert_eq!(recorder.told().len(), before);
    });
}

#[test]
fn all_spans_end() {
    let recorder = Recorder::new();
    recorder.record(|| {
        let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        rt.block_on(async {
            let (tx, mut rx) = mpsc::channel(1);
            let sender = tokio::spawn(async move {
                for n in 0..4 {
                    tx.send(n).await.unwrap();
                }
            });
            while rx.recv().await.is_some() {}
            sender.await.unwrap();
            drop(tokio::spawn(std::future::pending::<()>()));
            let _ = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
        });
    });
    let told = recorder.told();
    let made = told.iter().filter(|told| matches!(told, Told::New { .. })).count();
    let closed = told.iter().filter(|told| matches!(told, Told::Closed(_))).count();
    let left = told.iter().filter(|told| matches!(told, Told::Exit(_))).count();
    let entered = told.iter().filter(|told| matches!(told, Told::Enter(_))).count();
    assert!(made > 10);
    assert_eq!((made, entered), (closed, left));
}
