//! What does a message cost on its way through a channel of many senders?
//!
//! How the answer could mislead: on one worker senders and receiver take turns, so the channel is filled and emptied in
//! runs as long as its room or the budget of a poll allows, and a message costs little more than the copy. Contention shows
//! on several workers only. The bounded one has 128 places. An operation is one message of 64 bytes, sent and received.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::sync::mpsc;

const SENDERS: u64 = 10;
const PLACES: usize = 128;
/// At most so many messages at once, where the receiver takes many.
const BATCH: usize = 128;

type Message = [u64; 8];

pub(crate) fn cases() -> Vec<Case> {
    let fan_in = |kind, batch| {
        let what = "10 tasks send 100 k messages of 64 bytes each to one that receives them";
        Case::new(13, "mpsc", what, 1.3, move |setup| fan_in(setup, kind, batch, SENDERS))
    };
    let alone = |kind| {
        let what = "one task sends a message to itself and receives it, 100 k times";
        Case::new(13, "mpsc", what, 1.3, move |setup| alone(setup, kind))
    };
    vec![
        fan_in(Kind::Bounded, 1).variant("bounded, 10 senders"),
        fan_in(Kind::Unbounded, 1).variant("unbounded, 10 senders"),
        fan_in(Kind::Bounded, BATCH).variant("bounded, recv_many"),
        fan_in(Kind::Unbounded, BATCH).variant("unbounded, recv_many"),
        alone(Kind::Bounded).variant("bounded, uncontended"),
        alone(Kind::Unbounded).variant("unbounded, uncontended"),
    ]
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bounded,
    Unbounded,
}

/// So many tasks send, one receives, `batch` messages at a time.
pub(super) fn fan_in(setup: &Setup, kind: Kind, batch: usize, senders: u64) -> Round {
    let runtime = start::runtime(setup);
    let each = setup.size(100_000, 2000, 100) * SENDERS / senders;
    Box::new(move || {
        let (count, sum) = match kind {
            Kind::Bounded => start::on_worker(&runtime, bounded(senders, each, batch)),
            Kind::Unbounded => start::on_worker(&runtime, unbounded(senders, each, batch)),
        };
        assert_eq!(count, senders * each, "a message was lost");
        assert_eq!(sum, senders * (each * (each - 1) / 2), "a message was changed");
        Done::ops(count)
    })
}

async fn bounded(senders: u64, each: u64, batch: usize) -> (u64, u64) {
    let (sender, mut receiver) = mpsc::channel(PLACES);
    for _ in 0..senders {
        let sender = sender.clone();
        rt::spawn(async move {
            for i in 0..each {
                assert!(sender.send(message(i)).await.is_ok(), "nobody receives any more");
            }
        });
    }
    drop(sender);
    let mut seen = Seen::default();
    if batch == 1 {
        while let Some(message) = receiver.recv().await {
            seen.add(&message);
        }
    } else {
        let mut messages = Vec::with_capacity(batch);
        while receiver.recv_many(&mut messages, batch).await > 0 {
            messages.drain(..).for_each(|message| seen.add(&message));
        }
    }
    (seen.count, seen.sum)
}

async fn unbounded(senders: u64, each: u64, batch: usize) -> (u64, u64) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for _ in 0..senders {
        let sender = sender.clone();
        rt::spawn(async move {
            for i in 0..each {
                assert!(sender.send(message(i)).is_ok(), "nobody receives any more");
            }
        });
    }
    drop(sender);
    let mut seen = Seen::default();
    if batch == 1 {
        while let Some(message) = receiver.recv().await {
            seen.add(&message);
        }
    } else {
        let mut messages = Vec::with_capacity(batch);
        while receiver.recv_many(&mut messages, batch).await > 0 {
            messages.drain(..).for_each(|message| seen.add(&message));
        }
    }
    (seen.count, seen.sum)
}

fn alone(setup: &Setup, kind: Kind) -> Round {
    let runtime = start::runtime(setup);
    let messages = setup.size(100_000, 20_000, 100);
    Box::new(move || {
        let seen = start::on_worker(&runtime, async move {
            let mut seen = Seen::default();
            match kind {
                Kind::Bounded => {
                    let (sender, mut receiver) = mpsc::channel(PLACES);
                    for i in 0..messages {
                        sender.send(message(i)).await.unwrap();
                        seen.add(&receiver.recv().await.unwrap());
                    }
                }
                Kind::Unbounded => {
                    let (sender, mut receiver) = mpsc::unbounded_channel();
                    for i in 0..messages {
                        sender.send(message(i)).unwrap();
                        seen.add(&receiver.recv().await.unwrap());
                    }
                }
            }
            seen
        });
        assert_eq!(seen.count, messages, "a message was lost");
        Done::ops(seen.count)
    })
}

fn message(number: u64) -> Message {
    std::hint::black_box([number; 8])
}

/// What was received.
#[derive(Default)]
struct Seen {
    count: u64,
    sum: u64,
}

impl Seen {
    fn add(&mut self, message: &Message) {
        self.count += 1;
        self.sum += std::hint::black_box(message)[7];
    }
}
