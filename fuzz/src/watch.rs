//! A watched value against a counter of its versions.

use crate::ops::Ops;
use crate::polled::{Polled, once};
use nezumi::sync::watch::error::RecvError;
use nezumi::sync::watch::{Receiver, Sender, channel};
use std::task::Poll;

/// A receiver, moved into the future that waits for the next version, and given back by it.
type Waiting = Polled<(Receiver<u32>, Result<(), RecvError>)>;

struct Program {
    sender: Option<Sender<u32>>,
    /// With the version that each has seen.
    receivers: Vec<(Receiver<u32>, u64)>,
    waiting: Vec<(Waiting, u64)>,
    value: u32,
    version: u64,
}

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    let (sender, receiver) = channel(0);
    let mut program = Program {
        sender: Some(sender),
        receivers: vec![(receiver, 0)],
        waiting: Vec::new(),
        value: 0,
        version: 0,
    };
    while let Some(op) = ops.next() {
        program.act(op, &mut ops);
        program.check();
    }
    program.sender = None;
    program.poll_waiting();
    assert!(program.waiting.is_empty(), "waits for a sender that is gone");
}

impl Program {
    fn act(&mut self, op: u8, ops: &mut Ops<'_>) {
        match op % 16 {
            0..=4 => self.send(op % 16, u32::from(ops.next().unwrap_or(0))),
            5 => {
                if let Some(sender) = &self.sender {
                    self.receivers.push((sender.subscribe(), self.version));
                }
            }
            6 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    let (receiver, seen) = &self.receivers[index];
                    self.receivers.push((receiver.clone(), *seen));
                }
            }
            7 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    self.receivers.swap_remove(index);
                }
            }
            8 | 9 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    let (mut receiver, seen) = self.receivers.swap_remove(index);
                    let changed = async move {
                        let changed = receiver.changed().await;
                        (receiver, changed)
                    };
                    self.waiting.push((Polled::new(changed), seen));
                    self.poll(self.waiting.len() - 1);
                }
            }
            10 => self.poll_waiting(),
            11 => {
                // Has given up, and with it goes its receiver.
                if let Some(index) = ops.index(self.waiting.len()) {
                    self.waiting.swap_remove(index);
                }
            }
            12..=14 => self.look(op % 16, ops),
            _ => {
                if ops.below(16) == 15 {
                    self.sender = None;
                }
            }
        }
    }

    fn send(&mut self, how: u8, value: u32) {
        let Some(sender) = &self.sender else { return };
        let has_changed = match how {
            0 => {
                // Refused, and without effect, where there is nobody.
                let accepted = sender.send(value).is_ok();
                assert_eq!(accepted, !self.receivers.is_empty() || !self.waiting.is_empty());
                accepted
            }
            1 => {
                sender.send_modify(|current| *current = value);
                true
            }
            2 => sender.send_if_modified(|current| {
                *current = value;
                true
            }),
            3 => {
                assert!(!sender.send_if_modified(|_| false));
                false
            }
            _ => {
                assert_eq!(sender.send_replace(value), self.value);
                true
            }
        };
        if has_changed {
            (self.value, self.version) = (value, self.version + 1);
        }
    }

    fn look(&mut self, how: u8, ops: &mut Ops<'_>) {
        let Some(index) = ops.index(self.receivers.len()) else { return };
        let (receiver, seen) = &mut self.receivers[index];
        let is_new = *seen != self.version;
        match how {
            12 => {
                let value = receiver.borrow_and_update();
                assert_eq!((*value, value.has_changed()), (self.value, is_new));
                *seen = self.version;
            }
            13 if ops.flag() => {
                receiver.mark_unchanged();
                *seen = self.version;
            }
            13 => {
                receiver.mark_changed();
                *seen = u64::MAX;
            }
            _ => {
                let changed = once(receiver.changed());
                match changed {
                    Poll::Ready(Ok(())) => assert!(is_new),
                    Poll::Ready(Err(_)) => assert!(!is_new && self.sender.is_none()),
                    Poll::Pending => assert!(!is_new && self.sender.is_some()),
                }
                *seen = self.version;
            }
        }
    }

    /// All those that were woken; those that were not have nothing to see.
    fn poll_waiting(&mut self) {
        for index in (0..self.waiting.len()).rev() {
            let (waiting, seen) = &self.waiting[index];
            assert_eq!(
                waiting.is_woken(),
                *seen != self.version || self.sender.is_none(),
                "woken for nothing, or not"
            );
            if waiting.is_woken() {
                self.poll(index);
            }
        }
    }

    fn poll(&mut self, index: usize) {
        let (waiting, seen) = &mut self.waiting[index];
        let is_new = *seen != self.version;
        match waiting.poll() {
            Poll::Ready((receiver, changed)) => {
                assert!(if changed.is_ok() { is_new } else { !is_new && self.sender.is_none() });
                self.waiting.swap_remove(index);
                self.receivers.push((receiver, self.version));
            }
            Poll::Pending => assert!(!is_new && self.sender.is_some(), "waits, and there is something new"),
        }
    }

    fn check(&self) {
        for (receiver, seen) in &self.receivers {
            let value = receiver.borrow();
            assert_eq!((*value, value.has_changed()), (self.value, *seen != self.version));
            drop(value);
            match receiver.has_changed() {
                Ok(changed) => assert_eq!(changed, *seen != self.version),
                Err(_) => assert!(self.sender.is_none()),
            }
        }
        if let Some(sender) = &self.sender {
            assert_eq!(sender.receiver_count(), self.receivers.len() + self.waiting.len());
        }
    }
}
