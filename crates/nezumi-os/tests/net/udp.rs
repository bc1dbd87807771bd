use crate::support::*;
use nezumi_io::{Interest, ReadBuf};
use nezumi_os::net::UdpSocket;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::pin::pin;

async fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}

async fn connected() -> (UdpSocket, UdpSocket) {
    let (a, b) = (socket().await, socket().await);
    a.connect(b.local_addr().unwrap()).await.unwrap();
    b.connect(a.local_addr().unwrap()).await.unwrap();
    (a, b)
}

#[test]
fn datagrams_find_their_way() {
    on_each(|| async {
        let (a, b) = (socket().await, socket().await);
        let (addr_a, addr_b) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let mut buf = [0; 32];
        let (sent, received) =
            (a.send_to(b"one", addr_b).await.unwrap(), b.recv_from(&mut buf).await.unwrap());
        assert_eq!((sent, received), (3, (3, addr_a)));
        assert_eq!(&buf[..3], b"one");
        b.send_to(b"two!", &addr_a.to_string()).await.unwrap();
        assert_eq!(a.recv_from(&mut buf).await.unwrap(), (4, addr_b));
        let error = a.send_to(b"nobody", &[][..]).await.unwrap_err();
        assert_eq!(error.to_string(), "no addresses to send data to");
        assert_eq!(a.peer_addr().unwrap_err().kind(), io::ErrorKind::NotConnected);
    });
}

#[test]
fn a_connected_pair_in_every_form() {
    on_each(|| async {
        let (a, b) = connected().await;
        assert_eq!(a.peer_addr().unwrap(), b.local_addr().unwrap());
        let mut buf = [0; 32];
        a.send(b"async").await.unwrap();
        assert_eq!(b.recv(&mut buf).await.unwrap(), 5);

        poll_fn(|cx| a.poll_send_ready(cx)).await.unwrap();
        poll_fn(|cx| a.poll_send(cx, b"poll")).await.unwrap();
        poll_fn(|cx| b.poll_recv_ready(cx)).await.unwrap();
        let mut read_buf = ReadBuf::new(&mut buf);
        poll_fn(|cx| b.poll_recv(cx, &mut read_buf)).await.unwrap();
        assert_eq!(read_buf.filled(), b"poll");

        assert_eq!(b.try_recv(&mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        a.writable().await.unwrap();
        a.try_send(b"try").unwrap();
        b.readable().await.unwrap();
        assert_eq!(b.try_recv(&mut buf).unwrap(), 3);

        let mut vec = Vec::with_capacity(32);
        a.send(b"into ").await.unwrap();
        a.send(b"a vec").await.unwrap();
        assert_eq!(b.recv_buf(&mut vec).await.unwrap(), 5);
        assert_eq!(b.recv_buf_from(&mut vec).await.unwrap(), (5, a.local_addr().unwrap()));
        assert_eq!(vec, b"into a vec");
        a.send(b"!").await.unwrap();
        loop {
            b.readable().await.unwrap();
            match b.try_recv_buf(&mut vec) {
                Ok(n) => break assert_eq!(n, 1),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        a.send(b"?").await.unwrap();
        loop {
            b.readable().await.unwrap();
            match b.try_recv_buf_from(&mut vec) {
                Ok(got) => break assert_eq!(got, (1, a.local_addr().unwrap())),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(vec, b"into a vec!?");
    });
}

#[test]
fn peeking_takes_nothing() {
    on_each(|| async {
        let (a, b) = (socket().await, socket().await);
        let (addr_a, addr_b) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        a.send_to(b"seen", addr_b).await.unwrap();
        let mut buf = [0; 16];
        assert_eq!(b.peek_sender().await.unwrap(), addr_a);
        assert_eq!(poll_fn(|cx| b.poll_peek_sender(cx)).await.unwrap(), addr_a);
        assert_eq!(b.try_peek_sender().unwrap(), addr_a);
        assert_eq!(b.peek_from(&mut buf).await.unwrap(), (4, addr_a));
        assert_eq!(b.try_peek_from(&mut buf).unwrap(), (4, addr_a));
        let mut read_buf = ReadBuf::new(&mut buf);
        assert_eq!(poll_fn(|cx| b.poll_peek_from(cx, &mut read_buf)).await.unwrap(), addr_a);
        assert_eq!(read_buf.filled(), b"seen");
        let mut read_buf = ReadBuf::new(&mut buf);
        assert_eq!(poll_fn(|cx| b.poll_recv_from(cx, &mut read_buf)).await.unwrap(), addr_a);
        assert_eq!(read_buf.filled(), b"seen");
        assert!(poll_once(pin!(b.peek_sender())).is_pending());

        let (a, b) = connected().await;
        a.send(b"both").await.unwrap();
        assert_eq!(b.peek(&mut buf).await.unwrap(), 4);
        assert_eq!(b.try_peek(&mut buf).unwrap(), 4);
        let mut read_buf = ReadBuf::new(&mut buf);
        poll_fn(|cx| b.poll_peek(cx, &mut read_buf)).await.unwrap();
        assert_eq!(read_buf.filled(), b"both");
        assert_eq!(b.recv(&mut buf).await.unwrap(), 4);
    });
}

/// The OS learns that nobody is at the other end. Whoever receives is told, although nothing came.
#[test]
fn an_error_wakes_the_receiver() {
    on_each(|| async {
        let (a, b) = connected().await;
        drop(b);
        a.send(b"is anybody there").await.unwrap();
        let error = a.recv(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    });
}

#[test]
fn own_operations_run_when_the_socket_is_ready() {
    on_each(|| async {
        let (a, b) = connected().await;
        let std_b = std::os::fd::AsFd::as_fd(&b).try_clone_to_owned().unwrap();
        let std_b = std::net::UdpSocket::from(std_b);
        let mut buf = [0; 8];
        let receive = b.try_io(Interest::READABLE, || std_b.recv(&mut buf));
        assert_eq!(receive.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        a.send(b"raw").await.unwrap();
        assert_eq!(b.async_io(Interest::READABLE, || std_b.recv(&mut buf)).await.unwrap(), 3);
    });
}

#[test]
fn several_tasks_share_a_socket() {
    on_each(|| async {
        let (a, b) = connected().await;
        let (a, b) = (std::sync::Arc::new(a), std::sync::Arc::new(b));
        let receivers: Vec<_> = (0..16)
            .map(|_| {
                let b = b.clone();
                nezumi_core::spawn::spawn(async move {
                    let mut buf = [0; 8];
                    b.recv(&mut buf).await.unwrap();
                    buf[0]
                })
            })
            .collect();
        for n in 0..16 {
            a.send(&[n]).await.unwrap();
        }
        let mut got = Vec::new();
        for receiver in receivers {
            got.push(receiver.await.unwrap());
        }
        got.sort_unstable();
        assert_eq!(got, (0..16).collect::<Vec<u8>>());
    });
}

#[test]
fn options_reach_the_os() {
    current_thread().block_on(async {
        let socket = socket().await;
        socket.set_broadcast(true).unwrap();
        assert!(socket.broadcast().unwrap());
        socket.set_multicast_loop_v4(false).unwrap();
        assert!(!socket.multicast_loop_v4().unwrap());
        socket.set_multicast_ttl_v4(7).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 7);
        socket.set_ttl(8).unwrap();
        assert_eq!(socket.ttl().unwrap(), 8);
        socket.set_tos_v4(0x08).unwrap();
        assert_eq!(socket.tos_v4().unwrap(), 0x08);
        assert!(socket.take_error().unwrap().is_none());
        #[cfg(target_os = "linux")]
        assert_eq!(socket.device().unwrap(), None);
        if let Ok(v6) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await {
            v6.set_multicast_loop_v6(false).unwrap();
            assert!(!v6.multicast_loop_v6().unwrap());
            #[cfg(target_os = "linux")]
            {
                v6.set_tclass_v6(3).unwrap();
                assert_eq!(v6.tclass_v6().unwrap(), 3);
            }
        }
        let addr = socket.local_addr().unwrap();
        let socket = UdpSocket::from_std(socket.into_std().unwrap()).unwrap();
        assert_eq!(socket.local_addr().unwrap(), addr);
    });
}
