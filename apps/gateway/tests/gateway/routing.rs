//! Which server gets a request, and what it is told.

use crate::harness::{Proxy, Server, ask, exchange, get, group, raw, text, to};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;

/// A server that answers with the headers it got, one a line.
async fn mirror() -> Server {
    Server::http1(|request: Request<Incoming>| async move {
        let lines = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")));
        text(lines.collect::<Vec<_>>().join("\n"))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_and_the_longest_path_decide() {
    let (web, api, shop) =
        (Server::named("web").await, Server::named("api").await, Server::named("shop").await);
    let groups = format!(
        "[[upstream]]\nname = \"web\"\nmembers = [\"{web}\"]\n[[upstream]]\nname = \"api\"\nmembers = [\"{api}\"]\n\
         [[upstream]]\nname = \"shop\"\nmembers = [\"{shop}\"]\n"
    );
    let routes = "[[route]]\nupstream = \"web\"\n[[route]]\npath = \"/api\"\nstrip_prefix = true\nupstream = \"api\"\n\
         [[route]]\nhost = \"*.shop.example\"\nupstream = \"shop\"\n";
    let proxy = Proxy::start("", &(groups + routes));
    assert_eq!(get(proxy.address, "/x?q=1").await.body, "web /x?q=1");
    assert_eq!(get(proxy.address, "/apix").await.body, "web /apix");
    assert_eq!(get(proxy.address, "/api/users?q=1").await.body, "api /users?q=1");
    let request = Request::builder().uri("/api").header("host", "Blue.Shop.example:80");
    assert_eq!(ask(proxy.address, request, "").await.body, "shop /api");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_route_takes_is_not_found() {
    let web = Server::named("web").await;
    let proxy = Proxy::to(&[&web], "host = \"only.example\"");
    let answer = get(proxy.address, "/").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.body, "404 Not Found: no route takes this host and path\n");
    assert_eq!(web.accepted(), 0);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_in_absolute_form_says_the_host() {
    let web = Server::named("web").await;
    let proxy = Proxy::to(&[&web], "host = \"only.example\"");
    let answer = raw(
        proxy.address,
        "GET http://only.example/x HTTP/1.1\r\nhost: other.example\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("web /x"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_is_told_who_asks_and_nothing_of_the_connection() {
    let server = mirror().await;
    let proxy = Proxy::to(&[&server], "");
    let request = exchange(Method::GET, "/")
        .header("x-forwarded-for", "6.6.6.6")
        .header("connection", "x-mine, keep-alive")
        .header("x-mine", "1")
        .header("x-theirs", "2")
        .header("proxy-authorization", "secret");
    let answer = ask(proxy.address, request, "").await;
    let mut lines = answer.body.lines().collect::<Vec<_>>();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "host: any.example",
            "via: 1.1 gateway",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: any.example",
            "x-forwarded-proto: http",
            "x-theirs: 2",
        ]
    );
    assert_eq!(answer.headers["via"], "1.1 gateway");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_proxy_in_front_is_believed() {
    let server = mirror().await;
    let proxy = Proxy::start("trust_forwarded = true", &to(&[&server], ""));
    let request =
        exchange(Method::GET, "/").header("x-forwarded-for", "1.2.3.4").header("x-forwarded-proto", "https");
    let answer = ask(proxy.address, request, "").await;
    assert!(answer.body.contains("x-forwarded-for: 1.2.3.4, 127.0.0.1\n"), "{}", answer.body);
    assert!(answer.body.contains("x-forwarded-proto: https"), "{}", answer.body);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_is_kept_or_rewritten_as_configured() {
    let server = mirror().await;
    for (rule, host) in [
        ("preserve", "any.example".to_owned()),
        ("upstream", server.to_string()),
        ("inner.example:81", "inner.example:81".to_owned()),
    ] {
        let proxy = Proxy::to(&[&server], &format!("host_header = \"{rule}\""));
        let answer = get(proxy.address, "/").await;
        assert!(answer.body.lines().any(|line| line == format!("host: {host}")), "{rule}: {}", answer.body);
        proxy.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gateway_says_whether_it_is_well() {
    let proxy = Proxy::start("", &(group(&[&"127.0.0.1:9"], "") + "[[route]]\nupstream = \"g\""));
    let answer = get(proxy.address, "/_gateway/health").await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "ok\n"));
    assert_eq!(get(proxy.address, "/_gateway/other").await.status, StatusCode::NOT_FOUND);
    proxy.stop().await;
}
