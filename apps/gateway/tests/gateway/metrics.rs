//! The page for Prometheus.

use crate::harness::{Proxy, Server, get, post, to};
use http::StatusCode;
use std::collections::HashMap;

/// Every sample of the page, with its labels; checks the form of each line on the way.
fn parse(page: &str) -> HashMap<&str, f64> {
    let mut samples = HashMap::new();
    let mut types = HashMap::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            if words.next() == Some("TYPE") {
                let name = words.next().expect("a name");
                assert!(types.insert(name, words.next().expect("a type")).is_none(), "{name} twice");
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
        let name = sample.split('{').next().expect("a name");
        let family =
            ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
        assert!(types.contains_key(family), "no type for {name}");
        assert!(samples.insert(sample, value.parse().expect("a number")).is_none(), "{sample} twice");
    }
    samples
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_is_counted() {
    let server = Server::echo().await;
    let proxy = Proxy::to(&[&server], "path = \"/x\"");
    for _ in 0..5 {
        assert_eq!(post(proxy.address, "/x", "12345678").await.status, StatusCode::OK);
    }
    assert_eq!(get(proxy.address, "/y").await.status, StatusCode::NOT_FOUND);
    proxy.until_metric("gateway_requests_total{route=\"r\",status=\"200\"}", 5.0).await;
    let answer = get(proxy.address, "/_gateway/metrics").await;
    assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let samples = parse(&answer.body);
    assert_eq!(samples["gateway_requests_total{route=\"\",status=\"404\"}"], 1.0);
    assert_eq!(samples["gateway_request_bytes_total{route=\"r\"}"], 40.0);
    assert_eq!(samples["gateway_request_duration_seconds_count{route=\"r\"}"], 5.0);
    assert_eq!(samples["gateway_request_duration_seconds_bucket{route=\"r\",le=\"+Inf\"}"], 5.0);
    let member = format!("{{upstream=\"g\",member=\"{server}\"}}");
    assert_eq!(samples[format!("gateway_member_requests_total{member}").as_str()], 5.0);
    assert_eq!(samples[format!("gateway_member_up{member}").as_str()], 1.0);
    assert!(samples["process_open_fds"] > 3.0);
    assert!(samples["process_resident_memory_bytes"] > 1e6);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_runtime_tells_what_each_worker_does() {
    let server = Server::named("a").await;
    let proxy = Proxy::to(&[&server], "");
    for _ in 0..20 {
        get(proxy.address, "/").await;
    }
    let page = get(proxy.address, "/_gateway/metrics").await.body;
    let samples = parse(&page);
    let sum = |name: &str| {
        (0..2).map(|index| samples[format!("{name}{{worker=\"{index}\"}}").as_str()]).sum::<f64>()
    };
    assert_eq!(samples["runtime_workers"], 2.0);
    assert!(sum("runtime_worker_polls_total") > 20.0, "{page}");
    assert!(sum("runtime_worker_parks_total") > 0.0, "{page}");
    assert!(sum("runtime_worker_busy_seconds_total") > 0.0, "{page}");
    assert!(samples["runtime_tasks"] >= 1.0, "{page}");
    for name in
        ["steals_total", "steal_operations_total", "noops_total", "overflows_total", "local_schedules_total"]
    {
        assert!(samples.contains_key(format!("runtime_worker_{name}{{worker=\"1\"}}").as_str()), "{name}");
    }
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_may_keep_it_to_itself() {
    let server = Server::named("a").await;
    let proxy = Proxy::start("metrics = \"nobody\"", &to(&[&server], ""));
    assert_eq!(get(proxy.address, "/_gateway/metrics").await.status, StatusCode::FORBIDDEN);
    proxy.stop().await;
}
