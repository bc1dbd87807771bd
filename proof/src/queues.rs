//! The queues alone, on real threads that do nothing else, so that as many steals happen as the machine can do.
//!
//! Some threads own a ring each, and have a relay and an inject queue in common. Each does at random what a worker does: pushes, pops at both
//! ends, moves a half to the relay and takes such batches back, and robs the others. Every item knows whether it is in a queue, so that
//! one that comes out twice is told at once; those that are lost are missed when all queues are emptied in the end.

use crate::ledger;
use crate::seed::{Rand, Seed};
use nezumi_prim::sync::atomic::AtomicPtr;
use nezumi_queue::{Inject, Item, Relay, Ring, Steal};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Operations between two looks whether it is over.
const TURN: u32 = 100;

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
    relay: Relay<Held>,
    inject: Inject<Held>,
    steals: AtomicU64,
    is_over: AtomicBool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steals {
    pub(crate) count: u64,
    pub(crate) time: Duration,
}

/// Runs until there were so many steals, or the time is up. With rings of several sizes in turn.
pub(crate) fn run(seed: Seed, threads: usize, wanted: u64, limit: Duration) -> Steals {
    match seed.0 % 4 {
        0 => program::<4>(seed, threads, wanted, limit),
        1 => program::<16>(seed, threads, wanted, limit),
        _ => program::<256>(seed, threads, wanted, limit),
    }
}

fn program<const N: usize>(seed: Seed, threads: usize, wanted: u64, limit: Duration) -> Steals {
    // More than fit into the rings.
    let per_thread = N + N / 2 + 2;
    let nodes: Vec<Node> = (0..threads * per_thread)
        .map(|_| Node { link: AtomicPtr::new(ptr::null_mut()), is_queued: AtomicBool::new(false) })
        .collect();
    let mut rand = seed.rand();
    let arena: Arena<N> = Arena {
        // Half of them about to wrap.
        rings: (0..threads)
            .map(|_| Ring::starting_at(if rand.one_in(2) { u16::MAX - 3 } else { 0 }))
            .collect(),
        relay: Relay::new(threads),
        inject: Inject::new(threads),
        steals: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let begin = Instant::now();
    let left: usize = std::thread::scope(|scope| {
        let owners: Vec<_> = nodes
            .chunks(per_thread)
            .enumerate()
            .map(|(index, own)| {
                let (arena, rand) = (&arena, rand.fork());
                let hand: Vec<_> = own.iter().map(|node| Held(NonNull::from(node))).collect();
                scope.spawn(move || own_ring(arena, index, hand, rand))
            })
            .collect();
        while arena.steals.load(Ordering::Relaxed) < wanted && begin.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        arena.is_over.store(true, Ordering::Relaxed);
        owners.into_iter().map(|owner| owner.join().expect("no owner panics")).sum()
    });
    let queued = count_queued(&arena);
    if left + queued != nodes.len() {
        ledger::fault(&format!("of {} items {} are left, with seed {seed}", nodes.len(), left + queued));
    }
    Steals { count: arena.steals.load(Ordering::Relaxed), time: begin.elapsed() }
}

/// One thread's part. Returns how many items it holds in the end.
fn own_ring<const N: usize>(arena: &Arena<N>, index: usize, mut hand: Vec<Held>, mut rand: Rand) -> usize {
    let ring = &arena.rings[index];
    while !arena.is_over.load(Ordering::Relaxed) {
        let mut steals = 0;
        for _ in 0..TURN {
            match rand.below(16) {
                0..=4 => push(ring, &mut hand, rand.one_in(4)),
                kind @ 5..=7 => hand.extend(pop(ring, kind).map(Held::leaves)),
                8 if rand.one_in(4) => {
                    // SAFETY: this thread owns the ring.
                    if let Some(half) = unsafe { ring.take_half() } {
                        arena.relay.push(half, index);
                    }
                }
                9 if rand.one_in(4) => {
                    if let Some(mut batch) = arena.relay.pop(index) {
                        // SAFETY: as above.
                        unsafe { ring.push_batch(&mut batch) };
                        arena.relay.push(batch, index);
                    }
                }
                10 if rand.one_in(4) => {
                    if let Some(item) = hand.pop() {
                        if arena.inject.push(item.enters(), index).is_err() {
                            ledger::fault("an inject queue that nobody closed refused an item");
                        }
                    }
                }
                11 if rand.one_in(4) => {
                    let mut batch = arena.inject.take(index, 1 + rand.below(8) as usize);
                    while let Some(item) = batch.pop_front() {
                        hand.push(item.leaves());
                    }
                }
                _ => steals += rob(arena, index, &mut hand, &mut rand),
            }
        }
        arena.steals.fetch_add(steals, Ordering::Relaxed);
        // Where there are fewer processors than threads, one that runs for long has robbed all others of everything.
        std::thread::yield_now();
    }
    hand.len()
}

fn push<const N: usize>(ring: &Ring<Held, N>, hand: &mut Vec<Held>, hot: bool) {
    let Some(item) = hand.pop() else { return };
    // SAFETY: the caller owns the ring.
    if let Err(item) = unsafe { ring.push_back(item.enters(), hot) } {
        hand.push(item.leaves());
    }
}

fn pop<const N: usize>(ring: &Ring<Held, N>, kind: u32) -> Option<Held> {
    // SAFETY: the caller owns the ring.
    unsafe {
        match kind {
            5 => ring.pop_front(),
            6 => ring.pop_back(),
            _ => ring.pop_hot(),
        }
    }
}

/// Takes half of what another has. Whether there was anything.
fn rob<const N: usize>(arena: &Arena<N>, index: usize, hand: &mut Vec<Held>, rand: &mut Rand) -> u64 {
    let threads = arena.rings.len();
    let victim = (index + 1 + rand.below(threads as u32 - 1) as usize) % threads;
    // SAFETY: this thread owns the ring that it steals into.
    match unsafe { arena.rings[victim].steal_into(&arena.rings[index], rand.one_in(4)) } {
        Steal::Taken { first, .. } => {
            hand.push(first.leaves());
            1
        }
        Steal::Busy | Steal::Empty => 0,
    }
}

fn count_queued<const N: usize>(arena: &Arena<N>) -> usize {
    let mut count = 0;
    for ring in &arena.rings {
        // SAFETY: the threads that owned the rings have ended.
        while let Some(item) = unsafe { ring.pop_front() } {
            let _ = item.leaves();
            count += 1;
        }
    }
    while let Some(mut batch) = arena.relay.pop(0).or_else(|| {
        let rest = arena.inject.take_all();
        (!rest.is_empty()).then_some(rest)
    }) {
        while let Some(item) = batch.pop_front() {
            let _ = item.leaves();
            count += 1;
        }
    }
    count
}
