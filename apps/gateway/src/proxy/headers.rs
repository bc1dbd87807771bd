//! Which headers go on, which end here, and what a proxy adds.
//!
//! Pure functions on header maps, called by `mod` (requests) and `forward` (responses).
//!
//! Promise: nothing that concerns only one connection passes through; what the upstream server is told about the
//! client comes from the gateway, unless the listener trusts what is in front of it.
//!
//! Tests: below.

use crate::config::Protocol;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, FORWARDED, HOST, HeaderMap,
    HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{Method, Version};
use std::net::IpAddr;

static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
static PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
static HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How the gateway signs in `via`.
const PSEUDONYM: &str = "gateway";

/// Times a request may pass through gateways before it counts as going round in a circle.
const MAX_HOPS: usize = 8;

/// Takes out all that concerns only the connection it came on.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    for name in named_by_connection(headers) {
        headers.remove(name);
    }
    let hop_by_hop = [
        &CONNECTION,
        &KEEP_ALIVE,
        &PROXY_CONNECTION,
        &PROXY_AUTHENTICATE,
        &PROXY_AUTHORIZATION,
        &TE,
        &TRANSFER_ENCODING,
        &UPGRADE,
        &HTTP2_SETTINGS,
    ];
    for name in hop_by_hop {
        headers.remove(name);
    }
}

/// The headers that `connection` names, without those that no client may have taken out.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let keep =
        [&HOST, &CONTENT_LENGTH, &AUTHORIZATION, &COOKIE, &CACHE_CONTROL, &FORWARDED_FOR, &FORWARDED_HOST];
    connection_tokens(headers)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .filter(|name| headers.contains_key(name) && !keep.contains(&name))
        .collect()
}

fn connection_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    tokens(headers, &CONNECTION)
}

/// The comma-separated parts of every value of `name`.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

/// What is known of the client, for the upstream server.
pub(super) struct Client<'a> {
    pub(super) address: IpAddr,
    /// What the client called this host.
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) version: Version,
    /// Whether the client is a proxy whose word counts.
    pub(super) trusted: bool,
}

/// Makes the headers of a client's request those of a request to a server that speaks `protocol`, all but `host`.
pub(super) fn to_upstream(headers: &mut HeaderMap, client: &Client<'_>, protocol: Protocol) {
    let trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    strip_hop_by_hop(headers);
    // The gateway itself asks for the body when it is wanted.
    headers.remove(EXPECT);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        if protocol == Protocol::Http1 {
            // It concerns this connection only, and HTTP/1 wants that said.
            headers.append(CONNECTION, HeaderValue::from_static("te"));
        }
    }
    join_cookies(headers);
    forwarded(headers, client);
    sign(headers, client.version);
}

/// Makes the headers of an upstream server's response those of a response to a client.
pub(super) fn to_client(headers: &mut HeaderMap, version: Version) {
    strip_hop_by_hop(headers);
    sign(headers, version);
}

/// HTTP/2 may send cookies one by one; HTTP/1 wants one header.
fn join_cookies(headers: &mut HeaderMap) {
    let mut values = headers.get_all(COOKIE).iter();
    let (Some(first), Some(second)) = (values.next(), values.next()) else { return };
    let mut joined = [first.as_bytes(), second.as_bytes()].join(&b"; "[..]);
    for value in values {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(value.as_bytes());
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(COOKIE, value);
    }
}

fn forwarded(headers: &mut HeaderMap, client: &Client<'_>) {
    if !client.trusted {
        for name in [&FORWARDED, &FORWARDED_FOR, &FORWARDED_HOST, &FORWARDED_PROTO] {
            headers.remove(name);
        }
    }
    let before = tokens(headers, &FORWARDED_FOR).collect::<Vec<_>>().join(", ");
    let chain = if before.is_empty() {
        client.address.to_canonical().to_string()
    } else {
        format!("{before}, {}", client.address.to_canonical())
    };
    if let Ok(chain) = HeaderValue::try_from(chain) {
        headers.insert(FORWARDED_FOR.clone(), chain);
    }
    if !headers.contains_key(&FORWARDED_PROTO) {
        headers.insert(FORWARDED_PROTO.clone(), HeaderValue::from_static("http"));
    }
    if let (Some(host), false) = (client.host, headers.contains_key(&FORWARDED_HOST)) {
        headers.insert(FORWARDED_HOST.clone(), host.clone());
    }
}

fn sign(headers: &mut HeaderMap, version: Version) {
    let signature = match version {
        Version::HTTP_2 => "2 gateway",
        Version::HTTP_10 => "1.0 gateway",
        _ => "1.1 gateway",
    };
    headers.append(VIA, HeaderValue::from_static(signature));
}

/// Whether a request has passed through gateways so often that it must be going round in a circle.
pub(super) fn goes_in_circles(headers: &HeaderMap) -> bool {
    let signatures = tokens(headers, &VIA).filter(|via| via.split(' ').nth(1) == Some(PSEUDONYM));
    signatures.count() >= MAX_HOPS
}

/// What protocol the client of an HTTP/1.1 request wants to go on with, if any but HTTP/2.
///
/// HTTP/2 by upgrade is ignored, as a server may: a client that wants HTTP/2 here begins with it, and tunnelling it
/// would lead requests past the routes.
pub(super) fn wanted_upgrade(method: &Method, version: Version, headers: &HeaderMap) -> Option<HeaderValue> {
    if version != Version::HTTP_11 || *method != Method::GET {
        return None;
    }
    if !connection_tokens(headers).any(|token| token.eq_ignore_ascii_case("upgrade")) {
        return None;
    }
    let wanted = headers.get(UPGRADE)?;
    let plain = tokens(headers, &UPGRADE).all(|token| !token.to_ascii_lowercase().starts_with("h2"));
    plain.then(|| wanted.clone())
}

/// Says that the connection goes on with `protocol`.
pub(super) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.append(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn client(host: &HeaderValue, trusted: bool) -> Client<'_> {
        Client { address: Ipv4Addr::LOCALHOST.into(), host: Some(host), version: Version::HTTP_11, trusted }
    }

    #[test]
    fn what_connection_names_ends_here() {
        let mut map = headers(&[("connection", "x-secret, Keep-Alive"), ("x-secret", "1"), ("x-open", "2")]);
        strip_hop_by_hop(&mut map);
        assert_eq!(map, headers(&[("x-open", "2")]));
    }

    #[test]
    fn connection_cannot_take_out_what_the_request_needs() {
        let mut map =
            headers(&[("connection", "host, content-length"), ("host", "a"), ("content-length", "3")]);
        strip_hop_by_hop(&mut map);
        assert_eq!(map, headers(&[("host", "a"), ("content-length", "3")]));
    }

    #[test]
    fn te_passes_on_only_trailers() {
        let host = HeaderValue::from_static("a");
        let mut map = headers(&[("te", "gzip, trailers")]);
        to_upstream(&mut map, &client(&host, false), Protocol::Http1);
        assert_eq!(
            (&map["te"], &map["connection"]),
            (&"trailers".parse().expect("a value"), &"te".parse().expect("a value"))
        );

        let mut map = headers(&[("te", "trailers")]);
        to_upstream(&mut map, &client(&host, false), Protocol::Http2);
        assert!(map.contains_key("te") && !map.contains_key("connection"));
    }

    #[test]
    fn a_stranger_cannot_say_where_it_came_from() {
        let host = HeaderValue::from_static("shop.example");
        let mut map = headers(&[("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=6.6.6.6")]);
        to_upstream(&mut map, &client(&host, false), Protocol::Http1);
        assert_eq!(map["x-forwarded-for"], "127.0.0.1");
        assert_eq!(map["x-forwarded-host"], "shop.example");
        assert_eq!(map["x-forwarded-proto"], "http");
        assert!(!map.contains_key("forwarded"));
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_extended() {
        let host = HeaderValue::from_static("inner");
        let mut map = headers(&[
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-for", "2.2.2.2"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "outer"),
        ]);
        to_upstream(&mut map, &client(&host, true), Protocol::Http1);
        assert_eq!(map["x-forwarded-for"], "1.1.1.1, 2.2.2.2, 127.0.0.1");
        assert_eq!(map["x-forwarded-proto"], "https");
        assert_eq!(map["x-forwarded-host"], "outer");
    }

    #[test]
    fn cookies_become_one_header() {
        let mut map = headers(&[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        join_cookies(&mut map);
        assert_eq!(map.get_all("cookie").iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
    }

    #[test]
    fn a_request_that_goes_round_is_noticed() {
        let mut map = HeaderMap::new();
        for hop in 0..MAX_HOPS {
            assert!(!goes_in_circles(&map), "after {hop} hops");
            sign(&mut map, Version::HTTP_11);
        }
        assert!(goes_in_circles(&map));
    }

    #[test]
    fn http2_by_upgrade_is_not_tunnelled() {
        let wanted = |upgrade| {
            let map = headers(&[("connection", "Upgrade"), ("upgrade", upgrade)]);
            wanted_upgrade(&Method::GET, Version::HTTP_11, &map)
        };
        assert_eq!(wanted("websocket"), Some(HeaderValue::from_static("websocket")));
        assert_eq!(wanted("h2c"), None);
    }
}
