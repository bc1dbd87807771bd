//! Work that would keep a worker busy, or asleep: it goes to threads of its own.
//!
//! cargo run -p examples --example blocking

use nezumi::sync::mpsc;
use nezumi::task;
use std::time::Duration;

fn count_primes(below: u32) -> usize {
    (2..below).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).count()
}

#[nezumi::main]
async fn main() {
    // A computation. The tasks of this runtime go on meanwhile.
    match task::spawn_blocking(|| count_primes(10_000)).await {
        Ok(primes) => println!("{primes} primes below 10000"),
        Err(error) => println!("the computation failed: {error}"),
    }

    // A thread that lives long, such as one that reads a device: it talks to tasks through a channel.
    let (tx, mut rx) = mpsc::channel(4);
    let thread = std::thread::spawn(move || {
        for reading in 1..=3 {
            std::thread::sleep(Duration::from_millis(1));
            if tx.blocking_send(reading).is_err() {
                return;
            }
        }
    });
    while let Some(reading) = rx.recv().await {
        println!("reading {reading}");
    }
    if thread.join().is_err() {
        println!("the thread has panicked");
    }

    // A short stretch in the middle of a task: another thread takes this worker's place meanwhile.
    let primes = task::block_in_place(|| count_primes(100));
    println!("{primes} primes below 100");
}
