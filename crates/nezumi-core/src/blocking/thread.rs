//! The life of one thread of the pool.

use super::state::{Rouse, State};
use super::{Config, Host, Job};
use nezumi_prim::sync::{Arc, Condvar, Mutex, MutexGuard};
use nezumi_prim::thread::{Builder, JoinHandle};
use nezumi_prim::{CachePadded, Parker};
use nezumi_wake::contain;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the pool and its threads have in common.
pub(super) struct Shared<J> {
    pub(super) state: CachePadded<Mutex<State<J>>>,
    /// Notified when all have ended for whom a shutdown waits.
    pub(super) ended: Condvar,
    config: Config,
    /// Creations that are to fail, for tests.
    #[cfg(test)]
    pub(super) refusals: std::sync::atomic::AtomicUsize,
}

/// A thread that could be started now: all user code that belongs to that has been run.
pub(super) struct Birth<J: Job, H: Host> {
    builder: Builder,
    shared: Arc<Shared<J>>,
    host: H,
}

impl<J: Job> Shared<J> {
    pub(super) fn new(config: Config, limit: usize) -> Self {
        Shared {
            state: CachePadded::new(Mutex::new(State::new(config.max_threads, config.max_jobs, limit))),
            ended: Condvar::new(),
            config,
            #[cfg(test)]
            refusals: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Sends for a thread. Called under no lock.
    pub(super) fn rouse<H: Host>(this: &Arc<Self>, rouse: Rouse, host: &H) {
        match rouse {
            Rouse::Nobody => {}
            Rouse::Sleeper(parker) => parker.unpark(),
            Rouse::New(id) => Self::create(this, id, host),
        }
    }

    #[cold]
    fn create<H: Host>(this: &Arc<Self>, id: usize, host: &H) {
        let result = Self::prepare(this, host).start(id);
        let mut state = this.state.lock();
        let (rouse, ended) = match result {
            Ok(handle) => (Rouse::Nobody, state.file(id, handle)),
            Err(_) => (state.refused(), None),
        };
        this.unlock_and_tell(state);
        ended.into_iter().for_each(join);
        if let Rouse::Sleeper(parker) = rouse {
            parker.unpark();
        }
    }

    pub(super) fn prepare<H: Host>(this: &Arc<Self>, host: &H) -> Birth<J, H> {
        let mut builder = Builder::new();
        // A name that panics is none; the panic has been reported by its hook.
        if let Ok(name) = catch_unwind(AssertUnwindSafe(|| (this.config.thread_name)())) {
            builder = builder.name(name);
        }
        if let Some(stack_size) = this.config.stack_size {
            builder = builder.stack_size(stack_size);
        }
        Birth { builder, shared: this.clone(), host: host.clone() }
    }

    fn live<H: Host>(this: &Arc<Self>, id: usize, host: &H) {
        let _entered = host.enter();
        let _own = own::set(this, id);
        call(&this.config.after_start);
        Self::work(this, id, host);
        call(&this.config.before_stop);
    }

    /// From the arrival at the queue to the decision to end.
    fn work<H: Host>(this: &Arc<Self>, id: usize, host: &H) {
        let parker = Arc::new(Parker::new());
        let mut state = this.state.lock();
        state.arrive();
        loop {
            let mut has_left = false;
            while let Some((job, is_run)) = state.next() {
                // Before the job, which may take long. To cancel one takes no time.
                let rouse = if is_run { state.rouse() } else { Rouse::Nobody };
                let resident = job.is_resident();
                drop(state);
                Self::rouse(this, rouse, host);
                contain(|| if is_run { job.run() } else { job.cancel() });
                state = this.state.lock();
                state.done(resident, is_run);
                has_left = resident;
            }
            // A worker's thread whose runtime ends would only be woken again to end.
            if state.is_shutdown || (has_left && host.is_ending()) {
                break;
            }
            state.idle.push(parker.clone());
            drop(state);
            let sent_for = parker.park_timeout(this.config.keep_alive);
            state = this.state.lock();
            if !sent_for {
                if state.expire(&parker) {
                    break;
                }
                // Sent for just now: the token is there or about to be, and must not be met at the next sleep.
                drop(state);
                parker.park();
                state = this.state.lock();
            }
            state.arrive();
        }
        let ended = state.leave(id);
        drop(state);
        ended.into_iter().for_each(join);
    }

    /// A thread has ended, or was not started after all: tells who waits in `shutdown` if that was the last.
    fn unlock_and_tell(&self, state: MutexGuard<'_, State<J>>) {
        let is_over = state.is_over();
        drop(state);
        if is_over {
            self.ended.notify_all();
        }
    }

    /// The number of the current thread, if it is one of ours.
    pub(super) fn own_id(this: &Arc<Self>) -> Option<usize> {
        own::get(this)
    }
}

impl<J: Job, H: Host> Birth<J, H> {
    /// Starts the thread. If the OS refuses, nothing has happened.
    pub(super) fn start(self, id: usize) -> io::Result<JoinHandle<()>> {
        let Birth { builder, shared, host } = self;
        #[cfg(test)]
        {
            use std::sync::atomic::Ordering::Relaxed;
            if shared.refusals.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        builder.spawn(move || {
            Shared::live(&shared, id, &host);
            // The host may be the last to hold a runtime: that is gone too when `shutdown` returns.
            drop(host);
            let mut state = shared.state.lock();
            state.alive -= 1;
            shared.unlock_and_tell(state);
        })
    }
}

/// Waits for a thread that ends or has ended, unless it is this one: then a runtime ends in a thread-local of its own thread.
pub(super) fn join(handle: JoinHandle<()>) {
    if handle.thread().id() == nezumi_prim::thread::current().id() {
        return;
    }
    // All that could panic in it was contained.
    let _ = handle.join();
}

fn call(hook: &Option<std::sync::Arc<dyn Fn() + Send + Sync>>) {
    if let Some(hook) = hook {
        contain(|| hook());
    }
}

/// Which thread of which pool this is.
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
mod own {
    use super::Shared;
    use std::cell::Cell;
    use std::sync::Arc;

    thread_local! {
        static OWN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    pub(super) struct Own;

    impl Drop for Own {
        fn drop(&mut self) {
            OWN.set((0, 0));
        }
    }

    pub(super) fn set<J>(shared: &Arc<Shared<J>>, id: usize) -> Own {
        OWN.set((Arc::as_ptr(shared).addr(), id));
        Own
    }

    pub(super) fn get<J>(shared: &Arc<Shared<J>>) -> Option<usize> {
        let (pool, id) = OWN.get();
        (pool == Arc::as_ptr(shared).addr()).then_some(id)
    }
}

/// In a model all threads share their thread-locals, and none shuts its own pool down.
#[cfg(any(nezumi_loom, nezumi_shuttle))]
mod own {
    use super::Shared;
    use nezumi_prim::sync::Arc;

    pub(super) struct Own;

    pub(super) fn set<J>(_: &Arc<Shared<J>>, _: usize) -> Own {
        Own
    }

    pub(super) fn get<J>(_: &Arc<Shared<J>>) -> Option<usize> {
        None
    }
}
