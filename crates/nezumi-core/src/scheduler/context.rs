//! Which runtime, and which part of it, this thread is.
//!
//! Called by everything that needs "the current runtime". One thread-local, const-initialised, of plain cells and without a destructor,
//! so that reading it costs a few instructions and works also while the thread ends.

use super::Shard;
use super::current_thread::Core;
use super::worker::Worker;
use crate::timer::notes;
use std::cell::Cell;
use std::ptr;

/// What this thread is to the runtimes.
pub(crate) struct Context {
    /// The shard that code on this thread belongs to. Null outside a runtime.
    shard: Cell<*const Shard>,
    /// The worker that runs here. Null on threads that are none, and while one is given up in `block_in_place`.
    worker: Cell<*const Worker>,
    /// The single-threaded scheduler that runs here.
    core: Cell<*const Core>,
    /// The shard whose owner's part is this thread's: that of `worker` or of `core`. Whoever changes it takes up the timers that were put off
    /// for it first (`timer::notes`).
    owned: Cell<*const Shard>,
    /// How many enter guards stand, to see them dropped in order.
    depth: Cell<usize>,
}

nezumi_prim::thread_local! {
    static CONTEXT: Context = Context {
        shard: Cell::new(ptr::null()),
        worker: Cell::new(ptr::null()),
        core: Cell::new(ptr::null()),
        owned: Cell::new(ptr::null()),
        depth: Cell::new(0),
    };
}

/// Runs `f` with this thread's context.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    // The address first, and then `f`: `LocalKey::with` around a large closure is not inlined, and then finds the address by a call through
    // a pointer, which took a tenth of the time of a spawn.
    let context: *const Context = CONTEXT.with(ptr::from_ref);
    // SAFETY: it has no destructor, so it is valid as long as this thread runs.
    f(unsafe { &*context })
}

impl Context {
    #[inline(always)]
    pub(crate) fn shard(&self) -> *const Shard {
        self.shard.get()
    }

    /// The worker that this thread is.
    #[inline(always)]
    pub(crate) fn running_worker(&self) -> Option<&Worker> {
        // SAFETY: `play`'s caller keeps what it points to valid while it stands here.
        unsafe { self.worker.get().as_ref() }
    }

    /// The single-threaded scheduler that runs on this thread.
    #[inline(always)]
    pub(crate) fn running_core(&self) -> Option<&Core> {
        // SAFETY: as above.
        unsafe { self.core.get().as_ref() }
    }

    /// The shard that code on this thread belongs to.
    #[inline(always)]
    pub(crate) fn current_shard(&self) -> Option<&Shard> {
        // SAFETY: as above; for `enter_shard` its caller does.
        unsafe { self.shard.get().as_ref() }
    }

    /// Whether the owner's part of `shard` is this thread's.
    #[inline(always)]
    pub(crate) fn owns(&self, shard: *const Shard) -> bool {
        ptr::eq(self.owned.get(), shard)
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth.get()
    }
}

/// What a thread can become.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    pub(crate) shard: *const Shard,
    pub(crate) worker: *const Worker,
    pub(crate) core: *const Core,
    pub(crate) owned: *const Shard,
}

/// Gives the thread its former role back.
pub(crate) struct RoleGuard {
    former: Role,
}

/// Makes this thread play `role` until the guard is dropped.
///
/// # Safety
///
/// What `role` points to stays valid until the guard is dropped, and guards are dropped in the reverse order.
pub(crate) unsafe fn play(role: Role) -> RoleGuard {
    notes::take_up();
    with(|context| RoleGuard {
        former: Role {
            shard: context.shard.replace(role.shard),
            worker: context.worker.replace(role.worker),
            core: context.core.replace(role.core),
            owned: context.owned.replace(role.owned),
        },
    })
}

impl Drop for RoleGuard {
    fn drop(&mut self) {
        notes::take_up();
        with(|context| {
            context.shard.set(self.former.shard);
            context.worker.set(self.former.worker);
            context.core.set(self.former.core);
            context.owned.set(self.former.owned);
        });
    }
}

/// Gives up the worker, but not the runtime, that this thread is: what follows runs beside it. For good: the worker goes on elsewhere.
pub(crate) fn give_up_worker() {
    notes::take_up();
    with(|context| {
        context.worker.set(ptr::null());
        context.owned.set(ptr::null());
    });
}

/// Undoes [`give_up_worker`].
pub(crate) fn take_back_worker(worker: *const Worker, shard: *const Shard) {
    notes::take_up();
    with(|context| {
        context.worker.set(worker);
        context.owned.set(shard);
    });
}

/// Replaces the shard, as entering a runtime does. Returns the former and the depth after.
pub(crate) fn enter_shard(shard: *const Shard) -> (*const Shard, usize) {
    with(|context| {
        let depth = context.depth.get() + 1;
        context.depth.set(depth);
        (context.shard.replace(shard), depth)
    })
}

/// Puts `former` back. The depth says how many guards stood, this one included; the caller compares.
pub(crate) fn leave_shard(former: *const Shard) {
    with(|context| {
        context.shard.set(former);
        context.depth.set(context.depth.get() - 1);
    });
}
