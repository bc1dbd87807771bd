//! How a runtime is to be.

use super::hooks::Hooks;
use super::seed::Seeds;
use super::{
    Config, Flavor, Handle, HistogramConfiguration, HistogramScale, LocalOptions, LocalRuntime, RngSeed,
    Runtime, StuckTask, TaskMeta,
};
use crate::blocking;
use crate::driver::Driver;
use crate::scheduler::{Shared, thread};
use crate::task::Priority;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fmt, io};

/// Steps between two looks at driver and timers, where the builder does not say.
const EVENT_INTERVAL: u32 = 61;
/// Room for events in one turn of the driver.
const EVENTS_PER_TURN: usize = 1024;

/// What a runtime does when a task panics and nobody awaits it.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Builder, UnhandledPanic};
///
/// let rt = Builder::new_current_thread().unhandled_panic(UnhandledPanic::Ignore).build().unwrap();
/// let task = rt.spawn(async { panic!("squeak") });
/// // Nobody but who awaits the task hears of it.
/// assert!(rt.block_on(task).unwrap_err().is_panic());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// The panic is in the task's `JoinError`, and nothing else happens.
    Ignore,
    /// The runtime ends, and its `block_on` panics. For current-thread runtimes.
    ShutdownRuntime,
}

/// Builds a runtime.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Builder;
///
/// let runtime = Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("example")
///     .enable_all()
///     .build()
///     .unwrap();
/// runtime.block_on(async { println!("inside") });
/// ```
pub struct Builder {
    flavor: Flavor,
    name: Option<String>,
    worker_threads: Option<usize>,
    max_blocking_threads: usize,
    thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    thread_stack_size: Option<usize>,
    thread_keep_alive: Option<Duration>,
    enable_io: bool,
    enable_time: bool,
    start_paused: bool,
    events_per_turn: usize,
    events_per_busy_turn: Option<usize>,
    event_interval: u32,
    global_queue_interval: Option<u32>,
    disable_lifo_slot: bool,
    eager_driver_handoff: bool,
    alt_timer: bool,
    watch: bool,
    max_spare_workers: Option<usize>,
    default_priority: Priority,
    inherit_priority: bool,
    stuck_after: Duration,
    stuck_signal: Option<i32>,
    affinity: Option<Vec<usize>>,
    unhandled_panic: UnhandledPanic,
    seed: Option<RngSeed>,
    hooks: Hooks,
    measure_poll_times: bool,
    poll_times: HistogramConfiguration,
    track_waits: bool,
    measure_waits: bool,
    waits: HistogramConfiguration,
}

impl Builder {
    /// A runtime whose tasks all run on the thread that calls `block_on`.
    #[must_use]
    pub fn new_current_thread() -> Builder {
        Builder::new(Flavor::CurrentThread)
    }

    /// A runtime with workers that steal from each other.
    #[must_use]
    pub fn new_multi_thread() -> Builder {
        Builder::new(Flavor::MultiThread)
    }

    fn new(flavor: Flavor) -> Self {
        Self {
            flavor,
            name: None,
            worker_threads: None,
            max_blocking_threads: 512,
            thread_name: Arc::new(|| "tokio-rt-worker".into()),
            thread_stack_size: None,
            thread_keep_alive: None,
            enable_io: false,
            enable_time: false,
            start_paused: false,
            events_per_turn: EVENTS_PER_TURN,
            events_per_busy_turn: None,
            event_interval: EVENT_INTERVAL,
            global_queue_interval: None,
            disable_lifo_slot: false,
            eager_driver_handoff: false,
            alt_timer: false,
            watch: true,
            max_spare_workers: None,
            default_priority: Priority::Normal,
            inherit_priority: false,
            stuck_after: Duration::from_millis(100),
            stuck_signal: None,
            affinity: None,
            unhandled_panic: UnhandledPanic::Ignore,
            seed: None,
            hooks: Hooks::default(),
            measure_poll_times: false,
            poll_times: HistogramConfiguration::default(),
            track_waits: false,
            measure_waits: false,
            waits: HistogramConfiguration::default(),
        }
    }

    /// Enables I/O and time.
    pub fn enable_all(&mut self) -> &mut Self {
        self.enable_io().enable_time()
    }

    /// Enables sockets, signals and processes.
    pub fn enable_io(&mut self) -> &mut Self {
        self.enable_io = true;
        self
    }

    /// Enables timers.
    pub fn enable_time(&mut self) -> &mut Self {
        self.enable_time = true;
        self
    }

    /// How many workers a multi-threaded runtime has. By default `TOKIO_WORKER_THREADS` from the environment, else one per core.
    ///
    /// # Panics
    ///
    /// When `val` is zero.
    #[track_caller]
    pub fn worker_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "Worker threads cannot be set to 0");
        self.worker_threads = Some(val);
        self
    }

    /// How many closures of `task::spawn_blocking`, and how much of what else blocks, such as file I/O, may be run at once.
    /// What is more waits. By default 512. Workers, and spares that stand in for them, have threads beside these.
    ///
    /// # Panics
    ///
    /// When `val` is zero.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "Max blocking threads cannot be set to 0");
        self.max_blocking_threads = val;
        self
    }

    /// How the threads are named.
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        self.thread_name = Arc::new(move || name.clone());
        self
    }

    /// How each thread is named: `f` is called once for every thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # use nezumi::runtime::Builder;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// static COUNT: AtomicUsize = AtomicUsize::new(0);
    /// let runtime = Builder::new_multi_thread()
    ///     .thread_name_fn(|| format!("worker-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
    ///     .build();
    /// # drop(runtime);
    /// ```
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.thread_name = Arc::new(f);
        self
    }

    /// Names the runtime, for metrics and reports.
    ///
    /// # Panics
    ///
    /// When the name is blank.
    #[track_caller]
    pub fn name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        assert!(!name.trim().is_empty(), "runtime name shouldn't be empty");
        self.name = Some(name);
        self
    }

    /// The stack size of each thread, in bytes. By default 2 MiB.
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.thread_stack_size = Some(val);
        self
    }

    /// How long an idle thread of the blocking pool stays. By default 10 s.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.thread_keep_alive = Some(duration);
        self
    }

    /// Calls `f` on each thread as it starts.
    pub fn on_thread_start<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.hooks.thread_started = Some(Arc::new(f));
        self
    }

    /// Calls `f` on each thread before it ends.
    pub fn on_thread_stop<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.hooks.thread_stopping = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker before it goes to sleep. If `f` makes something runnable, the worker stays awake.
    pub fn on_thread_park<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.hooks.before_park = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker after it woke, before it runs tasks.
    pub fn on_thread_unpark<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.hooks.after_unpark = Some(Arc::new(f));
        self
    }

    /// Calls `f` for each task that is spawned, before it is first polled.
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.task_spawned = Some(Arc::new(f));
        self
    }

    /// Calls `f` before each poll of a task.
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.before_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` after each poll of a task.
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.after_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` for each task that ends, after its future has been dropped.
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.task_terminated = Some(Arc::new(f));
        self
    }

    /// How many tasks a worker may run between two looks at what came from outside. By default tuned so that this is about 200 µs.
    ///
    /// # Panics
    ///
    /// When `val` is zero.
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "global_queue_interval must be greater than 0");
        self.global_queue_interval = Some(val);
        self
    }

    /// How many tasks a worker may run between two looks at the I/O driver and the timers. By default 61.
    ///
    /// # Panics
    ///
    /// When `val` is zero.
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "event_interval must be greater than 0");
        self.event_interval = val;
        self
    }

    /// What happens when a task panics. By default nothing but the error in its handle.
    ///
    /// # Panics
    ///
    /// With [`UnhandledPanic::ShutdownRuntime`] on a multi-threaded runtime.
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        assert!(
            self.flavor == Flavor::CurrentThread || !matches!(behavior, UnhandledPanic::ShutdownRuntime),
            "UnhandledPanic::ShutdownRuntime is only supported in current thread runtime"
        );
        self.unhandled_panic = behavior;
        self
    }

    /// Turns off that a task which was just woken runs before those that wait longer.
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.disable_lifo_slot = true;
        self
    }

    /// Wakes a sleeping worker to sit in the I/O driver each time the one that sat there gets up. By default the watch does that, later and
    /// only if it is needed.
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self.eager_driver_handoff = true;
        self
    }

    /// As [`enable_time`](Self::enable_time), but a timer that is waited for when the runtime is gone ends at once, where it else panics. That
    /// is how the other one of Tokio's two implementations of timers differs; here there is one.
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.alt_timer = true;
        self.enable_time()
    }

    /// Without effect: the pool's queue has but one implementation here.
    pub fn enable_sharded_blocking_queue(&mut self) -> &mut Self {
        self
    }

    /// Without effect: files go through the blocking pool.
    pub fn enable_io_uring(&mut self) -> &mut Self {
        self
    }

    /// Whether a watch sees to it that other workers take over what a blocked one leaves behind. By default it does.
    ///
    /// A worker is stuck that does not come back from a poll for some two milliseconds. What waits behind it, its queue, its timers and the
    /// I/O driver, is then taken over by a worker that sleeps. If none does, a spare worker is begun: see
    /// [`max_spare_workers`](Self::max_spare_workers). The watch is a thread of its own, which sleeps while all workers do. A runtime of
    /// several workers does without where the system refuses that thread; one of a single worker cannot be built then.
    pub fn watch(&mut self, on: bool) -> &mut Self {
        self.watch = on;
        self
    }

    /// The priority of tasks for which the program names none. By default [`Priority::Normal`].
    pub fn default_priority(&mut self, priority: Priority) -> &mut Self {
        self.default_priority = priority;
        self
    }

    /// Whether a task for which the program names no priority has that of the task that spawned it. By default it has the
    /// [default](Self::default_priority). It costs a few nanoseconds for each poll.
    ///
    /// # Examples
    ///
    /// All that is done for an urgent request is urgent, whatever library spawns it:
    ///
    /// ```
    /// use nezumi::task::{self, Priority};
    ///
    /// let rt = nezumi::runtime::Builder::new_multi_thread().inherit_priority(true).build().unwrap();
    /// rt.block_on(async {
    ///     let urgent = async {
    ///         // Runs before what is not urgent, too.
    ///         nezumi::spawn(async { 7 }).await.unwrap()
    ///     };
    ///     let urgent = task::Builder::new().priority(Priority::High).spawn(urgent).unwrap();
    ///     assert_eq!(urgent.await.unwrap(), 7);
    /// });
    /// ```
    pub fn inherit_priority(&mut self, on: bool) -> &mut Self {
        self.inherit_priority = on;
        self
    }

    /// How many spare workers may stand in, at once, for workers that are stuck. By default as many as there are workers; 0 for none.
    ///
    /// One is begun, on a thread of the blocking pool, for each worker that sleeps in its poll while others have no time for what is
    /// waiting; for polls that use their processors, only when all workers are stuck in such, and at most half as many as there are workers.
    /// It ends when it is no longer needed. A runtime with a single worker thread may thereby run two tasks at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = nezumi::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    /// // Holds up the only worker.
    /// rt.spawn(async { std::thread::sleep(Duration::from_millis(200)) });
    /// let start = std::time::Instant::now();
    /// rt.block_on(rt.spawn(async { nezumi::time::sleep(Duration::from_millis(1)).await }))?;
    /// assert!(start.elapsed() < Duration::from_millis(200));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_spare_workers(&mut self, val: usize) -> &mut Self {
        self.max_spare_workers = Some(val);
        self
    }

    /// How long a poll must last to be reported to [`on_stuck`](Self::on_stuck). By default 100 ms. It does not change when the watch helps.
    pub fn stuck_after(&mut self, duration: Duration) -> &mut Self {
        self.stuck_after = duration;
        self
    }

    /// Calls `f`, on the thread of the watch, for a task that does not come back from its poll for [`stuck_after`](Self::stuck_after): once for
    /// each such poll. A panic of `f` goes no further. While `f` runs nobody looks after workers that are stuck; who drops the runtime waits
    /// for it. It costs a few nanoseconds for each poll.
    ///
    /// Only on the multi-thread runtime, and with the watch on.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (reports, reported) = std::sync::mpsc::channel();
    /// let rt = nezumi::runtime::Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .stuck_after(Duration::from_millis(20))
    ///     .on_stuck(move |task| reports.send((task.id(), task.spawned_at().file())).unwrap())
    ///     .build()?;
    /// let task = rt.spawn(async { std::thread::sleep(Duration::from_millis(300)) });
    /// assert_eq!(reported.recv()?, (task.id(), file!()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_stuck<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&StuckTask) + Send + Sync + 'static,
    {
        self.hooks.stuck = Some(Arc::new(f));
        self
    }

    /// Whether the thread of a task that is stuck may be asked where it is, for [`StuckTask::backtrace`] and for
    /// [`Task::trace`](crate::dump::Task::trace) of a [dump](Handle::dump). By default it is not.
    ///
    /// It is asked by a realtime signal, `SIGRTMAX - 4`; [`stuck_backtraces_by`](Self::stuck_backtraces_by) names another. The number belongs to the whole process,
    /// which is why a program has to say so: from the first such runtime on the signal has a handler of the runtime's, for good. It is installed with `SA_RESTART`; those few
    /// system calls that are not begun again all the same, such as `nanosleep`, `poll` and `epoll_wait`, may return `EINTR`, once for each report, in the thread that is stuck. The standard
    /// library begins them again; C code may be surprised.
    ///
    /// The handler copies registers and up to 64 KiB of the stack, and uses nothing that could wait for what it interrupted. A thread that has blocked the signal, or does not
    /// get a processor, is waited for some 10 ms, by the thread that asks; then there is no backtrace. The watch asks ten times in a second at most.
    ///
    /// On Linux on x86-64 and AArch64, and with the feature `taskdump`; elsewhere without effect.
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails if the signal is handled by the program already.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (reports, reported) = std::sync::mpsc::channel();
    /// let rt = nezumi::runtime::Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .stuck_after(Duration::from_millis(20))
    ///     .stuck_backtraces(true)
    ///     // Names are looked up when the text is made: at leisure, on this thread, and not on that of the watch.
    ///     .on_stuck(move |task| reports.send(task.clone()).unwrap())
    ///     .build()?;
    /// rt.spawn(async { std::thread::sleep(Duration::from_millis(300)) });
    /// let stuck = reported.recv()?;
    /// if let Some(backtrace) = stuck.backtrace() {
    ///     println!("task {} is stuck:\n{backtrace}", stuck.id());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stuck_backtraces(&mut self, on: bool) -> &mut Self {
        self.stuck_signal = on.then(crate::dump::default_signal);
        self
    }

    /// As [`stuck_backtraces`](Self::stuck_backtraces), with the realtime signal of this number, one from `SIGRTMIN` to `SIGRTMAX`.
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails if it is no such signal, or is handled by the program already.
    pub fn stuck_backtraces_by(&mut self, signal: i32) -> &mut Self {
        self.stuck_signal = Some(signal);
        self
    }

    /// Binds the workers to these processors, in turn. By default the system places them. Linux only; elsewhere without effect.
    ///
    /// # Panics
    ///
    /// When the list is empty.
    #[track_caller]
    pub fn worker_affinity(&mut self, processors: impl Into<Vec<usize>>) -> &mut Self {
        let processors = processors.into();
        assert!(!processors.is_empty(), "worker_affinity must name at least one processor");
        self.affinity = Some(processors);
        self
    }

    /// From what the runtime's random choices follow. By default from the system.
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.seed = Some(seed);
        self
    }

    /// Measures how long each poll takes, for [`RuntimeMetrics`](super::RuntimeMetrics). Costs two looks at the clock per poll.
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.measure_poll_times = true;
        self
    }

    /// The buckets of [`enable_metrics_poll_time_histogram`](Self::enable_metrics_poll_time_histogram), which this does not
    /// turn on. By default ten of 100 µs.
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.poll_times = configuration;
        self
    }

    /// Measures how long each task waits between being scheduled and being polled, and tells the hooks around polls:
    /// [`TaskMeta::schedule_latency`](super::TaskMeta::schedule_latency). A wake of a task that is scheduled already does not begin anew.
    ///
    /// Costs a look at the clock when a task is scheduled, and one when it is polled. Where it is off, it costs nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = nezumi::runtime::Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll(|meta| {
    ///         if let Some(waited) = meta.schedule_latency().filter(|waited| waited.as_millis() > 10) {
    ///             eprintln!("the task of {} waited {waited:?}", meta.spawned_at());
    ///         }
    ///     })
    ///     .build()?;
    /// # runtime.block_on(async { nezumi::spawn(async {}).await.unwrap() });
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn track_task_schedule_latency(&mut self) -> &mut Self {
        self.track_waits = true;
        self
    }

    /// [Measures](Self::track_task_schedule_latency) how long tasks wait between being scheduled and being polled, and counts it for
    /// [`RuntimeMetrics`](super::RuntimeMetrics), by the worker that polls.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::runtime::{Builder, HistogramConfiguration};
    /// use std::time::Duration;
    ///
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::linear(Duration::from_millis(1), 20))
    ///     .build()?;
    /// runtime.block_on(async { nezumi::spawn(async {}).await.unwrap() });
    ///
    /// let metrics = runtime.metrics();
    /// let under_1_ms: u64 =
    ///     (0..metrics.num_workers()).map(|worker| metrics.schedule_latency_histogram_bucket_count(worker, 0)).sum();
    /// # assert!(under_1_ms <= 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.track_waits = true;
        self.measure_waits = true;
        self
    }

    /// The buckets of [`enable_metrics_schedule_latency_histogram`](Self::enable_metrics_schedule_latency_histogram), which this does
    /// not turn on. By default ten of 100 µs.
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.waits = configuration;
        self
    }

    #[doc(hidden)]
    #[deprecated = "renamed to `enable_metrics_poll_time_histogram`"]
    pub fn enable_metrics_poll_count_histogram(&mut self) -> &mut Self {
        self.enable_metrics_poll_time_histogram()
    }

    /// Whether the buckets grow.
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_scale(&mut self, histogram_scale: HistogramScale) -> &mut Self {
        self.poll_times.set_scale(histogram_scale);
        self
    }

    /// How wide the first bucket is.
    ///
    /// # Panics
    ///
    /// When it is zero, or more than a second.
    #[track_caller]
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_resolution(&mut self, resolution: Duration) -> &mut Self {
        assert!(!resolution.is_zero(), "the resolution must be more than 0");
        assert!(resolution <= Duration::from_secs(1), "the resolution must be a second at the most");
        self.poll_times.set_width(resolution);
        self
    }

    /// How many buckets there are.
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_buckets(&mut self, buckets: usize) -> &mut Self {
        self.poll_times.set_count(buckets);
        self
    }

    /// How many I/O events one turn of the driver may handle. By default 1024.
    ///
    /// # Panics
    ///
    /// When `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.events_per_turn = capacity;
        self
    }

    /// How many I/O events a worker that has other work handles in one turn. By default as many as in any.
    ///
    /// # Panics
    ///
    /// When `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self.events_per_busy_turn = Some(capacity);
        self
    }

    /// Whether the clock stands still until it is moved by `time::advance`, or by a runtime that has nothing to do. For tests on
    /// current-thread runtimes.
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Builds the runtime, and starts its workers.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or the I/O driver's descriptors.
    pub fn build(&mut self) -> io::Result<Runtime> {
        Ok(Runtime::from_handle(self.build_handle(false)?))
    }

    /// Builds a runtime that stays on this thread and takes futures that are not `Send`.
    ///
    /// # Errors
    ///
    /// When the system refuses the I/O driver's descriptors.
    ///
    /// # Panics
    ///
    /// When the builder is for a multi-threaded runtime.
    #[track_caller]
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(
            self.flavor == Flavor::CurrentThread,
            "multi_thread is not supported for LocalRuntime; begin with `Builder::new_current_thread`"
        );
        Ok(LocalRuntime::from_handle(self.build_handle(true)?))
    }

    fn build_handle(&self, is_local: bool) -> io::Result<Handle> {
        if let Some(signal) = self.stuck_signal {
            crate::dump::install(signal)?;
        }
        let driver = if self.enable_io { Some(Driver::new(self.events_per_turn)?) } else { None };
        let config = self.config(is_local);
        let workers = if self.flavor == Flavor::MultiThread { config.workers } else { 0 };
        let spares = config.max_spare_workers;
        let pool = blocking::Pool::new(blocking::Config {
            thread_name: Arc::clone(&self.thread_name),
            stack_size: self.thread_stack_size,
            max_threads: self.max_blocking_threads.saturating_add(workers + spares),
            max_jobs: self.max_blocking_threads,
            keep_alive: self.thread_keep_alive.unwrap_or(Duration::from_secs(10)),
            after_start: self.hooks.thread_started.clone(),
            before_stop: self.hooks.thread_stopping.clone(),
        });
        if self.enable_time {
            // For those who know no runtime, and wait with a time limit.
            nezumi_wake::sleep::set_sleep(
                |duration| Box::pin(crate::time::sleep(duration)),
                crate::time::assert_may_sleep,
            );
        }
        let handle = Handle::new(Shared::new(config, driver, pool));
        if self.flavor == Flavor::MultiThread {
            if let Err(error) = thread::start(&handle) {
                super::runtime::shut_down(&handle, Some(Duration::ZERO));
                return Err(error);
            }
        }
        Ok(handle)
    }

    fn config(&self, is_local: bool) -> Config {
        let hooks = self.hooks.clone();
        let workers = match self.flavor {
            Flavor::CurrentThread => 1,
            Flavor::MultiThread => self.worker_threads.unwrap_or_else(default_workers),
        };
        // Without the watch there is nobody to begin one.
        let has_spares = self.flavor == Flavor::MultiThread && self.watch;
        Config {
            flavor: self.flavor,
            local_to: is_local.then(|| std::thread::current().id()),
            workers,
            name: self.name.clone(),
            enable_time: self.enable_time,
            start_paused: self.start_paused,
            event_interval: self.event_interval,
            global_queue_interval: self.global_queue_interval,
            events_per_busy_turn: self.events_per_busy_turn,
            disable_lifo_slot: self.disable_lifo_slot,
            eager_driver_handoff: self.eager_driver_handoff,
            alt_timer: self.alt_timer,
            shutdown_on_panic: matches!(self.unhandled_panic, UnhandledPanic::ShutdownRuntime),
            watch: self.watch,
            max_spare_workers: if has_spares { self.max_spare_workers.unwrap_or(workers) } else { 0 },
            stuck_after: self.stuck_after,
            stuck_signal: self.stuck_signal,
            default_priority: self.default_priority,
            inherit_priority: self.inherit_priority,
            ranks_tasks: self.inherit_priority || self.default_priority != Priority::Normal,
            #[cfg(target_os = "linux")]
            affinity: self.affinity.clone(),
            observes_polls: hooks.before_poll.is_some()
                || hooks.after_poll.is_some()
                || hooks.stuck.is_some()
                || self.measure_poll_times
                || self.track_waits
                || self.inherit_priority,
            hooks,
            poll_time_histogram: self.measure_poll_times.then(|| self.poll_times.clone()),
            tracks_waits: self.track_waits,
            schedule_latency_histogram: self.measure_waits.then(|| self.waits.clone()),
            seeds: Seeds::new(&self.seed.clone().unwrap_or_else(RngSeed::random)),
        }
    }
}

/// `TOKIO_WORKER_THREADS`, else the number of processors that this process may use.
///
/// # Panics
///
/// When the variable is set to what is no positive number: to go on with another number would hide the mistake.
fn default_workers() -> usize {
    match std::env::var("TOKIO_WORKER_THREADS") {
        Ok(text) => {
            let workers = text.parse().unwrap_or_else(|error| {
                panic!("\"TOKIO_WORKER_THREADS\" must be usize, error: {error}, value: {text}")
            });
            assert!(workers > 0, "\"TOKIO_WORKER_THREADS\" cannot be set to 0");
            workers
        }
        Err(std::env::VarError::NotUnicode(text)) => {
            panic!("\"TOKIO_WORKER_THREADS\" must be valid unicode, value: {}", text.to_string_lossy())
        }
        Err(std::env::VarError::NotPresent) => processors(),
    }
}

/// The number of processors that this process may use. The system is asked once: on Linux the answer costs a dozen system calls.
pub(crate) fn processors() -> usize {
    static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

    match PROCESSORS.load(Ordering::Relaxed) {
        0 => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            PROCESSORS.store(processors, Ordering::Relaxed);
            processors
        }
        processors => processors,
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("flavor", &self.flavor)
            .field("name", &self.name)
            .field("worker_threads", &self.worker_threads)
            .field("max_blocking_threads", &self.max_blocking_threads)
            .field("enable_io", &self.enable_io)
            .field("enable_time", &self.enable_time)
            .finish_non_exhaustive()
    }
}
