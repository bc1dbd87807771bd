//! Waiting for several things at once: the first, all of them, or one after another.
//!
//! cargo run -p examples --example select

use nezumi::sync::mpsc;
use nezumi::time::{Duration, sleep};

async fn after(ms: u64, what: &'static str) -> &'static str {
    sleep(Duration::from_millis(ms)).await;
    what
}

#[nezumi::main]
async fn main() {
    // The first. The other is dropped where it stands, so it must be safe to cancel: its documentation says whether it is.
    let first = nezumi::select! {
        what = after(1, "the hare") => what,
        what = after(10_000, "the tortoise") => what,
    };
    println!("{first} was first");

    // All.
    let (a, b) = nezumi::join!(after(2, "one"), after(1, "other"));
    println!("{a} and {b}");

    // All, unless one fails.
    let both: Result<((), ()), String> =
        nezumi::try_join!(async { Ok(()) }, async { Err(String::from("a step failed")) });
    println!("{both:?}");

    // Again and again, with one wait that goes on across the rounds.
    let (tx, mut rx) = mpsc::channel(1);
    nezumi::spawn(async move {
        for n in 1..=3 {
            if tx.send(n).await.is_err() {
                return;
            }
        }
    });
    let pause = sleep(Duration::from_secs(10));
    nezumi::pin!(pause);
    loop {
        nezumi::select! {
            // In this order, each time: what is there is taken before the time is looked at.
            biased;
            message = rx.recv() => match message {
                Some(n) => println!("message {n}"),
                None => break,
            },
            () = &mut pause => println!("nothing came for a long time"),
        }
    }
    println!("no more messages");
}
