//! How one who is not their owner may look at tasks that others run, finish and free meanwhile.
//!
//! Called by `roll` (the one who looks) and by the end of every task (`task::vtable`). Knows of a task only its header's link.
//!
//! A slot of a registry holds a pointer, and the owner of the registry takes it out with a plain store: whoever else reads the slot may be
//! left with the address of a task that is just being freed. Counting a reference does not help, since the count is in the task. So nothing
//! is done about the pointer at all. Instead, while somebody looks, tasks that end are not freed but *kept*, on a list, until the look is over.
//!
//! ```text
//! who frees a task                        who looks
//! F1 slot: task -> a link                 L1 looking = true
//! F2 light fence                          L2 heavy fence
//! F3 looking? keep the task : free it     L3 read the slot, and then the task
//! ```
//!
//! Of the two fences at least one comes after the other. If F2 comes after L2, F3 sees that somebody looks, and the task is kept. If L2 comes
//! after F2, L3 finds the link, and not the task. F1 may be another thread's than F2 and F3: the references that this thread gave up
//! order them. F1 to F3 are on everybody's way, at each end of a task, and cost one load of a line that is hardly ever written: on Linux the light
//! fence is one for the compiler only, and the heavy one makes all other threads of the process pass a real one (`membarrier`). Elsewhere, where there is
//! no such thing, both are real.
//!
//! ```text
//! who keeps a task                        who has looked
//! K1 push it on the list                  E1 looking = false, and give the lock back
//! K2 fence(SeqCst)                        E2 fence(SeqCst)
//! K3 try the lock; if it is free, free    E3 is there anything on the list? as K3
//!    what is on the list
//! ```
//!
//! A lock is held by whoever looks, so that one looks at a time and nothing that was kept is freed meanwhile. If K3 finds it taken, E3 finds the task.
//!
//! Promise: a task that L3 finds is not freed before the look is over; each one that is kept is freed once, by whoever comes by first after that.
//! What the looker may do with a task: read what never changes, read its state, and wake it. That adds a reference only where the task is idle, and then
//! somebody has one: its poller has not begun, or its last reference would have been given up by a poller.
//!
//! Models: `a_task_that_is_looked_at_is_not_freed`, `what_was_kept_is_freed_once`. With real threads: `tests/it/dump.rs`.

use crate::task::Header;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};
use std::ptr::{self, NonNull};

/// Keeps tasks while somebody looks at them.
pub(crate) struct Grace {
    looking: AtomicBool,
    /// The tasks that have ended meanwhile, chained up by their links.
    kept: AtomicPtr<Header>,
    /// Held by who looks, and by who takes what is kept.
    lock: Mutex<()>,
}

/// The one of all runtimes: looks are rare.
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub(crate) static GRACE: Grace =
    Grace { looking: AtomicBool::new(false), kept: AtomicPtr::new(ptr::null_mut()), lock: Mutex::new(()) };

/// The system refused what a look rests on.
#[derive(Debug)]
pub(crate) struct Refused;

impl Grace {
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    pub(crate) fn new() -> Self {
        Self { looking: AtomicBool::new(false), kept: AtomicPtr::new(ptr::null_mut()), lock: Mutex::new(()) }
    }

    /// A task has ended, and its last reference is gone. Whether it was taken, to be freed later; else the caller frees it now.
    ///
    /// # Safety
    ///
    /// The task is the caller's alone and is in no slot of a registry any more; it may be freed on any thread.
    #[inline(always)]
    pub(crate) unsafe fn keep(&self, task: NonNull<Header>) -> bool {
        fences::light();
        // Acquire: pairs with the Release at the end of a look. What was read in it was read before the task is freed here.
        if !self.looking.load(Ordering::Acquire) {
            return false;
        }
        self.keep_for_later(task);
        true
    }

    #[cold]
    #[inline(never)]
    fn keep_for_later(&self, task: NonNull<Header>) {
        let mut first = self.kept.load(Ordering::Relaxed);
        loop {
            // SAFETY: the task is the caller's alone, and is not freed before it is on the list. Nobody uses the link: there is no runnable.
            unsafe { task.as_ref() }.link().store(first.cast(), Ordering::Relaxed);
            // Release: pairs with the Acquire in `free_kept`; publishes the link, and all that was done to the task.
            match self.kept.compare_exchange_weak(first, task.as_ptr(), Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(actual) => first = actual,
            }
        }
        // K2. The task may be gone by now.
        fence(Ordering::SeqCst);
        self.free_kept();
    }

    /// Frees what is kept, unless somebody looks, who then does it.
    fn free_kept(&self) {
        while !self.kept.load(Ordering::Relaxed).is_null() {
            let Some(lock) = self.lock.try_lock() else { return };
            // Acquire: pairs with the Release in `keep_for_later`.
            let mut next = self.kept.swap(ptr::null_mut(), Ordering::Acquire);
            drop(lock);
            // Not under the lock: with the last task its runtime may go, and with that what the program gave it. Whoever looks from now on finds
            // none of these: each left its slot before it was kept, and that was seen by whoever had the lock.
            while let Some(task) = NonNull::new(next) {
                // SAFETY: what is on the list is ours since we took it, and has no references. The link is read before the task is freed.
                unsafe {
                    next = task.as_ref().link().load(Ordering::Relaxed).cast();
                    Header::free(task);
                }
            }
            // E2: somebody may have found the lock taken.
            fence(Ordering::SeqCst);
        }
    }

    /// Runs `f`, during which no task that was in a slot of a registry is freed. Others that look wait for it: it should not take long.
    ///
    /// # Errors
    ///
    /// Where the system refuses the heavy fence.
    pub(crate) fn look<R>(&self, f: impl FnOnce() -> R) -> Result<R, Refused> {
        struct Looking<'a>(&'a Grace);

        impl Drop for Looking<'_> {
            fn drop(&mut self) {
                // Release: pairs with the Acquire in `keep`.
                self.0.looking.store(false, Ordering::Release);
            }
        }

        let looked = {
            let _lock = self.lock.lock();
            // L1, L2.
            self.looking.store(true, Ordering::Relaxed);
            let _looking = Looking(self);
            if fences::heavy() { Ok(f()) } else { Err(Refused) }
        };
        // E2, E3.
        fence(Ordering::SeqCst);
        self.free_kept();
        looked
    }
}

#[cfg(all(target_os = "linux", not(any(miri, nezumi_loom, nezumi_shuttle))))]
mod fences {
    use std::sync::atomic::{Ordering, compiler_fence};

    /// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`, and the one that registers for it.
    const EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_EXPEDITED: libc::c_int = 1 << 4;

    #[inline(always)]
    pub(super) fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    /// Whether it was possible.
    pub(super) fn heavy() -> bool {
        let ask = |command: libc::c_int| {
            // SAFETY: the call takes numbers, and touches no memory of ours.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
        };
        // Asked each time: a child of `fork` has to register by itself.
        ask(REGISTER_EXPEDITED) && ask(EXPEDITED)
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, nezumi_loom, nezumi_shuttle)))))]
mod fences {
    use nezumi_prim::sync::atomic::{Ordering, fence};

    #[inline(always)]
    pub(super) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn heavy() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}
