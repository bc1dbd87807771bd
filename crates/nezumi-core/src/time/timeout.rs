use super::error::Elapsed;
use super::{Instant, Sleep};
use nezumi_wake::coop;
use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Limits how long `future` may take.
///
/// Completes with the output of the future, or with an error when `duration` has passed first; the future is dropped with the
/// `Timeout`. The future is polled before the clock is looked at: one that is ready at once is never timed out, and one
/// that does not yield cannot be.
///
/// # Errors
///
/// The output is [`Elapsed`] when the time ran out.
///
/// # Panics
///
/// Outside a runtime, and inside one that was built without time. An async block is the way to make the timer when the
/// runtime is there: `runtime.block_on(async { timeout(duration, future).await })`.
///
/// # Cancel safety
///
/// That of `future`: dropping the `Timeout` drops it. [`Timeout::into_inner`] takes it out instead.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, timeout};
/// use std::future::pending;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let limit = Duration::from_millis(10);
/// assert_eq!(timeout(limit, async { 7 }).await, Ok(7));
/// assert!(timeout(limit, pending::<()>()).await.is_err());
/// # }
/// ```
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    #[expect(clippy::manual_map, reason = "a closure would lose the caller's location")]
    let delay = match Instant::now().checked_add(duration) {
        Some(deadline) => Some(Sleep::new(deadline)),
        // Past the end of the clock there is no limit.
        None => None,
    };
    Timeout { value: future.into_future(), delay }
}

/// Limits until when `future` may take.
///
/// As [`timeout`], with an instant in place of a duration.
///
/// # Errors
///
/// The output is [`Elapsed`] when the time ran out.
///
/// # Panics
///
/// Outside a runtime, and inside one that was built without time.
///
/// # Cancel safety
///
/// That of `future`: dropping the `Timeout` drops it. [`Timeout::into_inner`] takes it out instead.
///
/// # Examples
///
/// Two steps that share one limit:
///
/// ```
/// use nezumi::time::error::Elapsed;
/// use nezumi::time::{Duration, Instant, timeout_at};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Elapsed> {
/// let deadline = Instant::now() + Duration::from_millis(100);
/// let half = timeout_at(deadline, async { 21 }).await?;
/// assert_eq!(timeout_at(deadline, async { 2 * half }).await?, 42);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn timeout_at<F>(deadline: Instant, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    Timeout { value: future.into_future(), delay: Some(Sleep::new(deadline)) }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, timeout};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let answer = timeout(Duration::from_secs(5), async { 7 });
    /// assert_eq!(answer.await, Ok(7));
    /// // The limit can be lifted.
    /// assert_eq!(timeout(Duration::ZERO, async { 7 }).into_inner().await, 7);
    /// # }
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    #[derive(Debug)]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        #[pin]
        delay: Option<Sleep>,
    }
}

impl<T> Timeout<T> {
    /// The future whose time is limited.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The future whose time is limited.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Takes the future out, without a limit.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.value.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        match this.delay.as_pin_mut() {
            Some(delay) => poll_delay(delay, had_budget, cx).map(|()| Err(Elapsed::new())),
            None => Poll::Pending,
        }
    }
}

/// Looks at the clock. Apart from `T`, so that it is compiled once.
fn poll_delay(delay: Pin<&mut Sleep>, had_budget: bool, cx: &mut Context<'_>) -> Poll<()> {
    if had_budget && !coop::has_budget_remaining() {
        // The future has used up the budget by itself. If it does so each time, the clock would never be looked at.
        coop::with_unconstrained(|| delay.poll_to_stay(cx))
    } else {
        // What it limits is not ready, so that it will hardly be dropped in this poll.
        delay.poll_to_stay(cx)
    }
}
