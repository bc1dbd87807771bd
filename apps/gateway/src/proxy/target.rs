//! Which host and which path a request is for.
//!
//! Called by `mod` before anything else is done with a request. Pure.
//!
//! Promise: a request that gets past [`Target::read`] means the same to the gateway and to any server behind it: one
//! host, and a path without `.` and `..` segments that would lead out of its route.
//!
//! Tests: below.

use super::failure::Failure;
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderValue, Request, Version};

/// Where a request wants to go.
#[derive(Debug)]
pub(super) struct Target {
    /// The `host` the client used, for HTTP/2 its `:authority`. Only HTTP/1.0 may have none.
    pub(super) host: Option<HeaderValue>,
    /// How much of `host` is the name, without the port.
    name_len: usize,
}

impl Target {
    /// Reads the target of `request`.
    pub(super) fn read<B>(request: &Request<B>) -> Result<Self, Failure> {
        if has_dot_segment(request.uri().path()) {
            return Err(Failure::Malformed("the path has . or .. segments; resolve them first"));
        }
        let mut hosts = request.headers().get_all(HOST).iter();
        let header = hosts.next();
        if hosts.next().is_some() {
            return Err(Failure::Malformed("there is more than one host header"));
        }
        // A target in absolute form wins over the header (RFC 9112, 3.2.2).
        let authority = match (request.uri().authority(), header) {
            (Some(authority), _) => authority.clone(),
            (None, Some(value)) if !value.is_empty() => {
                let parsed = Authority::try_from(value.as_bytes());
                parsed.map_err(|_| Failure::Malformed("the host header is not a host"))?
            }
            (None, _) if request.version() == Version::HTTP_10 => {
                return Ok(Self { host: None, name_len: 0 });
            }
            (None, _) => return Err(Failure::Malformed("the host header is missing")),
        };
        if authority.as_str().contains('@') {
            return Err(Failure::Malformed("the host has a user name in it"));
        }
        let name_len = authority.host().len();
        let host = HeaderValue::from_str(authority.as_str());
        let host = host.map_err(|_| Failure::Malformed("the host header is not a host"))?;
        Ok(Self { host: Some(host), name_len })
    }

    /// The host without its port, as the client wrote it; empty if there is none.
    pub(super) fn name(&self) -> &str {
        let text = self.host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
        &text[..self.name_len.min(text.len())]
    }
}

/// Whether a segment of `path` is `.` or `..`, percent-encoded or not.
fn has_dot_segment(path: &str) -> bool {
    path.split('/').any(|segment| {
        let mut rest = segment.as_bytes();
        let mut dots = 0;
        while !rest.is_empty() {
            rest = match rest {
                [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
                _ => return false,
            };
            dots += 1;
        }
        dots == 1 || dots == 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(uri: &str, hosts: &[&str]) -> Result<Target, Failure> {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        Target::read(&request.body(()).expect("a request"))
    }

    #[test]
    fn the_port_is_not_part_of_the_name() {
        assert_eq!(read("/", &["Shop.example:8080"]).expect("valid").name(), "Shop.example");
        assert_eq!(read("/", &["[::1]:8080"]).expect("valid").name(), "[::1]");
    }

    #[test]
    fn an_absolute_target_wins_over_the_header() {
        assert_eq!(
            read("http://right.example/x", &["wrong.example"]).expect("valid").name(),
            "right.example"
        );
    }

    #[test]
    fn no_two_or_broken_hosts_are_refused() {
        for hosts in [&[][..], &["a", "b"], &["a b"], &["user@a"], &[""]] {
            assert!(read("/", hosts).is_err(), "{hosts:?}");
        }
    }

    #[test]
    fn dot_segments_are_refused_however_they_are_written() {
        for path in ["/a/../b", "/.", "/a/%2e%2E/b", "/a/.%2e", "/a/./b"] {
            assert!(read(path, &["a"]).is_err(), "{path}");
        }
        for path in ["/a/...", "/.well-known/x", "/a..b", "/a/.b", "/%2"] {
            assert!(read(path, &["a"]).is_ok(), "{path}");
        }
    }
}
