//! What the expansions of the macros call. Not for programs: anything here may change in any release.

pub use std::default::Default;
pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::option::Option::{None, Some};
pub use std::pin::{Pin, pin as pinned};
pub use std::primitive::{u8, u16, u32, u64};
pub use std::result::Result::{Err, Ok};
pub use std::task::{Poll, ready};

#[cfg(feature = "rt")]
pub use nezumi_core::spawn::task_local::Slot as TaskLocalSlot;

#[cfg(feature = "macro-rules")]
pub use self::of_macros::*;

#[cfg(feature = "macro-rules")]
mod of_macros {
    use pin_project_lite::pin_project;
    use std::future::{Future, IntoFuture};
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    pub use nezumi_wake::coop::poll_budget_available;
    pub use nezumi_wake::rng::below as thread_rng_n;

    /// Where a fair `select!` of `n` branches starts.
    pub use nezumi_wake::rng::below as any_branch;

    /// Where a biased `select!` starts.
    #[inline]
    #[must_use]
    pub const fn first_branch(_n: u32) -> u32 {
        0
    }

    /// Notes that a pattern matched, and answers `false`.
    ///
    /// As the guard of an arm it makes a match a mere question: bindings move only after a guard that holds, so the
    /// value stays whole whatever the pattern binds, and how.
    #[inline]
    pub fn only_note(matched: &mut bool) -> bool {
        *matched = true;
        false
    }

    /// The end of a `select!` without `else` that has nothing left to wait for.
    #[cold]
    #[track_caller]
    pub fn all_branches_disabled() -> ! {
        panic!("all branches are disabled and there is no else branch")
    }

    /// Which of its futures a `join!` polls first.
    pub trait Order: Default {
        /// Whether the future at `index` is due in this turn. There are two in each poll: each future has one.
        fn is_due(&self, second_turn: bool, index: u32) -> bool;

        /// Prepares the next poll of `count` futures.
        fn advance(&mut self, count: u32);
    }

    /// Each poll starts one future further than the last: none starves when another uses up the budget every time.
    #[derive(Debug, Default)]
    pub struct Rotating {
        first: u32,
    }

    impl Order for Rotating {
        #[inline]
        fn is_due(&self, second_turn: bool, index: u32) -> bool {
            (index < self.first) == second_turn
        }

        #[inline]
        fn advance(&mut self, count: u32) {
            self.first = if self.first + 1 >= count { 0 } else { self.first + 1 };
        }
    }

    /// Each poll goes through the futures as they are written.
    #[derive(Debug, Default)]
    pub struct AsWritten;

    impl Order for AsWritten {
        #[inline]
        fn is_due(&self, second_turn: bool, _index: u32) -> bool {
            !second_turn
        }

        #[inline]
        fn advance(&mut self, _count: u32) {}
    }

    pin_project! {
        /// A future of `join!` or `try_join!`, then its output, then nothing.
        ///
        /// With a tag of its own: were the variant encoded in a niche of `F`, asking for it would read bytes of a pinned
        /// future which may have lent them to itself.
        #[project = SlotView]
        #[project_replace = SlotContent]
        #[derive(Debug)]
        #[repr(u8)]
        pub enum Slot<F: Future> {
            // Not completed yet.
            Waiting {
                #[pin]
                future: F,
            },
            // Completed; the future is gone.
            Done {
                output: F::Output,
            },
            // The output is gone, too.
            Taken,
        }
    }

    impl<F: Future> Slot<F> {
        /// A slot that waits for `future`.
        pub fn new(future: impl IntoFuture<IntoFuture = F, Output = F::Output>) -> Self {
            Slot::Waiting { future: future.into_future() }
        }

        /// Polls the future, unless its output is there already.
        pub fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if let SlotView::Waiting { future } = self.as_mut().project() {
                let output = ready!(future.poll(cx));
                self.set(Slot::Done { output });
            }
            Poll::Ready(())
        }

        /// The output, once, after [`poll`](Self::poll) has answered `Ready`.
        #[must_use]
        pub fn take(self: Pin<&mut Self>) -> F::Output {
            match self.project_replace(Slot::Taken) {
                SlotContent::Done { output } => output,
                SlotContent::Waiting { .. } | SlotContent::Taken => {
                    unreachable!("an output is taken once, when every future is done")
                }
            }
        }
    }

    impl<T, E, F: Future<Output = Result<T, E>>> Slot<F> {
        /// Polls the future, unless its output is there already. A failure ends the whole `try_join!`, and comes as its
        /// result, so that an error type without values makes no code unreachable.
        pub fn try_poll<R>(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<R, E>>> {
            if let SlotView::Waiting { future } = self.as_mut().project() {
                match ready!(future.poll(cx)) {
                    Ok(value) => self.set(Slot::Done { output: Ok(value) }),
                    Err(error) => {
                        self.set(Slot::Taken);
                        return Poll::Ready(Some(Err(error)));
                    }
                }
            }
            Poll::Ready(None)
        }

        /// The value, once, after [`try_poll`](Self::try_poll) has answered `Ready(None)`.
        #[must_use]
        pub fn take_value(self: Pin<&mut Self>) -> T {
            match self.take() {
                Ok(value) => value,
                Err(_) => unreachable!("an error is not kept"),
            }
        }
    }
}
