//! What is left of a server's work when more is asked of it than it can do, and how soon is it well again?
//!
//! The server takes a request only if fewer than 64 are under way, and refuses the others at once: without that a backlog
//! grows as long as the overload lasts, on any runtime. So it must go on reading and refusing while all cores have work. First
//! one request after the other on 64 connections shows its peak; then come 120 % of that, then 80 %. Good is what was done
//! within 100 ms of when it was meant to be asked. The ratio is of the time per good answer under overload.
//!
//! How the answer could mislead: each side is loaded in proportion to its own peak. The client shares the cores. Whoever
//! else uses them between the peak and the overload takes from the one and not from the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::load;
use crate::open_loop::{Answer, Answers, Client, Frame, Phase};
use rt::net::{TcpListener, TcpStream};
use rt::sync::{OwnedSemaphorePermit, Semaphore};

const WORK: Duration = Duration::from_micros(100);
const AT_ONCE: usize = 64;
const IN_TIME_NS: u64 = 100_000_000;
const OVER: f64 = 1.2;
const UNDER: f64 = 0.8;
/// Recovered is whoever has so many tenths of a second in a row with this share of good answers. What comes later, on a machine that others use,
/// too, is not of the overload any more.
const WELL: f64 = 0.95;
const IN_A_ROW: usize = 5;
const WINDOW_NS: u64 = 100_000_000;

pub(crate) fn cases() -> Vec<Case> {
    let what = "120 % of the peak for 30 s, then 80 %: time per good answer under overload";
    vec![
        Case::new(27, "overload", what, 1.0, prepare)
            .workers(2)
            .at_least("goodput, share of peak", 0.9)
            .at_most("ms until recovered", 1000.0)
            .scaled("120 % for 0.6 s, then 80 % for 0.4 s")
            .glacial(),
    ]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let address = runtime.block_on(serve()).unwrap();
    let client = Client::connect(address).unwrap();
    let ms = Duration::from_millis;
    let peak = client.saturate(ms(setup.size(3000, 300, 50))).unwrap();
    let over = Phase { per_second: OVER * peak, time: ms(setup.size(30_000, 600, 100)) };
    let under = Phase { per_second: UNDER * peak, time: ms(setup.size(5000, 400, 100)) };
    Box::new(move || {
        // The server is there as long as the client.
        let _server = &runtime;
        let answers = client.run(&[over, under], 0.0).expect("the client failed");
        let change_ns = over.time.as_nanos() as u64;
        let good = count(&answers, |answer| answer.frame.intended_ns < change_ns && is_good(answer));
        let goodput = good as f64 / over.time.as_secs_f64();
        let refused = count(&answers, |answer| answer.frame.refused) as f64 / answers.requests as f64;
        let notes = vec![
            ("peak per second", peak),
            ("goodput, share of peak", goodput / peak),
            ("refused, share of all", refused),
            ("unsent", answers.unsent as f64),
            ("ms until recovered", recovery_ns(&answers, change_ns) as f64 / 1e6),
        ];
        Done { elapsed: Some(over.time), notes, ..Done::ops(good) }
    })
}

fn is_good(answer: &Answer) -> bool {
    !answer.frame.refused && answer.latency_ns() <= IN_TIME_NS
}

fn count(answers: &Answers, of_interest: impl Fn(&Answer) -> bool) -> u64 {
    answers.answers.iter().filter(|answer| of_interest(answer)).count() as u64
}

/// How long after the change the first windows in a row begin that are well; all of it where there are none.
fn recovery_ns(answers: &Answers, change_ns: u64) -> u64 {
    let mut windows: Vec<(u64, u64)> = Vec::new();
    for answer in &answers.answers {
        let Some(after) = answer.frame.intended_ns.checked_sub(change_ns) else { continue };
        let window = (after / WINDOW_NS) as usize;
        if windows.len() <= window {
            windows.resize(window + 1, (0, 0));
        }
        windows[window].0 += u64::from(is_good(answer));
        windows[window].1 += 1;
    }
    let is_well = |&(good, all): &(u64, u64)| good as f64 >= WELL * all as f64;
    // The quick form is over before there are so many.
    let in_a_row = IN_A_ROW.min(windows.len() / 2).max(1);
    let first = windows.windows(in_a_row).position(|windows| windows.iter().all(is_well));
    first.unwrap_or(windows.len()) as u64 * WINDOW_NS
}

async fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let room = Arc::new(Semaphore::new(AT_ONCE));
    rt::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            rt::spawn(take(Arc::new(stream), room.clone()));
        }
    });
    Ok(address)
}

/// Reads requests as they come, and starts or refuses each.
async fn take(stream: Arc<TcpStream>, room: Arc<Semaphore>) {
    let mut buffer = [0; 64 * Frame::LEN];
    let mut filled = 0;
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut buffer[filled..]) {
            Ok(0) => return,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return,
        }
        let (frames, rest) = buffer[..filled].as_chunks();
        for bytes in frames {
            let frame = Frame::from_bytes(bytes);
            match room.clone().try_acquire_owned() {
                Ok(permit) => {
                    rt::spawn(work(stream.clone(), frame, permit));
                }
                Err(_) => write(&stream, Frame { refused: true, ..frame }).await,
            }
        }
        let (whole, rest) = (filled - rest.len(), rest.len());
        buffer.copy_within(whole..filled, 0);
        filled = rest;
    }
}

async fn work(stream: Arc<TcpStream>, frame: Frame, permit: OwnedSemaphorePermit) {
    load::burn(WORK);
    drop(permit);
    write(&stream, frame).await;
}

/// Whole or not at all: the buffer's room is far more than the answers that can be under way.
async fn write(stream: &TcpStream, frame: Frame) {
    while let Err(error) = stream.try_write(&frame.to_bytes()) {
        if error.kind() != std::io::ErrorKind::WouldBlock || stream.writable().await.is_err() {
            return;
        }
    }
}
