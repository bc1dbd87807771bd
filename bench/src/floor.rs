//! What the kernel alone makes of two workloads, without a runtime.
//!
//! Of `interference`: a server with a thread for each connection. There nothing waits behind anything but for a core, and the
//! kernel divides these. A runtime with fewer threads cannot do better than its workers' share of that, unless it asks the kernel
//! for more than a thread's share. So where the tail here is as long as a runtime's, no scheduler of tasks can shorten it.
//!
//! How the answer could mislead: more threads that are runnable get more of the cores than the few of a runtime, whose client
//! competes with them all the same.
//!
//! Of `rescue`: who looks at a worker once in a millisecond has seen it stuck at the second look, and wakes another thread. Where
//! the block begins just after a look, that is two naps and a wake; so what these take at the most, in as many tries, no watch can
//! undercut that naps as long. Its median can be less: most blocks begin in the middle of a nap.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::load;
use crate::open_loop::{Client, Frame, Phase};

/// What a request takes.
pub(crate) const LIGHT: Duration = Duration::from_micros(20);
/// What one does that holds on to its worker.
pub(crate) const HEAVY: Duration = Duration::from_millis(10);
/// What a request costs outside of its own work.
const OVERHEAD: Duration = Duration::from_micros(30);
const LOAD: f64 = 0.5;

/// How long a worker of `rescue` is blocked.
pub(crate) const BLOCKED: Duration = Duration::from_millis(20);
/// From the end of one block to the next.
pub(crate) const REST: Duration = Duration::from_millis(3);
const NAP: Duration = Duration::from_millis(1);

/// Requests per second that are half of what the cores have time for.
pub(crate) fn rate(heavy_share: f64) -> f64 {
    let cores = thread::available_parallelism().map_or(1.0, |cores| usize::from(cores) as f64);
    let work = heavy_share * HEAVY.as_secs_f64() + (1.0 - heavy_share) * LIGHT.as_secs_f64();
    LOAD * cores / (work + OVERHEAD.as_secs_f64())
}

/// Prints the tail of the requests that do nothing wrong, `rounds` times.
pub(crate) fn show(quick: bool, rounds: usize) -> std::io::Result<()> {
    let time = if quick { Duration::from_secs(1) } else { Duration::from_secs(10) };
    println!("a thread for each connection; µs   p50        p99      p99.9    at most");
    for (name, heavy_share) in [("0 % burn", 0.0), ("1 % burn", 0.01)] {
        let client = Client::connect(serve()?)?;
        let mut tails = Vec::new();
        for _ in 0..rounds {
            let phase = Phase { per_second: rate(heavy_share), time };
            let others = client.run(&[phase], heavy_share)?.latencies(|answer| !answer.frame.heavy);
            let us = |quantile| others.value_at_quantile(quantile) as f64 / 1e3;
            let row = [us(0.5), us(0.99), us(0.999), others.max() as f64 / 1e3];
            println!("{name:<26}{:>10.0} {:>10.0} {:>10.0} {:>10.0}", row[0], row[1], row[2], row[3]);
            tails.push(row[2]);
        }
        tails.sort_by(f64::total_cmp);
        println!("{name}: the median of p99.9 is {:.0} µs", tails[tails.len() / 2]);
    }
    let times = if quick { 30 } else { 1000 };
    println!("two naps of 1 ms and a wake, {times} times; ms  median     p99    at most");
    for _ in 0..rounds {
        let waits = naps(times);
        let ms = |per_mille: usize| waits[(times - 1) * per_mille / 1000].as_secs_f64() * 1e3;
        println!("{:<43}{:>9.2} {:>7.2} {:>10.2}", "", ms(500), ms(990), ms(1000));
    }
    Ok(())
}

/// How long two naps and a wake of another thread took, each of so many times, in order.
fn naps(times: usize) -> Vec<Duration> {
    let (wake, woken) = mpsc::channel::<Instant>();
    let sleeper = thread::spawn(move || woken.iter().map(|begun| begun.elapsed()).collect::<Vec<_>>());
    for _ in 0..times {
        thread::sleep(BLOCKED + REST);
        let begun = Instant::now();
        thread::sleep(NAP);
        thread::sleep(NAP);
        wake.send(begun).expect("the sleeper waits for more");
    }
    drop(wake);
    let mut waits = sleeper.join().expect("the sleeper does not panic");
    waits.sort();
    waits
}

fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().take(Client::LANES) {
            let Ok(stream) = stream else { return };
            // Only speed depends on it.
            let _ = stream.set_nodelay(true);
            thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

/// One request after the other.
fn answer(mut stream: TcpStream) {
    let mut bytes = [0; Frame::LEN];
    while stream.read_exact(&mut bytes).is_ok() {
        load::burn(if Frame::from_bytes(&bytes).heavy { HEAVY } else { LIGHT });
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}
