//! Very many of something: how much memory each takes, and that all of it is given back.

use super::refusals::limit;
use super::runtime;
use crate::census::heap;
use crate::ledger;
use crate::resident::resident;
use crate::seed::Seed;
use crate::task::cancellable;
use nezumi::net::{TcpListener, TcpStream};
use nezumi::sync::watch;
use nezumi::task::JoinSet;
use nezumi::time;
use std::time::Duration;

const MILLION: u32 = 1_000_000;

/// What a crowd takes.
struct Scale {
    what: &'static str,
    heap: isize,
    resident: u64,
}

impl Scale {
    fn empty(what: &'static str) -> Self {
        ledger::make_room(MILLION);
        trim();
        Scale { what, heap: heap().0, resident: resident() }
    }

    /// `count` of them are there.
    fn weigh(&self, count: u32) {
        println!(
            "  {count} {}: {:.0} bytes of heap each, {:.0} resident",
            self.what,
            (heap().0 - self.heap) as f64 / f64::from(count),
            resident().saturating_sub(self.resident) as f64 / f64::from(count)
        );
    }

    /// They are gone. What the allocator does not give back even when it is told to is a few megabytes.
    fn expect_empty(&self) {
        trim();
        let (heap, resident) = (heap().0 - self.heap, resident() as i64 - self.resident as i64);
        println!("  after that: {heap:+} bytes of heap, {:+.1} MiB resident", resident as f64 / 1048576.0);
        // The registry of tasks keeps its largest size, a word each; so may a driver's slots.
        assert!(heap < 20 << 20, "{} have left {heap} bytes behind", self.what);
        assert!(resident < 40 << 20, "{} have left {resident} bytes behind", self.what);
    }
}

fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call has no conditions.
    unsafe {
        libc::malloc_trim(0);
    }
}

pub(super) fn a_million_tasks(_: Seed) {
    let rt = runtime(2);
    let scale = Scale::empty("tasks that wait");
    rt.block_on(async {
        let (end, ended) = watch::channel(false);
        // From inside, as programs do.
        let spawner = nezumi::spawn(async move {
            for _ in 0..MILLION {
                let mut ended = ended.clone();
                drop(nezumi::spawn(cancellable(async move {
                    let _ = ended.changed().await;
                })));
            }
        });
        spawner.await.unwrap();
        while nezumi::runtime::Handle::current().metrics().global_queue_depth() > 0 {
            time::sleep(Duration::from_millis(1)).await;
        }
        scale.weigh(MILLION);
        end.send(true).unwrap();
        end.closed().await;
    });
    while rt.metrics().num_alive_tasks() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    scale.expect_empty();
    super::expect_works(&rt);
}

pub(super) fn a_million_timers(_: Seed) {
    let rt = runtime(2);
    let scale = Scale::empty("timers in one task");
    let task = rt.spawn(cancellable(async move {
        let mut timers = Vec::with_capacity(MILLION as usize);
        for number in 0..MILLION {
            let mut timer =
                Box::pin(time::sleep(Duration::from_secs(1000) + Duration::from_millis(number.into())));
            // Registered by the first poll.
            std::future::poll_fn(|cx| std::task::Poll::Ready(timer.as_mut().poll(cx).is_pending())).await;
            timers.push(timer);
        }
        scale.weigh(MILLION);
        // Half of them are moved, and expire.
        for timer in timers.iter_mut().step_by(2) {
            timer.as_mut().reset(time::Instant::now() + Duration::from_millis(5));
        }
        for timer in timers.iter_mut().step_by(2) {
            timer.as_mut().await;
        }
        drop(timers);
        scale
    }));
    rt.block_on(async { task.await.unwrap().into_value() }).expect_empty();
    super::expect_works(&rt);
}

pub(super) fn ten_thousand_connections(_: Seed) {
    let before = limit(libc::RLIMIT_NOFILE, u64::MAX);
    limit(libc::RLIMIT_NOFILE, 1 << 20);
    let most = limit(libc::RLIMIT_NOFILE, u64::MAX);
    let count = 10_000.min((most as u32 - 200) / 2);
    let rt = runtime(2);
    let scale = Scale::empty("connections, both ends of each");
    rt.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = nezumi::spawn(cancellable(async move {
            let mut serving = JoinSet::new();
            for _ in 0..count {
                let (mut stream, _) = listener.accept().await.unwrap();
                serving.spawn(cancellable(async move {
                    let (mut reader, mut writer) = stream.split();
                    let _ = nezumi::io::copy(&mut reader, &mut writer).await;
                }));
            }
            while serving.join_next().await.is_some() {}
        }));
        let (end, ended) = watch::channel(false);
        let mut clients = JoinSet::new();
        let connected = std::sync::Arc::new(nezumi::sync::Semaphore::new(64));
        for _ in 0..count {
            let (mut ended, connected) = (ended.clone(), connected.clone());
            clients.spawn(cancellable(async move {
                let permit = connected.acquire_owned().await.unwrap();
                let stream = TcpStream::connect(address).await.unwrap();
                stream.set_zero_linger().unwrap();
                talk(&stream).await;
                drop(permit);
                ended.changed().await.unwrap();
                talk(&stream).await;
            }));
        }
        while connected.available_permits() < 64
            || nezumi::runtime::Handle::current().metrics().num_alive_tasks() < 2 * count as usize
        {
            time::sleep(Duration::from_millis(5)).await;
        }
        scale.weigh(count);
        end.send(true).unwrap();
        while let Some(outcome) = clients.join_next().await {
            outcome.unwrap();
        }
        server.await.unwrap();
    });
    scale.expect_empty();
    super::expect_works(&rt);
    limit(libc::RLIMIT_NOFILE, before);
}

/// A byte there and back.
async fn talk(stream: &TcpStream) {
    loop {
        stream.writable().await.unwrap();
        if stream.try_write(b"x").is_ok() {
            break;
        }
    }
    let mut byte = [0];
    loop {
        stream.readable().await.unwrap();
        match stream.try_read(&mut byte) {
            Ok(read) => return assert_eq!(read, 1),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}
