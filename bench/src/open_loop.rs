//! A client that does not wait for answers before it asks again.
//!
//! Requests have intended times that were drawn beforehand (a Poisson process, seeded), and latency counts from there, not
//! from when the request was written. So a server that stalls, or a sender that came late, shows in the latency of every
//! request meant for that time: nothing is omitted because the client was waiting, too.
//!
//! It runs on two threads of its own and on no runtime: one writes at the intended times, the caller's reads the answers.
//! Both take a share of the same cores as the server, and the same share on every side.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::stats::Rng;

/// What goes over the wire, both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Nanoseconds after the start.
    pub(crate) intended_ns: u64,
    pub(crate) heavy: bool,
    /// Of an answer: the server would not do it.
    pub(crate) refused: bool,
}

impl Frame {
    pub(crate) const LEN: usize = 16;

    pub(crate) fn to_bytes(self) -> [u8; Frame::LEN] {
        let mut bytes = [0; Frame::LEN];
        bytes[..8].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[8] = self.heavy.into();
        bytes[9] = self.refused.into();
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Frame::LEN]) -> Frame {
        let (number, flags) = bytes.split_first_chunk().expect("a frame is longer than a number");
        Frame { intended_ns: u64::from_le_bytes(*number), heavy: flags[0] != 0, refused: flags[1] != 0 }
    }
}

/// So many requests per second for so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    pub(crate) per_second: f64,
    pub(crate) time: Duration,
}

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) frame: Frame,
    /// Nanoseconds after the start.
    pub(crate) at_ns: u64,
}

impl Answer {
    /// From the intended time.
    pub(crate) fn latency_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.frame.intended_ns)
    }
}

/// What came of a run.
pub(crate) struct Answers {
    pub(crate) start: Instant,
    pub(crate) answers: Vec<Answer>,
    /// Planned, and so asked for.
    pub(crate) requests: u64,
    /// Requests that found no room in the socket: the server did not read for that long.
    pub(crate) unsent: u64,
}

impl Answers {
    /// Latencies in ns of those that `of_interest` picks.
    pub(crate) fn latencies(&self, of_interest: impl Fn(&Answer) -> bool) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("3 digits are fine");
        for answer in self.answers.iter().filter(|answer| of_interest(answer)) {
            histogram.record(answer.latency_ns()).expect("it grows by itself");
        }
        histogram
    }
}

/// Connections to a server. Heavy requests have some of their own, or they would hold up those behind them on the same one.
pub(crate) struct Client {
    light: Vec<TcpStream>,
    heavy: Vec<TcpStream>,
}

const LIGHT_LANES: usize = 64;
const HEAVY_LANES: usize = 16;
/// How long to wait for the last answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// Intended times and kinds, in order.
fn plan(phases: &[Phase], heavy_share: f64) -> Vec<Frame> {
    let mut rng = Rng::new(0x6E65_7A75_6D69);
    let mut frames = Vec::new();
    let mut begin = 0.0;
    for phase in phases {
        let end = begin + phase.time.as_secs_f64();
        let mut at = begin;
        loop {
            at += -(1.0 - rng.unit()).ln() / phase.per_second;
            if at >= end {
                break;
            }
            let heavy = rng.unit() < heavy_share;
            frames.push(Frame { intended_ns: (at * 1e9) as u64, heavy, refused: false });
        }
        begin = end;
    }
    frames
}

impl Client {
    /// So many connections as the server must accept.
    pub(crate) const LANES: usize = LIGHT_LANES + HEAVY_LANES;

    pub(crate) fn connect(address: SocketAddr) -> io::Result<Client> {
        let connect = |_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let light = (0..LIGHT_LANES).map(connect).collect::<io::Result<_>>()?;
        let heavy = (0..HEAVY_LANES).map(connect).collect::<io::Result<_>>()?;
        Ok(Client { light, heavy })
    }

    /// Asks as planned, and waits for all answers.
    pub(crate) fn run(&self, phases: &[Phase], heavy_share: f64) -> io::Result<Answers> {
        let frames = plan(phases, heavy_share);
        let end = phases.iter().map(|phase| phase.time).sum::<Duration>();
        let requests = frames.len() as u64;
        let unsent = AtomicU64::new(0);
        let mut readers = Readers::new(self.light.iter().chain(&self.heavy))?;
        let mut answers = Vec::with_capacity(frames.len());
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| self.send(&frames, start, &unsent));
            while (answers.len() as u64) < requests - unsent.load(Ordering::Relaxed) {
                readers.turn(|_, frame| {
                    answers.push(Answer { frame, at_ns: start.elapsed().as_nanos() as u64 });
                })?;
                if start.elapsed() > end + PATIENCE {
                    return Err(io::Error::new(ErrorKind::TimedOut, "the server does not answer any more"));
                }
            }
            Ok(())
        })?;
        Ok(Answers { start, answers, requests, unsent: unsent.into_inner() })
    }

    /// One request after the other on each light connection, for so long. Answers per second.
    pub(crate) fn saturate(&self, time: Duration) -> io::Result<f64> {
        let mut readers = Readers::new(self.light.iter())?;
        let request = Frame::default().to_bytes();
        for mut stream in &self.light {
            stream.write_all(&request)?;
        }
        let (start, mut waiting, mut answers) = (Instant::now(), self.light.len(), 0);
        let mut elapsed = Duration::ZERO;
        while waiting > 0 {
            let mut failed = Ok(());
            readers.turn(|lane, _| {
                waiting -= 1;
                if start.elapsed() < time {
                    waiting += 1;
                    answers += 1;
                    elapsed = start.elapsed();
                    if let Err(error) = (&self.light[lane]).write_all(&request) {
                        failed = Err(error);
                    }
                }
            })?;
            failed?;
        }
        Ok(f64::from(answers) / elapsed.as_secs_f64())
    }

    fn send(&self, frames: &[Frame], start: Instant, unsent: &AtomicU64) {
        sleep_precisely();
        let (mut light, mut heavy) = (self.light.iter().cycle(), self.heavy.iter().cycle());
        for frame in frames {
            let intended = start + Duration::from_nanos(frame.intended_ns);
            thread::sleep(intended.saturating_duration_since(Instant::now()));
            let lane = if frame.heavy { heavy.next() } else { light.next() };
            let mut stream = lane.expect("a cycle does not end");
            // A frame fits as a whole or not at all, in a buffer whose size is a multiple of it many times over.
            match stream.write(&frame.to_bytes()) {
                Ok(Frame::LEN) => {}
                _ => {
                    unsent.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

/// The kernel may let a sleep end later, to save wakeups: not here.
fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    // SAFETY: sets a number of the calling thread, and takes no pointer.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
    }
}

/// Reads whole frames of whichever connection has some.
struct Readers<'a> {
    poll: Poll,
    events: Events,
    lanes: Vec<Lane<'a>>,
}

struct Lane<'a> {
    stream: &'a TcpStream,
    buffer: [u8; 64 * Frame::LEN],
    /// Of the buffer: the beginning of a frame whose end has not come yet.
    filled: usize,
}

impl<'a> Readers<'a> {
    fn new(streams: impl Iterator<Item = &'a TcpStream>) -> io::Result<Readers<'a>> {
        let poll = Poll::new()?;
        let mut lanes = Vec::new();
        for stream in streams {
            let fd = stream.as_raw_fd();
            poll.registry().register(&mut SourceFd(&fd), Token(lanes.len()), Interest::READABLE)?;
            lanes.push(Lane { stream, buffer: [0; 64 * Frame::LEN], filled: 0 });
        }
        Ok(Readers { poll, events: Events::with_capacity(Client::LANES), lanes })
    }

    /// Waits a moment for answers, and hands out those that are there.
    fn turn(&mut self, mut take: impl FnMut(usize, Frame)) -> io::Result<()> {
        match self.poll.poll(&mut self.events, Some(Duration::from_millis(20))) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        for event in &self.events {
            let lane = event.token().0;
            self.lanes[lane].read(|frame| take(lane, frame))?;
        }
        Ok(())
    }
}

impl Lane<'_> {
    /// Until there is no more: the events come on edges.
    fn read(&mut self, mut take: impl FnMut(Frame)) -> io::Result<()> {
        loop {
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let (frames, rest) = self.buffer[..self.filled].as_chunks();
            frames.iter().for_each(|bytes| take(Frame::from_bytes(bytes)));
            let (whole, rest) = (self.filled - rest.len(), rest.len());
            self.buffer.copy_within(whole..self.filled, 0);
            self.filled = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_frame_survives_the_wire() {
        for frame in [
            Frame { intended_ns: 1 << 40, heavy: true, refused: false },
            Frame { intended_ns: 7, heavy: false, refused: true },
        ] {
            assert_eq!(Frame::from_bytes(&frame.to_bytes()), frame);
        }
    }

    #[test]
    fn a_plan_has_the_rate_and_the_share_that_were_asked_for() {
        let phase = |per_second| Phase { per_second, time: Duration::from_secs(10) };
        let frames = plan(&[phase(1000.0), phase(4000.0)], 0.01);
        assert!(frames.is_sorted_by_key(|frame| frame.intended_ns));
        let first = frames.iter().filter(|frame| frame.intended_ns < 10_000_000_000).count();
        // Of a Poisson process the deviation is the root of the count.
        assert!((9_600..10_400).contains(&first), "{first}");
        assert!((39_200..40_800).contains(&(frames.len() - first)), "{}", frames.len() - first);
        let heavy = frames.iter().filter(|frame| frame.heavy).count();
        assert!((410..590).contains(&heavy), "{heavy}");
    }

    /// Answers each request in turn, on one thread per connection, after a pause before the first of each.
    fn serve(pause: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().take(Client::LANES) {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    thread::sleep(pause);
                    let mut frame = [0; Frame::LEN];
                    while stream.read_exact(&mut frame).is_ok() && stream.write_all(&frame).is_ok() {}
                });
            }
        });
        address
    }

    #[test]
    fn a_stall_shows_in_the_latency_of_all_that_were_meant_for_it() {
        let client = Client::connect(serve(Duration::from_millis(300))).unwrap();
        let phase = Phase { per_second: 1000.0, time: Duration::from_millis(300) };
        let answers = client.run(&[phase], 0.0).unwrap();
        assert_eq!((answers.answers.len() as u64, answers.unsent), (answers.requests, 0));
        // Meant evenly for the 300 ms of the stall: half of them waited 150 ms or more. A client that waits for each answer
        // would have seen one slow request per connection.
        let median_ms = answers.latencies(|_| true).value_at_quantile(0.5) / 1_000_000;
        assert!(median_ms >= 100, "{median_ms}");
    }

    #[test]
    fn saturation_counts_answers() {
        let client = Client::connect(serve(Duration::ZERO)).unwrap();
        let per_second = client.saturate(Duration::from_millis(50)).unwrap();
        assert!(per_second > 100.0, "{per_second}");
    }
}
