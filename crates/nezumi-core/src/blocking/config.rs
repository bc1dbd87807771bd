use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a pool makes its threads.
#[derive(Clone)]
pub struct Config {
    /// Names a thread that is about to be started. Called by whoever starts it.
    pub thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    /// The stack of each thread, in bytes; the platform's default if `None`.
    pub stack_size: Option<usize>,
    /// How many threads there may be at once; at least 1.
    pub max_threads: usize,
    /// How many jobs may be run at once, residents not counted; at least 1.
    pub max_jobs: usize,
    /// How long a thread sleeps before it ends.
    pub keep_alive: Duration,
    /// Called on each thread before its first job.
    pub after_start: Option<Arc<dyn Fn() + Send + Sync>>,
    /// Called on each thread after its last job.
    pub before_stop: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("stack_size", &self.stack_size)
            .field("max_threads", &self.max_threads)
            .field("max_jobs", &self.max_jobs)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
