use crate::hand_polled::{Task, assert_panics, task};
use crate::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};
use nezumi_prim::FastRand;
use nezumi_wake::{block_on, block_on_timeout, entered};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

#[test]
fn a_permit_goes_back_when_dropped_and_not_when_forgotten() {
    let semaphore = Semaphore::new(3);
    let permit = task(semaphore.acquire_many(2)).assert_ready().unwrap();
    assert_eq!((permit.num_permits(), semaphore.available_permits()), (2, 1));
    assert!(std::ptr::eq(permit.semaphore(), &semaphore));
    drop(permit);
    assert_eq!(semaphore.available_permits(), 3);
    semaphore.try_acquire().unwrap().forget();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn an_owned_permit_goes_back_when_dropped_and_not_when_forgotten() {
    let semaphore = Arc::new(Semaphore::new(3));
    let permit = task(semaphore.clone().acquire_many_owned(2)).assert_ready().unwrap();
    assert_eq!((permit.num_permits(), semaphore.available_permits()), (2, 1));
    assert!(Arc::ptr_eq(permit.semaphore(), &semaphore));
    drop(permit);
    assert_eq!(semaphore.available_permits(), 3);
    semaphore.clone().try_acquire_owned().unwrap().forget();
    task(semaphore.clone().acquire_owned()).assert_ready().unwrap().forget();
    assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (1, 1));
    assert_eq!(semaphore.clone().try_acquire_many_owned(2).unwrap_err(), TryAcquireError::NoPermits);
}

#[test]
fn merged_and_split_permits_add_up() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut all = semaphore.try_acquire_many(3).unwrap();
    all.merge(semaphore.try_acquire_many(2).unwrap());
    assert_eq!(semaphore.available_permits(), 0);
    let mut four = all.split(4).unwrap();
    assert!(all.split(2).is_none() && four.split(0).unwrap().num_permits() == 0);
    assert_eq!((all.num_permits(), four.num_permits()), (1, 4));
    drop(four);
    assert_eq!(semaphore.available_permits(), 4);
    drop(all);

    let mut all = semaphore.clone().try_acquire_many_owned(3).unwrap();
    all.merge(semaphore.clone().try_acquire_many_owned(2).unwrap());
    let four = all.split(4).unwrap();
    assert!(all.split(2).is_none());
    assert_eq!((all.num_permits(), four.num_permits()), (1, 4));
    drop(all);
    drop(four);
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
fn permits_of_different_semaphores_do_not_merge() {
    let (one, other) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
    assert_panics("merging permits from different semaphore instances", || {
        one.try_acquire().unwrap().merge(other.try_acquire().unwrap());
    });
    assert_panics("merging permits from different semaphore instances", || {
        one.clone().try_acquire_owned().unwrap().merge(other.clone().try_acquire_owned().unwrap());
    });
    assert_eq!((one.available_permits(), other.available_permits()), (1, 1), "both went back");
}

#[test]
fn a_release_after_forget_serves_nobody_twice() {
    let semaphore = Semaphore::new(2);
    let permit = semaphore.try_acquire().unwrap();
    assert_eq!(semaphore.forget_permits(5), 1);
    let (mut first, mut second) = (task(semaphore.acquire()), task(semaphore.acquire()));
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(permit);
    assert!(first.is_woken() && !second.is_woken());
    first.assert_ready().unwrap().forget();
    assert!(second.poll().is_pending());
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn blocking_forms_wait_for_another_thread() {
    let semaphore = Arc::new(Semaphore::new(0));
    let thread = {
        let semaphore = semaphore.clone();
        std::thread::spawn(move || semaphore.add_permits(3))
    };
    drop(semaphore.blocking_acquire().unwrap());
    semaphore.clone().blocking_acquire_many_owned(2).unwrap().forget();
    thread.join().unwrap();
    drop(semaphore.blocking_acquire_many(1).unwrap());
    drop(semaphore.clone().blocking_acquire_owned().unwrap());
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.close();
    semaphore.blocking_acquire().unwrap_err();
}

#[test]
fn blocking_forms_panic_where_tasks_run() {
    let semaphore = Arc::new(Semaphore::new(1));
    let _entered = entered::enter(true).unwrap();
    let phrase = "Cannot block the current thread from within a runtime";
    assert_panics(phrase, || drop(semaphore.blocking_acquire()));
    assert_panics(phrase, || drop(semaphore.clone().blocking_acquire_many_owned(1)));
}

#[test]
fn limits_are_checked() {
    let phrase = "a semaphore may not have more than MAX_PERMITS permits";
    assert_panics(phrase, || {
        let _ = Semaphore::new(Semaphore::MAX_PERMITS + 1);
    });
    assert_panics(phrase, || {
        let _ = Semaphore::const_new(Semaphore::MAX_PERMITS + 1);
    });
    assert_panics("would overflow MAX_PERMITS", || Semaphore::new(Semaphore::MAX_PERMITS).add_permits(1));
}

#[test]
fn texts() {
    let semaphore = Semaphore::const_new(2);
    assert_eq!(format!("{semaphore:?}"), "Semaphore { permits: 2, closed: false }");
    assert_eq!(TryAcquireError::Closed.to_string(), "semaphore closed");
    assert_eq!(TryAcquireError::NoPermits.to_string(), "no permits available");
}

/// What a semaphore is, without concurrency.
#[derive(Default)]
struct Reference {
    permits: usize,
    queue: VecDeque<(usize, usize)>,
    granted: Vec<usize>,
    closed: bool,
    /// Who was the head of the queue when it was closed, and what it held.
    refused_head: Option<(usize, usize)>,
}

impl Reference {
    fn serve(&mut self) {
        while let Some(&(id, need)) = self.queue.front() {
            if need > self.permits || self.closed {
                return;
            }
            self.permits -= need;
            self.queue.pop_front();
            self.granted.push(id);
        }
    }

    /// What a wait that ends without success gives back.
    fn share(&mut self, id: usize, n: usize) -> usize {
        if self.granted.contains(&id) {
            return n;
        }
        self.refused_head.take_if(|head| head.0 == id).map_or(0, |head| head.1)
    }

    fn close(&mut self) {
        self.closed = true;
        if let Some((id, n)) = self.queue.pop_front() {
            let share = n.min(self.permits);
            self.permits -= share;
            self.refused_head = Some((id, share));
        }
        self.queue.clear();
    }

    fn available(&self) -> usize {
        if self.queue.is_empty() { self.permits } else { 0 }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Try(usize),
    Acquire(usize),
    Poll(usize),
    Cancel(usize),
    Release(usize),
    Add(usize),
    Forget(usize),
    Close,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (0..4usize).prop_map(Call::Try),
        8 => (0..4usize).prop_map(Call::Acquire),
        6 => (0..8usize).prop_map(Call::Poll),
        4 => (0..8usize).prop_map(Call::Cancel),
        6 => (0..8usize).prop_map(Call::Release),
        4 => (0..4usize).prop_map(Call::Add),
        2 => (0..3usize).prop_map(Call::Forget),
        1 => Just(Call::Close),
    ]
}

/// A call to `acquire` that has not ended: its number, its permits, and the future.
type Waiting<F> = (usize, usize, Task<F>);

fn start<'a>(
    semaphore: &'a Semaphore,
    n: usize,
) -> Task<impl Future<Output = Result<SemaphorePermit<'a>, AcquireError>>> {
    task(semaphore.acquire_many(n as u32))
}

fn check(calls: Vec<Call>) {
    let semaphore = Semaphore::new(2);
    let mut reference = Reference { permits: 2, ..Reference::default() };
    let mut held: Vec<SemaphorePermit<'_>> = Vec::new();
    let mut waiting: Vec<Waiting<_>> = Vec::new();
    for (id, call) in calls.into_iter().enumerate() {
        match call {
            Call::Try(n) => {
                let possible = !reference.closed && (n == 0 || n <= reference.available());
                let permit = semaphore.try_acquire_many(n as u32);
                assert_eq!(permit.is_ok(), possible);
                if let Ok(permit) = permit {
                    reference.permits -= n;
                    held.push(permit);
                }
            }
            Call::Acquire(n) => {
                let mut future = start(&semaphore, n);
                match future.poll() {
                    Poll::Ready(Ok(permit)) => {
                        assert!(!reference.closed && (n == 0 || n <= reference.available()));
                        reference.permits -= n;
                        held.push(permit);
                    }
                    Poll::Ready(Err(_)) => assert!(reference.closed),
                    Poll::Pending => {
                        assert!(!reference.closed && n > reference.available());
                        reference.queue.push_back((id, n));
                        waiting.push((id, n, future));
                    }
                }
            }
            Call::Poll(i) if i < waiting.len() => {
                let (id, n, mut future) = waiting.remove(i);
                let granted = reference.granted.contains(&id);
                assert_eq!(future.is_woken(), granted || reference.closed);
                match future.poll() {
                    Poll::Ready(Ok(permit)) => {
                        assert!(granted && !reference.closed);
                        held.push(permit);
                    }
                    Poll::Ready(Err(_)) => {
                        assert!(reference.closed);
                        reference.permits += reference.share(id, n);
                    }
                    Poll::Pending => {
                        assert!(!granted && !reference.closed);
                        waiting.insert(i, (id, n, future));
                    }
                }
            }
            Call::Cancel(i) if i < waiting.len() => {
                let (id, n, future) = waiting.remove(i);
                drop(future);
                reference.queue.retain(|&(other, _)| other != id);
                reference.permits += reference.share(id, n);
                reference.serve();
            }
            Call::Release(i) if i < held.len() => {
                let permit = held.remove(i);
                reference.permits += permit.num_permits();
                drop(permit);
                reference.serve();
            }
            Call::Add(n) => {
                semaphore.add_permits(n);
                reference.permits += n;
                reference.serve();
            }
            Call::Forget(n) => {
                let forgotten = semaphore.forget_permits(n);
                assert_eq!(forgotten, n.min(reference.available()));
                reference.permits -= forgotten;
            }
            Call::Close => {
                semaphore.close();
                reference.close();
            }
            Call::Poll(_) | Call::Cancel(_) | Call::Release(_) => {}
        }
        assert_eq!(semaphore.available_permits(), reference.available());
        assert_eq!(semaphore.is_closed(), reference.closed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behaves_like_a_fair_counter(calls in proptest::collection::vec(call(), 0..if cfg!(miri) { 12 } else { 60 })) {
        check(calls);
    }
}

#[test]
fn a_permit_may_outlive_the_borrowed_handle() {
    let permit: OwnedSemaphorePermit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    assert_eq!(permit.semaphore().available_permits(), 0);
}

/// Threads that acquire, give back, and give up, all at once. Whatever they do, the permits are all there at the end.
#[test]
fn threads_that_give_up_lose_no_permit() {
    const PERMITS: usize = 3;
    const ROUNDS: usize = if cfg!(miri) { 4 } else { 3_000 };
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let inside = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|id| {
            let (semaphore, inside) = (semaphore.clone(), inside.clone());
            std::thread::spawn(move || {
                let random = FastRand::new(id);
                for _ in 0..ROUNDS {
                    let n = 1 + random.below(PERMITS as u32);
                    let permit = if random.below(3) == 0 {
                        // Polled once, and dropped if it has to wait.
                        block_on_timeout(semaphore.acquire_many(n), Duration::ZERO)
                    } else {
                        Some(block_on(semaphore.acquire_many(n)))
                    };
                    if let Some(permit) = permit {
                        let before = inside.fetch_add(n as usize, Ordering::Relaxed);
                        assert!(before + n as usize <= PERMITS);
                        std::thread::yield_now();
                        inside.fetch_sub(n as usize, Ordering::Relaxed);
                        drop(permit.unwrap());
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(semaphore.available_permits(), PERMITS);
}
