//! Servers that stand in for one another, and whom to ask next.
//!
//! Called by `forward`. Uses `link` for the connections of each member.
//!
//! Promise: members are asked in turn. One that could not be reached is left out for `retry_after`, then one single
//! exchange tries it again while the others still pass it by. If all are left out, all are tried: a member that came
//! back is found at once.
//!
//! Health is judged by outcomes alone; nobody probes, so an idle gateway makes no traffic and no wakeups.
//!
//! Tests: below, and `tests/gateway/balancing.rs`.

use super::link::Pool;
use crate::config;
use crate::metrics::MemberFigures;
use http::HeaderValue;
use http::uri::Authority;
use nezumi::task::Priority;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A group of members.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) settings: config::Group,
    pub(crate) members: Vec<Arc<Member>>,
    /// Whose turn it is, counted without end.
    turn: AtomicUsize,
    /// A pool that was empty is not any more.
    pub(super) pooled: Arc<Notify>,
}

impl Group {
    pub(super) fn new(settings: &config::Group) -> Self {
        let pooled = Arc::new(Notify::new());
        let members =
            settings.members.iter().map(|authority| Arc::new(Member::new(authority, settings, &pooled)));
        Self { members: members.collect(), turn: AtomicUsize::new(0), pooled, settings: settings.clone() }
    }

    /// The members in the order in which one exchange asks them, each once.
    pub(super) fn candidates(&self) -> Candidates<'_> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.members.len();
        Candidates { group: self, first, step: 0, left_out: Vec::new() }
    }

    /// Closes every unused link. For when descriptors run out.
    pub(super) fn shed(&self) {
        for member in &self.members {
            member.pool.clear();
        }
    }

    /// Closes links that have been unused for too long, until `stop`.
    ///
    /// Asleep while nothing is pooled. Links of one group expire in the order in which they are pooled, so nothing can
    /// come due before what is waited for.
    pub(super) async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let pooled = self.pooled.notified();
            let oldest = self.members.iter().filter_map(|member| member.pool.sweep(Instant::now())).min();
            let due = async {
                match oldest {
                    Some(since) => tokio::time::sleep_until(since + self.settings.idle_timeout).await,
                    None => pooled.await,
                }
            };
            tokio::select! {
                () = due => {}
                () = stop.cancelled() => {}
            }
        }
        self.shed();
    }
}

/// The members in the order of one exchange.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    group: &'a Group,
    first: usize,
    step: usize,
    left_out: Vec<usize>,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = &'a Arc<Member>;

    fn next(&mut self) -> Option<Self::Item> {
        let members = &self.group.members;
        while self.step < members.len() {
            let index = (self.first + self.step) % members.len();
            self.step += 1;
            if members[index].health.may_ask(Instant::now(), self.group.settings.retry_after) {
                return Some(&members[index]);
            }
            self.left_out.push(index);
        }
        // Last resort, in the same order.
        if self.left_out.is_empty() { None } else { Some(&members[self.left_out.remove(0)]) }
    }
}

/// One server.
#[derive(Debug)]
pub(crate) struct Member {
    /// `host:port`, as configured.
    pub(crate) authority: Authority,
    /// The same as a header.
    pub(super) host: HeaderValue,
    health: Health,
    /// With which its connections are served.
    pub(super) priority: Priority,
    pub(crate) pool: Pool,
    pub(crate) figures: Arc<MemberFigures>,
}

impl Member {
    fn new(authority: &Authority, settings: &config::Group, pooled: &Arc<Notify>) -> Self {
        let host = HeaderValue::from_str(authority.as_str()).expect("an authority is printable ASCII");
        Self {
            host,
            authority: authority.clone(),
            health: Health::new(),
            priority: settings.priority,
            pool: Pool::new(settings, Arc::clone(pooled)),
            figures: Arc::default(),
        }
    }

    /// A connection was made: back in turn.
    pub(super) fn reached(&self) {
        if self.health.set_up() {
            tracing::info!(member = %self.authority, "upstream server is back");
        }
    }

    /// No connection could be made: left out for `rest`.
    pub(super) fn missed(&self, rest: Duration, error: &dyn std::fmt::Display) {
        self.figures.connects_failed.add(1);
        if self.health.set_down(Instant::now(), rest) {
            tracing::warn!(member = %self.authority, %error, "upstream server cannot be reached");
        }
    }

    /// Whether the last attempt to reach it succeeded, or none was made.
    pub(crate) fn is_up(&self) -> bool {
        self.health.is_up()
    }
}

/// Until when a member is left out: 0 if it is not, else milliseconds since `epoch`.
#[derive(Debug)]
struct Health {
    epoch: Instant,
    until_ms: AtomicU64,
}

impl Health {
    fn new() -> Self {
        Self { epoch: Instant::now(), until_ms: AtomicU64::new(0) }
    }

    /// Whether an exchange may ask this member. If its rest is over, only the first to ask gets a yes, and the rest
    /// begins anew for all others.
    fn may_ask(&self, now: Instant, rest: Duration) -> bool {
        let until_ms = self.until_ms.load(Ordering::Relaxed);
        if until_ms == 0 {
            return true;
        }
        let next_ms = self.until(now, rest);
        let exchange =
            |from, to| self.until_ms.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        until_ms <= self.ms(now) && exchange(until_ms, next_ms).is_ok()
    }

    /// True if it was down.
    fn set_up(&self) -> bool {
        // The common case writes nothing: all workers read this word.
        self.until_ms.load(Ordering::Relaxed) != 0 && self.until_ms.swap(0, Ordering::Relaxed) != 0
    }

    /// True if it was up.
    fn set_down(&self, now: Instant, rest: Duration) -> bool {
        self.until_ms.swap(self.until(now, rest), Ordering::Relaxed) == 0
    }

    fn is_up(&self) -> bool {
        self.until_ms.load(Ordering::Relaxed) == 0
    }

    fn until(&self, now: Instant, rest: Duration) -> u64 {
        self.ms(now + rest).max(1)
    }

    fn ms(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(1);

    fn group(members: usize) -> Group {
        let list = (1..=members).map(|port| format!("\"127.0.0.1:{port}\"")).collect::<Vec<_>>().join(",");
        let text = format!(
            "[[listener]]\naddress = \"127.0.0.1:0\"\n[[route]]\nupstream = \"g\"\n[[upstream]]\nname = \"g\"\nmembers = [{list}]\n"
        );
        Group::new(&config::Config::parse(&text, "x.toml").expect("valid").groups[0])
    }

    fn ports(group: &Group) -> Vec<u16> {
        group.candidates().filter_map(|member| member.authority.port_u16()).collect()
    }

    #[test]
    fn each_exchange_begins_with_the_next_member_and_asks_each_once() {
        let group = group(3);
        assert_eq!(ports(&group), [1, 2, 3]);
        assert_eq!(ports(&group), [2, 3, 1]);
        assert_eq!(ports(&group), [3, 1, 2]);
        assert_eq!(ports(&group), [1, 2, 3]);
    }

    #[test]
    fn a_member_that_was_missed_is_asked_last() {
        let group = group(3);
        group.members[0].missed(REST, &"test");
        assert_eq!(ports(&group), [2, 3, 1]);
        group.members[0].reached();
        assert_eq!(group.candidates().next().map(|member| member.authority.port_u16()), Some(Some(2)));
    }

    #[test]
    fn if_all_are_left_out_all_are_asked() {
        let group = group(2);
        group.members.iter().for_each(|member| member.missed(REST, &"test"));
        assert_eq!(ports(&group), [1, 2]);
    }

    #[test]
    fn after_the_rest_one_exchange_tries_and_the_others_pass_by() {
        let health = Health::new();
        let start = health.epoch;
        assert!(health.set_down(start, REST));
        assert!(!health.may_ask(start + REST / 2, REST));
        assert!(health.may_ask(start + REST, REST), "the first after the rest");
        assert!(!health.may_ask(start + REST, REST), "the second");
        assert!(health.may_ask(start + 2 * REST, REST), "nobody reported, so the next try");
        assert!(health.set_up());
        assert!(health.may_ask(start + 2 * REST, REST) && health.may_ask(start + 2 * REST, REST));
    }
}
