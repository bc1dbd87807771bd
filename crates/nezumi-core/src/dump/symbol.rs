//! The names of frames.
//!
//! Called by `trace`, when somebody reads one. What is left out here: the frames through which a scheduler polls a task, so that a stack begins with the task's own
//! future.

use super::trace::{Frame, Stack};
use std::ffi::c_void;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;

/// One stack, with names. From [`Trace::resolve_backtraces`](super::Trace::resolve_backtraces).
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::Trace;
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut waits = Box::pin(nezumi::task::yield_now());
/// let trace = Trace::root(poll_fn(|cx| Poll::Ready(Trace::capture(|| waits.as_mut().poll(cx)).1))).await;
/// for backtrace in trace.resolve_backtraces() {
///     println!("{} frames", backtrace.frames().count());
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

/// A frame of a stack.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::Trace;
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut waits = Box::pin(nezumi::task::yield_now());
/// let trace = Trace::root(poll_fn(|cx| Poll::Ready(Trace::capture(|| waits.as_mut().poll(cx)).1))).await;
/// for backtrace in trace.resolve_backtraces() {
///     for frame in backtrace.frames() {
///         println!("{:p}, in {} functions", frame.ip(), frame.symbols().count());
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BacktraceFrame {
    frame: Frame,
    symbols: Box<[BacktraceSymbol]>,
}

/// A function in whose code a frame is. One frame is in several where some have been inlined.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::Trace;
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut waits = Box::pin(nezumi::task::yield_now());
/// let trace = Trace::root(poll_fn(|cx| Poll::Ready(Trace::capture(|| waits.as_mut().poll(cx)).1))).await;
/// for backtrace in trace.resolve_backtraces() {
///     for symbol in backtrace.frames().flat_map(|frame| frame.symbols()) {
///         println!("{:?} at {:?}:{:?}", symbol.name_demangled(), symbol.filename(), symbol.lineno());
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct BacktraceSymbol {
    name: Option<Box<[u8]>>,
    name_demangled: Option<Box<str>>,
    /// `name_demangled` without what only tells compilations apart.
    name_short: Option<Box<str>>,
    addr: Option<usize>,
    filename: Option<PathBuf>,
    lineno: Option<u32>,
    colno: Option<u32>,
}

impl Backtrace {
    pub(super) fn of(stack: &Stack) -> Self {
        let mut frames: Vec<_> = stack.frames.iter().copied().map(BacktraceFrame::of).collect();
        if stack.is_rooted {
            leave_out_root(&mut frames);
        } else {
            leave_out_scheduler(&mut frames);
        }
        Self { frames: frames.into() }
    }

    /// Its frames, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &BacktraceFrame> {
        self.frames.iter()
    }
}

impl BacktraceFrame {
    fn of(frame: Frame) -> Self {
        Self { frame, symbols: symbols_at(frame.ip).into() }
    }

    /// The address at which its code goes on when it is returned to.
    #[must_use]
    pub fn ip(&self) -> *mut c_void {
        ptr::without_provenance_mut(self.frame.ip)
    }

    /// Where its function begins.
    #[must_use]
    pub fn symbol_address(&self) -> *mut c_void {
        ptr::without_provenance_mut(self.frame.function)
    }

    /// The functions it is in: the one that was inlined innermost first, the one that stands on the stack last.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }

    pub(super) fn symbols_outwards_in(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter().rev()
    }

    /// Leaves of its functions the so many innermost.
    fn truncate(&mut self, len: usize) {
        let mut symbols = std::mem::take(&mut self.symbols).into_vec();
        symbols.truncate(len);
        self.symbols = symbols.into();
    }
}

impl BacktraceSymbol {
    /// Its name as the linker knows it.
    #[must_use]
    pub fn name_raw(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    /// Its name as it is written in the source.
    #[must_use]
    pub fn name_demangled(&self) -> Option<&str> {
        self.name_demangled.as_deref()
    }

    /// Where its code begins.
    #[must_use]
    pub fn addr(&self) -> Option<*mut c_void> {
        self.addr.map(ptr::without_provenance_mut)
    }

    /// The file it is written in. `None` without debug information, as for line and column.
    #[must_use]
    pub fn filename(&self) -> Option<&Path> {
        self.filename.as_deref()
    }

    /// The line, counted from 1, at which the frame is.
    #[must_use]
    pub fn lineno(&self) -> Option<u32> {
        self.lineno
    }

    /// The column, counted from 1.
    #[must_use]
    pub fn colno(&self) -> Option<u32> {
        self.colno
    }
}

/// Its name and its place: `program::serve at src/main.rs:12:34`.
impl fmt::Display for BacktraceSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name_short {
            // That it is an `async fn`, or a closure, is of no help here.
            Some(name) => {
                let mut name: &str = name;
                while let Some(shorter) = without_closure(name) {
                    name = shorter;
                }
                f.write_str(name)?;
            }
            None => f.write_str("<unknown>")?,
        }
        if let Some(file) = &self.filename {
            write!(f, " at {}", file.display())?;
            if let Some(line) = self.lineno {
                write!(f, ":{line}")?;
                if let Some(column) = self.colno {
                    write!(f, ":{column}")?;
                }
            }
        }
        Ok(())
    }
}

/// Without a closure at its end: both ways of writing them.
fn without_closure(name: &str) -> Option<&str> {
    let (outer, last) = name.rsplit_once("::")?;
    (last.starts_with("{{closure") || last.starts_with("{closure#")).then_some(outer)
}

/// A part of the source, by how the names of its functions begin, and by crate and file: names may be missing, and with little debug information they are
/// cut short.
#[derive(Clone, Copy)]
struct Place {
    name: &'static str,
    of_crate: &'static str,
    file: &'static str,
}

impl Place {
    const fn new(name: &'static str, of_crate: &'static str, file: &'static str) -> Self {
        Self { name, of_crate, file }
    }

    fn has(&self, symbol: &BacktraceSymbol) -> bool {
        let name = symbol.name_short.as_deref().unwrap_or_default();
        name.trim_start_matches('<').starts_with(self.name)
            || symbol.filename.as_ref().and_then(|file| file.to_str()).is_some_and(|file| {
                file.split_once(self.of_crate).is_some_and(|(_, rest)| rest.contains(self.file))
            })
    }
}

fn is_in(symbol: &BacktraceSymbol, places: &[Place]) -> bool {
    places.iter().any(|place| place.has(symbol))
}

/// Where tasks are polled.
const POLLS: &[Place] = &[Place::new("nezumi_core::task::run::", "nezumi-core", "src/task/run.rs")];
/// What may stand between that and the task's future: catching of panics, cells, closures.
const BETWEEN: &[Place] = &[
    POLLS[0],
    Place::new("std::panic", "library", "std/src/panic"),
    Place::new("core::panic", "library", "core/src/panic"),
    Place::new("core::ops::function", "library", "core/src/ops/function.rs"),
    Place::new("__rust_try", "library", "std/src/panicking.rs"),
    Place::new("nezumi_prim::cell", "nezumi-prim", "src/cell.rs"),
];

/// The future at which captured stacks end.
const ROOT: &[Place] = &[Place::new("nezumi_wake::leaf::Root", "nezumi-wake", "src/leaf.rs")];

/// Cuts off what is further out than the future of the task whose poll was the outermost. In an optimised build that future may be inlined in the poll.
fn leave_out_scheduler(frames: &mut Vec<BacktraceFrame>) {
    // All functions, innermost first. A frame without names is one that is in none of the places.
    let numbers = |(frame, of): (usize, &BacktraceFrame)| {
        (0..of.symbols.len().max(1)).map(move |symbol| (frame, symbol))
    };
    let functions: Vec<(usize, usize)> = frames.iter().enumerate().flat_map(numbers).collect();
    let is_at = |(frame, symbol): &(usize, usize), places: &[Place]| {
        frames[*frame].symbols.get(*symbol).is_some_and(|symbol| is_in(symbol, places))
    };
    let Some(outermost) = functions.iter().rposition(|function| is_at(function, POLLS)) else { return };
    let future = functions[..outermost].iter().rfind(|function| !is_at(function, BETWEEN)).copied();
    let Some((frame, symbol)) = future else { return frames.clear() };
    frames.truncate(frame + 1);
    frames[frame].truncate(symbol + 1);
}

/// Of the outermost frame, which is a root's, leaves what is inlined in it.
fn leave_out_root(frames: &mut Vec<BacktraceFrame>) {
    let Some(mut root) = frames.pop() else { return };
    let inlined = root.symbols.iter().position(|symbol| is_in(symbol, ROOT)).unwrap_or(0);
    if inlined > 0 {
        root.truncate(inlined);
        frames.push(root);
    }
}

#[cfg(feature = "taskdump")]
fn symbols_at(ip: usize) -> Vec<BacktraceSymbol> {
    let mut symbols = Vec::new();
    backtrace::resolve(ptr::without_provenance_mut(ip), |symbol| {
        let name = symbol.name();
        symbols.push(BacktraceSymbol {
            name: name.as_ref().map(|name| name.as_bytes().into()),
            name_demangled: name.as_ref().map(|name| name.to_string().into()),
            name_short: name.as_ref().map(|name| format!("{name:#}").into()),
            addr: symbol.addr().map(|addr| addr.addr()),
            filename: symbol.filename().map(Into::into),
            lineno: symbol.lineno(),
            colno: symbol.colno(),
        });
    });
    symbols
}

#[cfg(not(feature = "taskdump"))]
fn symbols_at(_ip: usize) -> Vec<BacktraceSymbol> {
    Vec::new()
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    /// With what is inlined, innermost first.
    fn frame(names: &[&str]) -> BacktraceFrame {
        let symbol =
            |name: &&str| BacktraceSymbol { name_short: Some((*name).into()), ..BacktraceSymbol::default() };
        BacktraceFrame { frame: Frame { ip: 0, function: 0 }, symbols: names.iter().map(symbol).collect() }
    }

    fn names(frames: &[BacktraceFrame]) -> Vec<Vec<&str>> {
        fn of_frame(frame: &BacktraceFrame) -> Vec<&str> {
            frame.symbols().map(|symbol| symbol.name_short.as_deref().unwrap()).collect()
        }
        frames.iter().map(of_frame).collect()
    }

    #[test]
    fn a_symbol_is_shown_by_its_name_and_place_and_not_as_a_closure() {
        let mut symbol = BacktraceSymbol {
            name_short: Some("a::b::{{closure}}::{{closure}}".into()),
            filename: Some("src/a.rs".into()),
            lineno: Some(3),
            ..BacktraceSymbol::default()
        };
        assert_eq!(symbol.to_string(), "a::b at src/a.rs:3");
        symbol.name_short = Some("a::b::{closure#0}".into());
        symbol.filename = None;
        assert_eq!(symbol.to_string(), "a::b");
        assert_eq!(BacktraceSymbol::default().to_string(), "<unknown>");
    }

    #[test]
    fn what_is_further_out_than_the_outermost_task_is_left_out() {
        // The inner task is one of a `LocalSet` that the outer one polls.
        let names = [
            "leaf",
            "inner",
            "nezumi_core::task::run::poll",
            "nezumi_core::spawn::local_set",
            "outer",
            "core::ops::function::FnOnce::call_once",
            "nezumi_core::task::run::poll_future",
            "std::panicking::try",
            "nezumi_core::task::run::poll",
            "worker",
            "main",
        ];
        let mut frames: Vec<_> = names.iter().map(|name| frame(&[name])).collect();
        leave_out_scheduler(&mut frames);
        assert_eq!(frames.len(), 5);
        let mut frames = vec![frame(&["leaf"]), frame(&["main"])];
        leave_out_scheduler(&mut frames);
        assert_eq!(frames.len(), 2, "not in a task");
    }

    #[test]
    fn futures_that_are_inlined_in_the_poll_of_the_task_are_shown() {
        let poll = "nezumi_core::task::run::poll";
        let inlined = ["middle", "outer", "core::ops::function::FnOnce::call_once", poll, "worker"];
        let mut frames = vec![frame(&["leaf"]), frame(&inlined), frame(&["main"])];
        leave_out_scheduler(&mut frames);
        assert_eq!(names(&frames), [vec!["leaf"], vec!["middle", "outer"]]);
    }

    #[test]
    fn futures_that_are_inlined_in_a_root_are_shown() {
        let root = "<nezumi_wake::leaf::Root<T> as core::future::future::Future>::poll";
        for (inlined, shown) in [
            (&["middle", "outer", root][..], vec![vec!["leaf"], vec!["middle", "outer"]]),
            (&[root], vec![vec!["leaf"]]),
            (&[], vec![vec!["leaf"]]),
        ] {
            let mut frames = vec![frame(&["leaf"]), frame(inlined)];
            leave_out_root(&mut frames);
            assert_eq!(names(&frames), shown);
        }
    }
}
