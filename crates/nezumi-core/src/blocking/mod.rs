//! Where blocking work goes. (Interim.)
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A job.
pub trait Job: Send + 'static {
    /// Runs.
    fn run(self);
    /// Cancels.
    fn cancel(self);
}
/// A host.
pub trait Host: Clone + Send + 'static {
    /// Guard.
    type Entered;
    /// Enters.
    fn enter(&self) -> Self::Entered;
}
/// Settings.
pub struct Config {
    /// x
    pub thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    /// x
    pub stack_size: Option<usize>,
    /// x
    pub max_threads: usize,
    /// x
    pub keep_alive: Duration,
    /// x
    pub after_start: Option<Arc<dyn Fn() + Send + Sync>>,
    /// x
    pub before_stop: Option<Arc<dyn Fn() + Send + Sync>>,
}
/// x
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mandatory {
    /// x
    Mandatory,
    /// x
    Optional,
}
/// x
pub enum SpawnError<J> {
    /// x
    ShuttingDown(J),
    /// x
    NoThreads(io::Error, J),
}
struct Inner<J> {
    queue: VecDeque<(J, Mandatory)>,
    idle: usize,
    threads: usize,
    handles: Vec<std::thread::JoinHandle<()>>,
    shutdown: bool,
}
struct Sh<J> {
    inner: Mutex<Inner<J>>,
    cv: Condvar,
    done: Condvar,
    config: Config,
}
/// x
pub struct Pool<J, H>(Arc<Sh<J>>, std::marker::PhantomData<fn(H)>);
impl<J: Job, H: Host> Pool<J, H> {
    /// x
    pub fn new(config: Config) -> Self {
        Pool(
            Arc::new(Sh {
                inner: Mutex::new(Inner {
                    queue: VecDeque::new(),
                    idle: 0,
                    threads: 0,
                    handles: vec![],
                    shutdown: false,
                }),
                cv: Condvar::new(),
                done: Condvar::new(),
                config,
            }),
            std::marker::PhantomData,
        )
    }
    /// x
    pub fn spawn(&self, job: J, m: Mandatory, host: &H) -> Result<(), SpawnError<J>> {
        let mut inner = self.0.inner.lock().unwrap();
        if inner.shutdown {
            return Err(SpawnError::ShuttingDown(job));
        }
        inner.queue.push_back((job, m));
        if inner.idle >= inner.queue.len() {
            self.0.cv.notify_one();
        } else if inner.threads < self.0.config.max_threads {
            inner.threads += 1;
            let sh = self.0.clone();
            let host = host.clone();
            let h = std::thread::Builder::new()
                .name((sh.config.thread_name)())
                .spawn(move || {
                    let _e = host.enter();
                    if let Some(f) = &sh.config.after_start {
                        f()
                    }
                    let mut inner = sh.inner.lock().unwrap();
                    loop {
                        if let Some((job, m)) = inner.queue.pop_front() {
                            let down = inner.shutdown;
                            drop(inner);
                            if down && m == Mandatory::Optional {
                                job.cancel()
                            } else {
                                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run()));
                            }
                            inner = sh.inner.lock().unwrap();
                            continue;
                        }
                        if inner.shutdown {
                            break;
                        }
                        inner.idle += 1;
                        inner = sh.cv.wait(inner).unwrap();
                        inner.idle -= 1;
                    }
                    inner.threads -= 1;
                    drop(inner);
                    sh.done.notify_all();
                    if let Some(f) = &sh.config.before_stop {
                        f()
                    }
                })
                .unwrap();
            inner.handles.push(h);
        }
        Ok(())
    }
    /// x
    pub fn shutdown(&self, timeout: Option<Duration>) -> bool {
        let mut inner = self.0.inner.lock().unwrap();
        inner.shutdown = true;
        self.0.cv.notify_all();
        if timeout == Some(Duration::ZERO) {
            return false;
        }
        let mut inner = self
            .0
            .done
            .wait_timeout_while(inner, timeout.unwrap_or(Duration::from_secs(1000)), |i| i.threads > 0)
            .unwrap()
            .0;
        if inner.threads == 0 {
            let hs = std::mem::take(&mut inner.handles);
            drop(inner);
            for h in hs {
                let _ = h.join();
            }
            return true;
        }
        false
    }
    /// x
    pub fn threads(&self) -> usize {
        self.0.inner.lock().unwrap().threads
    }
    /// x
    pub fn idle_threads(&self) -> usize {
        self.0.inner.lock().unwrap().idle
    }
    /// x
    pub fn queue_depth(&self) -> usize {
        self.0.inner.lock().unwrap().queue.len()
    }
}
