//! What does it cost to hand a token on from task to task?
//!
//! How the answer could mislead: with one token exactly one task is runnable at any time, so this is the way from a send to
//! the poll of the receiver, and with several workers whether the ring stays on one of them. With a hundred tokens the cost
//! of waking is shared by what runs anyway. An operation is one hop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::signal::Signal;
use rt::sync::mpsc;

const TASKS: u64 = 1000;

pub(crate) fn cases() -> Vec<Case> {
    let case = |tokens| {
        let what = "1000 tasks in a ring of channels of one place hand tokens on, 1000 laps each";
        Case::new(12, "ring", what, 1.5, move |setup| prepare(setup, tokens))
    };
    vec![case(1).variant("1 token"), case(100).variant("100 tokens").glacial()]
}

/// How many laps it still has to go, and what to do at the end of the last.
struct Token {
    hops: u64,
    finish: Arc<Finish>,
}

struct Finish {
    tokens: AtomicU64,
    last: Signal,
}

fn prepare(setup: &Setup, tokens: u64) -> Round {
    let laps = setup.size(1000, if tokens == 1 { 20 } else { 2 }, 1);
    let runtime = start::runtime(setup);
    let entry = runtime.block_on(async { build() });
    Box::new(move || {
        let entry = entry.clone();
        start::on_worker(&runtime, async move {
            let last = Signal::default();
            let finish = Arc::new(Finish { tokens: AtomicU64::new(tokens), last: last.clone() });
            for _ in 0..tokens {
                let token = Token { hops: laps * TASKS, finish: finish.clone() };
                assert!(entry.send(token).await.is_ok(), "the ring is broken");
            }
            last.await;
        });
        Done::ops(tokens * laps * TASKS)
    })
}

/// The way into the ring, which goes round until the runtime ends.
fn build() -> mpsc::Sender<Token> {
    let (entry, mut receiver) = mpsc::channel(1);
    for i in 0..TASKS {
        let (sender, next) = mpsc::channel(1);
        let sender = if i + 1 == TASKS { entry.clone() } else { sender };
        rt::spawn(hand_on(std::mem::replace(&mut receiver, next), sender));
    }
    entry
}

async fn hand_on(mut from: mpsc::Receiver<Token>, to: mpsc::Sender<Token>) {
    while let Some(mut token) = from.recv().await {
        token.hops -= 1;
        if token.hops > 0 {
            if to.send(token).await.is_err() {
                return;
            }
        } else if token.finish.tokens.fetch_sub(1, Ordering::Relaxed) == 1 {
            token.finish.last.fire();
        }
    }
}
