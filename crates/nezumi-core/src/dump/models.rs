//! Loom models of looks at tasks that end meanwhile.

use super::Grace;
use crate::task::{Header, JoinHandle, Origin, Registry, Runnable, Schedule, new_task};
use loom::thread;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::sync::{Arc, Mutex};
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

/// A scheduler that is a list, of one task that is looked at.
struct List {
    queue: Mutex<Vec<Runnable>>,
    registry: Registry,
    /// Whether tasks complete on the registry's owner, the model's first thread.
    by_owner: bool,
    grace: Grace,
    alive: AtomicUsize,
    /// Written when a task is freed, and read by who looks at one: loom sees whether one of the two comes before the other.
    is_freed: UnsafeCell<bool>,
}

// SAFETY: what is not `Sync` by itself is what the models watch over.
unsafe impl Sync for List {}
// SAFETY: as above.
unsafe impl Send for List {}

struct Home(Arc<List>);

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: this is what the model checks.
        self.0.is_freed.with_mut(|is_freed| unsafe { *is_freed = true });
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Schedule for Home {
    const REGISTRY_REFS: usize = 1;

    unsafe fn schedule(this: *const Self, runnable: Runnable) {
        // SAFETY: valid until the runnable is given away.
        let list = unsafe { Arc::clone(&(*this).0) };
        list.queue.lock().push(runnable);
    }

    fn release(&self, task: &Header) -> bool {
        // SAFETY: as the owner only where the model says that this is its thread.
        unsafe { self.0.registry.remove(task, self.0.by_owner) }
    }

    fn grace(&self) -> Option<&'static Grace> {
        let grace: *const Grace = &self.0.grace;
        // SAFETY: the model's first thread keeps the list until all others have ended.
        Some(unsafe { &*grace })
    }
}

fn list(by_owner: bool) -> Arc<List> {
    Arc::new(List {
        queue: Mutex::new(Vec::new()),
        registry: Registry::new(),
        by_owner,
        grace: Grace::new(),
        alive: AtomicUsize::new(0),
        is_freed: UnsafeCell::new(false),
    })
}

/// Called on the model's first thread only.
fn spawn<F>(list: &Arc<List>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
{
    list.alive.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the future is `Send` and `'static`.
    let (runnable, join) = unsafe { new_task(future, Home(list.clone()), Origin::here()) };
    // SAFETY: this is the first thread.
    unsafe { list.registry.insert(runnable.as_ptr()) }.unwrap();
    list.queue.lock().push(runnable);
    join
}

fn run_all(list: &List) {
    loop {
        let next = list.queue.lock().pop();
        match next {
            Some(runnable) => runnable.run(),
            None => break,
        }
    }
}

/// Looks at all tasks, and gives the runnables of those that were idle, if they are to be woken.
fn look(list: &List, wake: bool) -> Vec<Runnable> {
    let mut woken = Vec::new();
    let looked = list.grace.look(|| {
        let each = |task: &Header| {
            // SAFETY: as in `Home::drop`. That of the only task of the model.
            list.is_freed.with(|is_freed| assert!(!unsafe { *is_freed }, "a freed task was found"));
            let _ = task.state();
            if wake {
                // SAFETY: in a look, of a task of the registry.
                woken.extend(unsafe { Runnable::of_idle(task) });
            }
        };
        // SAFETY: in a look of the grace that the tasks name.
        unsafe { list.registry.look(each) };
    });
    looked.unwrap();
    woken
}

/// The owner takes the task out of its slot by a plain store, and frees it, while another looks for it.
#[test]
fn a_task_that_is_looked_at_is_not_freed() {
    loom::model(|| {
        let list = list(true);
        drop(spawn(&list, async {}));
        let looker = {
            let list = list.clone();
            thread::spawn(move || drop(look(&list, false)))
        };
        run_all(&list);
        looker.join().unwrap();
        assert_eq!(list.alive.load(Ordering::Relaxed), 0, "a task leaked");
    });
}

/// One is taken out and freed by another than the owner; two look, one after the other.
#[test]
fn what_was_kept_is_freed_once() {
    loom::model(|| {
        let list = list(false);
        drop(spawn(&list, async {}));
        let lookers = [0, 1].map(|_| {
            let list = list.clone();
            thread::spawn(move || drop(look(&list, false)))
        });
        run_all(&list);
        for looker in lookers {
            looker.join().unwrap();
        }
        assert_eq!(list.alive.load(Ordering::Relaxed), 0, "a task leaked");
    });
}

/// A task is woken by who looks, and by its own waker, and ends. There is one runnable at a time, and nothing is left.
#[test]
fn a_look_may_wake_a_task_that_ends() {
    loom::model(|| {
        let list = list(false);
        let place: Arc<Mutex<Option<Waker>>> = Arc::new(Mutex::new(None));
        let future = {
            let place = place.clone();
            let mut polls = 0;
            poll_fn(move |cx| {
                polls += 1;
                if polls == 1 {
                    *place.lock() = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(())
            })
        };
        drop(spawn(&list, future));
        run_all(&list);
        let waker = place.lock().take().unwrap();
        let looker = {
            let list = list.clone();
            thread::spawn(move || look(&list, true).into_iter().for_each(Runnable::submit))
        };
        waker.wake();
        run_all(&list);
        looker.join().unwrap();
        run_all(&list);
        assert_eq!(list.alive.load(Ordering::Relaxed), 0, "a task leaked");
    });
}

/// Who looks while a task is spawned sees all of it or nothing, whether the registry grows for it or has a slot.
#[test]
fn a_task_is_seen_whole_or_not_at_all() {
    for before in 0..2 {
        loom::model(move || {
            let list = list(true);
            (0..before).for_each(|_| drop(spawn(&list, async {})));
            let looker = {
                let list = list.clone();
                thread::spawn(move || drop(look(&list, false)))
            };
            drop(spawn(&list, async {}));
            looker.join().unwrap();
            run_all(&list);
            assert_eq!(list.alive.load(Ordering::Relaxed), 0, "a task leaked");
        });
    }
}
