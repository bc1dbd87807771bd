//! A semaphore against a line of people and a number.

use crate::ops::Ops;
use crate::polled::Polled;
use nezumi::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use std::sync::Arc;
use std::task::Poll;

type Acquiring = Polled<Result<OwnedSemaphorePermit, AcquireError>>;

struct Waiter {
    future: Acquiring,
    wanted: usize,
    /// Put aside for it so far.
    given: usize,
}

struct Program {
    semaphore: Arc<Semaphore>,
    /// First come, first served.
    waiting: Vec<Waiter>,
    held: Vec<OwnedSemaphorePermit>,
    free: usize,
    is_closed: bool,
}

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    let free = ops.below(6);
    let semaphore = Arc::new(Semaphore::new(free));
    let mut program = Program { semaphore, waiting: Vec::new(), held: Vec::new(), free, is_closed: false };
    while let Some(op) = ops.next() {
        program.act(op, &mut ops);
        program.check();
    }
}

impl Program {
    fn act(&mut self, op: u8, ops: &mut Ops<'_>) {
        match op % 12 {
            0..=2 => self.acquire(ops.below(5)),
            3 => self.try_acquire(ops.below(5)),
            4 | 5 => {
                if let Some(index) = ops.index(self.waiting.len()) {
                    self.poll(index);
                }
            }
            6 => {
                if let Some(index) = ops.index(self.waiting.len()) {
                    let given = self.waiting[index].given;
                    drop(self.waiting.remove(index));
                    self.give(given);
                }
            }
            7 | 8 => {
                if let Some(index) = ops.index(self.held.len()) {
                    let permit = self.held.swap_remove(index);
                    let count = permit.num_permits();
                    drop(permit);
                    self.give(count);
                }
            }
            9 => {
                let count = ops.below(4);
                self.semaphore.add_permits(count);
                self.give(count);
            }
            10 => {
                let count = ops.below(4);
                let forgotten = self.semaphore.forget_permits(count);
                assert_eq!(forgotten, count.min(self.free));
                self.free -= forgotten;
            }
            _ => {
                if ops.below(8) == 7 {
                    self.semaphore.close();
                    self.is_closed = true;
                } else if let Some(index) = ops.index(self.held.len()) {
                    self.held.swap_remove(index).forget();
                }
            }
        }
    }

    fn acquire(&mut self, wanted: usize) {
        let acquire = self.semaphore.clone().acquire_many_owned(wanted as u32);
        self.waiting.push(Waiter { future: Polled::new(acquire), wanted, given: 0 });
        // Those that nobody waits for it takes at once, as far as they go.
        let last = self.waiting.len() - 1;
        if !self.is_closed {
            let taken = self.free.min(wanted);
            self.free -= taken;
            self.waiting[last].given = taken;
        }
        self.poll(last);
    }

    fn try_acquire(&mut self, wanted: usize) {
        match self.semaphore.clone().try_acquire_many_owned(wanted as u32) {
            Ok(permit) => {
                assert!(!self.is_closed && self.free >= wanted);
                self.free -= wanted;
                self.held.push(permit);
            }
            Err(TryAcquireError::Closed) => assert!(self.is_closed),
            Err(TryAcquireError::NoPermits) => assert!(!self.is_closed && self.free < wanted),
        }
    }

    fn give(&mut self, mut count: usize) {
        if !self.is_closed {
            for waiter in &mut self.waiting {
                let given = count.min(waiter.wanted - waiter.given);
                waiter.given += given;
                count -= given;
            }
        }
        self.free += count;
    }

    fn poll(&mut self, index: usize) {
        let waiter = &mut self.waiting[index];
        let is_served = waiter.given == waiter.wanted;
        match waiter.future.poll() {
            Poll::Ready(Ok(permit)) => {
                assert!(is_served && permit.num_permits() == waiter.wanted, "served before its turn");
                self.waiting.remove(index);
                self.held.push(permit);
            }
            Poll::Ready(Err(_)) => {
                assert!(self.is_closed);
                let given = waiter.given;
                self.waiting.remove(index);
                self.free += given;
            }
            Poll::Pending => assert!(!is_served && !self.is_closed, "waits, though it is its turn"),
        }
    }

    fn check(&self) {
        for waiter in &self.waiting {
            let is_due = waiter.given == waiter.wanted || self.is_closed;
            assert_eq!(waiter.future.is_woken(), is_due, "not woken, or for nothing");
        }
        assert_eq!(self.semaphore.available_permits(), self.free, "permits lost, or found");
        assert_eq!(self.semaphore.is_closed(), self.is_closed);
    }
}
