//! A broadcast channel against a list of all that was ever sent.

use crate::ops::Ops;
use crate::polled::once;
use nezumi::sync::broadcast::error::{RecvError, TryRecvError};
use nezumi::sync::broadcast::{Receiver, Sender, channel};
use std::task::Poll;

struct Program {
    sender: Option<Sender<usize>>,
    /// With the number of the value that each is to receive next.
    receivers: Vec<(Receiver<usize>, usize)>,
    sent: usize,
    capacity: usize,
}

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    let asked = 1 + ops.below(9);
    let (sender, receiver) = channel(asked);
    let mut program = Program {
        sender: Some(sender),
        receivers: vec![(receiver, 0)],
        sent: 0,
        capacity: asked.next_power_of_two(),
    };
    while let Some(op) = ops.next() {
        program.act(op, &mut ops);
    }
    program.sender = None;
    for index in 0..program.receivers.len() {
        while !program.receive(index, false) {}
    }
}

impl Program {
    fn act(&mut self, op: u8, ops: &mut Ops<'_>) {
        match op % 12 {
            0..=4 => {
                let Some(sender) = &self.sender else { return };
                match sender.send(self.sent) {
                    Ok(count) => {
                        assert_eq!(count, self.receivers.len());
                        self.sent += 1;
                    }
                    Err(refused) => assert!(refused.0 == self.sent && self.receivers.is_empty()),
                }
            }
            5..=7 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    let by_hand = ops.flag();
                    self.receive(index, by_hand);
                }
            }
            8 => {
                if let Some(sender) = &self.sender {
                    self.receivers.push((sender.subscribe(), self.sent));
                }
            }
            9 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    let again = self.receivers[index].0.resubscribe();
                    self.receivers.push((again, self.sent));
                }
            }
            10 => {
                if let Some(index) = ops.index(self.receivers.len()) {
                    self.receivers.swap_remove(index);
                }
            }
            _ => {
                if ops.below(16) == 15 {
                    self.sender = None;
                }
            }
        }
        for (receiver, next) in &self.receivers {
            assert_eq!(receiver.len(), self.sent - next);
            assert_eq!(receiver.is_empty(), self.sent == *next);
        }
        if let Some(sender) = &self.sender {
            assert_eq!(sender.receiver_count(), self.receivers.len());
            let slowest = self.receivers.iter().map(|(_, next)| self.sent - next).max().unwrap_or(0);
            assert_eq!(sender.len(), slowest.min(self.capacity), "as many as somebody will still receive");
        }
    }

    /// Whether it has come to the end.
    fn receive(&mut self, index: usize, by_hand: bool) -> bool {
        let oldest = self.sent.saturating_sub(self.capacity);
        let (receiver, next) = &mut self.receivers[index];
        let received = match by_hand {
            true => match once(receiver.recv()) {
                Poll::Ready(Ok(value)) => Ok(value),
                Poll::Ready(Err(RecvError::Lagged(missed))) => Err(TryRecvError::Lagged(missed)),
                Poll::Ready(Err(RecvError::Closed)) => Err(TryRecvError::Closed),
                Poll::Pending => Err(TryRecvError::Empty),
            },
            false => receiver.try_recv(),
        };
        match received {
            Ok(value) => {
                assert!(value == *next && value >= oldest);
                *next += 1;
            }
            Err(TryRecvError::Lagged(missed)) => {
                assert!(*next < oldest && missed == (oldest - *next) as u64);
                *next = oldest;
            }
            Err(TryRecvError::Empty) => assert!(*next == self.sent && self.sender.is_some()),
            Err(TryRecvError::Closed) => {
                assert!(*next == self.sent && self.sender.is_none());
                return true;
            }
        }
        false
    }
}
