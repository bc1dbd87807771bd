//! Every key of the configuration, its default, and what must fit together.
//!
//! Uses `reader` for the shapes of values; this room knows their meaning. A value that is wrong leaves a stand-in
//! behind, so that one mistake is told once and the rest of the file is still looked at.
//!
//! Promise: see [`super`]: what comes out is consistent.

use super::problem::Problems;
use super::reader::{Reader, Section};
use super::{Config, Group, HostHeader, HostPattern, Listener, Log, MetricsFor, Protocol, Route, Server};
use http::HeaderValue;
use http::uri::Authority;
use nezumi::task::Priority;
use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use toml::Spanned;
use tracing_subscriber::filter::{LevelFilter, Targets};

const MANY: usize = 1_000_000;

pub(super) fn config(text: &str, file: &str) -> Result<Config, Problems> {
    let reader = Reader::new(file, text);
    let config = reader.parse().map(|document| sections(&Section::root(&reader, &document)));
    let problems = reader.into_problems();
    match config {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(Problems::new(problems)),
    }
}

fn sections(root: &Section<'_, '_>) -> Config {
    let server = server(root.section("server"));
    let log = log(root.section("log"));
    let listeners = each(root, "listener", listener);
    let mut groups = each(root, "upstream", group);
    let routes = each(root, "route", |section| route(section, &groups));
    for route in &routes {
        if let Some(group) = groups.get_mut(route.group) {
            group.priority = group.priority.max(route.priority);
        }
    }
    root.finish();
    Config { server, log, listeners, groups, routes }
}

/// Every section `[[name]]` as `read` makes it; there must be one.
fn each<T: Claim>(
    root: &Section<'_, '_>,
    name: &'static str,
    read: impl Fn(&Section<'_, '_>) -> T,
) -> Vec<T> {
    let sections = root.sections(name);
    if sections.is_empty() && !root.has(name) {
        root.problem_of_file(
            format!("there is no [[{name}]]"),
            format!("add at least one [[{name}]]; gateway.example.toml shows every key"),
        );
    }
    let mut claims = HashMap::new();
    let mut values = Vec::with_capacity(sections.len());
    for section in &sections {
        let value = read(section);
        section.finish();
        if let Some(claim) = value.claim()
            && let Some(other) = claims.insert(claim.clone(), section.line())
        {
            section.problem_here(
                format!("{claim} is already taken by the [[{name}]] at line {other}"),
                "give each its own, or remove one of the two",
            );
        }
        values.push(value);
    }
    values
}

/// What only one section of its kind may have.
trait Claim {
    fn claim(&self) -> Option<String>;
}

impl Claim for Listener {
    fn claim(&self) -> Option<String> {
        (self.address.port() != 0).then(|| format!("the address {}", self.address))
    }
}

impl Claim for Group {
    fn claim(&self) -> Option<String> {
        (!self.name.is_empty()).then(|| format!("the name \"{}\"", self.name))
    }
}

impl Claim for Route {
    fn claim(&self) -> Option<String> {
        Some(format!("what starts with \"{}\"", described(&self.host, &self.prefix)))
    }
}

fn server(section: Option<Section<'_, '_>>) -> Server {
    let mut server =
        Server { workers: None, max_connections: 10_000, drain_timeout: Duration::from_secs(30) };
    if let Some(section) = section {
        server.workers = section.count("workers", 1..=1024);
        server.max_connections = section.count("max_connections", 1..=MANY).unwrap_or(server.max_connections);
        server.drain_timeout = section.duration("drain_timeout", server.drain_timeout);
        section.finish();
    }
    server
}

fn log(section: Option<Section<'_, '_>>) -> Log {
    let mut log = Log { level: "info".to_owned(), json: false, access: true };
    if let Some(section) = section {
        if let Some(level) = section.text("level") {
            match are_levels(level.get_ref()) {
                true => log.level = level.into_inner(),
                false => section.problem(
                    "level",
                    level.span(),
                    format!("\"{}\" is no list of levels", level.get_ref()),
                    "write \"error\", \"warn\", \"info\", \"debug\" or \"trace\", also by target: \"info,hyper=warn\"",
                ),
            }
        }
        log.json = section.choice("format", &[("text", false), ("json", true)], log.json);
        log.access = section.flag("access", log.access);
        section.finish();
    }
    log
}

/// Whether `text` names a level, or levels by target. (On its own a word that is no level would count as a target.)
fn are_levels(text: &str) -> bool {
    let level =
        |part: &str| part.rsplit('=').next().is_some_and(|level| level.parse::<LevelFilter>().is_ok());
    text.split(',').map(str::trim).all(level) && text.parse::<Targets>().is_ok()
}

fn listener(section: &Section<'_, '_>) -> Listener {
    let address = section.required_text("address", "\"127.0.0.1:8080\"").and_then(|text| {
        let parsed = text.get_ref().parse().ok();
        if parsed.is_none() {
            section.problem(
                "address",
                text.span(),
                format!("\"{}\" is not an address to listen on", text.get_ref()),
                "write an IP address and a port, such as \"127.0.0.1:8080\", \"0.0.0.0:80\" or \"[::]:80\"",
            );
        }
        parsed
    });
    let metrics =
        [("local", MetricsFor::Local), ("anyone", MetricsFor::Anyone), ("nobody", MetricsFor::Nobody)];
    Listener {
        address: address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        metrics: section.choice("metrics", &metrics, MetricsFor::Local),
        trust_forwarded: section.flag("trust_forwarded", false),
        header_timeout: section.duration("header_timeout", Duration::from_secs(30)),
        body_timeout: section.duration("body_timeout", Duration::from_secs(30)),
        idle_timeout: section.duration("idle_timeout", Duration::from_secs(60)),
    }
}

fn group(section: &Section<'_, '_>) -> Group {
    let name = section.required_text("name", "\"web\"").map(Spanned::into_inner).unwrap_or_default();
    let members = section.required_list("members", "[\"127.0.0.1:9000\"]");
    let members = members.iter().filter_map(|text| member(section, text)).collect();
    let protocols = [("http1", Protocol::Http1), ("http2", Protocol::Http2)];
    Group {
        name,
        members,
        protocol: section.choice("protocol", &protocols, Protocol::Http1),
        connect_timeout: section.duration("connect_timeout", Duration::from_secs(2)),
        idle_timeout: section.duration("idle_timeout", Duration::from_secs(30)),
        max_idle: section.count("max_idle", 0..=MANY).unwrap_or(256),
        retry_after: section.duration("retry_after", Duration::from_secs(1)),
        priority: Priority::Normal,
    }
}

fn member(section: &Section<'_, '_>, text: &Spanned<String>) -> Option<Authority> {
    let authority = text.get_ref().parse::<Authority>().ok();
    let valid =
        authority.filter(|it| it.port_u16().is_some_and(|port| port != 0) && !it.as_str().contains('@'));
    if valid.is_none() {
        section.problem(
            "members",
            text.span(),
            format!("\"{}\" is not the address of a server", text.get_ref()),
            "write host and port without a scheme, such as \"127.0.0.1:9000\" or \"app.internal:80\"",
        );
    }
    valid
}

fn route(section: &Section<'_, '_>, groups: &[Group]) -> Route {
    let host = section.text("host").and_then(|text| host(section, &text)).unwrap_or(HostPattern::Any);
    let prefix = section.text("path").and_then(|text| prefix(section, &text)).unwrap_or_default();
    let group = section.required_text("upstream", "\"web\"").and_then(|text| find(section, &text, groups));
    let name = section.text("name").map(Spanned::into_inner);
    let priorities = [("normal", Priority::Normal), ("high", Priority::High)];
    Route {
        name: name.unwrap_or_else(|| described(&host, &prefix)),
        host,
        prefix,
        group: group.unwrap_or(0),
        strip_prefix: section.flag("strip_prefix", false),
        host_header: host_header(section),
        header_timeout: section.duration("header_timeout", Duration::from_secs(30)),
        total_timeout: section.duration_or_off("total_timeout", Duration::from_secs(60)),
        max_body: section.size("max_body", 10 << 20),
        max_concurrency: section.count("max_concurrency", 1..=MANY).unwrap_or(1024),
        priority: section.choice("priority", &priorities, Priority::Normal),
    }
}

fn find(section: &Section<'_, '_>, name: &Spanned<String>, groups: &[Group]) -> Option<usize> {
    let found = groups.iter().position(|group| group.name == *name.get_ref());
    if found.is_none() {
        let names = groups.iter().map(|group| group.name.as_str()).filter(|name| !name.is_empty());
        let names =
            names.collect::<BTreeSet<_>>().into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
        let mend = match names.as_slice() {
            [] => format!("add an [[upstream]] with name = \"{}\"", name.get_ref()),
            names => format!("name {}, or add an [[upstream]] called that", names.join(" or ")),
        };
        section.problem(
            "upstream",
            name.span(),
            format!("no [[upstream]] is called \"{}\"", name.get_ref()),
            mend,
        );
    }
    found
}

fn host(section: &Section<'_, '_>, text: &Spanned<String>) -> Option<HostPattern> {
    let lower = text.get_ref().to_ascii_lowercase();
    let (name, suffix) = match lower.strip_prefix('*') {
        Some(rest) => (rest.strip_prefix('.').unwrap_or(""), true),
        None => (lower.as_str(), false),
    };
    let valid =
        name.parse::<Authority>().is_ok_and(|authority| authority.host() == name) && !name.contains('*');
    if !valid {
        section.problem(
            "host",
            text.span(),
            format!("\"{}\" is not a host", text.get_ref()),
            "write a name without port or path, such as \"example.com\" or \"*.example.com\"; leave it out for all",
        );
        return None;
    }
    Some(if suffix { HostPattern::Suffix(format!(".{name}")) } else { HostPattern::Exact(lower) })
}

fn prefix(section: &Section<'_, '_>, text: &Spanned<String>) -> Option<String> {
    let path = text.get_ref();
    let plain =
        path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#*".contains(&byte));
    if !plain || path.contains("//") {
        section.problem(
            "path",
            text.span(),
            format!("\"{path}\" is not a path prefix"),
            "write whole segments from the root, such as \"/\" or \"/api/v1\", without * or a query",
        );
        return None;
    }
    Some(path.trim_end_matches('/').to_owned())
}

fn host_header(section: &Section<'_, '_>) -> HostHeader {
    let Some(text) = section.text("host_header") else { return HostHeader::Preserve };
    match text.get_ref().as_str() {
        "preserve" => HostHeader::Preserve,
        "upstream" => HostHeader::Upstream,
        name => match (name.parse::<Authority>(), HeaderValue::from_str(name)) {
            (Ok(_), Ok(value)) => HostHeader::Literal(value),
            _ => {
                section.problem(
                    "host_header",
                    text.span(),
                    format!("\"{name}\" is not a host"),
                    "write \"preserve\", \"upstream\" or the host to send",
                );
                HostHeader::Preserve
            }
        },
    }
}

/// How a route is called that has no name.
fn described(host: &HostPattern, prefix: &str) -> String {
    let host = match host {
        HostPattern::Any => String::new(),
        HostPattern::Exact(name) => name.clone(),
        HostPattern::Suffix(suffix) => format!("*{suffix}"),
    };
    if prefix.is_empty() { format!("{host}/") } else { format!("{host}{prefix}") }
}
