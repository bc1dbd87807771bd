//! How a dump is made.
//!
//! Called by `Handle::dump`. A thread of its own makes it, begun for each: it may wait for tasks that take their time, and for threads that are to tell
//! what they are at, and none of the runtime's own can be counted on to be free for that.
//!
//! ```text
//! open a session        from now on each task that is polled is traced, once
//! call the roll         who is there, and what it is at; wake the idle ones
//! wait, look again      until all have told, are gone, or are found to stay in their polls
//! close the session     the scheduler goes on as before
//! ```
//!
//! Promise: it ends, whatever the tasks do: it waits no longer than [`PATIENCE`] in which nobody tells anything, and no longer than [`AT_MOST`] in all.

use super::native;
use super::session::{Outcome, Pace, Session, Task as Told};
use super::trace::Trace;
use super::{Dump, GRACE, Task, TaskState};
use crate::runtime::Handle;
use crate::scheduler::Shared;
use crate::scheduler::roll::{self, CurrentPoll, Doing};
use nezumi_prim::sync::Mutex;
use nezumi_wake::{AtomicWaker, contain, leaf};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

/// Else there would be nothing to be told: tasks are looked at, and not polled.
const TAKES_STACKS: bool = cfg!(feature = "taskdump");
/// How long nothing may happen. Longer than a worker that has nothing to run takes to wake.
const PATIENCE: Duration = Duration::from_millis(250);
/// Between two looks at those who have not told.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// A dump of very many tasks, or on a machine that is very busy, comes without some traces.
const AT_MOST: Duration = Duration::from_secs(10);
/// How long is waited for the stack of a thread that is stuck; it may have to wait for a processor first.
const THREAD_ANSWERS_WITHIN: Duration = Duration::from_millis(50);

/// Makes a dump of the runtime, on another thread.
pub(crate) async fn dump(handle: &Handle) -> Dump {
    #[derive(Default)]
    struct Place {
        dump: Mutex<Option<Dump>>,
        waker: AtomicWaker,
    }

    let place = Arc::new(Place::default());
    let (for_thread, its_handle) = (Arc::clone(&place), handle.clone());
    let thread = thread::Builder::new().name("nezumi-dump".into()).spawn(move || {
        let dump = make(its_handle.shared());
        // The last one ends the runtime's memory, and is not to do so after the dump is there.
        drop(its_handle);
        *for_thread.dump.lock() = Some(dump);
        contain(|| for_thread.waker.wake());
    });
    if thread.is_err() {
        // Without waiting: this may be the very thread that would be waited for.
        return make_at_once(handle.shared());
    }
    poll_fn(|cx| {
        ready!(leaf::poll_leaf(cx));
        place.waker.register(cx.waker());
        place.dump.lock().take().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

fn make(shared: &Shared) -> Dump {
    let _one_at_a_time = shared.dumps.making.lock();
    let began = Instant::now();
    let session = shared.dumps.open();
    {
        let _open = Open::new(shared);
        if call(shared, |present| session.expect(present, TAKES_STACKS)).is_none() {
            return Dump::new(Vec::new());
        }
        if TAKES_STACKS && shared.is_multi_thread() {
            // They share the polls. Tokio's dumps wake all of them as well, which hooks may see.
            shared.wake_all();
        }
        wait(shared, &session, began);
    }
    let tasks = session.take().into_values();
    Dump::new(tasks.filter_map(|told| task(shared, told, began)).collect())
}

/// What is known without anybody's help.
fn make_at_once(shared: &Shared) -> Dump {
    let began = Instant::now();
    let mut tasks = Vec::new();
    if let Ok((present, _)) = roll::call(shared, &GRACE, false) {
        tasks.extend(present.into_iter().map(|present| Task {
            id: present.id,
            name: present.name,
            spawned_at: present.spawned_at,
            state: state(shared, present.doing, began),
            trace: Trace::empty(),
            was_polled: !matches!(present.doing, Doing::Polled(_)),
        }));
    }
    Dump::new(tasks)
}

/// All polls go by way of the session while this stands.
struct Open<'a>(&'a Shared);

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Self {
        if !TAKES_STACKS {
            return Self(shared);
        }
        // Relaxed: who sees it takes the session's lock, and who does not see it yet only polls untraced.
        shared.observes_polls.store(true, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.observes_polls.store(self.0.config.observes_polls, Ordering::Relaxed);
        self.0.dumps.close();
    }
}

/// Calls the roll, tells it to `tell`, and then lets those run that were woken. `None` where it cannot be called.
fn call(shared: &Shared, tell: impl FnOnce(Vec<roll::Present>)) -> Option<()> {
    let (present, woken) = roll::call(shared, &GRACE, TAKES_STACKS).ok()?;
    tell(present);
    woken.into_iter().for_each(crate::task::Runnable::submit);
    Some(())
}

fn wait(shared: &Shared, session: &Session, began: Instant) {
    let pace = |poll: CurrentPoll| {
        let polling = &shared.shard(poll.shard).polling;
        Pace { cpu: polling.cpu_time(), is_runnable: polling.is_runnable() }
    };
    let (mut settled, mut told_at, mut looked_at) = (0, began, began);
    loop {
        let (now_settled, all) = session.wait(LOOK_AGAIN_AFTER);
        let now = Instant::now();
        if now_settled >= all || now - told_at >= PATIENCE || now - began >= AT_MOST {
            return;
        }
        if now_settled != settled {
            (settled, told_at) = (now_settled, now);
        }
        if now - looked_at >= LOOK_AGAIN_AFTER {
            looked_at = now;
            if call(shared, |present| session.look_again(&present, pace)).is_none() {
                return;
            }
        }
    }
}

/// `None` for one that is gone.
fn task(shared: &Shared, told: Told, began: Instant) -> Option<Task> {
    let present = told.present?;
    let (mut state, mut trace) = (state(shared, present.doing, began), Trace::empty());
    let mut was_polled = false;
    match told.outcome {
        Outcome::Gone => return None,
        Outcome::Waits => state = self::state(shared, told.last.unwrap_or(present.doing), began),
        Outcome::Traced(told) => (trace, was_polled) = (told, true),
        Outcome::InPoll(None) => state = self::state(shared, Doing::Polled(None), began),
        Outcome::InPoll(Some(poll)) => {
            state =
                TaskState::Stuck { worker: worker_of(shared, poll), elapsed: elapsed(shared, poll, began) };
            trace = native_stack(shared, poll).unwrap_or(trace);
        }
    }
    Some(Task {
        id: present.id,
        name: present.name,
        spawned_at: present.spawned_at,
        state,
        trace,
        was_polled,
    })
}

fn state(shared: &Shared, doing: Doing, began: Instant) -> TaskState {
    match doing {
        Doing::Idle => TaskState::Idle,
        Doing::Scheduled => TaskState::Scheduled,
        Doing::Polled(None) => TaskState::Running { worker: None, elapsed: began.elapsed() },
        Doing::Polled(Some(poll)) => TaskState::Running {
            worker: Some(worker_of(shared, poll)),
            elapsed: elapsed(shared, poll, began),
        },
    }
}

/// As was seen; else since the dump began.
fn elapsed(shared: &Shared, poll: CurrentPoll, began: Instant) -> Duration {
    roll::lasts(shared, poll).unwrap_or_else(|| began.elapsed())
}

/// By the number that the program knows.
fn worker_of(shared: &Shared, poll: CurrentPoll) -> usize {
    shared.number_of(poll.shard)
}

/// The stack of the thread that is in this poll, if it is still in it when it has told.
fn native_stack(shared: &Shared, poll: CurrentPoll) -> Option<Trace> {
    let polling = &shared.shard(poll.shard).polling;
    native::stack_of(shared.config.stuck_signal?, polling, poll.begun, THREAD_ANSWERS_WITHIN)
}
