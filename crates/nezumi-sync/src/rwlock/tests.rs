use super::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, RwLockMappedWriteGuard,
    RwLockReadGuard, RwLockWriteGuard,
};
use crate::hand_polled::{assert_panics, panicking_waker, reentrant_waker, task};
use nezumi_wake::entered;
use std::sync::Arc;

#[test]
fn readers_share_and_writers_do_not() {
    let lock = RwLock::new(1);
    let (one, other) = (task(lock.read()).assert_ready(), lock.try_read().unwrap());
    assert!(lock.try_write().is_err());
    let mut writer = task(lock.write());
    assert!(writer.poll().is_pending());
    drop(one);
    assert!(!writer.is_woken());
    drop(other);
    assert!(writer.is_woken());
    let mut guard = writer.assert_ready();
    *guard += 1;
    assert!(lock.try_read().is_err() && lock.try_write().is_err());
    drop(guard);
    assert_eq!(*lock.try_read().unwrap(), 2);
}

#[test]
fn a_reader_does_not_overtake_a_waiting_writer() {
    let lock = RwLock::new(());
    let first = lock.try_read().unwrap();
    let (mut writer, mut reader) = (task(lock.write()), task(lock.read()));
    assert!(writer.poll().is_pending() && reader.poll().is_pending());
    assert!(lock.try_read().is_err());
    drop(first);
    assert!(writer.is_woken() && !reader.is_woken());
    drop(writer.assert_ready());
    assert!(reader.is_woken());
    drop(reader.assert_ready());
}

#[test]
fn a_cancelled_writer_lets_the_readers_behind_it_in() {
    let lock = Arc::new(RwLock::new(()));
    let first = lock.try_read().unwrap();
    let (mut writer, mut reader) = (task(lock.clone().write_owned()), task(lock.clone().read_owned()));
    assert!(writer.poll().is_pending() && reader.poll().is_pending());
    writer.drop_future();
    assert!(reader.is_woken());
    drop(reader.assert_ready());
    drop(first);
    assert!(lock.try_write().is_ok());
}

#[test]
fn readers_are_bounded() {
    let lock = RwLock::with_max_readers((), 2);
    let (one, _other) = (lock.try_read().unwrap(), lock.try_read().unwrap());
    let mut third = task(lock.read());
    assert!(third.poll().is_pending());
    drop(one);
    assert!(third.is_woken());
    assert_panics("a RwLock may not be created with 0 readers", || {
        let _ = RwLock::with_max_readers((), 0);
    });
    assert_panics("a RwLock may not be created with more than 536870911 readers", || {
        let _ = RwLock::with_max_readers((), (u32::MAX >> 3) + 1);
    });
}

#[test]
fn downgrade_lets_readers_in_and_no_writer() {
    let lock = RwLock::new(1);
    let guard = lock.try_write().unwrap();
    let (mut reader, mut writer, mut late) = (task(lock.read()), task(lock.write()), task(lock.read()));
    assert!(reader.poll().is_pending() && writer.poll().is_pending() && late.poll().is_pending());
    let guard = guard.downgrade();
    assert!(reader.is_woken() && !writer.is_woken() && !late.is_woken());
    assert_eq!(*reader.assert_ready() + *guard, 2);
    drop(guard);
    drop(writer.assert_ready());
    drop(late.assert_ready());
}

#[test]
fn a_panic_of_a_reader_woken_by_downgrade_loses_no_permit() {
    let lock = Arc::new(RwLock::new(1));
    let guard = lock.try_write().unwrap();
    let mut reader = task(lock.read());
    assert!(reader.poll_with(&panicking_waker()).is_pending());
    assert_panics("a waker that panics", || drop(guard.downgrade()));
    drop(reader.assert_ready());
    let guard = lock.clone().try_write_owned().unwrap();
    let mut reader = task(lock.read());
    assert!(reader.poll_with(&panicking_waker()).is_pending());
    assert_panics("a waker that panics", || drop(guard.downgrade()));
    drop(reader.assert_ready());
    assert!(lock.try_write().is_ok());
}

#[test]
fn mapped_read_guards_keep_the_lock() {
    let lock = Arc::new(RwLock::new((1, [2, 3])));
    let guard = RwLockReadGuard::map(lock.try_read().unwrap(), |pair| &pair.1);
    let guard = RwLockReadGuard::try_map(guard, |list| list.get(2)).unwrap_err();
    let guard = RwLockReadGuard::try_map(guard, |list| list.get(1)).unwrap();
    assert_eq!(*guard, 3);
    assert!(lock.try_write().is_err());
    drop(guard);
    let guard = OwnedRwLockReadGuard::map(lock.clone().try_read_owned().unwrap(), |pair| &pair.1);
    let guard = OwnedRwLockReadGuard::try_map(guard, |list| list.get(2)).unwrap_err();
    let guard = OwnedRwLockReadGuard::try_map(guard, |list| list.get(1)).unwrap();
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&guard), &lock) && lock.try_write().is_err());
    drop(lock);
    assert_eq!(*guard, 3, "the guard alone keeps the value");
}

#[test]
fn mapped_write_guards_keep_the_lock() {
    let lock = RwLock::new((1, [2, 3]));
    let guard = RwLockWriteGuard::try_map(lock.try_write().unwrap(), |_| None::<&mut ()>).unwrap_err();
    let guard = RwLockWriteGuard::map(guard, |pair| &mut pair.1);
    let guard = RwLockMappedWriteGuard::try_map(guard, |list| list.get_mut(2)).unwrap_err();
    let guard = RwLockMappedWriteGuard::try_map(guard, |list| list.get_mut(1)).unwrap();
    let mut guard = RwLockMappedWriteGuard::map(guard, |number| number);
    *guard = 30;
    assert!(lock.try_read().is_err());
    drop(guard);
    let guard = RwLockWriteGuard::try_map(lock.try_write().unwrap(), |pair| Some(&mut pair.1)).unwrap();
    assert_eq!(*guard, [2, 30]);
    drop(guard);
    let mut guard = RwLockWriteGuard::into_mapped(lock.try_write().unwrap());
    guard.0 = 10;
    assert!(lock.try_read().is_err());
    drop(guard);
    assert_eq!(lock.into_inner(), (10, [2, 30]));
}

#[test]
fn owned_mapped_write_guards_keep_the_lock() {
    let lock = Arc::new(RwLock::new((1, [2, 3])));
    let write = || lock.clone().try_write_owned().unwrap();
    let guard = OwnedRwLockWriteGuard::try_map(write(), |_| None::<&mut ()>).unwrap_err();
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &lock));
    let guard = OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.1);
    let guard = OwnedRwLockMappedWriteGuard::try_map(guard, |list| list.get_mut(2)).unwrap_err();
    let guard = OwnedRwLockMappedWriteGuard::try_map(guard, |list| list.get_mut(1)).unwrap();
    let mut guard = OwnedRwLockMappedWriteGuard::map(guard, |number| number);
    *guard = 30;
    assert!(Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&guard), &lock) && lock.try_read().is_err());
    drop(guard);
    assert_eq!(*OwnedRwLockWriteGuard::try_map(write(), |pair| Some(&mut pair.1)).unwrap(), [2, 30]);
    OwnedRwLockWriteGuard::into_mapped(write()).0 = 10;
    assert_eq!(Arc::into_inner(lock).unwrap().into_inner(), (10, [2, 30]));
}

/// Neither more nor less than their own lock has, whatever others have.
#[test]
fn every_guard_of_a_writer_gives_back_what_its_lock_has() {
    let lock = Arc::new(RwLock::with_max_readers((1, 2), 2));
    let has_two_readers = || {
        let _both = (lock.try_read().unwrap(), lock.try_read().unwrap());
        assert!(lock.try_read().is_err());
    };
    let (write, write_owned) = (|| lock.try_write().unwrap(), || lock.clone().try_write_owned().unwrap());
    let ends: [&dyn Fn(); 6] = [
        &|| drop(write()),
        &|| drop(RwLockWriteGuard::map(write(), |pair| &mut pair.1)),
        &|| drop(RwLockWriteGuard::downgrade(write())),
        &|| drop(write_owned()),
        &|| drop(OwnedRwLockWriteGuard::map(write_owned(), |pair| &mut pair.1)),
        &|| drop(write_owned().downgrade()),
    ];
    for end in ends {
        end();
        has_two_readers();
    }
}

#[test]
fn downgraded_parts_are_read_by_many() {
    let lock = Arc::new(RwLock::new((1, 2)));
    let part = RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |pair| &pair.1);
    assert_eq!((*part, lock.try_read().unwrap().0), (2, 1));
    assert!(lock.try_write().is_err());
    drop(part);
    let guard = RwLockWriteGuard::try_downgrade_map(lock.try_write().unwrap(), |_| None::<&u8>).unwrap_err();
    assert!(lock.try_read().is_err(), "it is still a writer");
    let part = RwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.0)).unwrap();
    assert_eq!((*part, lock.try_read().unwrap().1), (1, 2));
    drop(part);

    let write = || lock.clone().try_write_owned().unwrap();
    let part = OwnedRwLockWriteGuard::downgrade_map(write(), |pair| &pair.1);
    assert_eq!((*part, lock.try_read().unwrap().0), (2, 1));
    drop(part);
    let guard = OwnedRwLockWriteGuard::try_downgrade_map(write(), |_| None::<&u8>).unwrap_err();
    assert!(lock.try_read().is_err(), "it is still a writer");
    let part = OwnedRwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.0)).unwrap();
    assert_eq!((*part, lock.try_read().unwrap().1), (1, 2));
    drop(part);
    assert_eq!(*write().downgrade(), (1, 2));
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_panic_while_mapping_gives_the_lock_up() {
    let lock = RwLock::new(1);
    let phrase = "while locked";
    assert_panics(phrase, || {
        drop(RwLockWriteGuard::map(lock.try_write().unwrap(), |_| -> &mut u8 { panic!("{phrase}") }))
    });
    assert_panics(phrase, || {
        drop(RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |_| -> &u8 { panic!("{phrase}") }));
    });
    assert_panics(phrase, || {
        drop(RwLockReadGuard::map(lock.try_read().unwrap(), |_| -> &u8 { panic!("{phrase}") }))
    });
    assert!(lock.try_write().is_ok());
}

#[test]
fn unsized_values_can_be_locked() {
    let lock: Arc<RwLock<[u8]>> = Arc::new(RwLock::new([1, 2, 3]));
    assert_eq!(lock.try_read().unwrap().len(), 3);
    let part = OwnedRwLockWriteGuard::downgrade_map(lock.try_write_owned().unwrap(), |list| &list[1..]);
    assert_eq!(*part, [2, 3]);
}

#[test]
fn blocking_forms_wait_for_another_thread() {
    let lock = Arc::new(RwLock::new(0));
    let thread = {
        let mut guard = lock.clone().try_write_owned().unwrap();
        std::thread::spawn(move || *guard += 1)
    };
    assert_eq!(*lock.blocking_read(), 1);
    *lock.blocking_write() += 1;
    thread.join().unwrap();
    assert_eq!(*lock.blocking_read(), 2);
    let _entered = entered::enter(true).unwrap();
    let phrase = "Cannot block the current thread from within a runtime";
    assert_panics(phrase, || drop(lock.blocking_read()));
    assert_panics(phrase, || drop(lock.blocking_write()));
}

#[test]
fn wakers_run_outside_the_lock() {
    let lock = Arc::new(RwLock::new(0));
    let guard = lock.try_write().unwrap();
    let other = lock.clone();
    let waker = reentrant_waker(move || drop(task(other.write()).poll()));
    let mut waiter = task(lock.read());
    assert!(waiter.poll_with(&waker).is_pending());
    drop(guard);
    assert_eq!(*waiter.assert_ready(), 0);
}

#[test]
fn threads_count_without_loss() {
    const EACH: usize = if cfg!(miri) { 4 } else { 2_000 };
    let lock = Arc::new(RwLock::new((0, 0)));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let lock = lock.clone();
            std::thread::spawn(move || {
                for _ in 0..EACH {
                    if i % 2 == 0 {
                        let mut pair = lock.blocking_write();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = lock.blocking_read();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(lock.try_write().unwrap().0, 2 * EACH);
}

#[test]
fn texts() {
    let lock = RwLock::from("data");
    assert_eq!(format!("{lock:?}"), r#"RwLock { data: "data" }"#);
    let guard = lock.try_write().unwrap();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
    assert_eq!(format!("{guard:?} {guard}"), r#""data" data"#);
    let guard = guard.downgrade();
    assert_eq!(format!("{guard:?} {guard}"), r#""data" data"#);
    assert_eq!(RwLock::<u8>::default().get_mut(), &0);
    static LEVEL: RwLock<u32> = RwLock::const_with_max_readers(1, 3);
    assert_eq!(*LEVEL.try_read().unwrap(), 1);
    assert_eq!(*RwLock::const_new(2).try_read().unwrap(), 2);
}
