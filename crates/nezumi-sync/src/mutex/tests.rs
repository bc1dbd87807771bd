use super::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard};
use crate::hand_polled::{assert_panics, reentrant_waker, task};
use nezumi_wake::entered;
use std::sync::Arc;

#[test]
fn the_lock_goes_to_the_first_who_waits() {
    let mutex = Mutex::new(1);
    let guard = task(mutex.lock()).assert_ready();
    let (mut first, mut second) = (task(mutex.lock()), task(mutex.lock()));
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(guard);
    assert!(first.is_woken() && !second.is_woken());
    assert!(mutex.try_lock().is_err(), "it belongs to the first already");
    *first.assert_ready() += 1;
    assert!(second.is_woken());
    assert_eq!(*second.assert_ready(), 2);
}

#[test]
fn a_cancelled_lock_passes_it_on() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = task(mutex.clone().lock_owned()).assert_ready();
    let (mut first, mut second) = (task(mutex.clone().lock_owned()), task(mutex.lock()));
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(guard);
    first.drop_future();
    assert!(second.is_woken());
    drop(second);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_panic_under_the_lock_unlocks_it() {
    let mutex = Arc::new(Mutex::new(1));
    let phrase = "while locked";
    assert_panics(phrase, || {
        let mut guard = mutex.try_lock().unwrap();
        *guard = 2;
        panic!("{phrase}");
    });
    assert_panics(phrase, || {
        drop(MutexGuard::map(mutex.try_lock().unwrap(), |_| -> &mut u8 { panic!("{phrase}") }))
    });
    assert_panics(phrase, || {
        let guard = mutex.clone().try_lock_owned().unwrap();
        drop(OwnedMutexGuard::try_map(guard, |_| -> Option<&mut u8> { panic!("{phrase}") }));
    });
    assert_eq!((*mutex.try_lock().unwrap(), Arc::strong_count(&mutex)), (2, 1));
}

#[test]
fn a_mapped_guard_keeps_the_lock() {
    let mutex = Mutex::new((1, [2, 3]));
    let guard = MutexGuard::map(mutex.try_lock().unwrap(), |pair| &mut pair.1);
    let guard = MappedMutexGuard::try_map(guard, |list| list.get_mut(2)).unwrap_err();
    let mut guard = MappedMutexGuard::map(guard, |list| list.last_mut().unwrap());
    assert!(mutex.try_lock().is_err());
    *guard = 30;
    drop(guard);
    let guard = MutexGuard::try_map(mutex.try_lock().unwrap(), |_| None::<&mut ()>).unwrap_err();
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
    let guard = MutexGuard::try_map(guard, |pair| Some(&mut pair.1[1])).unwrap();
    assert_eq!(*guard, 30);
    assert!(mutex.try_lock().is_err());
    drop(guard);
    assert_eq!(mutex.into_inner(), (1, [2, 30]));
}

#[test]
fn an_owned_mapped_guard_keeps_the_lock_and_the_mutex() {
    let mutex = Arc::new(Mutex::new((1, [2, 3])));
    let guard = OwnedMutexGuard::map(mutex.clone().try_lock_owned().unwrap(), |pair| &mut pair.1);
    let guard = OwnedMappedMutexGuard::try_map(guard, |list| list.get_mut(2)).unwrap_err();
    let guard = OwnedMappedMutexGuard::try_map(guard, |list| list.get_mut(1)).unwrap();
    let mut guard = OwnedMappedMutexGuard::map(guard, |number| number);
    *guard = 30;
    assert!(mutex.try_lock().is_err());
    assert_eq!(Arc::strong_count(&mutex), 2);
    drop(guard);
    assert_eq!(Arc::strong_count(&mutex), 1);
    let guard =
        OwnedMutexGuard::try_map(mutex.clone().try_lock_owned().unwrap(), |_| None::<&mut ()>).unwrap_err();
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    let guard = OwnedMutexGuard::try_map(guard, |pair| Some(&mut pair.1[1])).unwrap();
    drop(mutex);
    assert_eq!(*guard, 30, "the guard alone keeps the value");
}

#[test]
fn unsized_values_can_be_locked() {
    let mutex: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    assert_eq!(mutex.try_lock().unwrap().len(), 3);
    let owned = mutex.clone().try_lock_owned().unwrap();
    assert_eq!(OwnedMutexGuard::map(owned, |list| &mut list[1..]).len(), 2);
}

#[test]
fn blocking_locks_wait_for_another_thread() {
    let mutex = Arc::new(Mutex::new(0));
    let thread = {
        let mut guard = mutex.clone().try_lock_owned().unwrap();
        std::thread::spawn(move || *guard += 1)
    };
    *mutex.blocking_lock() += 1;
    *mutex.clone().blocking_lock_owned() += 1;
    thread.join().unwrap();
    assert_eq!(Arc::into_inner(mutex).unwrap().into_inner(), 3);
}

#[test]
fn blocking_locks_panic_where_tasks_run() {
    let mutex = Arc::new(Mutex::new(0));
    let _entered = entered::enter(true).unwrap();
    let phrase = "Cannot block the current thread from within a runtime";
    assert_panics(phrase, || drop(mutex.blocking_lock()));
    assert_panics(phrase, || drop(mutex.clone().blocking_lock_owned()));
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn wakers_run_outside_the_lock() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let other = mutex.clone();
    let waker = reentrant_waker(move || drop(task(other.lock()).poll()));
    let mut waiter = task(mutex.lock());
    assert!(waiter.poll_with(&waker).is_pending());
    drop(guard);
    assert_eq!(*waiter.assert_ready(), 0);
}

#[test]
fn threads_count_without_loss() {
    const EACH: usize = if cfg!(miri) { 4 } else { 5_000 };
    let mutex = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mutex = mutex.clone();
            std::thread::spawn(move || (0..EACH).for_each(|_| *mutex.blocking_lock() += 1))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*mutex.try_lock().unwrap(), 4 * EACH);
}

#[test]
fn texts() {
    let mutex = Mutex::from("data");
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "data" }"#);
    let guard = mutex.try_lock().unwrap();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    assert_eq!(format!("{guard:?} {guard}"), r#""data" data"#);
    assert_eq!(mutex.try_lock().unwrap_err().to_string(), "operation would block");
    let guard = MutexGuard::map(guard, |text| text);
    assert_eq!(format!("{guard:?} {guard}"), r#""data" data"#);
    assert_eq!(Mutex::<u8>::default().get_mut(), &0);
}

#[test]
fn a_constant_mutex_works() {
    static COUNT: Mutex<u32> = Mutex::const_new(1);
    assert_eq!(*COUNT.try_lock().unwrap(), 1);
}
