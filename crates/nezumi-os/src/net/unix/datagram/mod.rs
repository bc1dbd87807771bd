//! Datagrams over Unix sockets: see [`UnixDatagram`](crate::net::UnixDatagram).

pub(crate) mod socket;
