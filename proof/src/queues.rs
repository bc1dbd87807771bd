//! The queues alone, on real threads that do nothing else, so that as many items are stolen as the machine can move.
//!
//! Some threads own two rings and a shelf each, and have a relay and an inject queue in common; what each does is in `owner`. Every item knows
//! whether it is in a queue, so that one that comes out twice is told at once. In the end all queues are emptied, and what was found in them and
//! in the hands of the threads must be the items that there were at first, each once.

mod owner;

use crate::ledger;
use crate::seed::{Rand, Seed};
use nezumi_prim::sync::atomic::AtomicPtr;
use nezumi_queue::{Inject, Item, Relay, Ring, Shelf};
use std::ops::AddAssign;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Of each thread.
const RINGS: usize = 2;

struct Node {
    link: AtomicPtr<()>,
    is_queued: AtomicBool,
}

/// A node that somebody holds, or a queue.
struct Held(NonNull<Node>);

// SAFETY: a node is made of atomics.
unsafe impl Send for Held {}

// SAFETY: the pointer is that of the node, which lives until all queues are gone; the link is a field of it.
unsafe impl Item for Held {
    fn into_raw(self) -> NonNull<()> {
        self.0.cast()
    }

    unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        Held(ptr.cast())
    }

    unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()> {
        // SAFETY: by contract from `into_raw`.
        unsafe { &(*ptr.cast::<Node>().as_ptr()).link }
    }
}

impl Held {
    fn node(&self) -> &Node {
        // SAFETY: the nodes outlive the queues and the threads.
        unsafe { self.0.as_ref() }
    }

    /// About to be put into a queue.
    fn enters(self) -> Held {
        self.node().is_queued.store(true, Ordering::Relaxed);
        self
    }

    /// Came out of one.
    fn leaves(self) -> Held {
        if !self.node().is_queued.swap(false, Ordering::Relaxed) {
            ledger::fault("an item came out of a queue twice");
        }
        self
    }
}

struct Arena<const N: usize> {
    rings: Vec<Ring<Held, N>>,
    shelves: Vec<Shelf<Held>>,
    relay: Relay<Held>,
    inject: Inject<Held>,
    stolen: Mutex<Stolen>,
    is_over: AtomicBool,
    /// There are fewer processors than threads: one that runs for long has soon robbed all others of everything.
    is_crowded: bool,
}

/// What has changed its owner.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stolen {
    /// Items that a thief took out of another's ring. Each claim of several counts as several.
    pub(crate) items: u64,
    /// Those of them that another thread owned.
    pub(crate) from_others: u64,
    /// Claims that took them.
    pub(crate) claims: u64,
    /// Items that were taken off another's shelf.
    pub(crate) rescued: u64,
    /// Items that went from a full ring through the relay.
    pub(crate) overflowed: u64,
    pub(crate) time: Duration,
}

impl AddAssign for Stolen {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.from_others += other.from_others;
        self.claims += other.claims;
        self.rescued += other.rescued;
        self.overflowed += other.overflowed;
        self.time += other.time;
    }
}

/// Runs until so many items were stolen, or the time is up. With rings of several sizes in turn.
pub(crate) fn run(seed: Seed, threads: usize, wanted: u64, limit: Duration) -> Stolen {
    match seed.0 % 8 {
        0 => program::<4>(seed, threads, wanted, limit),
        1 => program::<16>(seed, threads, wanted, limit),
        _ => program::<256>(seed, threads, wanted, limit),
    }
}

fn program<const N: usize>(seed: Seed, threads: usize, wanted: u64, limit: Duration) -> Stolen {
    // Enough to fill one ring and a half.
    let per_thread = N + N / 2 + 2;
    let nodes: Vec<Node> = (0..threads * per_thread)
        .map(|_| Node { link: AtomicPtr::new(ptr::null_mut()), is_queued: AtomicBool::new(false) })
        .collect();
    let mut rand = seed.rand();
    let arena = Arena::<N>::new(threads, &mut rand);
    let begin = Instant::now();
    let mut left: Vec<Held> = std::thread::scope(|scope| {
        let owners: Vec<_> = nodes
            .chunks(per_thread)
            .enumerate()
            .map(|(index, own)| {
                let (arena, rand) = (&arena, rand.fork());
                let hand: Vec<_> = own.iter().map(|node| Held(NonNull::from(node))).collect();
                scope.spawn(move || owner::play(arena, index, hand, rand))
            })
            .collect();
        while arena.stolen().items < wanted && begin.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(2));
        }
        arena.is_over.store(true, Ordering::Relaxed);
        owners.into_iter().flat_map(|owner| owner.join().expect("no owner panics")).collect()
    });
    let stolen = Stolen { time: begin.elapsed(), ..arena.stolen() };
    arena.empty_into(&mut left);
    expect_each_once(&nodes, &left, seed);
    stolen
}

fn expect_each_once(nodes: &[Node], left: &[Held], seed: Seed) {
    let mut left: Vec<_> = left.iter().map(|held| held.0.as_ptr().cast_const()).collect();
    left.sort_unstable();
    if !left.iter().copied().eq(nodes.iter().map(ptr::from_ref)) {
        let count = left.len();
        left.dedup();
        let there = nodes.len();
        ledger::fault(&format!("of {there} items {} are left, {count} times, with seed {seed}", left.len()));
    }
}

impl<const N: usize> Arena<N> {
    fn new(threads: usize, rand: &mut Rand) -> Self {
        Arena {
            // Half of them about to wrap.
            rings: (0..threads * RINGS)
                .map(|_| Ring::starting_at(if rand.one_in(2) { u16::MAX - 3 } else { 0 }))
                .collect(),
            shelves: (0..threads).map(|_| Shelf::new()).collect(),
            relay: Relay::new(threads),
            inject: Inject::new(threads),
            stolen: Mutex::default(),
            is_over: AtomicBool::new(false),
            is_crowded: std::thread::available_parallelism().map_or(1, usize::from) < threads,
        }
    }

    fn stolen(&self) -> Stolen {
        *self.stolen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, stolen: Stolen) {
        *self.stolen.lock().unwrap_or_else(PoisonError::into_inner) += stolen;
    }

    /// Once the threads that owned the rings have ended.
    fn empty_into(&self, left: &mut Vec<Held>) {
        let mut rest = self.inject.take_all();
        while let Some(mut batch) = self.relay.pop(0) {
            rest.append(&mut batch);
        }
        for shelf in &self.shelves {
            // SAFETY: their owners have ended, so we are it.
            rest.append(&mut unsafe { shelf.take_all() });
        }
        for ring in &self.rings {
            // SAFETY: as above.
            while let Some(item) = unsafe { ring.pop_front() } {
                rest.push_back(item);
            }
        }
        while let Some(item) = rest.pop_front() {
            left.push(item.leaves());
        }
    }
}
