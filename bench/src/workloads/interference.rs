//! How long do requests wait because other tasks hold on to their worker?
//!
//! The figure is the 99.9th percentile of the latency of the requests that do nothing wrong, counted from when each was
//! meant to be sent. Its client is the one of `open_loop`, which no answer can hold up.
//!
//! How the answer could mislead: a tail of some thousand requests is a handful of them. With fewer cores than workers the
//! kernel's time slices are in it, and the sleep of the client, some 60 µs: `--floor` shows what the kernel alone makes of
//! the same load. The load is of the whole machine and reckons with 30 µs per request for the kernel and the client; where
//! these are dearer it is more than half.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::floor::{self, HEAVY, LIGHT};
use crate::load;
use crate::open_loop::{Answers, Client, Frame, Phase};
use rt::io::{AsyncReadExt, AsyncWriteExt};
use rt::net::{TcpListener, TcpStream};

pub(crate) fn cases() -> Vec<Case> {
    let case = |variant, what, heavy_share, blocks| {
        Case::new(26, "interference", what, 5.0, move |setup| prepare(setup, heavy_share, blocks))
            .variant(variant)
            .workers(4)
            .figure("p99.9 µs")
            .scaled("for 1 s instead of 10, and the task that blocks does so for 0.1 s every 0.2 s")
            .slow()
    };
    vec![
        case(
            "1 % burn",
            "half the load that can be had; 1 % of the requests burn 10 ms: latency of the others",
            0.01,
            false,
        ),
        case(
            "one blocks",
            "half the load that can be had; a task blocks 1 s every 2 s: latency of the requests",
            0.0,
            true,
        )
        .at_most("added while blocked, µs", 5000.0),
        case(
            "1 % burn and one blocks",
            "half the load that can be had; 1 % of the requests burn 10 ms, and a task blocks 1 s every 2 s: latency of the others",
            0.01,
            true,
        ),
    ]
}

/// When a task blocked its worker, from when until when.
type Blocks = Arc<Mutex<Vec<(Instant, Instant)>>>;

fn prepare(setup: &Setup, heavy_share: f64, blocks: bool) -> Round {
    let runtime = start::runtime(setup);
    let time = Duration::from_millis(setup.size(10_000, 1000, 100));
    let block = Duration::from_millis(setup.size(1000, 100, 10));
    let address = runtime.block_on(serve()).unwrap();
    let client = Client::connect(address).unwrap();
    let blocked = Blocks::default();
    if blocks {
        let blocked = blocked.clone();
        runtime.spawn(async move {
            loop {
                rt::time::sleep(block).await;
                let begin = Instant::now();
                std::thread::sleep(block);
                blocked.lock().unwrap().push((begin, Instant::now()));
            }
        });
    }
    let phase = Phase { per_second: floor::rate(heavy_share), time };
    Box::new(move || {
        // The server is there as long as the client.
        let _server = &runtime;
        let answers = client.run(&[phase], heavy_share).expect("the client failed");
        assert_eq!(answers.answers.len() as u64, answers.requests, "a request was not answered");
        let others = answers.latencies(|answer| !answer.frame.heavy);
        let us = |quantile| others.value_at_quantile(quantile) as f64 / 1e3;
        let mut notes = vec![
            ("p50 µs", us(0.5)),
            ("p99 µs", us(0.99)),
            ("p99.9 µs", us(0.999)),
            ("at most µs", others.max() as f64 / 1e3),
        ];
        if blocks {
            notes.push(("added while blocked, µs", added_us(&answers, &blocked)));
        }
        Done { figure: Some(us(0.999) * answers.requests as f64), notes, ..Done::ops(answers.requests) }
    })
}

/// By how much the 99.9th percentile of the requests that were meant to be sent during a block is above that of the rest.
fn added_us(answers: &Answers, blocked: &Blocks) -> f64 {
    let blocked = std::mem::take(&mut *blocked.lock().unwrap());
    let tail_us = |during| {
        let latencies = answers.latencies(|answer| {
            let at = answers.start + Duration::from_nanos(answer.frame.intended_ns);
            let is_during = blocked.iter().any(|(begin, end)| (*begin..*end).contains(&at));
            !answer.frame.heavy && is_during == during
        });
        latencies.value_at_quantile(0.999) as f64 / 1e3
    };
    tail_us(true) - tail_us(false)
}

async fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    rt::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            rt::spawn(answer(stream));
        }
    });
    Ok(address)
}

/// One request after the other.
async fn answer(mut stream: TcpStream) {
    let mut bytes = [0; Frame::LEN];
    while stream.read_exact(&mut bytes).await.is_ok() {
        load::burn(if Frame::from_bytes(&bytes).heavy { HEAVY } else { LIGHT });
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
