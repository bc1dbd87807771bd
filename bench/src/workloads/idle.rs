//! Does a runtime that has nothing to do wake up?
//!
//! The figure is voluntary context switches per second of all threads but the one that waits; fewer than one per second is
//! counted as one, so two runtimes that keep still have the ratio 1. A thread that never sleeps would have none either: look
//! at the CPU time.
//!
//! How the answer could mislead: where the process may not open 20 k files there are fewer connections, as many as are noted.
//! And it measures a pause of some seconds, and what wakes up once an hour is not seen.

use std::thread;
use std::time::{Duration, Instant};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::meter::{self, Usage};
use rt::io::AsyncReadExt;
use rt::net::{TcpListener, TcpStream};

const EACH: u64 = 10_000;
const FAR: Duration = Duration::from_secs(3600);
/// Files that are not connections.
const OTHERS: u64 = 200;

pub(crate) fn cases() -> Vec<Case> {
    let what = "10 k idle connections and 10 k far timers, for 5 s: wakeups per second";
    vec![
        Case::new(25, "idle", what, 1.0, prepare)
            .workers(4)
            .figure("wakeups per second")
            .least_figure(1.0)
            .at_most("wakeups per second", 1.0)
            .scaled("1000 connections and timers, for 0.3 s")
            .slow(),
    ]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let wanted = setup.size(EACH, 1000, 20);
    // Both ends of a connection are in this process.
    let connections = wanted.min(meter::allow_many_files().saturating_sub(OTHERS) / 2);
    let pause = Duration::from_millis(setup.size(5000, 300, 20));
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..connections {
            let client = TcpStream::connect(address).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            client.set_zero_linger().unwrap();
            rt::spawn(wait_for_data(client));
            rt::spawn(wait_for_data(server));
        }
        for i in 0..wanted {
            rt::spawn(rt::time::sleep(FAR + Duration::from_millis(i)));
        }
    });
    // Until all of them have been polled and nobody looks for more.
    thread::sleep(Duration::from_millis(setup.size(500, 100, 20)));
    Box::new(move || {
        let alive = runtime.metrics().num_alive_tasks() as u64;
        assert_eq!(alive, 2 * connections + wanted, "a task has ended");
        let (all, own) = (Usage::of_process(), Usage::of_thread());
        let start = Instant::now();
        thread::sleep(pause);
        let seconds = start.elapsed().as_secs_f64();
        let all = Usage::of_process().since(all).voluntary_switches;
        let own = Usage::of_thread().since(own).voluntary_switches;
        let figure = all.saturating_sub(own) as f64 / seconds;
        let notes = vec![("wakeups per second", figure), ("connections", connections as f64)];
        Done { figure: Some(figure), notes, ..Done::ops(1) }
    })
}

/// Nobody sends any.
async fn wait_for_data(mut stream: TcpStream) {
    let _ = stream.read(&mut [0]).await;
}
