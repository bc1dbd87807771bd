//! One thread, many connections, a request at a time on each.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const BODY: &[u8] = b"Hello, world!";

pub(super) struct Client {
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
    laps: u64,
}

impl Client {
    pub(super) fn connect(address: SocketAddr, connections: u64) -> io::Result<Client> {
        let poll = Poll::new()?;
        let connect = |i| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let token = Token(i as usize);
            poll.registry().register(&mut SourceFd(&stream.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Connection { stream, answer: Vec::with_capacity(512), laps: 0 })
        };
        let connections: Vec<_> = (0..connections).map(connect).collect::<io::Result<_>>()?;
        Ok(Client { poll, events: Events::with_capacity(connections.len()), connections })
    }

    /// So many requests on each connection. How many were answered.
    pub(super) fn run(&mut self, laps: u64) -> io::Result<u64> {
        for connection in &mut self.connections {
            connection.laps = laps;
            connection.stream.write_all(REQUEST)?;
        }
        let (mut waiting, mut answers) = (self.connections.len(), 0);
        while waiting > 0 {
            match self.poll.poll(&mut self.events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &self.events {
                let connection = &mut self.connections[event.token().0];
                let done = connection.turn()?;
                answers += done;
                waiting -= usize::from(done > 0 && connection.laps == 0);
            }
        }
        Ok(answers)
    }
}

impl Connection {
    /// Reads what is there, and asks again after each whole answer. How many there were.
    fn turn(&mut self) -> io::Result<u64> {
        let (mut buffer, mut answers) = ([0; 1024], 0);
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
                Ok(count) => self.answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(answers),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if is_whole(&self.answer)? {
                self.answer.clear();
                answers += 1;
                self.laps -= 1;
                if self.laps > 0 {
                    self.stream.write_all(REQUEST)?;
                }
                // Nothing more can have come, so there is no need to be told so; the next answer is a new edge.
                return Ok(answers);
            }
        }
    }
}

/// Whether the answer has come to its end. An error if it is not the one that was asked for.
fn is_whole(answer: &[u8]) -> io::Result<bool> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(false) };
    let (head, body) = answer.split_at(end + 4);
    if !head.starts_with(b"HTTP/1.1 200 ") || !BODY.starts_with(body) {
        return Err(io::Error::new(ErrorKind::InvalidData, "not the answer"));
    }
    Ok(body.len() == BODY.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, world!";
        for end in 0..answer.len() {
            assert!(!is_whole(&answer[..end]).unwrap_or(true), "at {end}");
        }
        assert!(is_whole(answer).unwrap());
    }

    #[test]
    fn another_answer_is_an_error() {
        assert!(is_whole(b"HTTP/1.1 500 Internal Server Error\r\n\r\n").is_err());
        assert!(is_whole(b"HTTP/1.1 200 OK\r\n\r\nGoodbye").is_err());
    }
}
