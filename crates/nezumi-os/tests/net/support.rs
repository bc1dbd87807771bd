//! What the tests have in common: runtimes, small forms of reading and writing, and a process of one's own.

use nezumi_core::runtime::{Builder, Runtime};
use nezumi_io::{AsyncRead, AsyncWrite, ReadBuf};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Runs `test` on each kind of runtime.
pub(crate) fn on_each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    current_thread().block_on(test());
    multi_thread(1).block_on(test());
    multi_thread(2).block_on(test());
}

pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin), buf: &mut [u8]) -> io::Result<usize> {
    let mut buf = ReadBuf::new(buf);
    poll_fn(|cx| Pin::new(&mut *from).poll_read(cx, &mut buf)).await?;
    Ok(buf.filled().len())
}

pub(crate) async fn read_exact(from: &mut (impl AsyncRead + Unpin), buf: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buf.len() {
        match read(from, &mut buf[done..]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => done += n,
        }
    }
    Ok(())
}

pub(crate) async fn read_to_end(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let (mut all, mut buf) = (Vec::new(), [0; 1000]);
    loop {
        match read(from, &mut buf).await? {
            0 => return Ok(all),
            n => all.extend_from_slice(&buf[..n]),
        }
    }
}

pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), buf: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *to).poll_write(cx, buf)).await
}

pub(crate) async fn write_all(to: &mut (impl AsyncWrite + Unpin), mut buf: &[u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let n = write(to, buf).await?;
        buf = &buf[n..];
    }
    Ok(())
}

pub(crate) async fn shutdown(to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut *to).poll_shutdown(cx)).await
}

/// Lets other tasks, and the driver, have a turn.
pub(crate) async fn yield_now() {
    nezumi_core::spawn::yield_now().await;
}

/// Polls `future` once.
pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Counts its wakes.
#[derive(Default)]
pub(crate) struct Wakeups(AtomicUsize);

impl Wake for Wakeups {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakeups {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakeups = Arc::new(Wakeups::default());
        (wakeups.clone(), Waker::from(wakeups))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs `test` in a process of its own, in which no other test opens or closes descriptors. `name` is the test's.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "NEZUMI_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return test();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// How many descriptors this process has open.
#[cfg(target_os = "linux")]
pub(crate) fn open_fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A directory that goes away with it.
pub(crate) struct TempDir(std::path::PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("nezumi-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        TempDir(path)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The message of a panic, and the file it says it comes from.
pub(crate) fn panic_of(f: impl FnOnce()) -> (String, String) {
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    use std::sync::Mutex;
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static SEEN: Mutex<Option<(String, String)>> = Mutex::new(None);
    let _held = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let me = std::thread::current().id();
    let former = take_hook();
    set_hook(Box::new(move |info| {
        if std::thread::current().id() == me {
            let payload = info.payload();
            let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
                (Some(text), _) => (*text).to_owned(),
                (_, Some(text)) => text.clone(),
                _ => String::new(),
            };
            let file = info.location().map(|location| location.file().to_owned()).unwrap_or_default();
            *SEEN.lock().unwrap() = Some((message, file));
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(f));
    set_hook(former);
    assert!(result.is_err(), "it did not panic");
    SEEN.lock().unwrap().take().expect("a panic of another thread")
}
