//! What the gateway is told to do: the TOML file, read and checked.
//!
//! - `reader` takes typed values out of TOML tables, with their lines.
//! - `check` knows every key, its default, and what must fit together.
//! - `problem` is what the user is told if something does not.
//!
//! Promise: a [`Config`] that exists is consistent: every route names a group that exists, every address parses, no
//! two routes claim the same requests. The rest of the gateway never looks at text again.
//!
//! Tests: below; what a user sees of a broken file is in `tests/gateway/config.rs`.

mod check;
mod problem;
mod reader;

pub use problem::{Problem, Problems};

use http::HeaderValue;
use http::uri::Authority;
use nezumi::task::Priority;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// A whole configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[server]`
    pub server: Server,
    /// `[log]`
    pub log: Log,
    /// Every `[[listener]]`; at least one.
    pub listeners: Vec<Listener>,
    /// Every `[[upstream]]`; at least one.
    pub groups: Vec<Group>,
    /// Every `[[route]]`; at least one.
    pub routes: Vec<Route>,
}

/// What concerns the process as a whole.
#[derive(Debug, Clone)]
pub struct Server {
    /// Threads that run tasks; one for each core if not said.
    pub workers: Option<usize>,
    /// Client connections open at once; more wait in the kernel's backlog.
    pub max_connections: usize,
    /// How long a drain may take before what is left is cut off.
    pub drain_timeout: Duration,
}

/// What is written to the log, and how.
#[derive(Debug, Clone)]
pub struct Log {
    /// Levels by target, such as `info` or `warn,gateway=debug`.
    pub level: String,
    /// One line of text or one JSON object for each event.
    pub json: bool,
    /// Whether each exchange is logged (target `gateway::access`).
    pub access: bool,
}

/// An address to accept clients on.
#[derive(Debug, Clone)]
pub struct Listener {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may read `/_gateway/metrics`.
    pub metrics: MetricsFor,
    /// Whether `x-forwarded-*` of the client are believed and extended, or replaced.
    pub trust_forwarded: bool,
    /// For a request head to arrive, from the moment it may begin; so also how long an idle HTTP/1 connection is kept.
    pub header_timeout: Duration,
    /// For the next piece of a request body to arrive.
    pub body_timeout: Duration,
    /// How long an HTTP/2 connection without a request is kept.
    pub idle_timeout: Duration,
}

/// Who may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFor {
    /// Clients whose address is a loopback one.
    Local,
    /// Every client.
    Anyone,
    /// No client of this listener.
    Nobody,
}

/// A group of upstream servers that stand in for one another.
#[derive(Debug, Clone)]
pub struct Group {
    /// What routes call it.
    pub name: String,
    /// `host:port` of each member.
    pub members: Vec<Authority>,
    /// What the members speak.
    pub protocol: Protocol,
    /// For a connection to be made, name look-up included.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// Unused connections kept for each member.
    pub max_idle: usize,
    /// How long a member that could not be reached is left out.
    pub retry_after: Duration,
    /// The highest priority of the routes that lead to it.
    pub priority: Priority,
}

/// What an upstream server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one exchange at a time on a connection.
    Http1,
    /// HTTP/2 without TLS, by prior knowledge; all exchanges share one connection.
    Http2,
}

/// Which requests go to which group, and within what limits.
#[derive(Debug, Clone)]
pub struct Route {
    /// What logs, metrics and error pages call it.
    pub name: String,
    /// Which hosts it serves.
    pub host: HostPattern,
    /// Path prefix, by whole segments, without a slash at its end (so the root is empty).
    pub prefix: String,
    /// Index into [`Config::groups`].
    pub group: usize,
    /// Whether the prefix is taken off before the request goes on.
    pub strip_prefix: bool,
    /// What `host` says to the upstream server.
    pub host_header: HostHeader,
    /// For the response head to arrive once the request is sent.
    pub header_timeout: Duration,
    /// For the whole exchange, bodies included; none if `"off"`.
    pub total_timeout: Option<Duration>,
    /// Largest request body, in bytes.
    pub max_body: u64,
    /// Exchanges at once; more are refused with 503.
    pub max_concurrency: usize,
    /// Whether tasks that serve it run before those of other routes.
    pub priority: Priority,
}

/// Which hosts a route serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// All of them.
    Any,
    /// Exactly this one, in lower case, without a port.
    Exact(String),
    /// Every host that ends in this, such as `.example.com`.
    Suffix(String),
}

/// What `host` says to the upstream server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostHeader {
    /// What the client said.
    Preserve,
    /// The address of the member that is asked.
    Upstream,
    /// Always this.
    Literal(HeaderValue),
}

impl Config {
    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    ///
    /// Every problem found, each with its line and how to mend it.
    pub fn load(path: &Path) -> Result<Self, Problems> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &file),
            Err(error) => Err(Problems::new(vec![Problem {
                file,
                line: 0,
                key: String::new(),
                what: format!("the file cannot be read: {error}"),
                mend: "name a readable TOML file with --config; gateway.example.toml shows every key"
                    .to_owned(),
            }])),
        }
    }

    /// Reads and checks `text`; `file` is what problems call it.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    ///
    /// # Examples
    ///
    /// ```
    /// let text = r#"
    ///     [[listener]]
    ///     address = "127.0.0.1:8080"
    ///     [[upstream]]
    ///     name = "web"
    ///     members = ["127.0.0.1:9000"]
    ///     [[route]]
    ///     upstream = "webb"
    /// "#;
    /// let problems = gateway::config::Config::parse(text, "gateway.toml").unwrap_err();
    /// assert_eq!(problems.list()[0].line, 8);
    /// assert_eq!(problems.list()[0].key, "route.upstream");
    /// ```
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        check::config(text, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../gateway.example.toml");

    fn minimal(extra: &str) -> String {
        format!(
            "[[listener]]\naddress = \"127.0.0.1:0\"\n[[upstream]]\nname = \"web\"\nmembers = [\"127.0.0.1:9\"]\n{extra}"
        )
    }

    fn problem_of(extra: &str) -> Problem {
        let problems = Config::parse(&minimal(extra), "x.toml").expect_err("the text is wrong");
        assert_eq!(problems.list().len(), 1, "{problems}");
        problems.list()[0].clone()
    }

    #[test]
    fn the_example_is_valid() {
        let config = Config::parse(EXAMPLE, "gateway.example.toml").expect("the example");
        assert_eq!(config.groups.len(), 2);
        assert_eq!(config.routes.len(), 2);
    }

    #[test]
    fn defaults_fill_what_is_not_said() {
        let config = Config::parse(&minimal("[[route]]\nupstream = \"web\""), "x.toml").expect("valid");
        let route = &config.routes[0];
        assert_eq!(route.name, "/");
        assert_eq!(route.host, HostPattern::Any);
        assert_eq!(route.prefix, "");
        assert_eq!(route.total_timeout, Some(Duration::from_secs(60)));
        assert_eq!(route.priority, Priority::Normal);
        assert_eq!(config.listeners[0].metrics, MetricsFor::Local);
    }

    #[test]
    fn all_problems_are_told_at_once_by_line() {
        let text = "[server]\nworkers = 0\n[[listener]]\naddress = \"nowhere\"\n[[upstream]]\nmembers = []\n";
        let problems = Config::parse(text, "x.toml").expect_err("wrong");
        let lines: Vec<_> = problems.list().iter().map(|problem| problem.line).collect();
        assert!(problems.list().len() >= 4, "{problems}");
        assert!(lines.is_sorted(), "{problems}");
    }

    #[test]
    fn a_duration_may_be_off_only_where_that_means_something() {
        let config =
            Config::parse(&minimal("[[route]]\nupstream = \"web\"\ntotal_timeout = \"off\""), "x.toml");
        assert_eq!(config.expect("valid").routes[0].total_timeout, None);
        let problem = problem_of("[[route]]\nupstream = \"web\"\nheader_timeout = \"off\"");
        assert_eq!((problem.line, problem.key.as_str()), (8, "route.header_timeout"));
    }

    #[test]
    fn connections_to_a_group_have_the_highest_priority_of_its_routes() {
        let routes = "[[upstream]]\nname = \"other\"\nmembers = [\"127.0.0.1:9\"]\n\
             [[route]]\nupstream = \"web\"\n[[route]]\nupstream = \"other\"\npath = \"/other\"\n\
             [[route]]\nupstream = \"web\"\npath = \"/pay\"\npriority = \"high\"\n";
        let config = Config::parse(&minimal(routes), "x.toml").expect("valid");
        let groups: Vec<_> = config.groups.iter().map(|group| group.priority).collect();
        assert_eq!(groups, [Priority::High, Priority::Normal]);
        let routes: Vec<_> = config.routes.iter().map(|route| route.priority).collect();
        assert_eq!(routes, [Priority::Normal, Priority::Normal, Priority::High]);
    }

    #[test]
    fn a_priority_is_one_of_its_words() {
        let problem = problem_of("[[route]]\nupstream = \"web\"\npriority = \"urgent\"");
        assert_eq!((problem.line, problem.key.as_str()), (8, "route.priority"));
        assert_eq!(problem.mend, "write \"normal\" or \"high\"");
    }

    #[test]
    fn zero_is_no_duration() {
        let problem = problem_of("[[route]]\nupstream = \"web\"\nheader_timeout = \"0s\"");
        assert_eq!(problem.what, "\"0s\" is not a duration");
    }

    #[test]
    fn a_slash_at_the_end_of_a_prefix_says_nothing() {
        let config = Config::parse(&minimal("[[route]]\nupstream = \"web\"\npath = \"/api/\""), "x.toml");
        assert_eq!(config.expect("valid").routes[0].prefix, "/api");
    }
}
