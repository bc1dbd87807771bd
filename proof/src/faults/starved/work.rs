//! What a process is at while its memory ends: each kind of work once, on both kinds of runtime, as small as it can be, as it is done again for each of its
//! allocations.
//!
//! An error is handed on, since some allocations may fail with one; all else that goes wrong is a panic.

use super::super::builder;
use crate::load::{self, OnPurpose};
use crate::scarcity::{begin, say};
use crate::seed::Seed;
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use nezumi::runtime::{LocalRuntime, Runtime};
use nezumi::signal::unix::{SignalKind, signal};
use nezumi::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use nezumi::task::{JoinSet, LocalSet, block_in_place, spawn_blocking, spawn_local, yield_now};
use nezumi::time;
use std::future::pending;
use std::io;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) run: fn(Seed) -> io::Result<()>,
}

macro_rules! works {
    ($($name:ident)*) => { &[$(Work { name: stringify!($name), run: $name }),*] };
}

pub(super) const WORKS: &[Work] =
    works! { building spawning locals timers channels sockets blocking files children panics ending };

/// What is chosen with a seed, and so has no sites that are known before.
pub(super) const SCENES: Work = Work { name: "scenes", run: scenes };

const MILLISECOND: Duration = Duration::from_millis(1);

/// On either kind of runtime, which is there before memory ends.
fn on_both(work: impl AsyncFn() -> io::Result<()>) -> io::Result<()> {
    for workers in [0, 2] {
        let rt = builder(workers).build()?;
        begin();
        rt.block_on(work())?;
    }
    Ok(())
}

fn building(_: Seed) -> io::Result<()> {
    begin();
    for workers in [0, 1, 3] {
        drop(builder(workers).build()?);
    }
    let rt = Runtime::new()?;
    rt.handle().clone().block_on(yield_now());
    rt.shutdown_timeout(Duration::from_secs(10));
    LocalRuntime::new()?.block_on(yield_now());
    builder(2).thread_name("of a name").build()?.shutdown_background();
    Ok(())
}

fn spawning(_: Seed) -> io::Result<()> {
    on_both(async || {
        let outer = nezumi::spawn(async {
            let inner: Vec<_> = (0..40).map(|number| nezumi::spawn(async move { number })).collect();
            let mut sum = 0;
            for task in inner {
                sum += task.await?;
            }
            io::Result::Ok(sum)
        });
        assert_eq!(outer.await??, 780);
        let mut set = JoinSet::new();
        for number in 0..8 {
            set.spawn(async move {
                yield_now().await;
                [number; 100]
            });
        }
        while let Some(joined) = set.join_next().await {
            joined?;
        }
        let stopped = nezumi::spawn(pending::<()>());
        stopped.abort();
        assert!(stopped.await.is_err_and(|error| error.is_cancelled()));
        let handle = nezumi::runtime::Handle::current();
        let outside = spawn_blocking(move || (0..8).map(|_| handle.spawn(yield_now())).collect::<Vec<_>>());
        for task in outside.await? {
            task.await?;
        }
        Ok(())
    })
}

fn locals(_: Seed) -> io::Result<()> {
    nezumi::task_local! {
        static NUMBER: u32;
    }
    on_both(async || {
        let set = LocalSet::new();
        let here = Rc::new(7);
        let task = set.run_until(NUMBER.scope(8, async {
            let tasks: Vec<_> =
                (0..4).map(|_| here.clone()).map(|here| spawn_local(async move { *here })).collect();
            for task in tasks {
                assert_eq!(task.await?, 7);
            }
            io::Result::Ok(NUMBER.get())
        }));
        assert_eq!(task.await?, 8);
        Ok(())
    })
}

fn timers(_: Seed) -> io::Result<()> {
    on_both(async || {
        let sleeps: Vec<_> =
            (0..10).map(|number| nezumi::spawn(time::sleep(MILLISECOND * (number % 3)))).collect();
        let mut interval = time::interval(MILLISECOND);
        interval.tick().await;
        interval.tick().await;
        assert!(time::timeout(MILLISECOND, pending::<()>()).await.is_err());
        drop(time::timeout(Duration::from_secs(1000), yield_now()).await);
        for sleep in sleeps {
            sleep.await?;
        }
        Ok(())
    })
}

fn channels(_: Seed) -> io::Result<()> {
    on_both(async || {
        let (to, mut from) = mpsc::channel(2);
        let (to_many, mut from_many) = mpsc::unbounded_channel();
        let (all, mut each) = broadcast::channel(4);
        let (last, mut latest) = watch::channel(0);
        let (once, answer) = oneshot::channel();
        let shared = Arc::new((Mutex::new(0), RwLock::new(0), Semaphore::new(1), Notify::new()));
        let theirs = shared.clone();
        let task = nezumi::spawn(async move {
            for number in 0..100 {
                to.send([number; 4]).await.unwrap();
                to_many.send([number; 4]).unwrap();
            }
            all.send(1).unwrap();
            last.send(1).unwrap();
            once.send(1).unwrap();
            *theirs.0.lock().await += 1;
            *theirs.1.write().await += 1;
            drop(theirs.2.acquire().await);
            theirs.3.notify_one();
        });
        while from.recv().await.is_some() {}
        while from_many.recv().await.is_some() {}
        each.recv().await.unwrap();
        latest.changed().await.unwrap();
        answer.await.unwrap();
        shared.3.notified().await;
        task.await?;
        assert_eq!((*shared.0.lock().await, *shared.1.read().await), (1, 1));
        Ok(())
    })
}

/// Says where it listens: at an address of its own, so that nobody else comes to be there next.
fn sockets(_: Seed) -> io::Result<()> {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let here = Ipv4Addr::new(127, high.wrapping_add(1), middle, low);
    on_both(async || {
        let listener = TcpListener::bind((here, 0)).await?;
        let address = listener.local_addr()?;
        say(format_args!("listens {address}"));
        let server = nezumi::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            let (mut reader, mut writer) = stream.split();
            nezumi::io::copy(&mut reader, &mut writer).await
        });
        let mut client = TcpStream::connect(address).await?;
        client.write_all(b"bytes").await?;
        client.shutdown().await?;
        let mut read = Vec::new();
        client.read_to_end(&mut read).await?;
        assert_eq!((server.await??, &read[..]), (5, &b"bytes"[..]));

        let datagrams = UdpSocket::bind(("127.0.0.1", 0)).await?;
        datagrams.send_to(b"bytes", datagrams.local_addr()?).await?;
        assert_eq!(datagrams.recv_from(&mut [0; 8]).await?.0, 5);
        let (mut one, mut other) = UnixStream::pair()?;
        one.write_all(b"bytes").await?;
        other.read_exact(&mut [0; 5]).await?;
        Ok(())
    })
}

fn blocking(_: Seed) -> io::Result<()> {
    on_both(async || {
        let jobs: Vec<_> = (0..6).map(|_| spawn_blocking(|| std::thread::sleep(MILLISECOND))).collect();
        for job in jobs {
            job.await?;
        }
        Ok(())
    })?;
    let rt = builder(2).build()?;
    rt.block_on(async {
        nezumi::spawn(async { block_in_place(|| nezumi::runtime::Handle::current().block_on(yield_now())) })
            .await?;
        nezumi::spawn(async { std::thread::sleep(MILLISECOND * 3) }).await?;
        Ok(())
    })
}

fn files(seed: Seed) -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("nezumi-proof-{}-{seed}", std::process::id()));
    say(format_args!("file {}", path.display()));
    on_both(async || {
        nezumi::fs::write(&path, [7; 5000]).await?;
        assert_eq!(nezumi::fs::read(&path).await?, [7; 5000]);
        let mut file = nezumi::fs::File::open(&path).await?;
        let mut read = Vec::new();
        file.read_to_end(&mut read).await?;
        assert_eq!(read, [7; 5000]);
        assert!(nezumi::fs::metadata(&path).await?.is_file());
        nezumi::fs::remove_file(&path).await
    })
}

/// One that would be killed, and which ends when nobody writes to it any more; one that ends by itself; and those who listen for signals, that of the abort among them.
fn children(_: Seed) -> io::Result<()> {
    on_both(async || {
        let _ends = signal(SignalKind::from_raw(libc::SIGABRT))?;
        let mut arrives = signal(SignalKind::user_defined1())?;
        let mut cat = nezumi::process::Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        // SAFETY: the signal is handled.
        unsafe { libc::raise(libc::SIGUSR1) };
        arrives.recv().await;
        let output = nezumi::process::Command::new("echo").arg("bytes").output().await?;
        assert_eq!(output.stdout, b"bytes\n");
        cat.kill().await
    })
}

fn panics(_: Seed) -> io::Result<()> {
    load::silence_those_on_purpose();
    on_both(async || {
        for _ in 0..3 {
            let task = nezumi::spawn(async { std::panic::panic_any(OnPurpose) });
            assert!(task.await.is_err_and(|error| error.is_panic()));
            let job = spawn_blocking(|| std::panic::panic_any(OnPurpose));
            assert!(job.await.is_err_and(|error| error.is_panic()));
        }
        Ok(())
    })
}

/// Of runtimes in which everything waits.
fn ending(_: Seed) -> io::Result<()> {
    struct Spawns;

    impl Drop for Spawns {
        fn drop(&mut self) {
            nezumi::spawn(pending::<()>());
        }
    }

    let mut all = Vec::new();
    for workers in [0, 2] {
        let rt = builder(workers).build()?;
        rt.block_on(async {
            for _ in 0..10 {
                nezumi::spawn(time::sleep(Duration::from_secs(1000)));
                nezumi::spawn(pending::<()>());
            }
            let spawns = Spawns;
            nezumi::spawn(async move {
                let _spawns = spawns;
                pending::<()>().await;
            });
            let datagrams = UdpSocket::bind(("127.0.0.1", 0)).await?;
            nezumi::spawn(async move { drop(datagrams.recv(&mut [0; 8]).await) });
            drop(spawn_blocking(|| std::thread::sleep(MILLISECOND)));
            for _ in 0..20 {
                yield_now().await;
            }
            io::Result::Ok(())
        })?;
        all.push(rt);
    }
    begin();
    drop(all);
    Ok(())
}

fn scenes(seed: Seed) -> io::Result<()> {
    load::silence_those_on_purpose();
    let rt = builder(2).build()?;
    let mut rand = seed.rand();
    begin();
    for number in 0..4 {
        let mut choose = || load::choose(&mut rand, "").expect("there are scenes");
        let mut scene = choose();
        // A child that nobody kills would have our pipes for long.
        while scene.name.ends_with("child_processes") {
            scene = choose();
        }
        rt.block_on(load::play(scene, seed.part(number)));
    }
    Ok(())
}
