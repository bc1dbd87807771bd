//! Which files make up a structure.

/// Files whose orderings belong together.
pub(super) struct Structure {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// Part of the path of the structure's own models. They are tried first; the other models of the package count as well.
    pub(super) models: &'static str,
    pub(super) files: &'static [&'static str],
}

const fn structure(
    name: &'static str,
    package: &'static str,
    models: &'static str,
    files: &'static [&'static str],
) -> Structure {
    Structure { name, package, models, files }
}

pub(super) const STRUCTURES: &[Structure] = &[
    structure("parker", "nezumi-prim", "parker::", &["parker.rs"]),
    structure("ring", "nezumi-queue", "ring::", &["ring.rs"]),
    structure("shelf", "nezumi-queue", "shelf::", &["shelf.rs"]),
    structure("relay", "nezumi-queue", "relay::", &["relay.rs"]),
    structure("inject", "nezumi-queue", "inject::", &["inject.rs"]),
    structure("atomic-waker", "nezumi-wake", "atomic_waker::", &["atomic_waker.rs"]),
    structure("task", "nezumi-core", "task::", &["task/state.rs", "task/registry.rs", "task/join_waker.rs"]),
    structure(
        "idle",
        "nezumi-core",
        "scheduler::",
        &["scheduler/idle.rs", "scheduler/bed.rs", "scheduler/spares.rs", "scheduler/watch/bell.rs"],
    ),
    structure("readiness", "nezumi-core", "driver::", &["driver/slot.rs", "driver/slots.rs"]),
    structure(
        "timers",
        "nezumi-core",
        "timer::",
        &[
            "timer/lock.rs",
            "timer/entry.rs",
            "timer/node.rs",
            "timer/notes.rs",
            "timer/timers/mod.rs",
            "timer/timers/arm.rs",
        ],
    ),
    structure(
        "semaphore",
        "nezumi-sync",
        "semaphore",
        &["batch_semaphore.rs", "batch_semaphore/queue.rs", "batch_semaphore/acquire.rs", "semaphore.rs"],
    ),
    structure("notify", "nezumi-sync", "notify", &["notify.rs", "notify/wait.rs", "notify/notified.rs"]),
    structure(
        "mpsc",
        "nezumi-sync",
        "mpsc",
        &[
            "mpsc/slot.rs",
            "mpsc/chan.rs",
            "mpsc/chain.rs",
            "mpsc/sender.rs",
            "mpsc/unbounded.rs",
            "mpsc/store.rs",
        ],
    ),
    structure("oneshot", "nezumi-sync", "oneshot", &["oneshot/state.rs"]),
    structure("watch", "nezumi-sync", "watch", &["watch/shared.rs", "watch/sender.rs"]),
    structure(
        "broadcast",
        "nezumi-sync",
        "broadcast",
        &["broadcast/slot.rs", "broadcast/sender.rs", "broadcast/receiver.rs"],
    ),
    structure("once", "nezumi-sync", "once", &["once_cell.rs", "set_once.rs"]),
    structure("barrier", "nezumi-sync", "barrier", &["barrier.rs"]),
];
