//! Which route a request takes.
//!
//! Built once from the configuration; asked by `mod` for every request.
//!
//! Promise: the most telling route wins: an exact host before a suffix before none, then the longest prefix; a prefix
//! matches whole segments only. Routes are few and stand in that order, so the first that matches is it.
//!
//! Tests: below.

use super::group::Group;
use crate::config::{self, HostPattern};
use crate::metrics::RouteFigures;
use http::uri::PathAndQuery;
use std::cmp::Reverse;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A route, with what is counted and limited on it.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) settings: config::Route,
    pub(crate) group: Arc<Group>,
    /// One permit for each exchange that may run at once.
    pub(super) slots: Arc<Semaphore>,
    pub(crate) figures: RouteFigures,
}

impl Route {
    fn matches(&self, host: &str, path: &str) -> bool {
        let host_matches = match &self.settings.host {
            HostPattern::Any => true,
            HostPattern::Exact(name) => host.eq_ignore_ascii_case(name),
            HostPattern::Suffix(suffix) => {
                let cut = host.len().saturating_sub(suffix.len());
                cut > 0 && host.is_char_boundary(cut) && host[cut..].eq_ignore_ascii_case(suffix)
            }
        };
        host_matches && below(path, &self.settings.prefix).is_some()
    }

    /// What path the upstream server is asked for.
    pub(super) fn rewrite(&self, target: &PathAndQuery) -> PathAndQuery {
        if !self.settings.strip_prefix || self.settings.prefix.is_empty() {
            return target.clone();
        }
        let Some(rest) = below(target.as_str(), &self.settings.prefix) else { return target.clone() };
        let rewritten = if rest.starts_with('/') { rest.parse() } else { format!("/{rest}").parse() };
        rewritten.unwrap_or_else(|_| target.clone())
    }
}

/// What of `path` comes after `prefix`, if it is that or lies below it.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(prefix)?;
    (rest.is_empty() || prefix.is_empty() || rest.starts_with(['/', '?'])).then_some(rest)
}

/// All routes, the most telling first.
#[derive(Debug)]
pub(crate) struct Routes(Vec<Arc<Route>>);

impl Routes {
    pub(super) fn new(settings: &[config::Route], groups: &[Arc<Group>]) -> Self {
        let mut routes = settings
            .iter()
            .map(|settings| {
                Arc::new(Route {
                    group: Arc::clone(&groups[settings.group]),
                    slots: Arc::new(Semaphore::new(settings.max_concurrency)),
                    figures: RouteFigures::default(),
                    settings: settings.clone(),
                })
            })
            .collect::<Vec<_>>();
        routes.sort_by_key(|route| {
            let host = match &route.settings.host {
                HostPattern::Exact(_) => (2, 0),
                HostPattern::Suffix(suffix) => (1, suffix.len()),
                HostPattern::Any => (0, 0),
            };
            Reverse((host, route.settings.prefix.len()))
        });
        Self(routes)
    }

    /// The route for `path` on `host` (without port, in any case).
    pub(super) fn find(&self, host: &str, path: &str) -> Option<&Arc<Route>> {
        self.0.iter().find(|route| route.matches(host, path))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn routes(list: &[(&str, &str, &str)]) -> Routes {
        let mut text = String::from(
            "[[listener]]\naddress = \"127.0.0.1:0\"\n[[upstream]]\nname = \"web\"\nmembers = [\"127.0.0.1:9\"]\n",
        );
        for (name, host, path) in list {
            text.push_str(&format!("[[route]]\nupstream = \"web\"\nname = \"{name}\"\npath = \"{path}\"\n"));
            text.push_str("strip_prefix = true\n");
            if !host.is_empty() {
                text.push_str(&format!("host = \"{host}\"\n"));
            }
        }
        let config = Config::parse(&text, "x.toml").expect("valid");
        let groups = config.groups.iter().map(|group| Arc::new(Group::new(group))).collect::<Vec<_>>();
        Routes::new(&config.routes, &groups)
    }

    fn found<'a>(routes: &'a Routes, host: &str, path: &str) -> Option<&'a str> {
        routes.find(host, path).map(|route| route.settings.name.as_str())
    }

    #[test]
    fn the_longest_prefix_wins_by_whole_segments() {
        let routes = routes(&[("root", "", "/"), ("api", "", "/api"), ("v1", "", "/api/v1")]);
        for (path, name) in [
            ("/", "root"),
            ("/apix", "root"),
            ("/api", "api"),
            ("/api/", "api"),
            ("/api/v2", "api"),
            ("/api/v1/users", "v1"),
        ] {
            assert_eq!(found(&routes, "any.example", path), Some(name), "{path}");
        }
    }

    #[test]
    fn an_exact_host_wins_over_a_suffix_over_none() {
        let routes = routes(&[
            ("any", "", "/long/path"),
            ("wide", "*.example.com", "/"),
            ("deep", "*.a.example.com", "/"),
            ("exact", "b.a.example.com", "/"),
        ]);
        assert_eq!(found(&routes, "B.A.example.com", "/long/path"), Some("exact"));
        assert_eq!(found(&routes, "c.a.example.com", "/"), Some("deep"));
        assert_eq!(found(&routes, "x.example.com", "/"), Some("wide"));
        assert_eq!(found(&routes, "example.com", "/"), None);
        assert_eq!(found(&routes, "other.org", "/long/path"), Some("any"));
    }

    #[test]
    fn a_stripped_path_keeps_its_query_and_its_root() {
        let routes = routes(&[("api", "", "/api")]);
        let route = routes.find("x", "/api").expect("a route");
        for (from, to) in [("/api", "/"), ("/api/", "/"), ("/api?q=1", "/?q=1"), ("/api/x?q=1", "/x?q=1")] {
            assert_eq!(route.rewrite(&from.parse().expect("a path")).as_str(), to, "{from}");
        }
    }
}
