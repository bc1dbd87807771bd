//! A bounded channel against a queue of what was sent.
//!
//! Which of those who wait gets a place is the channel's business, so the model knows what was sent, in the order in which the sends came to their end,
//! and who still waits. When all is over, whoever waits must be let in, by wakes alone: no place may be lost to one who has given up.

use crate::ops::Ops;
use crate::polled::{Polled, once};
use nezumi::sync::mpsc::error::{SendError, TryRecvError, TrySendError};
use nezumi::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};
use std::collections::VecDeque;
use std::task::Poll;

/// The number that waits, and its send.
type Waiting = (u32, Polled<Result<(), SendError<u32>>>);

struct Program {
    senders: Vec<Sender<u32>>,
    receiver: Receiver<u32>,
    waiting: Vec<Waiting>,
    permits: Vec<OwnedPermit<u32>>,
    model: VecDeque<u32>,
    capacity: usize,
    is_closed: bool,
    next: u32,
}

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    let capacity = 1 + ops.below(4);
    let (sender, receiver) = channel(capacity);
    let mut program = Program {
        senders: vec![sender],
        receiver,
        waiting: Vec::new(),
        permits: Vec::new(),
        model: VecDeque::new(),
        capacity,
        is_closed: false,
        next: 0,
    };
    while let Some(op) = ops.next() {
        program.act(op, &mut ops);
        program.check();
    }
    program.end();
}

impl Program {
    fn act(&mut self, op: u8, ops: &mut Ops<'_>) {
        match op % 16 {
            0 | 1 => self.try_send(ops),
            2 | 3 => {
                let Some(index) = ops.index(self.senders.len()) else { return };
                let (sender, value) = (self.senders[index].clone(), self.value());
                self.waiting.push((value, Polled::new(async move { sender.send(value).await })));
                self.poll(self.waiting.len() - 1);
            }
            4 => {
                self.poll_woken();
            }
            5 => {
                if let Some(index) = ops.index(self.waiting.len()) {
                    self.poll(index);
                }
            }
            6 => {
                // Has given up.
                if let Some(index) = ops.index(self.waiting.len()) {
                    self.waiting.swap_remove(index);
                }
            }
            7 => {
                let Some(index) = ops.index(self.senders.len()) else { return };
                match self.senders[index].clone().try_reserve_owned() {
                    Ok(permit) => {
                        assert!(!self.is_closed);
                        self.permits.push(permit);
                    }
                    Err(TrySendError::Full(_)) => self.expect_full(),
                    Err(TrySendError::Closed(_)) => assert!(self.is_closed),
                }
            }
            8 => {
                let Some(index) = ops.index(self.permits.len()) else { return };
                let permit = self.permits.swap_remove(index);
                if ops.flag() {
                    let value = self.value();
                    drop(permit.send(value));
                    // Also into a channel that was closed after the permit was given.
                    self.model.push_back(value);
                }
            }
            9..=11 => {
                let received = self.receiver.try_recv();
                self.received(received);
            }
            12 => match once(self.receiver.recv()) {
                Poll::Ready(Some(value)) => self.received(Ok(value)),
                Poll::Ready(None) => self.received(Err(TryRecvError::Disconnected)),
                Poll::Pending => self.received(Err(TryRecvError::Empty)),
            },
            13 => {
                if let Some(index) = ops.index(self.senders.len()) {
                    self.senders.push(self.senders[index].clone());
                }
            }
            14 => {
                if let Some(index) = ops.index(self.senders.len()) {
                    self.senders.swap_remove(index);
                }
            }
            _ => {
                if ops.below(8) == 7 {
                    self.receiver.close();
                    self.is_closed = true;
                }
            }
        }
    }

    fn value(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn try_send(&mut self, ops: &mut Ops<'_>) {
        let Some(index) = ops.index(self.senders.len()) else { return };
        let value = self.value();
        match self.senders[index].try_send(value) {
            Ok(()) => {
                assert!(!self.is_closed && self.model.len() + self.permits.len() < self.capacity);
                self.model.push_back(value);
            }
            Err(TrySendError::Full(refused)) => {
                assert_eq!(refused, value);
                self.expect_full();
            }
            Err(TrySendError::Closed(refused)) => assert!(refused == value && self.is_closed),
        }
    }

    /// Those who wait may have been given a place each already.
    fn expect_full(&self) {
        let taken = self.model.len() + self.permits.len() + self.waiting.len();
        assert!(!self.is_closed && taken >= self.capacity, "full, with {taken} places taken");
    }

    fn poll(&mut self, index: usize) {
        let value = self.waiting[index].0;
        match self.waiting[index].1.poll() {
            Poll::Pending => assert!(!self.is_closed, "waits for a channel that is closed"),
            Poll::Ready(Ok(())) => {
                assert!(self.model.len() + self.permits.len() < self.capacity, "more than there are places");
                self.model.push_back(value);
                self.waiting.swap_remove(index);
            }
            Poll::Ready(Err(SendError(refused))) => {
                assert!(refused == value && self.is_closed);
                self.waiting.swap_remove(index);
            }
        }
    }

    /// Whether there was one.
    fn poll_woken(&mut self) -> bool {
        let woken = self.waiting.iter().position(|(_, send)| send.is_woken());
        woken.into_iter().for_each(|index| self.poll(index));
        woken.is_some()
    }

    fn received(&mut self, received: Result<u32, TryRecvError>) {
        match received {
            Ok(value) => assert_eq!(Some(value), self.model.pop_front()),
            Err(TryRecvError::Empty) => assert!(self.model.is_empty(), "empty, with something in it"),
            Err(TryRecvError::Disconnected) => {
                let is_left = self.senders.is_empty() && self.waiting.is_empty();
                assert!(self.model.is_empty() && self.permits.is_empty() && (self.is_closed || is_left));
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.receiver.len(), self.model.len());
        assert_eq!(self.receiver.is_closed(), self.is_closed || self.nobody_is_left());
        if self.waiting.is_empty() {
            let free = self.capacity - self.model.len() - self.permits.len();
            assert_eq!(self.receiver.capacity(), free, "a place is lost, or there is one too many");
        }
    }

    fn nobody_is_left(&self) -> bool {
        self.senders.is_empty() && self.waiting.is_empty() && self.permits.is_empty()
    }

    fn end(mut self) {
        self.permits.clear();
        loop {
            let polled = self.poll_woken();
            match self.receiver.try_recv() {
                Ok(value) => self.received(Ok(value)),
                Err(_) if !polled => break,
                Err(_) => {}
            }
        }
        assert!(self.waiting.is_empty(), "{} wait for ever", self.waiting.len());
        self.check();
    }
}
