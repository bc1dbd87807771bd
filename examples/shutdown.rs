//! An orderly end: tell every task, let each finish what it has begun, and do not wait for ever.
//!
//! cargo run -p examples --example shutdown

use nezumi::sync::watch;
use nezumi::task::JoinSet;
use nezumi::time::{Duration, sleep, timeout};

async fn worker(id: u32, mut stop: watch::Receiver<bool>) -> u32 {
    let mut done = 0;
    loop {
        nezumi::select! {
            // An error says that the sender is gone: an end, too.
            _ = stop.wait_for(|&stop| stop) => break,
            () = sleep(Duration::from_millis(5)) => done += 1,
        }
    }
    // What must not be cut off goes here.
    println!("worker {id} has put its work away");
    done
}

#[nezumi::main]
async fn main() {
    let (stop, stopped) = watch::channel(false);
    let mut workers = JoinSet::new();
    for id in 0..2 {
        workers.spawn(worker(id, stopped.clone()));
    }
    drop(stopped);

    // A program that runs until it is told to stop waits for `nezumi::signal::ctrl_c()` here.
    sleep(Duration::from_millis(50)).await;
    println!("stopping");
    stop.send_replace(true);

    match timeout(Duration::from_secs(5), workers.join_all()).await {
        Ok(done) => println!("all {} have ended", done.len()),
        // Dropping the set would do the same.
        Err(_) => println!("some did not come to an end, and are cut off"),
    }
}
