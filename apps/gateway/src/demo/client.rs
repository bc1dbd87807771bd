//! Clients that ask as fast as they are answered, and check what they get.
//!
//! Nine in ten requests are a small `GET`, the tenth is a `POST` whose body must come back.

use super::upstream::HELLO;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http::header::HOST;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

type Failure = Box<dyn Error + Send + Sync>;

/// Bytes that a `POST` sends and wants back.
const ECHO: Bytes = Bytes::from_static(&[b'n'; 4096]);

/// One request in so many is a `POST`.
const POST_EVERY: u64 = 10;

/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client that failed to connect waits before it tries again.
const PAUSE: Duration = Duration::from_millis(50);

/// Histograms that clients share out, so that many clients need little memory and few meet at one lock.
const LANES: usize = 64;

/// Clients at work.
#[derive(Debug)]
pub(super) struct Load {
    counts: Arc<Counts>,
    clients: JoinSet<()>,
}

/// What all clients saw.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) errors: u64,
    /// Of requests that succeeded, in microseconds.
    pub(super) latency_us: Histogram<u64>,
}

#[derive(Debug)]
struct Counts {
    requests: AtomicU64,
    errors: AtomicU64,
    lanes: Vec<Mutex<Histogram<u64>>>,
}

impl Load {
    /// Starts `connections` clients of `address`, who stop at `end`.
    pub(super) fn start(address: SocketAddr, connections: u32, end: Instant) -> Self {
        let lanes = (0..LANES).map(|_| Mutex::new(histogram())).collect();
        let counts = Arc::new(Counts { requests: AtomicU64::new(0), errors: AtomicU64::new(0), lanes });
        let mut clients = JoinSet::new();
        for index in 0..connections as usize {
            let client = Client { address, end, lane: index % LANES, counts: Arc::clone(&counts) };
            clients.spawn(client.run());
        }
        Self { counts, clients }
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Relaxed)
    }

    pub(super) fn errors(&self) -> u64 {
        self.counts.errors.load(Ordering::Relaxed)
    }

    /// Waits until every client has finished.
    pub(super) async fn finish(mut self) -> Tally {
        while let Some(client) = self.clients.join_next().await {
            if client.is_err() {
                self.counts.errors.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut latency_us = histogram();
        for lane in &self.counts.lanes {
            let lane = lane.lock().unwrap_or_else(PoisonError::into_inner);
            latency_us.add(&*lane).expect("histograms of one kind");
        }
        Tally { requests: self.requests(), errors: self.errors(), latency_us }
    }
}

/// Three digits, from a microsecond to a minute.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are valid")
}

struct Client {
    address: SocketAddr,
    end: Instant,
    lane: usize,
    counts: Arc<Counts>,
}

impl Client {
    async fn run(self) {
        let mut link = None;
        let mut turn = self.lane as u64;
        while Instant::now() < self.end {
            turn += 1;
            let start = Instant::now();
            match timeout(PATIENCE, self.ask(&mut link, turn)).await {
                Ok(Ok(())) => self.note(start.elapsed()),
                failure => {
                    self.counts.errors.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(?failure, "request failed");
                    link = None;
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn note(&self, latency: Duration) {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let mut lane = self.counts.lanes[self.lane].lock().unwrap_or_else(PoisonError::into_inner);
        lane.saturating_record(latency_us);
    }

    async fn ask(&self, link: &mut Option<SendRequest<Full<Bytes>>>, turn: u64) -> Result<(), Failure> {
        if link.is_none() {
            *link = Some(self.connect().await?);
        }
        let Some(link) = link else { return Ok(()) };
        let (method, body) =
            if turn.is_multiple_of(POST_EVERY) { (Method::POST, ECHO) } else { (Method::GET, Bytes::new()) };
        let expected = if method == Method::POST { ECHO } else { Bytes::from_static(HELLO.as_bytes()) };
        let request = Request::builder().method(method).uri("/demo").header(HOST, "demo.example");
        link.ready().await?;
        let response = link.send_request(request.body(Full::new(body))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK || body != expected {
            return Err(format!("{status} with {} bytes", body.len()).into());
        }
        Ok(())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (link, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends when the link is dropped; its errors come out where the link is used.
        tokio::spawn(connection);
        Ok(link)
    }
}
