//! Against a plain queue with a plain count of permits.

use super::super::error::{TryRecvError, TrySendError};
use super::super::{OwnedPermit, channel, unbounded_channel};
use crate::testing::{Census, Counted};
use nezumi_wake::block_on;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Op {
    Send(usize),
    Reserve,
    Use,
    GiveBack,
    Recv(usize),
    RecvMany(usize),
    Close,
    DropSenders,
    DropReceiver,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => (1..40usize).prop_map(Op::Send),
        4 => Just(Op::Reserve),
        3 => Just(Op::Use),
        2 => Just(Op::GiveBack),
        10 => (1..40usize).prop_map(Op::Recv),
        3 => (0..50usize).prop_map(Op::RecvMany),
        1 => Just(Op::Close),
        1 => Just(Op::DropSenders),
        1 => Just(Op::DropReceiver),
    ]
}

#[derive(Default)]
struct Reference {
    queue: VecDeque<usize>,
    bound: usize,
    permits_out: usize,
    closed: bool,
    senders_gone: bool,
    next_id: usize,
}

impl Reference {
    fn room(&self) -> usize {
        self.bound - self.permits_out - self.queue.len()
    }

    fn recv(&mut self) -> Result<usize, TryRecvError> {
        self.queue.pop_front().ok_or(if (self.senders_gone || self.closed) && self.permits_out == 0 {
            TryRecvError::Disconnected
        } else {
            TryRecvError::Empty
        })
    }

    fn push(&mut self) -> usize {
        self.queue.push_back(self.next_id);
        self.next_id += 1;
        self.next_id - 1
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 5 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_bounded_channel_is_a_queue_with_permits(bound in 1..70usize, ops in proptest::collection::vec(op(), 1..60)) {
        let census = Census::default();
        let (tx, rx) = channel::<Counted>(bound);
        let (mut tx, mut rx, mut permits) = (Some(tx), Some(rx), Vec::<OwnedPermit<Counted>>::new());
        let mut reference = Reference { bound, ..Reference::default() };
        for op in ops {
            match op {
                Op::Send(times) => for _ in 0..times {
                    let Some(tx) = &tx else { break };
                    match tx.try_send(census.value(reference.next_id)) {
                        Ok(()) => {
                            prop_assert!(!reference.closed && reference.room() > 0);
                            reference.push();
                        }
                        Err(TrySendError::Full(_)) => prop_assert!(!reference.closed && reference.room() == 0),
                        Err(TrySendError::Closed(_)) => prop_assert!(reference.closed),
                    }
                },
                Op::Reserve => if let Some(tx) = &tx && let Ok(permit) = tx.clone().try_reserve_owned() {
                    prop_assert!(!reference.closed && reference.room() > 0);
                    reference.permits_out += 1;
                    permits.push(permit);
                },
                Op::Use => if let Some(permit) = permits.pop() {
                    reference.permits_out -= 1;
                    let id = reference.push();
                    drop(permit.send(census.value(id)));
                },
                Op::GiveBack => if permits.pop().is_some() {
                    reference.permits_out -= 1;
                },
                Op::Recv(times) => for _ in 0..times {
                    let Some(rx) = &mut rx else { break };
                    prop_assert_eq!(rx.try_recv().map(|value| value.id), reference.recv());
                },
                Op::RecvMany(limit) => if let Some(rx) = &mut rx && !reference.queue.is_empty() {
                    let mut buffer = Vec::new();
                    let count = block_on(rx.recv_many(&mut buffer, limit));
                    prop_assert_eq!(count, limit.min(reference.queue.len()));
                    let expected: Vec<_> = reference.queue.drain(..count).collect();
                    prop_assert!(buffer.iter().map(|value| value.id).eq(expected));
                },
                Op::Close => if let Some(rx) = &mut rx {
                    rx.close();
                    reference.closed = true;
                },
                Op::DropSenders => {
                    permits.clear();
                    tx = None;
                    (reference.permits_out, reference.senders_gone) = (0, true);
                }
                Op::DropReceiver => {
                    rx = None;
                    reference.closed = true;
                    reference.queue.clear();
                }
            }
            if let Some(rx) = &rx {
                prop_assert_eq!(rx.len(), reference.queue.len());
                prop_assert_eq!(rx.is_empty(), reference.queue.is_empty());
                prop_assert_eq!(rx.capacity(), reference.room());
                prop_assert_eq!(rx.is_closed(), reference.closed || reference.senders_gone);
                prop_assert_eq!(census.alive(), reference.queue.len());
            }
        }
        drop((tx, rx, permits));
        prop_assert_eq!(census.alive(), 0);
    }

    #[test]
    fn an_unbounded_channel_is_a_queue(ops in proptest::collection::vec(op(), 1..60)) {
        let census = Census::default();
        let (tx, rx) = unbounded_channel::<Counted>();
        let (mut tx, mut rx) = (Some(tx), Some(rx));
        let mut reference = Reference { bound: usize::MAX, ..Reference::default() };
        for op in ops {
            match op {
                Op::Send(times) => for _ in 0..times {
                    let Some(tx) = &tx else { break };
                    let sent = tx.send(census.value(reference.next_id)).is_ok();
                    prop_assert_eq!(sent, !reference.closed);
                    if sent {
                        reference.push();
                    }
                },
                Op::Recv(times) => for _ in 0..times {
                    let Some(rx) = &mut rx else { break };
                    prop_assert_eq!(rx.try_recv().map(|value| value.id), reference.recv());
                },
                Op::RecvMany(limit) => if let Some(rx) = &mut rx && !reference.queue.is_empty() {
                    let mut buffer = Vec::new();
                    let count = block_on(rx.recv_many(&mut buffer, limit));
                    prop_assert_eq!(count, limit.min(reference.queue.len()));
                    let expected: Vec<_> = reference.queue.drain(..count).collect();
                    prop_assert!(buffer.iter().map(|value| value.id).eq(expected));
                },
                Op::Close => if let Some(rx) = &mut rx {
                    rx.close();
                    reference.closed = true;
                },
                Op::DropSenders => {
                    tx = None;
                    reference.senders_gone = true;
                }
                Op::DropReceiver => {
                    rx = None;
                    reference.closed = true;
                    reference.queue.clear();
                }
                Op::Reserve | Op::Use | Op::GiveBack => {}
            }
            if let Some(rx) = &rx {
                prop_assert_eq!(rx.len(), reference.queue.len());
                prop_assert_eq!(census.alive(), reference.queue.len());
            }
        }
        drop((tx, rx));
        prop_assert_eq!(census.alive(), 0);
    }
}
