//! One client's connection, as its exchanges and its guard see it.
//!
//! Made by `serve::connection`; every exchange enters and leaves it; the guard asks it when something is overdue.
//!
//! Promise: an exchange that cannot end by itself is found. A response is only read as fast as the client takes it, so
//! a client that takes nothing would never let the exchange look at its own clock: then the connection is cut
//! [`GRACE`] after the time by which the exchange should have been over.
//!
//! It also knows with which priority the connection is to be served: high while an exchange of a route of high priority is
//! under way, and after that until a request for another route comes.
//!
//! Tests: below; `a_client_that_stops_reading_is_cut_off` in `tests/gateway/limits.rs`.

use crate::listener::Listener;
use crate::proxy::Proxy;
use nezumi::task::Priority;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long after its time an exchange is taken to be stuck.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) listener: Arc<Listener>,
    pub(crate) peer: SocketAddr,
    under_way: Mutex<UnderWay>,
    /// An exchange should be over before the guard looks next.
    hurry: Notify,
    /// A response was given before its request was read to the end.
    unread: AtomicBool,
    /// The connection is to be served with high priority.
    high: AtomicBool,
}

#[derive(Debug)]
struct UnderWay {
    /// Few: one for HTTP/1, the open streams for HTTP/2.
    exchanges: Vec<Entry>,
    next: Ticket,
    /// The route asked for last has high priority.
    last_is_high: bool,
    /// Since when there is none.
    idle_since: Instant,
    /// When the guard looks next, if it does of itself.
    looked_at: Option<Instant>,
}

/// An exchange under way.
#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    /// When it should be over.
    deadline: Option<Instant>,
    is_high: bool,
}

/// What an exchange shows on leaving.
pub(crate) type Ticket = u64;

/// What the guard of a session must do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Look again then.
    Until(Instant),
    /// Look again when an exchange has begun.
    Asleep,
    /// Close: unused for too long.
    Idle,
    /// Cut: an exchange is stuck.
    Stuck,
}

impl Session {
    pub(crate) fn new(proxy: Arc<Proxy>, listener: Arc<Listener>, peer: SocketAddr) -> Self {
        let under_way = UnderWay {
            exchanges: Vec::new(),
            next: 0,
            last_is_high: false,
            idle_since: Instant::now(),
            looked_at: None,
        };
        Self {
            proxy,
            listener,
            peer,
            under_way: Mutex::new(under_way),
            hurry: Notify::new(),
            unread: AtomicBool::new(false),
            high: AtomicBool::new(false),
        }
    }

    /// An exchange begins.
    pub(crate) fn enter(&self) -> Ticket {
        let mut under_way = self.under_way();
        let ticket = under_way.next;
        under_way.next += 1;
        under_way.exchanges.push(Entry { ticket, deadline: None, is_high: false });
        ticket
    }

    /// The exchange with `ticket` should be over by `deadline`.
    pub(crate) fn expect(&self, ticket: Ticket, deadline: Option<Instant>) {
        let mut under_way = self.under_way();
        if let Some(entry) = under_way.entry(ticket) {
            entry.deadline = deadline;
        }
        let look = deadline.map(|deadline| deadline + GRACE);
        let too_late = look.is_some_and(|look| under_way.looked_at.is_none_or(|at| look < at));
        drop(under_way);
        if too_late {
            self.hurry.notify_one();
        }
    }

    /// The exchange with `ticket` takes a route of `priority`.
    pub(crate) fn rank(&self, ticket: Ticket, priority: Priority) {
        if priority == Priority::Normal && !self.high.load(Ordering::Relaxed) {
            return;
        }
        let mut under_way = self.under_way();
        under_way.last_is_high = priority == Priority::High;
        let is_high = under_way.last_is_high;
        if let Some(entry) = under_way.entry(ticket) {
            entry.is_high = is_high;
        }
        let changed = self.set_high(under_way.is_high());
        drop(under_way);
        if changed {
            // The connection may be another task than the one that asks here.
            self.hurry.notify_one();
        }
    }

    /// With which priority the connection is to be served.
    pub(crate) fn priority(&self) -> Priority {
        if self.high.load(Ordering::Relaxed) { Priority::High } else { Priority::Normal }
    }

    /// Whether that is a change. Only under the lock, so that the last to come is the last to say.
    fn set_high(&self, is_high: bool) -> bool {
        self.high.load(Ordering::Relaxed) != is_high && self.high.swap(is_high, Ordering::Relaxed) != is_high
    }

    /// The exchange with `ticket` is over.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let mut under_way = self.under_way();
        under_way.exchanges.retain(|entry| entry.ticket != ticket);
        self.set_high(under_way.is_high());
        if under_way.exchanges.is_empty() {
            under_way.idle_since = Instant::now();
        }
    }

    /// What the guard must do, `now`, with a session that may be unused for `idle` at most, if for any limit.
    ///
    /// With a limit it looks at least that often, so that it need not be told when the last exchange ends.
    pub(crate) fn watch(&self, now: Instant, idle: Option<Duration>) -> Watch {
        let mut under_way = self.under_way();
        let (at, verdict) = if under_way.exchanges.is_empty() {
            (idle.map(|idle| under_way.idle_since + idle), Watch::Idle)
        } else {
            let first = under_way.exchanges.iter().filter_map(|entry| entry.deadline).min();
            let stuck = first.map(|deadline| deadline + GRACE);
            ([stuck, idle.map(|idle| now + idle)].into_iter().flatten().min(), Watch::Stuck)
        };
        under_way.looked_at = at;
        match at {
            None => Watch::Asleep,
            Some(at) if now < at => Watch::Until(at),
            Some(_) => verdict,
        }
    }

    /// Waits until an exchange should be over before the guard looks next.
    pub(crate) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// Notes that the client may still be sending a body that nobody reads.
    pub(crate) fn set_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Whether the client may still be sending a body that nobody reads.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn entry(&mut self, ticket: Ticket) -> Option<&mut Entry> {
        self.exchanges.iter_mut().find(|entry| entry.ticket == ticket)
    }

    fn is_high(&self) -> bool {
        self.last_is_high || self.exchanges.iter().any(|entry| entry.is_high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const IDLE: Duration = Duration::from_secs(60);

    fn session() -> Session {
        let text = "[[listener]]\naddress = \"127.0.0.1:0\"\n[[route]]\nupstream = \"g\"\n[[upstream]]\nname = \"g\"\nmembers = [\"a:1\"]\n";
        let config = Config::parse(text, "x.toml").expect("valid");
        let address = config.listeners[0].address;
        let listener = Arc::new(Listener::new(config.listeners[0].clone(), address));
        Session::new(Proxy::new(&config, vec![Arc::clone(&listener)]), listener, address)
    }

    #[test]
    fn an_unused_session_is_closed_when_it_may_be() {
        let session = session();
        let start = session.under_way().idle_since;
        assert_eq!(session.watch(start, None), Watch::Asleep);
        assert_eq!(session.watch(start, Some(IDLE)), Watch::Until(start + IDLE));
        assert_eq!(session.watch(start + IDLE, Some(IDLE)), Watch::Idle);
    }

    #[test]
    fn the_earliest_exchange_decides() {
        let session = session();
        let start = Instant::now();
        let (first, second, third) = (session.enter(), session.enter(), session.enter());
        assert_eq!(session.watch(start, None), Watch::Asleep, "none has a limit yet");
        assert_eq!(session.watch(start, Some(IDLE)), Watch::Until(start + IDLE), "none has a limit yet");
        session.expect(first, Some(start + 3 * GRACE));
        session.expect(second, Some(start + 2 * GRACE));
        session.expect(third, None);
        assert_eq!(session.watch(start, Some(IDLE)), Watch::Until(start + 3 * GRACE));
        assert_eq!(session.watch(start + 3 * GRACE, Some(IDLE)), Watch::Stuck);
        session.leave(second);
        assert_eq!(session.watch(start + 3 * GRACE, Some(IDLE)), Watch::Until(start + 4 * GRACE));
        session.leave(first);
        assert_eq!(session.watch(start + 9 * GRACE, None), Watch::Asleep);
    }

    #[tokio::test]
    async fn the_guard_is_told_of_an_exchange_that_ends_before_it_looks() {
        let session = session();
        let told = async || tokio::time::timeout(Duration::from_millis(1), session.hurried()).await.is_ok();
        let start = Instant::now();
        session.expect(session.enter(), Some(start + 2 * GRACE));
        assert!(told().await, "it does not look at all");
        assert_eq!(session.watch(start, Some(IDLE)), Watch::Until(start + 3 * GRACE));
        session.expect(session.enter(), Some(start + 5 * GRACE));
        assert!(!told().await, "it looks before that");
        session.expect(session.enter(), Some(start + GRACE));
        assert!(told().await, "it looks after that");
    }

    #[test]
    fn a_connection_is_high_while_such_an_exchange_is_under_way_and_until_another_route_is_asked_for() {
        let session = session();
        let high = session.enter();
        assert_eq!(session.priority(), Priority::Normal, "nobody knows its route yet");
        session.rank(high, Priority::High);
        assert_eq!(session.priority(), Priority::High);
        let normal = session.enter();
        session.rank(normal, Priority::Normal);
        assert_eq!(session.priority(), Priority::High, "the first is still under way");
        session.leave(normal);
        session.leave(high);
        assert_eq!(session.priority(), Priority::Normal, "the route asked for last");
        let high = session.enter();
        session.rank(high, Priority::High);
        session.leave(high);
        assert_eq!(session.priority(), Priority::High, "the next request is likely to be the same");
        let normal = session.enter();
        session.rank(normal, Priority::Normal);
        assert_eq!(session.priority(), Priority::Normal);
    }

    #[tokio::test]
    async fn the_guard_is_told_of_a_change_of_priority() {
        let session = session();
        let told = async || tokio::time::timeout(Duration::from_millis(1), session.hurried()).await.is_ok();
        session.rank(session.enter(), Priority::Normal);
        assert!(!told().await);
        session.rank(session.enter(), Priority::High);
        assert!(told().await);
        session.rank(session.enter(), Priority::High);
        assert!(!told().await, "it knows");
    }
}
