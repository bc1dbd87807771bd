//! Tasks: what the runtime schedules.
//!
//! A task is a future that has been given to the runtime by [`spawn`]. It runs on its own from then on, on any worker
//! thread, whether somebody waits for it or not.
//!
//! | to | use |
//! |---|---|
//! | start one, wait for it, stop it | [`spawn`], [`JoinHandle`], [`AbortHandle`] |
//! | start many, and wait for all or the next | [`JoinSet`] |
//! | call something that blocks | [`spawn_blocking`], [`block_in_place`] |
//! | run a future that is not `Send` | [`LocalSet`], [`spawn_local`] |
//! | let others run | [`yield_now`], [`coop`] |
//! | keep a value for a task | [`task_local!`](crate::task_local), [`LocalKey`] |
//!
//! Dropping a [`JoinHandle`] leaves the task running. A task that panics hands the panic to whoever joins it, and does
//! no harm to others. A future that computes for long without an `.await` that waits keeps its worker for that time;
//! what else this worker has to do is taken over by others, but the core is gone: see [`spawn_blocking`].

#[cfg(feature = "rt")]
pub use self::with_rt::*;

#[cfg(feature = "rt")]
mod with_rt {
    #[cfg(feature = "rt-multi-thread")]
    #[doc(inline)]
    pub use nezumi_core::spawn::block_in_place;
    #[doc(inline)]
    pub use nezumi_core::spawn::task_local::LocalKey;
    #[doc(inline)]
    pub use nezumi_core::spawn::{
        Builder, JoinSet, LocalEnterGuard, LocalSet, spawn, spawn_blocking, spawn_local, yield_now,
    };
    #[doc(inline)]
    pub use nezumi_core::task::{AbortHandle, Id, JoinError, JoinHandle, Priority, id, try_id};

    #[doc(hidden)]
    #[deprecated = "moved to `task::coop::Unconstrained`"]
    pub use nezumi_wake::coop::Unconstrained;
    #[doc(hidden)]
    #[deprecated = "moved to `task::coop::consume_budget`"]
    pub use nezumi_wake::coop::consume_budget;
    #[doc(hidden)]
    #[deprecated = "moved to `task::coop::unconstrained`"]
    pub use nezumi_wake::coop::unconstrained;

    /// How much a task may do before it must let others run.
    ///
    /// A task has a budget of 128 each time it is polled. Every future of this crate that makes progress takes one; when
    /// none is left, they all answer `Pending`, so that the task comes back to its scheduler, which runs the others and
    /// then comes back. That is why a task whose socket always has more to read does not keep its thread for ever.
    ///
    /// A future made of other parts takes part by [`cooperative`](coop::cooperative) or [`poll_proceed`](coop::poll_proceed); a loop that computes by
    /// [`consume_budget`](coop::consume_budget); and [`unconstrained`](coop::unconstrained) turns it off.
    pub mod coop {
        #[doc(inline)]
        pub use nezumi_wake::coop::{
            Coop, RestoreOnPending, Unconstrained, consume_budget, cooperative, has_budget_remaining,
            poll_proceed, unconstrained,
        };
    }

    /// [`JoinSet`], and a builder for its members.
    pub mod join_set {
        #[doc(inline)]
        pub use nezumi_core::spawn::join_set::{Builder, JoinSet};
    }

    /// Futures of this module that have a name.
    pub mod futures {
        #[doc(inline)]
        pub use nezumi_core::spawn::task_local::TaskLocalFuture;
    }
}
