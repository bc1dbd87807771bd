//! Not waiting for ever: a time limit, a deadline for several steps, and something to do again and again.
//!
//! cargo run -p examples --example timeouts

use nezumi::time::{Duration, Instant, interval, sleep, timeout, timeout_at};

async fn answer_after(ms: u64) -> &'static str {
    sleep(Duration::from_millis(ms)).await;
    "an answer"
}

#[nezumi::main]
async fn main() {
    for ms in [1, 10_000] {
        // The future that is too slow is dropped: there is nothing left to clean up.
        match timeout(Duration::from_millis(100), answer_after(ms)).await {
            Ok(answer) => println!("{answer} in time"),
            Err(error) => println!("none: {error}"),
        }
    }

    let deadline = Instant::now() + Duration::from_millis(100);
    for step in 1.. {
        if timeout_at(deadline, answer_after(40)).await.is_err() {
            println!("the time for all steps was over in step {step}");
            break;
        }
    }

    let mut beat = interval(Duration::from_millis(5));
    for n in 1..=3 {
        beat.tick().await;
        println!("beat {n}");
    }
}
