//! The smallest program: two tasks at once, and what they return.
//!
//! cargo run -p examples --example hello

async fn greeting(name: &'static str) -> String {
    // Lets the other one have its turn.
    nezumi::task::yield_now().await;
    format!("hello, {name}")
}

#[nezumi::main]
async fn main() {
    let (one, other) = (nezumi::spawn(greeting("mouse")), nezumi::spawn(greeting("cat")));
    for task in [one, other] {
        match task.await {
            Ok(text) => println!("{text}"),
            Err(error) => println!("a task has failed: {error}"),
        }
    }
}
