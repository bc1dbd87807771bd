//! One event for each exchange, when it is over.
//!
//! Target `gateway::access`, level info. The query is left out: it may hold what does not belong in a log.

use crate::proxy::Exchange;

/// What stands for the status of an exchange whose client left before there was one.
const CLIENT_LEFT: u16 = 499;

pub(crate) fn write(exchange: &Exchange) {
    let host = exchange.host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let member = exchange.member.as_ref().map_or("", |member| member.authority.as_str());
    tracing::info!(
        target: "gateway::access",
        peer = %exchange.session.peer,
        method = %exchange.method,
        host,
        path = exchange.uri.path(),
        version = ?exchange.version,
        status = exchange.status.map_or(CLIENT_LEFT, |status| status.as_u16()),
        ending = exchange.ending.as_str(),
        route = exchange.route_name(),
        member,
        bytes_in = exchange.bytes_in(),
        bytes_out = exchange.bytes_out,
        elapsed_us = u64::try_from(exchange.started.elapsed().as_micros()).unwrap_or(u64::MAX),
    );
}
