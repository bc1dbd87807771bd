use super::{Instant, LONGEST};
use crate::scheduler::Home;
use crate::timer::Entry;
use nezumi_trace::{Resource, Waiting};
use nezumi_wake::coop;
use pin_project_lite::pin_project;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Waits until `deadline`.
///
/// # Panics
///
/// Outside a runtime, and inside one that was built without time. An async block is the way to make the timer when the
/// runtime is there: `runtime.block_on(async { sleep_until(deadline).await })`.
///
/// # Cancel safety
///
/// Dropping the future is all there is to cancelling it. It costs next to nothing before the first poll.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, Instant, sleep_until};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// sleep_until(Instant::now() + Duration::from_millis(10)).await;
/// # }
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

/// Waits until `duration` has passed.
///
/// Measured from this call, not from the first poll. The wait is in whole milliseconds, rounded up, and longer when the
/// threads of the runtime are busy. A duration of more than thirty years is taken for thirty years.
///
/// # Panics
///
/// Outside a runtime, and inside one that was built without time. An async block is the way to make the timer when the
/// runtime is there: `runtime.block_on(async { sleep(duration).await })`.
///
/// # Cancel safety
///
/// Dropping the future is all there is to cancelling it. It costs next to nothing before the first poll.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, sleep};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// sleep(Duration::from_millis(10)).await;
/// println!("10 ms have passed");
/// # }
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::now() + duration.min(LONGEST))
}

pin_project! {
    /// The future of [`sleep`] and [`sleep_until`].
    ///
    /// Not `Unpin`, since the runtime points into it while it waits: to poll it more than once, or to [reset](Self::reset)
    /// it, pin it first, with `pin!` on the stack or with `Box::pin`.
    ///
    /// After it has completed it may be polled again, and is ready at once, until it is reset.
    ///
    /// # Panics
    ///
    /// When it is polled after its runtime was shut down before the deadline.
    ///
    /// # Examples
    ///
    /// One timer, used again and again:
    ///
    /// ```
    /// use nezumi::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut timer = pin!(sleep(Duration::from_millis(10)));
    /// for _ in 0..3 {
    ///     timer.as_mut().await;
    ///     timer.as_mut().reset(Instant::now() + Duration::from_millis(10));
    /// }
    /// # }
    /// ```
    ///
    /// In a future of one's own:
    ///
    /// ```
    /// use nezumi::time::Sleep;
    /// use std::future::Future;
    /// use std::pin::Pin;
    /// use std::task::{Context, Poll};
    ///
    /// struct Lease {
    ///     ends: Pin<Box<Sleep>>,
    /// }
    ///
    /// impl Future for Lease {
    ///     type Output = ();
    ///
    ///     fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
    ///         self.ends.as_mut().poll(cx)
    ///     }
    /// }
    /// ```
    #[project(!Unpin)]
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        #[pin]
        entry: Entry,
        // Not `UnwindSafe`, as Tokio's is not.
        _unwind: PhantomData<&'static mut ()>,
        waiting: Waiting,
        resource: Resource,
    }
}

impl Sleep {
    /// # Panics
    ///
    /// Where there is no timer.
    #[track_caller]
    pub(super) fn new(deadline: Instant) -> Sleep {
        let entry = Entry::new(home_of_timer(), deadline.into_std());
        let resource = Resource::sleep();
        let waiting = resource.wait_for_timer("Sleep::new_timeout");
        Sleep { entry, _unwind: PhantomData, waiting, resource }
    }

    /// Polls a timer that is known to be waited for until the next poll, at least.
    #[inline]
    pub(super) fn poll_to_stay(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_with(cx, false)
    }

    fn poll_with(self: Pin<&mut Self>, cx: &mut Context<'_>, may_wait: bool) -> Poll<()> {
        let mut this = self.project();
        let _inside = this.waiting.enter(this.resource);
        let coop = coop::poll_proceed(cx);
        nezumi_trace::polled("poll_elapsed", coop.is_ready());
        let coop = ready!(coop);
        if nezumi_trace::IS_ON && !this.entry.is_pending() {
            this.resource.armed(until(&this.entry));
        }
        let outcome = this.entry.as_mut().poll_elapsed(cx, may_wait);
        nezumi_trace::polled("poll_elapsed", outcome.is_ready());
        let ended = ready!(outcome);
        coop.made_progress();
        if ended.is_err() && this.entry.fails_at_shutdown() {
            shut_down();
        }
        Poll::Ready(())
    }

    /// The instant at which the future completes.
    pub fn deadline(&self) -> Instant {
        Instant::from_std(self.entry.deadline())
    }

    /// Whether the deadline has passed. A future that was neither polled nor reset has not begun to look at the time, and
    /// says no.
    pub fn is_elapsed(&self) -> bool {
        self.entry.is_elapsed()
    }

    /// Gives the future a new deadline, whether it has completed or not.
    ///
    /// Cheaper than a new future; pushing the deadline further out, as an idle timeout does with every message, costs a few
    /// nanoseconds. The task that waits keeps waiting, and need not poll the future again.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut timer = pin!(sleep(Duration::from_millis(10)));
    /// timer.as_mut().reset(Instant::now() + Duration::from_millis(20));
    /// timer.await;
    /// # }
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let mut this = self.project();
        this.entry.as_mut().reset(deadline.into_std());
        if nezumi_trace::IS_ON {
            *this.waiting = this.resource.wait_for_timer("Sleep::reset");
            let _inside = this.waiting.enter(this.resource);
            this.resource.armed(until(&this.entry));
        }
    }

    /// As [`reset`](Self::reset), of which nobody is told: for a part of something else.
    pub(super) fn set_deadline(self: Pin<&mut Self>, deadline: Instant) {
        self.project().entry.reset(deadline.into_std());
    }
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_with(cx, true)
    }
}

/// Where a timer made here belongs.
/// How long it is until the deadline.
fn until(entry: &Entry) -> Duration {
    Instant::from_std(entry.deadline()).saturating_duration_since(Instant::now())
}

#[track_caller]
fn home_of_timer() -> Home {
    let Some(home) = Home::current() else {
        panic!(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime. A timer belongs to a \
             runtime: make it inside `block_on`, a spawned task, or the guard of `Handle::enter`."
        );
    };
    assert!(
        home.time_enabled(),
        "A Tokio 1.x context was found, but timers are disabled. Call `enable_time` on the runtime builder to enable timers."
    );
    home
}

/// Panics where [`sleep`] would, and makes nothing.
#[track_caller]
pub(crate) fn assert_may_sleep() {
    drop(home_of_timer());
}

#[cold]
fn shut_down() -> ! {
    panic!(
        "A Tokio 1.x context was found, but it is being shutdown. The timer belongs to that runtime, and will not fire: \
         do not poll it any more."
    );
}
