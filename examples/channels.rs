//! Which channel for what: a task that owns a counter is asked through one, answers through another, and tells all through a
//! third.
//!
//! cargo run -p examples --example channels

use nezumi::sync::{mpsc, oneshot, watch};

/// Many ask, one answers: `mpsc`. Each question has one answer: `oneshot`.
enum Request {
    Add(u64),
    Get(oneshot::Sender<u64>),
}

/// Owns the counter, so that nobody needs a lock. Ends when the last who could ask is gone.
async fn counter(mut requests: mpsc::Receiver<Request>, latest: watch::Sender<u64>) {
    let mut count = 0;
    while let Some(request) = requests.recv().await {
        match request {
            Request::Add(n) => {
                count += n;
                latest.send_replace(count);
            }
            // Who asked may have gone away.
            Request::Get(answer) => _ = answer.send(count),
        }
    }
    println!("nobody is left to ask");
}

async fn get(requests: &mpsc::Sender<Request>) -> Option<u64> {
    let (answer, answered) = oneshot::channel();
    requests.send(Request::Get(answer)).await.ok()?;
    answered.await.ok()
}

#[nezumi::main]
async fn main() {
    let (requests, queue) = mpsc::channel(8);
    // All may look at the latest value, and wait for another: `watch`. (All get every value: `broadcast`, as in `chat`.)
    let (latest, mut shown) = watch::channel(0);
    let owner = nezumi::spawn(counter(queue, latest));

    let adders: Vec<_> = (1..=4)
        .map(|n| {
            let requests = requests.clone();
            nezumi::spawn(async move { requests.send(Request::Add(n)).await.is_ok() })
        })
        .collect();
    for adder in adders {
        if !matches!(adder.await, Ok(true)) {
            println!("something was not added");
        }
    }
    match get(&requests).await {
        Some(count) => println!("the counter says {count}"),
        None => println!("the counter is gone"),
    }
    if let Ok(count) = shown.wait_for(|&count| count >= 10).await {
        println!("all can see {}", *count);
    }
    drop(requests);
    if let Err(error) = owner.await {
        println!("the counter has failed: {error}");
    }
}
