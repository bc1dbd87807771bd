/// Waits for the first of several futures, runs the code that belongs to it, and drops the others.
///
/// Usable inside an `async` function or block. It takes up to 64 branches of this form, and perhaps an `else`:
///
/// ```text
/// pattern = future, if condition => handler,
/// else => handler,
/// ```
///
/// 1. Every condition is evaluated. A branch whose condition is false is disabled; one without is enabled.
/// 2. Every future expression is evaluated, those of disabled branches too, but disabled ones are never polled.
/// 3. All enabled branches are awaited at once, on this task.
/// 4. When a future completes, its output is held against the pattern. If it matches, all other futures are dropped, and
///    the handler runs, with the bindings of the pattern. If not, the branch is disabled, and the others are awaited on.
/// 5. When every branch is disabled, the handler of `else` runs.
///
/// The value of the whole is that of the handler that ran. Handlers may use `?`, `break`, `return` and `.await`; they run
/// outside of the waiting, so they may all borrow the same variable, even mutably. Anything that is `IntoFuture` is a
/// future here. A handler that is not a block ends with a comma.
///
/// # Panics
///
/// When all branches are disabled, and there is no `else`.
///
/// # Fairness
///
/// Each time the task is woken, polling starts at a random branch, so that one that is always ready does not keep the
/// others from being seen. A leading `biased;` makes it start at the first branch always: for a shutdown signal
/// that must win, for instance. No branch gets a turn then until all before it are waiting.
///
/// # Cancel safety
///
/// The futures of the branches not taken are dropped. In a loop, that may lose what such a future had already done:
/// received half a line, or its place in a queue. Each method of this crate says under "Cancel safety" whether it can be
/// dropped at an await without a loss. Of those which cannot, make the future once, [`pin!`](crate::pin) it, and give
/// `select!` a `&mut` reference: then only the reference is dropped.
///
/// # Examples
///
/// The first to answer:
///
/// ```
/// use std::time::Duration;
/// use nezumi::time::sleep;
///
/// # #[nezumi::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let winner = nezumi::select! {
///     _ = sleep(Duration::from_millis(20)) => "hare",
///     _ = sleep(Duration::from_millis(10)) => "tortoise",
/// };
/// assert_eq!(winner, "tortoise");
/// # }
/// ```
///
/// Patterns disable what has ended, and `else` ends the loop:
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let (left, mut from_left) = mpsc::channel(4);
/// let (right, mut from_right) = mpsc::channel(4);
/// for n in [1, 2] {
///     left.send(n).await.unwrap();
///     right.send(10 * n).await.unwrap();
/// }
/// drop((left, right));
///
/// let mut sum = 0;
/// loop {
///     nezumi::select! {
///         Some(n) = from_left.recv() => sum += n,
///         Some(n) = from_right.recv() => sum += n,
///         else => break,
///     }
/// }
/// assert_eq!(sum, 33);
/// # }
/// ```
///
/// A condition keeps a completed future from being polled again:
///
/// ```
/// use nezumi::sync::oneshot;
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let (tx, mut name) = oneshot::channel();
/// tx.send("nezumi").unwrap();
/// let (tx, mut size) = oneshot::channel();
/// tx.send(3).unwrap();
///
/// let (mut got_name, mut got_size) = (None, None);
/// while got_name.is_none() || got_size.is_none() {
///     nezumi::select! {
///         v = &mut name, if got_name.is_none() => got_name = v.ok(),
///         v = &mut size, if got_size.is_none() => got_size = v.ok(),
///     }
/// }
/// assert_eq!((got_name, got_size), (Some("nezumi"), Some(3)));
/// # }
/// ```
///
/// Without a branch there is nothing to wait for:
///
/// ```compile_fail
/// # #[nezumi::main] async fn main() {
/// nezumi::select! {}
/// # }
/// ```
#[macro_export]
macro_rules! select {
    () => {
        ::std::compile_error!("select! requires at least one branch.")
    };
    (biased; $($branches:tt)+) => {
        $crate::__select!(first_branch $($branches)+)
    };
    ($($branches:tt)+) => {
        $crate::__select!(any_branch $($branches)+)
    };
}

/// Three steps: deal out the numbers, read the branches one by one, wait.
///
/// Each branch takes a number, a variant of the output enum, and the type of a bit mask wide enough so far, from the list
/// of 64. The name `future` it gets from the step that reads it: by macro hygiene that is a new one each time. Items, such
/// as the enum, have no hygiene, hence its name.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // Read: `else`, or nothing, at the end.
    (@read $start:ident $mask:ident [] $free:tt else => $else:expr $(,)?) => {{
        $else
    }};
    (@read $start:ident $mask:ident [$($read:tt)+] $free:tt else => $else:expr $(,)?) => {
        $crate::__select!(@wait $start $mask [$($read)+] $else)
    };
    (@read $start:ident $mask:ident [$($read:tt)+] $free:tt) => {
        $crate::__select!(@wait $start $mask [$($read)+] $crate::macros::support::all_branches_disabled())
    };
    (@read $start:ident $mask:ident [$($read:tt)+] [] $($rest:tt)+) => {
        ::std::compile_error!("select! takes at most 64 branches")
    };
    // Read: a branch. A block ends its branch, with or without a comma; any other handler needs one, or the end.
    (@read $start:ident $narrow:ident [$($read:tt)*] [($index:tt $variant:ident $mask:ident) $($free:tt)*]
        $pattern:pat = $source:expr $(, if $condition:expr)? => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@read $start $mask
            [$($read)* ($index $variant future [$pattern] [$($condition)?] [$source] [$handler])]
            [$($free)*] $($rest)*)
    };
    (@read $start:ident $narrow:ident [$($read:tt)*] [($index:tt $variant:ident $mask:ident) $($free:tt)*]
        $pattern:pat = $source:expr $(, if $condition:expr)? => $handler:block $($rest:tt)*) => {
        $crate::__select!(@read $start $mask
            [$($read)* ($index $variant future [$pattern] [$($condition)?] [$source] [$handler])]
            [$($free)*] $($rest)*)
    };
    (@read $start:ident $narrow:ident [$($read:tt)*] [($index:tt $variant:ident $mask:ident) $($free:tt)*]
        $pattern:pat = $source:expr $(, if $condition:expr)? => $handler:expr, $($rest:tt)*) => {
        $crate::__select!(@read $start $mask
            [$($read)* ($index $variant future [$pattern] [$($condition)?] [$source] [$handler])]
            [$($free)*] $($rest)*)
    };
    (@read $start:ident $narrow:ident [$($read:tt)*] [($index:tt $variant:ident $mask:ident) $($free:tt)*]
        $pattern:pat = $source:expr $(, if $condition:expr)? => $handler:expr) => {
        $crate::__select!(@read $start $mask
            [$($read)* ($index $variant future [$pattern] [$($condition)?] [$source] [$handler])]
            [$($free)*])
    };

    // Wait.
    (@wait $start:ident $mask:ident [$((
        $index:tt $variant:ident $future:ident [$pattern:pat] [$($condition:expr)?] [$source:expr] [$handler:expr]
    ))+] $else:expr) => {{
        enum __NezumiSelected<$($variant),+> {
            $($variant($variant),)+
            Nothing,
        }

        // One bit for each branch that is out: by its condition, or since it completed.
        let mut disabled: $crate::macros::support::$mask = 0;
        $($(
            if !$condition {
                disabled |= 1 << ($index as u32);
            }
        )?)+

        #[allow(unused_mut)]
        let mut selected = {
            // As operands of a tuple, the expressions have their temporaries extended to the end of this block.
            let sources = ($($source,)+);
            let mut futures = ($($crate::macros::support::IntoFuture::into_future(sources.$index),)+);
            // The closure holds a reference, not the futures: it may be moved, they may not.
            let futures = &mut futures;
            $crate::macros::support::poll_fn(|cx| {
                // Without budget, branches that count it would answer `Pending`, and one that does not would win.
                $crate::macros::support::ready!($crate::macros::support::poll_budget_available(cx));

                let start = $crate::macros::support::$start(0_u32 $(.max($index as u32))+ + 1);
                let ($($future,)+) = &mut *futures;
                let mut pending = false;
                // First the branches from `start` on, then those before it.
                for second_turn in [false, true] {$(
                    if ($index < start) == second_turn && disabled & (1 << ($index as u32)) == 0 {
                        // SAFETY: the tuple is a local of the expansion that nothing but this closure can name, and the
                        // closure never moves out of it.
                        let future = unsafe { $crate::macros::support::Pin::new_unchecked(&mut *$future) };
                        #[allow(unreachable_code)]
                        'branch: {
                            // The arm that leaves lets an output whose type nothing else says, as that of a future which only
                            // panics, fall back as the output of a diverging expression does.
                            #[allow(unused_mut)]
                            let mut output = match $crate::macros::support::Future::poll(future, cx) {
                                $crate::macros::support::Poll::Ready(output) => output,
                                $crate::macros::support::Poll::Pending => {
                                    pending = true;
                                    break 'branch;
                                }
                            };
                            disabled |= 1 << ($index as u32);
                            let mut matched = false;
                            #[allow(unused_variables, unused_mut, unreachable_patterns)]
                            match output {
                                $pattern if $crate::macros::support::only_note(&mut matched) => {
                                    ::std::unreachable!("the guard never holds")
                                }
                                _ => {}
                            }
                            if matched {
                                return $crate::macros::support::Poll::Ready(__NezumiSelected::$variant(output));
                            }
                        }
                    }
                )+}
                if pending {
                    $crate::macros::support::Poll::Pending
                } else {
                    $crate::macros::support::Poll::Ready(__NezumiSelected::Nothing)
                }
            })
            .await
        };

        match selected {
            $(__NezumiSelected::$variant($pattern) => $handler,)+
            __NezumiSelected::Nothing => $else,
            _ => ::std::unreachable!("what was selected matched before"),
        }
    }};

    // Deal out the numbers.
    ($start:ident $($branches:tt)+) => {
        $crate::__select!(@read $start u8 [] [
            (0 B0 u8) (1 B1 u8) (2 B2 u8) (3 B3 u8) (4 B4 u8) (5 B5 u8) (6 B6 u8) (7 B7 u8)
            (8 B8 u16) (9 B9 u16) (10 B10 u16) (11 B11 u16) (12 B12 u16) (13 B13 u16) (14 B14 u16) (15 B15 u16)
            (16 B16 u32) (17 B17 u32) (18 B18 u32) (19 B19 u32) (20 B20 u32) (21 B21 u32) (22 B22 u32) (23 B23 u32)
            (24 B24 u32) (25 B25 u32) (26 B26 u32) (27 B27 u32) (28 B28 u32) (29 B29 u32) (30 B30 u32) (31 B31 u32)
            (32 B32 u64) (33 B33 u64) (34 B34 u64) (35 B35 u64) (36 B36 u64) (37 B37 u64) (38 B38 u64) (39 B39 u64)
            (40 B40 u64) (41 B41 u64) (42 B42 u64) (43 B43 u64) (44 B44 u64) (45 B45 u64) (46 B46 u64) (47 B47 u64)
            (48 B48 u64) (49 B49 u64) (50 B50 u64) (51 B51 u64) (52 B52 u64) (53 B53 u64) (54 B54 u64) (55 B55 u64)
            (56 B56 u64) (57 B57 u64) (58 B58 u64) (59 B59 u64) (60 B60 u64) (61 B61 u64) (62 B62 u64) (63 B63 u64)
        ] $($branches)+)
    };
}
