//! A runtime to measure: how many threads, what they are called, what they do as they start, and what it has counted.
//!
//! cargo run -p examples --example settings

use nezumi::runtime::Builder;
use std::io;
use std::time::Duration;

fn main() -> io::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .thread_name("mouse")
        .thread_stack_size(1024 * 1024)
        .on_thread_start(|| {
            // For example: pin the thread to a core, or give it a name in a profiler.
        })
        .enable_all()
        .build()?;

    let name = runtime.block_on(async {
        let task = nezumi::spawn(async { std::thread::current().name().map(str::to_owned) });
        task.await.ok().flatten()
    });
    println!("a task ran on a thread called {}", name.as_deref().unwrap_or("nothing"));
    println!("{} workers", runtime.metrics().num_workers());

    // Whatever still runs has so long to come to its next await.
    runtime.shutdown_timeout(Duration::from_secs(1));

    // The same on this thread alone: nothing starts a thread, and nothing goes on outside `block_on`.
    let here = Builder::new_current_thread().enable_all().build()?;
    let id = std::thread::current().id();
    let same = here.block_on(async move {
        nezumi::spawn(async move { std::thread::current().id() == id }).await.unwrap_or(false)
    });
    println!("on this very thread: {same}");
    Ok(())
}
