//! The single-threaded scheduler.
//!
//! Called by `runtime` (`block_on`, shutdown) and by wakers through `schedule`. The same tasks, driver, timers and context as the
//! multi-threaded one; its queue is a plain `VecDeque`, and nothing local is atomic.
//!
//! The *core* is the scheduler's state. It lies in its *seat* while nobody runs it; `block_on` takes it, and whoever comes second waits for
//! it while polling a future of their own. Threads outside push into the inject queue and wake shard 0, whose bed is where the core sleeps.
//!
//! Promise: one thread at a time runs the core; a panic in the root future puts it back; the root future runs again within one round of
//! tasks after it was woken; with the clock paused, time moves only when nothing else can.
//!
//! Tests: `tests/it/current_thread.rs`, `tests/it/hostile.rs`.

use super::context::{self, Role};
use super::shared::Shared;
use super::upkeep::Meter;
use super::{Shard, shutdown};
use crate::runtime::Handle;
use crate::task::{Priority, Runnable};
use crate::timer::{NEVER, notes};
use nezumi_prim::block::Blocks;
use nezumi_prim::sync::Mutex;
use nezumi_prim::time::now;
use nezumi_wake::defer::{self, Host};
use nezumi_wake::{contain, coop, drop_each, entered};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// How often the inject queue goes first, in tasks, where the builder does not say.
const INJECT_EVERY: u32 = 31;
/// How many tasks of high priority run in a row while normal ones wait.
const HIGH_IN_A_ROW: u32 = 32;

/// The state of a single-threaded scheduler.
pub(crate) struct Core {
    shard: *const Shard,
    queue: RefCell<Lanes>,
    deferred: RefCell<Vec<Waker>>,
    tick: Cell<u32>,
    /// Set by wakes of the root future.
    root: Arc<Root>,
    meter: Meter,
    /// What the next tasks are made of.
    blocks: Blocks,
}

// SAFETY: the core is moved between threads only by way of its seat's lock, with nobody running it; the shard it points to is part of
// the shared part that the seat is in.
unsafe impl Send for Core {}

/// Where the core lies when nobody runs it.
pub(crate) struct Seat(Mutex<Place>);

struct Place {
    core: Option<Box<Core>>,
    /// Those who came second, each once.
    waiting: Vec<(u64, Waker)>,
    /// How many have stood in line.
    came: u64,
    /// The core was made. Once it was taken for shutdown it does not come back.
    made: bool,
}

/// Wakes the root future: a flag, and the bed of the runtime.
struct Root {
    woken: AtomicBool,
    shared: std::sync::Weak<Shared>,
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SeqCst: the core looks at this flag after its last look at the queues, and the bed is woken after it is set.
        self.woken.store(true, Ordering::SeqCst);
        if let Some(shared) = self.shared.upgrade() {
            shared.wake(0);
        }
    }
}

/// What is runnable, by priority.
#[derive(Default)]
struct Lanes {
    high: VecDeque<Runnable>,
    normal: VecDeque<Runnable>,
    background: VecDeque<Runnable>,
    high_in_a_row: u32,
    /// The next pop is the background's, if there is any: once per inject interval.
    fair: bool,
}

impl Lanes {
    fn push(&mut self, runnable: Runnable) {
        match runnable.header().priority() {
            Priority::High => &mut self.high,
            Priority::Normal => &mut self.normal,
            Priority::Background => &mut self.background,
        }
        .push_back(runnable);
    }

    fn pop(&mut self) -> Option<Runnable> {
        if std::mem::take(&mut self.fair) && !self.background.is_empty() {
            return self.background.pop_front();
        }
        if self.high_in_a_row < HIGH_IN_A_ROW || self.normal.is_empty() {
            if let Some(runnable) = self.high.pop_front() {
                self.high_in_a_row += 1;
                return Some(runnable);
            }
        }
        self.high_in_a_row = 0;
        self.normal.pop_front().or_else(|| self.background.pop_front())
    }

    fn len(&self) -> usize {
        self.high.len() + self.normal.len() + self.background.len()
    }
}

impl Seat {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Place { core: None, waiting: Vec::new(), came: 0, made: false }))
    }

    /// Takes the core, if nobody has it.
    fn take(&self, shared: &Arc<Shared>) -> Option<Box<Core>> {
        let mut place = self.0.lock();
        if !place.made {
            place.made = true;
            return Some(Box::new(Core::new(shared)));
        }
        place.core.take()
    }

    /// Puts the core back, and wakes all who wait for it: whichever of them is done by then does not need it.
    fn put_back(&self, core: Box<Core>) {
        let waiting = {
            let mut place = self.0.lock();
            place.core = Some(core);
            std::mem::take(&mut place.waiting)
        };
        // These are wakers of `block_on`, which do not panic.
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn is_free(&self) -> bool {
        self.0.lock().core.is_some()
    }
}

/// A place in the line of those who wait for the core, given up when dropped.
struct InLine<'a> {
    seat: &'a Seat,
    number: u64,
}

impl<'a> InLine<'a> {
    fn new(seat: &'a Seat) -> Self {
        let mut place = seat.0.lock();
        place.came += 1;
        Self { seat, number: place.came }
    }

    /// Has `waker`, the same each time, woken when the core is free.
    fn wait(&self, waker: &Waker) {
        let mut place = self.seat.0.lock();
        if place.core.is_some() {
            drop(place);
            waker.wake_by_ref();
        } else if place.waiting.iter().all(|(number, _)| *number != self.number) {
            place.waiting.push((self.number, waker.clone()));
        }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.seat.0.lock().waiting.retain(|(number, _)| *number != self.number);
    }
}

impl Core {
    fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shard: shared.shard(0),
            queue: RefCell::new(Lanes::default()),
            deferred: RefCell::new(Vec::new()),
            tick: Cell::new(0),
            root: Arc::new(Root { woken: AtomicBool::new(false), shared: Arc::downgrade(shared) }),
            meter: Meter::new(shared.shard(0)),
            blocks: Blocks::new(),
        }
    }

    #[inline]
    pub(crate) fn shard(&self) -> &Shard {
        // SAFETY: the core is run and dropped only while the shared part stands (see `Send`).
        unsafe { &*self.shard }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        self.shard().shared()
    }

    /// Adds a task. Called in the middle of polls.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable) {
        let mut queue = self.queue.borrow_mut();
        self.shard().counters.scheduled_locally.add(1);
        queue.push(runnable);
        self.publish_depth(queue.len());
    }

    fn publish_depth(&self, depth: usize) {
        self.shard().depth.store(depth, Ordering::Relaxed);
    }

    fn pop_local(&self) -> Option<Runnable> {
        let mut queue = self.queue.borrow_mut();
        let runnable = queue.pop();
        self.publish_depth(queue.len());
        runnable
    }

    fn pop_injected(&self) -> Option<Runnable> {
        let shared = self.shared();
        [Priority::High, Priority::Normal, Priority::Background]
            .into_iter()
            .find_map(|lane| shared.inject[lane as usize].take(0, 1).pop_front())
    }

    fn next_task(&self) -> Option<Runnable> {
        let tick = self.tick.get().wrapping_add(1);
        self.tick.set(tick);
        let every = self.shared().config.global_queue_interval.unwrap_or(INJECT_EVERY);
        if tick % every == 0 {
            self.queue.borrow_mut().fair = true;
            self.pop_injected().or_else(|| self.pop_local())
        } else {
            self.pop_local().or_else(|| self.pop_injected())
        }
    }

    fn run(&self, runnable: Runnable) {
        let (shared, shard) = (self.shared(), self.shard());
        shard.polling.begin();
        coop::budget(|| {
            if shared.observes_polls.load(Ordering::Relaxed) {
                super::observe::run(shared, shard, runnable);
            } else {
                runnable.run();
            }
        });
    }

    /// Whether the last who yielded did so with this waker: in another branch of the same poll.
    fn has_deferred(&self, waker: &Waker) -> bool {
        self.deferred.borrow().last().is_some_and(|last| last.will_wake(waker))
    }

    /// Cancels the tasks that were spawned here, and has further ones refused. Idempotent.
    fn cancel_tasks(&self) {
        let registry = &self.shard().registry;
        // SAFETY: this thread runs the core, and so owns the shard.
        unsafe {
            let len = registry.close();
            registry.shut_down(len);
        }
    }

    /// Runs `future`, and with it every task, until it is done. `None` when the runtime was told to end by a panic.
    fn block_on<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let waker = Waker::from(Arc::clone(&self.root));
        let mut cx = Context::from_waker(&waker);
        self.root.woken.store(true, Ordering::SeqCst);
        loop {
            if self.root.woken.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut cx)) {
                    return Some(output);
                }
            }
            if !self.round()? {
                self.park();
            }
        }
    }

    /// Runs tasks for one round, then looks at the driver and the timers. `Some(false)` when there was nothing to run, and so the caller may
    /// sleep; `None` when a panic ends the runtime.
    fn round(&self) -> Option<bool> {
        for _ in 0..self.shared().config.event_interval {
            if self.shared().panic_shutdown.load(Ordering::Relaxed) {
                return None;
            }
            match self.next_task() {
                Some(runnable) => self.run(runnable),
                None if self.deferred.borrow().is_empty() => return Some(false),
                None => break,
            }
        }
        self.turn(Some(Duration::ZERO));
        self.drain_deferred();
        self.advance_timers();
        self.meter.measure(self.shard(), now());
        Some(true)
    }

    fn drain_deferred(&self) {
        // Taken out whole: a waker is user code and may defer again.
        let mut wakers = self.deferred.take();
        nezumi_wake::wake_each(&mut wakers);
        let mut place = self.deferred.borrow_mut();
        if place.is_empty() {
            *place = wakers;
        }
    }

    fn advance_timers(&self) {
        // There may be some, of the task that this runtime is run in.
        notes::take_up();
        let (shared, timers) = (self.shared(), &self.shard().timers);
        if timers.next_deadline_ms() != NEVER {
            timers.advance(shared.clock.now_ms());
        }
    }

    /// Whether there is something to do instead of sleeping.
    fn has_work(&self) -> bool {
        self.root.woken.load(Ordering::SeqCst)
            || self.queue.borrow().len() > 0
            || !self.deferred.borrow().is_empty()
            || self.shared().inject.iter().any(|inject| !inject.is_empty())
    }

    /// Sleeps until there is something to do.
    fn park(&self) {
        // There may be some, of the task that this runtime is run in.
        notes::take_up();
        let shared = self.shared();
        if let Some(hook) = &shared.config.hooks.before_park {
            hook();
        }
        if self.has_work() {
            // The hook, or another thread. The driver has its turn all the same.
            self.turn(Some(Duration::ZERO));
        } else {
            self.meter.measure(self.shard(), now());
            let counters = &self.shard().counters;
            counters.parked.add(1);
            counters.parked_unparked.add(1);
            self.sleep();
            counters.parked_unparked.add(1);
            self.meter.start();
        }
        self.advance_timers();
        if let Some(hook) = &shared.config.hooks.after_unpark {
            hook();
        }
    }

    fn sleep(&self) {
        let (shared, timers) = (self.shared(), &self.shard().timers);
        timers.settle();
        let next_ms = timers.next_deadline_ms();
        if next_ms == NEVER {
            self.turn(None);
            return;
        }
        if shared.clock.can_auto_advance() {
            // Time stands still: it moves to the next timer, unless there is anything else to do after all.
            if !self.turn(Some(Duration::ZERO)) && !self.has_work() {
                shared.clock.auto_advance(next_ms);
            }
            return;
        }
        self.turn(shared.clock.until(next_ms));
    }

    /// Waits in the driver, or on the bed where there is none. Whether something woke us, or happened.
    fn turn(&self, timeout: Option<Duration>) -> bool {
        let (shared, bed) = (self.shared(), &self.shard().bed);
        let mut happened = true;
        if let Some(handle) = &shared.driver {
            if let Some(driver) = &mut *shared.driver_seat.lock() {
                shared.driver_turns.fetch_add(1, Ordering::Relaxed);
                if timeout == Some(Duration::ZERO) {
                    // Not a sleep: a wake that has come already must not keep the driver from having its turn.
                    let turned = driver.turn(handle, timeout, shared.config.events_per_busy_turn);
                    return turned.events > 0 || turned.unparked;
                }
                bed.sleep_in_driver(|| {
                    let turned = driver.turn(handle, timeout, None);
                    happened = turned.events > 0 || turned.unparked;
                });
                return happened;
            }
        }
        bed.sleep_on_parker_then(timeout, || happened = false);
        happened
    }
}

impl Host for Core {
    fn defer(&self, waker: &Waker) {
        if self.has_deferred(waker) {
            return;
        }
        // A clone is user code: no borrow stands while it runs.
        let waker = waker.clone();
        self.deferred.borrow_mut().push(waker);
    }

    fn forced_yield(&self, waker: &Waker) {
        if !self.has_deferred(waker) {
            self.shard().counters.forced_yields.add(1);
        }
    }
}

/// Makes this thread run `core` while `f` runs, and puts the core back after, also when `f` panics.
fn with_core<R>(handle: &Handle, core: Box<Core>, f: impl FnOnce(&Core) -> R) -> R {
    struct PutBack<'a>(&'a Shared, Option<Box<Core>>);

    impl Drop for PutBack<'_> {
        fn drop(&mut self) {
            if let Some(core) = self.1.take() {
                self.0.seat.put_back(core);
            }
        }
    }

    let put_back = PutBack(handle.shared(), Some(core));
    let core = put_back.1.as_deref().expect("put there in the line above");
    // SAFETY: the core stays in its box, and the runtime behind `handle`, until the guards are dropped, which happens before `put_back` is.
    let _role =
        unsafe { context::play(Role { shard: core.shard, worker: ptr::null(), core, owned: core.shard }) };
    // SAFETY: as above.
    let _host = unsafe { defer::set_host(Some(NonNull::from(core as &dyn Host))) };
    // SAFETY: as above.
    let _blocks = unsafe { core.blocks.keep_here() };
    handle.shared().shard(0).polling.polls_within(&put_back);
    handle.shared().shard(0).is_driven_here();
    f(core)
}

/// Runs `future` on this thread, and with it the tasks of the runtime, unless another thread does that already.
#[track_caller]
pub(crate) fn block_on<F: Future>(handle: &Handle, future: F) -> F::Output {
    let shared = handle.shared_arc();
    let mut future = pin!(future);
    // Who comes second polls on its own, until done or until the core is free.
    loop {
        if let Some(core) = shared.seat.take(shared) {
            let outcome = with_core(handle, core, |core| {
                let outcome = core.block_on(future.as_mut());
                if outcome.is_none() {
                    core.cancel_tasks();
                    shutdown::cancel_outside_tasks(shared);
                }
                outcome
            });
            return outcome.unwrap_or_else(|| ended_by_panic());
        }
        let line = InLine::new(&shared.seat);
        let outcome = nezumi_wake::block_on(poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            if shared.seat.is_free() {
                return Poll::Ready(None);
            }
            line.wait(cx.waker());
            Poll::Pending
        }));
        if let Some(output) = outcome {
            return output;
        }
    }
}

#[track_caller]
#[cold]
fn ended_by_panic<T>() -> T {
    panic!("a spawned task panicked and the runtime is configured to shut down on unhandled panic")
}

/// Runs `f` as the owner of the core, if nobody else runs it now. For `LocalRuntime`, which spawns before it blocks.
pub(crate) fn as_owner<R>(handle: &Handle, f: impl FnOnce(&Core) -> R) -> Option<R> {
    let shared = handle.shared_arc();
    let core = shared.seat.take(shared)?;
    Some(with_core(handle, core, f))
}

/// Ends the runtime: cancels its tasks on this thread. Idempotent.
pub(crate) fn shut_down(handle: &Handle) {
    let shared = handle.shared_arc();
    if !shared.set_shutting_down() {
        return;
    }
    for inject in &shared.inject {
        inject.close();
    }
    // Without the core another thread is inside `block_on`, which borrows the runtime: it cannot be, unless that thread leaked it.
    let Some(core) = shared.seat.take(shared) else { return };
    let _entered = entered::enter(false);
    // What is dropped here may ask for the runtime it belonged to.
    let _inside = handle.enter();
    with_core(handle, core, |core| {
        core.cancel_tasks();
        // Wakers are user code: those whose drops panic must not keep the runtime from ending.
        contain(|| drop_each(core.deferred.take().into_iter().map(Some)));
        // Dropped one at a time and under no borrow.
        while let Some(runnable) = core.pop_local() {
            drop(runnable);
        }
    });
    shutdown::end_rest(shared);
    // SAFETY: the owner's part ends here; the handle keeps the shared part.
    unsafe { shared.shard(0).disown() };
}
