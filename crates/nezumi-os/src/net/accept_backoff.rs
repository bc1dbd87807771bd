//! How a loop that accepts connections lives through a lack of descriptors.
//!
//! Called by programs, around `accept` of whichever listener. Uses the timers of the runtime and the random numbers of the thread.
//!
//! Promise: a loop that accepts by way of this does not spin, also where its future is dropped and made again in a `select!`: the end of a
//! wait is kept between calls. It waits no longer than [`LONGEST`] after descriptors are there again, and needs no new connection to notice
//! that: `accept` leaves the readiness of a listener as it is when it fails (`evented`).
//!
//! Tests: below; `faults::connections_in_the_backlog_are_accepted_when_descriptors_are_free_again` in `tests/net`.

use nezumi_core::time::{Instant, sleep_until};
use nezumi_wake::rng;
use std::io;
use std::time::Duration;

/// The first wait of an outage, at most.
const FIRST: Duration = Duration::from_millis(5);
/// The longest one, at most.
const LONGEST: Duration = Duration::from_millis(500);
/// Steps between half of a wait and the whole of it.
const JITTER_STEPS: u32 = 1 << 16;

/// Waits between failures to accept: longer each time, and never in step with others.
///
/// When a process has no descriptor left, `accept` fails with `EMFILE`, and goes on failing at once, since the connection still waits to be
/// accepted. A loop that ends then takes the server down, and one that tries again at once keeps a core busy with failing. This one
/// waits up to 5 ms after the first failure, twice as long after each further one, up to half a second; and of that a random part
/// between half and the whole, so that several loops do not all try at the same moment. Clients wait in the kernel's backlog
/// meanwhile. When descriptors are free again the loop goes on by itself.
///
/// | `accept` fails because | what is done |
/// |---|---|
/// | the client was gone before it was accepted (`ECONNABORTED` and the like) | the next one is accepted at once |
/// | descriptors or memory have run out (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), or for another reason that may pass | a wait |
/// | it is no listener, or the runtime has been shut down | the error is returned |
///
/// It is for one loop; each has its own.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::{AcceptBackoff, TcpListener};
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     let mut backoff = AcceptBackoff::new();
///     loop {
///         let (stream, peer) = backoff.accept(|| listener.accept()).await?;
///         nezumi::spawn(async move {
///             println!("{peer} is here");
///             drop(stream);
///         });
///     }
/// }
/// ```
#[derive(Debug, Default)]
pub struct AcceptBackoff {
    failures: u32,
    /// When the first of them was.
    since: Option<Instant>,
    /// No try before that.
    until: Option<Instant>,
}

impl AcceptBackoff {
    /// For a loop that has not failed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { failures: 0, since: None, until: None }
    }

    /// Accepts by `accept`, again and again until that gives a connection.
    ///
    /// # Errors
    ///
    /// Those that no later try can mend: what `accept` was called on is no listener, or the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// When it has to wait and the runtime has no timers.
    ///
    /// # Cancel safety
    ///
    /// As that of `accept`: dropped before it completes, it has accepted nothing. What is left of a wait is waited for by the next call.
    pub async fn accept<T, F, Fut>(&mut self, mut accept: F) -> io::Result<T>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = io::Result<T>>,
    {
        loop {
            self.wait().await;
            match accept().await {
                Ok(connection) => {
                    self.succeeded();
                    return Ok(connection);
                }
                Err(error) => self.failed(error)?,
            }
        }
    }

    /// Notes a failure, for a loop that calls `accept` itself, and [`wait`](Self::wait) before it tries again.
    ///
    /// # Errors
    ///
    /// The same error, if no later try can mend it.
    pub fn failed(&mut self, error: io::Error) -> io::Result<()> {
        match Fault::of(&error) {
            Fault::Listener => return Err(error),
            Fault::Client => {}
            Fault::Scarcity => {
                let now = Instant::now();
                self.since.get_or_insert(now);
                self.until = Some(now + self.next_wait(rng::below(JITTER_STEPS)));
            }
        }
        Ok(())
    }

    /// Waits until the next try; not at all, if the last one did not fail for want of something.
    ///
    /// # Panics
    ///
    /// When the runtime has no timers.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: the next call waits for the rest.
    pub async fn wait(&mut self) {
        if let Some(until) = self.until {
            sleep_until(until).await;
            self.until = None;
        }
    }

    /// Notes that a connection was accepted. If there were failures before, says how many, and for how long.
    pub fn succeeded(&mut self) -> Option<(u32, Duration)> {
        let ended = std::mem::take(self);
        ended.since.map(|since| (ended.failures, since.elapsed()))
    }

    /// How often in a row something was wanting. Failures that were the client's are not counted.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure. Twice as long as the last wait, up to the longest, less a random part of up to half.
    fn next_wait(&mut self, jitter: u32) -> Duration {
        let doubled = FIRST * 2_u32.pow(self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        let whole = doubled.min(LONGEST);
        whole - whole / 2 * jitter / JITTER_STEPS
    }
}

/// Whose fault it is that a connection was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It was gone, or had failed, before it was accepted; it is out of the backlog now.
    Client,
    /// Something is wanting that may come back.
    Scarcity,
    /// There is nothing to accept from.
    Listener,
}

impl Fault {
    fn of(error: &io::Error) -> Self {
        use io::ErrorKind::{
            ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted,
            InvalidInput, NetworkDown, NetworkUnreachable,
        };
        if is_no_listener(error) || nezumi_core::runtime::is_rt_shutdown_err(error) {
            return Fault::Listener;
        }
        match error.kind() {
            ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted => Fault::Client,
            // On Linux an error that waits on the new connection is told here.
            HostUnreachable | NetworkDown | NetworkUnreachable => Fault::Client,
            InvalidInput => Fault::Listener,
            _ if is_protocol_error(error) => Fault::Client,
            _ => Fault::Scarcity,
        }
    }
}

#[cfg(unix)]
fn is_no_listener(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK))
}

#[cfg(unix)]
fn is_protocol_error(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPROTO | libc::ENOPROTOOPT))
}

#[cfg(windows)]
fn is_no_listener(error: &io::Error) -> bool {
    const WSAENOTSOCK: i32 = 10038;
    error.raw_os_error() == Some(WSAENOTSOCK)
}

#[cfg(windows)]
fn is_protocol_error(_error: &io::Error) -> bool {
    false
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use nezumi_core::runtime::Builder;

    fn scarcity() -> io::Error {
        io::ErrorKind::Other.into()
    }

    /// On a clock that stands still but when all wait.
    fn paused(test: impl Future<Output = ()>) {
        Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    #[test]
    fn waits_grow_to_a_limit_and_are_scattered() {
        let mut backoff = AcceptBackoff::new();
        assert_eq!(backoff.next_wait(0), FIRST);
        assert_eq!(backoff.next_wait(0), FIRST * 2);
        assert_eq!(backoff.next_wait(JITTER_STEPS), FIRST * 2, "four times, scattered down to half");
        for _ in 0..100 {
            let wait = backoff.next_wait(JITTER_STEPS / 2);
            assert!(FIRST < wait && wait <= LONGEST, "{wait:?}");
        }
        assert_eq!(backoff.next_wait(0), LONGEST);
    }

    #[test]
    fn an_outage_is_waited_out_and_told() {
        paused(async {
            let (mut backoff, start) = (AcceptBackoff::new(), Instant::now());
            let mut left = 6;
            let accept = || {
                left -= 1;
                std::future::ready(if left == 0 { Ok(7) } else { Err(scarcity()) })
            };
            assert_eq!(backoff.accept(accept).await.unwrap(), 7);
            assert_eq!(left, 0);
            // Five waits of 5, 10, 20, 40 and 80 ms, or down to half of that.
            let waited = start.elapsed();
            assert!((77..=160).contains(&waited.as_millis()), "{waited:?}");
            assert_eq!(backoff.failures(), 0, "it begins anew");
        });
    }

    #[test]
    fn a_wait_that_is_given_up_is_waited_out_by_the_next_call() {
        paused(async {
            let mut backoff = AcceptBackoff::new();
            for _ in 0..8 {
                backoff.failed(scarcity()).unwrap();
            }
            let (until, mut tries) = (backoff.until.unwrap(), 0);
            // As a `select!` does whose other branch is always first.
            while Instant::now() + Duration::from_millis(1) < until {
                let accepting = backoff.accept(|| {
                    tries += 1;
                    std::future::ready(Ok(()))
                });
                let _ = nezumi_core::time::timeout(Duration::from_millis(1), accepting).await;
                assert!(tries == 0 || Instant::now() >= until);
            }
            assert!(tries <= 1);
        });
    }

    #[test]
    fn a_client_that_is_gone_is_not_waited_for() {
        paused(async {
            let (mut backoff, start) = (AcceptBackoff::new(), Instant::now());
            let mut left = 1000;
            let accept = || {
                left -= 1;
                std::future::ready(if left == 0 {
                    Ok(())
                } else {
                    Err(io::ErrorKind::ConnectionAborted.into())
                })
            };
            backoff.accept(accept).await.unwrap();
            assert_eq!(start.elapsed(), Duration::ZERO);
        });
    }

    #[test]
    #[cfg(unix)]
    fn each_error_is_taken_for_what_it_is() {
        for (errors, fault) in [
            (&[libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::EPERM][..], Fault::Scarcity),
            (
                &[libc::ECONNABORTED, libc::EINTR, libc::EPROTO, libc::ENETDOWN, libc::EHOSTUNREACH],
                Fault::Client,
            ),
            (&[libc::EBADF, libc::EINVAL, libc::ENOTSOCK], Fault::Listener),
        ] {
            for &errno in errors {
                assert_eq!(Fault::of(&io::Error::from_raw_os_error(errno)), fault, "{errno}");
            }
        }
    }

    #[test]
    fn what_cannot_be_mended_is_returned() {
        paused(async {
            let accept = || std::future::ready(Err::<(), _>(io::ErrorKind::InvalidInput.into()));
            let error = AcceptBackoff::new().accept(accept).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        });
    }
}
