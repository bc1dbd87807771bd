use crate::support::*;
use nezumi_core::spawn::spawn;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use nezumi_os::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

async fn pair() -> (TcpStream, TcpStream) {
    let (listener, addr) = listener().await;
    let client = TcpStream::connect(addr).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(client.local_addr().unwrap(), peer);
    assert_eq!(client.peer_addr().unwrap(), server.local_addr().unwrap());
    (client, server)
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let (mut reader, mut writer) = stream.split();
    let mut buf = vec![0; 10_000];
    loop {
        match read(&mut reader, &mut buf).await? {
            0 => return shutdown(&mut writer).await,
            n => write_all(&mut writer, &buf[..n]).await?,
        }
    }
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 7 + i / 256) as u8).collect()
}

#[test]
fn what_is_sent_comes_back() {
    on_each(|| async {
        let (listener, addr) = listener().await;
        let server = spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                drop(spawn(echo(stream)));
            }
        });
        let clients: Vec<_> = (0..32)
            .map(|client| {
                spawn(async move {
                    let (mut reader, mut writer) = TcpStream::connect(addr).await.unwrap().into_split();
                    let sizes = [1, 64, 4096, 300_000];
                    let sent = pattern(sizes[client % sizes.len()], client);
                    let expected = sent.clone();
                    let writing = spawn(async move {
                        write_all(&mut writer, &sent).await.unwrap();
                        shutdown(&mut writer).await.unwrap();
                    });
                    assert!(read_to_end(&mut reader).await.unwrap() == expected, "client {client}");
                    writing.await.unwrap();
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        server.abort();
    });
}

/// Both sides fill the OS's buffers, so that each write is short in the end and each must wait for the other.
#[test]
fn short_writes_and_reads_go_on() {
    on_each(|| async {
        const LEN: usize = 5_000_000;
        let (mut a, mut b) = pair().await;
        let sender = spawn(async move {
            let data = pattern(LEN, 1);
            let mut sent = 0;
            while sent < LEN {
                // Vectored, and with a buffer of zero length in between.
                let rest = &data[sent..];
                let bufs = [
                    IoSlice::new(&rest[..rest.len() / 2]),
                    IoSlice::new(&[]),
                    IoSlice::new(&rest[rest.len() / 2..]),
                ];
                sent += poll_fn(|cx| Pin::new(&mut a).poll_write_vectored(cx, &bufs)).await.unwrap();
            }
        });
        let received = read_to_end(&mut b).await.unwrap();
        assert!(received == pattern(LEN, 1));
        sender.await.unwrap();
    });
}

#[test]
fn a_connection_that_is_refused_is_an_error() {
    on_each(|| async {
        let (listener, addr) = listener().await;
        drop(listener);
        assert_eq!(TcpStream::connect(addr).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        // The first of two addresses refuses, the second one serves.
        let (_listener, good) = self::listener().await;
        let stream = TcpStream::connect(&[addr, good][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn names_are_looked_up() {
    on_each(|| async {
        let addrs: Vec<_> = lookup_host("localhost:80").await.unwrap().collect();
        assert!(!addrs.is_empty() && addrs.iter().all(|addr| addr.ip().is_loopback() && addr.port() == 80));
        assert!(lookup_host(("localhost", 1)).await.unwrap().next().is_some());
        assert!(lookup_host("no port").await.is_err());
        let (listener, addr) = listener().await;
        let stream = TcpStream::connect(("localhost", addr.port())).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1, stream.local_addr().unwrap());
    });
}

#[test]
fn try_operations_do_not_wait() {
    on_each(|| async {
        let (client, server) = pair().await;
        let mut buf = [0; 16];
        assert_eq!(client.try_read(&mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        client.writable().await.unwrap();
        assert_eq!(client.try_write(b"hello").unwrap(), 5);
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf[..2]).unwrap(), 2);
        let (mut first, mut second) = ([0; 1], [0; 10]);
        let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(server.try_read_vectored(&mut bufs).unwrap(), 3);
        assert_eq!((&first[..], &second[..2]), (&b"l"[..], &b"lo"[..]));
        assert_eq!(client.try_write_vectored(&[IoSlice::new(b"wo"), IoSlice::new(b"rld")]).unwrap(), 5);
        let mut vec = Vec::with_capacity(64);
        loop {
            server.readable().await.unwrap();
            match server.try_read_buf(&mut vec) {
                Ok(n) => break assert_eq!(n, 5),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(vec, b"world");
        drop(client);
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf).unwrap(), 0);
    });
}

#[test]
fn own_operations_run_when_the_stream_is_ready() {
    on_each(|| async {
        let (client, server) = pair().await;
        let result = client.try_io(Interest::READABLE, || -> io::Result<()> { panic!("nothing is known") });
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        write_all(&mut { server }, b"x").await.unwrap();
        let mut calls = 0;
        let read = client.async_io(Interest::READABLE, || {
            calls += 1;
            // The first time it says that it was not so.
            if calls == 1 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(calls) }
        });
        // What was cleared without need comes back with the next event only: the end of the stream.
        assert_eq!(read.await.unwrap(), 2);
    });
}

#[test]
fn peeked_bytes_are_read_once_more() {
    on_each(|| async {
        let (mut client, mut server) = pair().await;
        let mut buf = [0; 16];
        {
            let mut peek = pin!(server.peek(&mut buf));
            // Assumed readable when it was accepted, it finds out that it is not; the edge must not be lost by that.
            assert!(poll_once(peek.as_mut()).is_pending());
            write_all(&mut client, b"hello").await.unwrap();
            assert_eq!(peek.await.unwrap(), 5);
        }
        let mut read_buf = ReadBuf::new(&mut buf);
        assert_eq!(poll_fn(|cx| server.poll_peek(cx, &mut read_buf)).await.unwrap(), 5);
        assert_eq!(read_buf.filled(), b"hello");
        let (mut reader, _writer) = server.split();
        assert_eq!(reader.peek(&mut buf).await.unwrap(), 5);
        assert_eq!(read(&mut reader, &mut buf).await.unwrap(), 5);
        let mut again = pin!(reader.peek(&mut buf));
        assert!(poll_once(again.as_mut()).is_pending());
        write_all(&mut client, b"!").await.unwrap();
        assert_eq!(again.await.unwrap(), 1);
    });
}

#[test]
fn halves_are_reunited_only_with_their_own() {
    current_thread().block_on(async {
        let ((a, b), (c, d)) = (pair().await, pair().await);
        let ((a_read, a_write), (c_read, c_write)) = (a.into_split(), c.into_split());
        let error = a_read.reunite(c_write).unwrap_err();
        assert_eq!(error.to_string(), "tried to reunite halves that are not from the same socket");
        let nezumi_os::net::tcp::ReuniteError(a_read, c_write) = error;
        let mut a = a_write.reunite(a_read).unwrap();
        let mut c = c_read.reunite(c_write).unwrap();
        // Nothing was closed by that.
        for (stream, mut peer) in [(&mut a, b), (&mut c, d)] {
            write_all(stream, b"x").await.unwrap();
            assert_eq!(read(&mut peer, &mut [0; 8]).await.unwrap(), 1);
        }
    });
}

#[test]
fn dropping_the_half_that_writes_ends_the_stream() {
    current_thread().block_on(async {
        let (client, mut server) = pair().await;
        let (mut reader, writer) = client.into_split();
        drop(writer);
        assert_eq!(read(&mut server, &mut [0; 8]).await.unwrap(), 0);
        write_all(&mut server, b"still open").await.unwrap();
        assert_eq!(read(&mut reader, &mut [0; 64]).await.unwrap(), 10);

        let (client, mut server) = pair().await;
        let (reader, writer) = client.into_split();
        writer.forget();
        let mut buf = [0; 8];
        let mut end = pin!(read(&mut server, &mut buf));
        yield_now().await;
        assert!(poll_once(end.as_mut()).is_pending(), "a half that was forgotten closes nothing");
        drop(reader);
        assert_eq!(end.await.unwrap(), 0);
    });
}

#[test]
fn a_stream_goes_to_the_standard_library_and_back() {
    current_thread().block_on(async {
        let (client, mut server) = pair().await;
        let client = client.into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        io::Write::write_all(&mut &client, b"plain").unwrap();
        let mut buf = [0; 5];
        read_exact(&mut server, &mut buf).await.unwrap();
        assert_eq!(&buf, b"plain");
        client.set_nonblocking(true).unwrap();
        let mut client = TcpStream::try_from(client).unwrap();
        write_all(&mut server, b"again").await.unwrap();
        read_exact(&mut client, &mut buf).await.unwrap();
        assert_eq!(&buf, b"again");

        let (listener, addr) = listener().await;
        let listener = listener.into_std().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        assert_eq!(listener.local_addr().unwrap(), addr);
        let _client = TcpStream::connect(addr).await.unwrap();
        poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
    });
}

#[test]
fn options_reach_the_os() {
    current_thread().block_on(async {
        let (client, _server) = pair().await;
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        client.set_ttl(17).unwrap();
        assert_eq!(client.ttl().unwrap(), 17);
        assert_eq!(client.linger().unwrap(), None);
        client.set_zero_linger().unwrap();
        assert_eq!(client.linger().unwrap(), Some(Duration::ZERO));
        assert!(client.take_error().unwrap().is_none());
        #[cfg(target_os = "linux")]
        {
            client.set_quickack(false).unwrap();
            client.set_quickack(true).unwrap();
            assert!(client.quickack().unwrap());
        }

        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_reuseport(true).unwrap();
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_send_buffer_size(20_000).unwrap();
        socket.set_recv_buffer_size(20_000).unwrap();
        socket.set_tos_v4(0x10).unwrap();
        assert!(socket.reuseaddr().unwrap() && socket.reuseport().unwrap());
        assert!(socket.keepalive().unwrap() && socket.nodelay().unwrap());
        assert!(socket.send_buffer_size().unwrap() >= 20_000);
        assert!(socket.recv_buffer_size().unwrap() >= 20_000);
        assert_eq!(socket.tos_v4().unwrap(), 0x10);
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let addr = socket.local_addr().unwrap();
        let listener = socket.listen(8).unwrap();
        assert_eq!(listener.local_addr().unwrap(), addr);
        listener.set_ttl(9).unwrap();
        assert_eq!(listener.ttl().unwrap(), 9);
        let stream = TcpSocket::new_v4().unwrap().connect(addr).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1, stream.local_addr().unwrap());
        let v6 = TcpSocket::new_v6().unwrap();
        assert!(v6.take_error().unwrap().is_none());
    });
}

/// The peer resets; the error is reported once, by whoever reads.
#[test]
fn a_reset_is_an_error_of_the_read() {
    on_each(|| async {
        let (client, mut server) = pair().await;
        client.set_zero_linger().unwrap();
        drop(client);
        let error = read(&mut server, &mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    });
}

/// A future that is dropped has taken nothing: neither a connection nor a byte.
#[test]
fn dropped_futures_lose_nothing() {
    on_each(|| async {
        let (listener, addr) = listener().await;
        for _ in 0..3 {
            let mut accept = pin!(listener.accept());
            assert!(poll_once(accept.as_mut()).is_pending());
        }
        let mut client = TcpStream::connect(addr).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            let mut buf = [0; 8];
            assert!(poll_once(pin!(read(&mut server, &mut buf))).is_pending());
            assert!(poll_once(pin!(server.readable())).is_pending());
            assert!(poll_once(pin!(server.peek(&mut buf))).is_pending());
        }
        write_all(&mut client, b"abc").await.unwrap();
        for _ in 0..3 {
            server.readable().await.unwrap();
        }
        let mut buf = [0; 8];
        assert_eq!(read(&mut server, &mut buf).await.unwrap(), 3);
    });
}

/// A task that always finds something to read must let the others run.
#[test]
fn a_busy_reader_yields() {
    current_thread().block_on(async {
        let (mut client, mut server) = pair().await;
        // More single bytes than one budget.
        write_all(&mut client, &[7; 1000]).await.unwrap();
        server.readable().await.unwrap();
        let reader = spawn(async move {
            let mut count = 0;
            while count < 1000 {
                count += read(&mut server, &mut [0; 1]).await.unwrap();
            }
        });
        let mut others = 0;
        while !reader.is_finished() {
            others += 1;
            yield_now().await;
        }
        assert!(others >= 1000 / 128, "the reader gave way {others} times");
        reader.await.unwrap();
    });
}

#[test]
fn debug_says_what_the_socket_is() {
    current_thread().block_on(async {
        let (client, _server) = pair().await;
        let text = format!("{client:?}");
        assert!(text.starts_with("TcpStream { addr: 127.0.0.1:"), "{text}");
        let (listener, _) = listener().await;
        assert!(format!("{listener:?}").starts_with("TcpListener { addr: 127.0.0.1:"));
    });
}

#[test]
fn blocking_sockets_and_missing_runtimes_panic_where_the_caller_is() {
    let std_listener = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    let listener = std_listener();
    let (message, file) = panic_of(|| drop(TcpListener::from_std(listener)));
    assert!(
        message.starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        ),
        "{message}"
    );
    assert_eq!(file, file!());

    let without_io = nezumi_core::runtime::Builder::new_current_thread().build().unwrap();
    let listener = std_listener();
    let (message, file) = panic_of(|| {
        let _guard = without_io.enter();
        drop(TcpListener::from_std(listener));
    });
    assert!(message.starts_with("A Tokio 1.x context was found, but IO is disabled."), "{message}");
    assert_eq!(file, file!());

    if cfg!(debug_assertions) {
        let runtime = current_thread();
        let (message, file) = panic_of(|| {
            let _guard = runtime.enter();
            drop(TcpListener::from_std(std::net::TcpListener::bind("127.0.0.1:0").unwrap()));
        });
        assert!(
            message.starts_with("Registering a blocking socket with the tokio runtime is unsupported."),
            "{message}"
        );
        assert_eq!(file, file!());
    }
}

#[test]
fn of_two_tasks_that_poll_the_last_is_woken() {
    let runtime = current_thread();
    let (mut client, server) = runtime.block_on(async {
        let (client, mut server) = pair().await;
        let mut buf = [0; 8];
        assert!(poll_once(pin!(read(&mut server, &mut buf))).is_pending());
        (client, server)
    });
    let ((first, first_waker), (last, last_waker)) = (Wakeups::new(), Wakeups::new());
    assert!(server.poll_read_ready(&mut Context::from_waker(&first_waker)).is_pending());
    assert!(server.poll_read_ready(&mut Context::from_waker(&last_waker)).is_pending());
    runtime.block_on(async {
        write_all(&mut client, b"x").await.unwrap();
        server.readable().await.unwrap();
    });
    assert_eq!((first.count(), last.count()), (0, 1));
    assert!(matches!(server.poll_read_ready(&mut Context::from_waker(&last_waker)), Poll::Ready(Ok(()))));
}

/// For `dyn` and boxed use.
#[test]
fn streams_can_be_boxed() {
    fn boxed(stream: TcpStream) -> Box<dyn AsyncRead + Send + Unpin> {
        Box::new(stream)
    }
    current_thread().block_on(async {
        let (mut client, server) = pair().await;
        let mut server = boxed(server);
        write_all(&mut client, b"x").await.unwrap();
        assert_eq!(read(&mut server, &mut [0; 8]).await.unwrap(), 1);
    });
}
