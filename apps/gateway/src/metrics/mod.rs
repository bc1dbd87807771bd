//! What is counted, and the page that shows it.
//!
//! - `figures`: counters, gauges and histograms, each beside what it counts (a route, a member, a listener).
//! - `runtime`: what the runtime counts itself.
//! - `text`: the Prometheus text format.
//!
//! Counting is one relaxed addition; adding up and writing happen only when the page is asked for.
//!
//! Tests: `tests/gateway/metrics.rs` parses the page.

mod figures;
mod runtime;
mod text;

pub(crate) use figures::{ListenerFigures, MemberFigures, RouteFigures};
pub use runtime::{RuntimeFigures, WorkerFigures};

use crate::proxy::{Member, Proxy};
use figures::BUCKETS_MS;
use std::fmt::Display;
use std::sync::Arc;
use text::Page;

/// The content type of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures, as Prometheus wants them.
pub(crate) fn page(proxy: &Proxy) -> String {
    let mut page = Page::default();
    routes(&mut page, proxy);
    members(&mut page, proxy);
    listeners(&mut page, proxy);
    RuntimeFigures::read(&tokio::runtime::Handle::current()).write(&mut page);
    process(&mut page);
    page.finish()
}

fn routes(page: &mut Page, proxy: &Proxy) {
    let mut routes =
        proxy.routes.iter().map(|route| (route.settings.name.as_str(), &route.figures)).collect::<Vec<_>>();
    routes.push(("", &proxy.unrouted));

    page.counter(
        "gateway_requests_total",
        "Exchanges that are over, by route and status (499: the client left first).",
    );
    for (name, figures) in &routes {
        for (status, count) in figures.statuses() {
            page.sample(&[("route", name), ("status", &status)], count);
        }
    }
    page.gauge("gateway_requests_in_flight", "Exchanges under way, by route.");
    for (name, figures) in &routes {
        page.sample(&[("route", name)], figures.in_flight.get());
    }
    page.counter("gateway_request_bytes_total", "Bytes of request bodies read, by route.");
    for (name, figures) in &routes {
        page.sample(&[("route", name)], figures.bytes_in.get());
    }
    page.counter("gateway_response_bytes_total", "Bytes of response bodies sent, by route.");
    for (name, figures) in &routes {
        page.sample(&[("route", name)], figures.bytes_out.get());
    }
    page.histogram("gateway_request_duration_seconds", "How long exchanges took, bodies included, by route.");
    for (name, figures) in &routes {
        let durations = &figures.durations;
        let mut below = 0;
        for (limit_ms, count) in BUCKETS_MS.iter().zip(&durations.buckets) {
            below += count.get();
            page.part("_bucket", &[("route", name), ("le", &(*limit_ms as f64 / 1e3))], below);
        }
        let all = below + durations.longer.get();
        page.part("_bucket", &[("route", name), ("le", &"+Inf")], all);
        page.part("_sum", &[("route", name)], durations.sum_us.get() as f64 / 1e6);
        page.part("_count", &[("route", name)], all);
    }
}

fn members(page: &mut Page, proxy: &Proxy) {
    let members = proxy.groups.iter().flat_map(|group| {
        let name = group.settings.name.as_str();
        group.members.iter().map(move |member| (name, member))
    });
    let members = members.collect::<Vec<_>>();
    let mut each = |kind: fn(&mut Page, _, _), name, help, value: fn(&Arc<Member>) -> u64| {
        kind(page, name, help);
        for (group, member) in &members {
            page.sample(&[("upstream", group), ("member", &member.authority)], value(member));
        }
    };
    each(
        Page::gauge,
        "gateway_member_up",
        "1 unless the last attempt to reach the server failed.",
        |member| u64::from(member.is_up()),
    );
    each(Page::counter, "gateway_member_requests_total", "Requests sent to the server.", |member| {
        member.figures.requests.get()
    });
    each(Page::counter, "gateway_member_connects_total", "Connections made.", |member| {
        member.figures.connects.get()
    });
    each(
        Page::counter,
        "gateway_member_connects_failed_total",
        "Connections that could not be made.",
        |member| member.figures.connects_failed.get(),
    );
    each(Page::gauge, "gateway_member_connections", "Connections open.", |member| member.figures.links.get());
    each(Page::gauge, "gateway_member_connections_idle", "Connections kept unused.", |member| {
        member.pool.idle_len() as u64
    });
}

fn listeners(page: &mut Page, proxy: &Proxy) {
    page.counter("gateway_connections_total", "Client connections accepted.");
    for listener in &proxy.listeners {
        page.sample(&[("listener", &listener.address)], listener.figures.accepted.get());
    }
    page.gauge("gateway_connections", "Client connections open.");
    for listener in &proxy.listeners {
        page.sample(&[("listener", &listener.address)], listener.figures.open.get());
    }
    page.counter("gateway_accept_errors_total", "Failures to accept a connection.");
    for listener in &proxy.listeners {
        page.sample(&[("listener", &listener.address)], listener.figures.accept_errors.get());
    }
    page.counter("gateway_connection_errors_total", "Client connections that ended badly, by reason.");
    for listener in &proxy.listeners {
        let figures = &listener.figures;
        let reasons = [
            ("malformed", &figures.malformed),
            ("header_timeout", &figures.header_timeouts),
            ("stuck", &figures.stuck),
            ("broken", &figures.broken),
        ];
        for (reason, count) in reasons {
            page.sample(&[("listener", &listener.address), ("reason", &reason)], count.get());
        }
    }
}

/// Descriptors and memory of the process, where the system tells.
fn process(page: &mut Page) {
    let mut gauge = |name, help, value: Option<u64>| {
        if let Some(value) = value {
            page.gauge(name, help);
            page.sample(&[] as &[(&str, &dyn Display)], value);
        }
    };
    // Listing the directory takes a descriptor itself, so one too many is seen.
    let descriptors =
        std::fs::read_dir("/proc/self/fd").ok().map(|list| (list.count() as u64).saturating_sub(1));
    gauge("process_open_fds", "File descriptors open.", descriptors);
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    let page_size = rustix::param::page_size() as u64;
    gauge("process_resident_memory_bytes", "Memory in use.", resident.map(|pages| pages * page_size));
}
