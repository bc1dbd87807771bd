//! A client that sends each request when it is meant to be sent.
//!
//! A thread sleeps until the intended time of the next request and hands it to a single-threaded runtime, which has nothing to do with the one
//! that is loaded. There it takes a connection that is free, or makes one: it waits for no answer but its own. Its latency counts from the
//! intended time, so that whatever holds it up, in the servers, in the kernel or here, is in it.

use super::super::client::histogram;
use super::super::upstream::HELLO;
use super::plan::{Intent, Kind, Plan};
use crate::metrics::RuntimeFigures;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::timeout;

type Failure = Box<dyn Error + Send + Sync>;
type Link = SendRequest<Empty<Bytes>>;

/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that a plan may need at once, with room: so much may be held up.
pub(super) const MOST_LINKS: u32 = 2000;

/// What one side answered, summed up over its rounds.
#[derive(Debug)]
pub(super) struct Tally {
    /// Answers, by kind of request.
    pub(super) plain: u64,
    pub(super) blocking: u64,
    pub(super) burning: u64,
    pub(super) flooding: u64,
    pub(super) errors: u64,
    /// Of the plain ones.
    pub(super) latency_us: Histogram<u64>,
    /// Times a worker took over what another, stuck one had left behind.
    pub(super) rescues: u64,
    pub(super) spares_begun: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            plain: 0,
            blocking: 0,
            burning: 0,
            flooding: 0,
            errors: 0,
            latency_us: histogram(),
            rescues: 0,
            spares_begun: 0,
        }
    }
}

impl Tally {
    fn note(&mut self, kind: Kind, latency: Duration) {
        match kind {
            Kind::Plain => {
                self.plain += 1;
                self.latency_us.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
            }
            Kind::Block => self.blocking += 1,
            Kind::Burn => self.burning += 1,
            Kind::Flood => self.flooding += 1,
        }
    }

    pub(super) fn note_runtime(&mut self, figures: RuntimeFigures) {
        self.rescues += figures.workers.iter().map(|worker| worker.rescues).sum::<u64>();
        self.spares_begun += figures.spares_begun;
    }
}

/// Connections to the gateway, on a runtime of their own.
pub(super) struct Client {
    runtime: Runtime,
    links: Arc<Links>,
}

impl Client {
    /// With `connections` made beforehand.
    pub(super) fn new(address: SocketAddr, connections: u32) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let links = Arc::new(Links { address, idle: Mutex::default() });
        runtime.block_on(async {
            for _ in 0..connections.min(MOST_LINKS) {
                let link = links.connect().await.map_err(io::Error::other)?;
                links.give_back(link);
            }
            Ok::<_, io::Error>(())
        })?;
        Ok(Self { runtime, links })
    }

    /// Sends what `plan` says, and waits for all answers.
    pub(super) fn carry_out(&self, plan: &Plan, tally: &mut Tally) {
        let (hand, mut handed) = tokio::sync::mpsc::unbounded_channel::<Intent>();
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(move || {
                for intent in plan.intents() {
                    thread::sleep((start + intent.at).saturating_duration_since(Instant::now()));
                    if hand.send(*intent).is_err() {
                        return;
                    }
                }
            });
            self.runtime.block_on(async {
                let mut under_way = JoinSet::new();
                loop {
                    tokio::select! {
                        biased;
                        intent = handed.recv() => match intent {
                            Some(intent) => _ = under_way.spawn(ask(Arc::clone(&self.links), intent, start)),
                            None => break,
                        },
                        Some(answer) = under_way.join_next() => note(answer.ok(), tally),
                    }
                }
                while let Some(answer) = under_way.join_next().await {
                    note(answer.ok(), tally);
                }
            });
        });
    }
}

/// None of a request that panicked.
fn note(answer: Option<(Kind, Option<Duration>)>, tally: &mut Tally) {
    match answer {
        Some((kind, Some(latency))) => tally.note(kind, latency),
        _ => tally.errors += 1,
    }
}

/// Sends one request; says how long after its intended time it was answered, if it was.
async fn ask(links: Arc<Links>, intent: Intent, start: Instant) -> (Kind, Option<Duration>) {
    let answer = timeout(PATIENCE, links.ask(intent.kind)).await;
    let latency = start.elapsed().saturating_sub(intent.at);
    match answer {
        Ok(Ok(())) => (intent.kind, Some(latency)),
        failure => {
            tracing::warn!(?failure, path = intent.kind.path(), "request failed");
            (intent.kind, None)
        }
    }
}

/// Connections that are free, the last used on top.
struct Links {
    address: SocketAddr,
    idle: Mutex<Vec<Link>>,
}

impl Links {
    async fn ask(&self, kind: Kind) -> Result<(), Failure> {
        let free = self.idle().pop();
        let mut link = match free {
            Some(link) => link,
            None => self.connect().await?,
        };
        link.ready().await?;
        let request = Request::builder().uri(kind.path()).header(HOST, "demo.example").body(Empty::new())?;
        let response = link.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK || body != HELLO.as_bytes() {
            return Err(format!("{status} with {} bytes", body.len()).into());
        }
        self.give_back(link);
        Ok(())
    }

    async fn connect(&self) -> Result<Link, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (link, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends when the link is dropped; its errors come out where the link is used.
        tokio::spawn(connection);
        Ok(link)
    }

    fn give_back(&self, link: Link) {
        self.idle().push(link);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
