//! A test of an hour that takes no time: the clock is paused, and jumps when all tasks wait for it.
//!
//! cargo run -p examples --example paused_clock
//!
//! In a test this is `#[nezumi::test(start_paused = true)]`.

use nezumi::time::{Duration, Instant, advance, interval, sleep};

/// What is to be tested: reminds every ten minutes, for an hour.
async fn remind(mut show: impl FnMut(u32)) {
    let mut beat = interval(Duration::from_secs(600));
    // The first tick is at once.
    beat.tick().await;
    for n in 1..=6 {
        beat.tick().await;
        show(n);
    }
}

#[nezumi::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let (began, began_here) = (Instant::now(), std::time::Instant::now());
    let mut reminders = 0;
    remind(|n| reminders = n).await;
    println!("{reminders} reminders in {} minutes", began.elapsed().as_secs() / 60);

    let sleeper = nezumi::spawn(sleep(Duration::from_secs(3600)));
    nezumi::task::yield_now().await;
    // By hand: nothing that is due before is left out.
    advance(Duration::from_secs(3599)).await;
    println!("a second before: {}", sleeper.is_finished());
    advance(Duration::from_secs(2)).await;
    println!("after: {}", sleeper.await.is_ok());
    println!("and all of it took less than a minute: {}", began_here.elapsed() < Duration::from_secs(60));
}
