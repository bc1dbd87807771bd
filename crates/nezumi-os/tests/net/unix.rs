use crate::support::*;
use nezumi_core::spawn::spawn;
use nezumi_io::{Interest, ReadBuf};
use nezumi_os::net::unix::pipe;
use nezumi_os::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::pin;

fn would_block<T: std::fmt::Debug>(result: io::Result<T>) -> bool {
    result.unwrap_err().kind() == io::ErrorKind::WouldBlock
}

#[test]
fn streams_connect_by_path() {
    on_each(|| async {
        let dir = TempDir::new();
        let path = dir.path("socket");
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path));
        let mut client = UnixStream::connect(&path).await.unwrap();
        let (mut server, peer) = listener.accept().await.unwrap();
        assert!(peer.is_unnamed());
        assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path));
        write_all(&mut client, b"hello").await.unwrap();
        shutdown(&mut client).await.unwrap();
        assert_eq!(read_to_end(&mut server).await.unwrap(), b"hello");
        write_all(&mut server, b"bye").await.unwrap();
        drop(server);
        assert_eq!(read_to_end(&mut client).await.unwrap(), b"bye");
        // The peer is gone already: no error.
        shutdown(&mut client).await.unwrap();
        assert!(listener.take_error().unwrap().is_none());
        assert_eq!(UnixListener::bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert_eq!(UnixStream::connect(&path).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn abstract_names_need_no_file() {
    on_each(|| async {
        let name = format!("\0nezumi-{}-{:?}", std::process::id(), std::thread::current().id());
        let listener = UnixListener::bind(&name).unwrap();
        let addr = listener.local_addr().unwrap();
        assert_eq!(addr.as_abstract_name(), Some(&name.as_bytes()[1..]));
        let _first = UnixStream::connect(&name).await.unwrap();
        let _second = UnixStream::connect_addr(&addr).await.unwrap();
        poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
        listener.accept().await.unwrap();
    });
}

#[test]
fn a_pair_knows_its_peer() {
    on_each(|| async {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        let cred = a.peer_cred().unwrap();
        // SAFETY: these have no preconditions.
        let me = unsafe { (libc::getuid(), libc::getgid()) };
        assert_eq!((cred.uid(), cred.gid()), me);
        assert_eq!(cred.pid(), Some(std::process::id() as i32));
        // Writable at once, without a word from the driver.
        assert_eq!(a.try_write(b"x").unwrap(), 1);
        assert!(would_block(a.try_read(&mut [0; 1])));
        assert_eq!(read(&mut b, &mut [0; 8]).await.unwrap(), 1);
        let (mut reader, mut writer) = b.split();
        write_all(&mut writer, b"half").await.unwrap();
        assert_eq!(read(&mut a, &mut [0; 8]).await.unwrap(), 4);
        let (mut a_reader, a_writer) = a.into_split();
        drop(a_writer);
        assert_eq!(read(&mut reader, &mut [0; 8]).await.unwrap(), 0);
        write_all(&mut writer, b"open").await.unwrap();
        assert_eq!(read(&mut a_reader, &mut [0; 8]).await.unwrap(), 4);
    });
}

#[test]
fn a_stream_goes_to_the_standard_library_and_back() {
    current_thread().block_on(async {
        let (a, mut b) = UnixStream::pair().unwrap();
        let a = a.into_std().unwrap();
        io::Write::write_all(&mut &a, b"plain").unwrap();
        let a = UnixStream::from_std(a).unwrap();
        let mut buf = [0; 5];
        read_exact(&mut b, &mut buf).await.unwrap();
        assert_eq!(&buf, b"plain");
        assert!(format!("{a:?}").starts_with("UnixStream"));
    });
}

#[test]
fn datagrams_in_every_form() {
    on_each(|| async {
        let dir = TempDir::new();
        let (path_a, path_b) = (dir.path("a"), dir.path("b"));
        let (a, b) = (UnixDatagram::bind(&path_a).unwrap(), UnixDatagram::bind(&path_b).unwrap());
        let from_a = |addr: nezumi_os::net::unix::SocketAddr| addr.as_pathname() == Some(&*path_a);
        let mut buf = [0; 16];
        a.send_to(b"one", &path_b).await.unwrap();
        let (len, from) = b.recv_from(&mut buf).await.unwrap();
        assert!(len == 3 && from_a(from));
        a.try_send_to(b"two", &path_b).unwrap();
        b.readable().await.unwrap();
        let (len, from) = b.try_recv_from(&mut buf).unwrap();
        assert!(len == 3 && from_a(from));
        poll_fn(|cx| a.poll_send_to(cx, b"three", &path_b)).await.unwrap();
        let mut read_buf = ReadBuf::new(&mut buf);
        assert!(from_a(poll_fn(|cx| b.poll_recv_from(cx, &mut read_buf)).await.unwrap()));
        assert_eq!(read_buf.filled(), b"three");
        let mut vec = Vec::with_capacity(32);
        a.send_to(b"four", &path_b).await.unwrap();
        let (len, from) = b.recv_buf_from(&mut vec).await.unwrap();
        assert!(len == 4 && from_a(from));

        a.connect(&path_b).unwrap();
        assert_eq!(a.peer_addr().unwrap().as_pathname(), Some(&*path_b));
        a.send(b" five").await.unwrap();
        assert_eq!(b.recv_buf(&mut vec).await.unwrap(), 5);
        assert_eq!(vec, b"four five");
        a.try_send(b"six").unwrap();
        poll_fn(|cx| b.poll_recv_ready(cx)).await.unwrap();
        assert_eq!(b.recv(&mut buf).await.unwrap(), 3);
        poll_fn(|cx| a.poll_send(cx, b"seven")).await.unwrap();
        let mut read_buf = ReadBuf::new(&mut buf);
        poll_fn(|cx| b.poll_recv(cx, &mut read_buf)).await.unwrap();
        assert_eq!(read_buf.filled(), b"seven");
        a.send(b"8").await.unwrap();
        b.readable().await.unwrap();
        assert_eq!(b.try_recv(&mut buf).unwrap(), 1);
        a.send(b"9").await.unwrap();
        b.readable().await.unwrap();
        vec.clear();
        loop {
            match b.try_recv_buf(&mut vec) {
                Ok(n) => break assert_eq!(n, 1),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            b.readable().await.unwrap();
        }

        let nobody = UnixDatagram::unbound().unwrap();
        nobody.send_to(b"who", &path_b).await.unwrap();
        assert!(b.recv_from(&mut buf).await.unwrap().1.is_unnamed());
        nobody.send_to(b"who", &path_b).await.unwrap();
        vec.clear();
        assert!(b.recv_buf_from(&mut vec).await.unwrap().1.is_unnamed());
    });
}

#[test]
fn a_full_queue_makes_the_sender_wait() {
    on_each(|| async {
        let (a, b) = UnixDatagram::pair().unwrap();
        let mut sent = 0;
        while a.try_send(&[0; 1000]).is_ok() {
            sent += 1;
        }
        let mut more = pin!(a.send(b"last"));
        assert!(poll_once(more.as_mut()).is_pending());
        let receiver = spawn(async move {
            for _ in 0..sent + 1 {
                b.recv(&mut [0; 1000]).await.unwrap();
            }
            b.shutdown(std::net::Shutdown::Read).unwrap();
        });
        assert_eq!(more.await.unwrap(), 4);
        receiver.await.unwrap();
    });
}

#[test]
fn a_socket_becomes_what_its_type_allows() {
    on_each(|| async {
        let dir = TempDir::new();
        let (server, client) = (dir.path("server"), dir.path("client"));
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&server).unwrap();
        let listener = socket.listen(4).unwrap();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&client).unwrap();
        let _stream = socket.connect(&server).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1.as_pathname(), Some(&*client));

        let datagram = || UnixSocket::new_datagram().unwrap();
        assert_eq!(
            datagram().listen(1).unwrap_err().to_string(),
            "listen cannot be called on a datagram socket"
        );
        assert_eq!(
            datagram().connect(&server).await.unwrap_err().to_string(),
            "connect cannot be called on a datagram socket"
        );
        assert_eq!(
            UnixSocket::new_stream().unwrap().datagram().unwrap_err().to_string(),
            "datagram cannot be called on a stream socket"
        );
        let socket = datagram();
        socket.bind(dir.path("datagram")).unwrap();
        let socket = socket.datagram().unwrap();
        socket.send_to(b"to myself", dir.path("datagram")).await.unwrap();
        assert_eq!(socket.recv(&mut [0; 16]).await.unwrap(), 9);
    });
}

mod pipes {
    use super::*;

    fn fifo(dir: &TempDir) -> std::path::PathBuf {
        let path = dir.path("fifo");
        let c_path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is a C string.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        path
    }

    #[test]
    fn what_goes_in_comes_out_until_nobody_writes() {
        on_each(|| async {
            let (mut sender, mut receiver) = pipe::pipe().unwrap();
            assert!(would_block(receiver.try_read(&mut [0; 8])));
            let writing = spawn(async move {
                write_all(&mut sender, &[7; 300_000]).await.unwrap();
                shutdown(&mut sender).await.unwrap();
            });
            assert_eq!(read_to_end(&mut receiver).await.unwrap().len(), 300_000);
            writing.await.unwrap();
        });
    }

    #[test]
    fn nobody_reads_is_a_broken_pipe() {
        current_thread().block_on(async {
            let (mut sender, receiver) = pipe::pipe().unwrap();
            drop(receiver);
            sender.writable().await.unwrap();
            assert_eq!(write(&mut sender, b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
    }

    #[test]
    fn a_fifo_is_opened_from_both_ends() {
        on_each(|| async {
            let dir = TempDir::new();
            let path = fifo(&dir);
            let error = pipe::OpenOptions::new().open_sender(&path).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENXIO), "nobody reads yet");
            let mut receiver = pipe::OpenOptions::new().open_receiver(&path).unwrap();
            let mut sender = pipe::OpenOptions::new().open_sender(&path).unwrap();
            write_all(&mut sender, b"named").await.unwrap();
            drop(sender);
            assert_eq!(read_to_end(&mut receiver).await.unwrap(), b"named");
        });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_reader_that_writes_never_meets_the_end() {
        current_thread().block_on(async {
            let dir = TempDir::new();
            let path = fifo(&dir);
            let mut receiver = pipe::OpenOptions::new().read_write(true).open_receiver(&path).unwrap();
            for _ in 0..3 {
                let mut sender = pipe::OpenOptions::new().open_sender(&path).unwrap();
                write_all(&mut sender, b"x").await.unwrap();
                drop(sender);
                assert_eq!(read(&mut receiver, &mut [0; 8]).await.unwrap(), 1);
                let mut buf = [0; 8];
                assert!(poll_once(pin!(read(&mut receiver, &mut buf))).is_pending());
            }
        });
    }

    #[test]
    fn what_is_no_pipe_is_refused() {
        current_thread().block_on(async {
            let dir = TempDir::new();
            let path = dir.path("file");
            let file = File::create(&path).unwrap();
            let refused = |result: io::Result<()>, why: &str| {
                let error = result.unwrap_err();
                assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::InvalidInput, why));
            };
            refused(pipe::Sender::from_file(file.try_clone().unwrap()).map(drop), "not a pipe");
            refused(pipe::Receiver::from_file(file).map(drop), "not a pipe");
            refused(pipe::OpenOptions::new().open_receiver(&path).map(drop), "not a pipe");
            refused(pipe::OpenOptions::new().open_sender(&path).map(drop), "not a pipe");
            // The OS cannot wait for a file.
            pipe::OpenOptions::new().unchecked(true).open_receiver(&path).unwrap_err();

            let (reader, writer) = io::pipe().unwrap();
            let wrong = "not in O_WRONLY or O_RDWR access mode";
            refused(pipe::Sender::from_owned_fd(reader.into()).map(drop), wrong);
            let wrong = "not in O_RDONLY or O_RDWR access mode";
            refused(pipe::Receiver::from_owned_fd(writer.into()).map(drop), wrong);
        });
    }

    #[test]
    fn descriptors_are_made_to_block_or_not() {
        fn blocks(fd: &OwnedFd) -> bool {
            // SAFETY: touches no memory of ours.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK == 0 }
        }
        current_thread().block_on(async {
            let (reader, writer) = io::pipe().unwrap();
            let (reader, writer): (OwnedFd, OwnedFd) = (reader.into(), writer.into());
            assert!(blocks(&reader) && blocks(&writer));
            let receiver = pipe::Receiver::from_owned_fd(reader).unwrap();
            let sender = pipe::Sender::from_owned_fd(writer).unwrap();
            assert!(!blocks(&receiver.as_fd().try_clone_to_owned().unwrap()));
            assert!(!blocks(&sender.into_nonblocking_fd().unwrap()));
            assert!(blocks(&receiver.into_blocking_fd().unwrap()));
        });
    }

    #[test]
    fn try_operations_do_not_wait() {
        on_each(|| async {
            let (sender, receiver) = pipe::pipe().unwrap();
            sender.writable().await.unwrap();
            assert_eq!(sender.try_write(b"ab").unwrap(), 2);
            assert_eq!(
                sender.try_write_vectored(&[io::IoSlice::new(b"c"), io::IoSlice::new(b"d")]).unwrap(),
                2
            );
            assert!(receiver.ready(Interest::READABLE).await.unwrap().is_readable());
            let mut vec = Vec::with_capacity(2);
            assert_eq!(receiver.try_read_buf(&mut vec).unwrap(), 2);
            assert_eq!(receiver.try_io(|| Ok(5)).unwrap(), 5);
            let mut buf = [0; 8];
            let mut bufs = [io::IoSliceMut::new(&mut buf)];
            assert_eq!(receiver.try_read_vectored(&mut bufs).unwrap(), 2);
            assert!(would_block(receiver.try_read(&mut buf)));
            assert!(would_block(receiver.try_io(|| -> io::Result<()> { panic!("nothing is known") })));
        });
    }
}
