//! Futures that cannot change threads: a `LocalSet` keeps them on the one where it runs.
//!
//! cargo run -p examples --example local_set

use nezumi::task::{LocalSet, spawn_local};
use std::cell::RefCell;
use std::rc::Rc;

#[nezumi::main(flavor = "current_thread")]
async fn main() {
    // Neither `Rc` nor `RefCell` may be shared between threads.
    let log = Rc::new(RefCell::new(Vec::new()));
    let set = LocalSet::new();
    for name in ["one", "other"] {
        let log = Rc::clone(&log);
        set.spawn_local(async move {
            log.borrow_mut().push(format!("{name} begins"));
            // Tasks of the set may start further ones.
            let inner = spawn_local(async move { format!("{name} ends") }).await;
            log.borrow_mut().push(inner.unwrap_or_else(|error| error.to_string()));
        });
    }
    // Runs the set until all its tasks have ended.
    set.await;
    for line in log.borrow().iter() {
        println!("{line}");
    }
}
