//! How a process ends whose memory ends, as its parent sees it.

use super::REFUSED;
use crate::scarcity::Plan;
use crate::seed::Seed;
use std::collections::BTreeSet;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// On a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a process exits with after a panic.
const PANICKED: i32 = 101;
/// The standard library says this once, after an abort as after a panic.
const NOTE: &str = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
const OF_SIZE: [&str; 2] = ["memory allocation of ", " bytes failed"];
/// After a second one: another thread's, or of what was to be said about the first.
const AGAIN: &str = "skipping backtrace printing to avoid potential recursion";
/// What the C library and the standard library say when a thread has its stack, but there is no room for what they need beside it; they end the process.
const OF_A_NEW_THREAD: [&str; 5] = [
    "Fatal glibc error: failed to register TLS destructor: out of memory",
    "failed to allocate an alternative stack: Cannot allocate memory (os error 12)",
    "fatal runtime error: ",
    "failed to initiate panic, error ",
    ", aborting",
];
/// The panic of who needs a thread of the pool when there is none, as documented.
const NO_THREAD: &str = "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)";

/// Whether nothing is left when what may be said is taken out.
fn is_of_pieces(complaint: &str, is_space: bool) -> bool {
    let of_a_new_thread = if is_space { &OF_A_NEW_THREAD[..] } else { &[] };
    let mut left = complaint.to_owned();
    for piece in [NOTE, AGAIN].iter().chain(&OF_SIZE).chain(of_a_new_thread) {
        left = left.replace(piece, "");
    }
    let is_said = |line: &str| {
        line.chars().all(|char| char.is_ascii_digit())
            || (is_space && is_place_of_panic(line) && line.contains("stack_overflow.rs:"))
    };
    left.lines().all(is_said)
}

fn is_place_of_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

fn is_of_no_thread(complaint: &str) -> bool {
    let is_said =
        |line: &str| line.is_empty() || line == NOTE || line == NO_THREAD || is_place_of_panic(line);
    complaint.contains(NO_THREAD) && complaint.lines().all(is_said)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Aborted,
    Refused,
    Finished,
}

pub(super) struct Outcome {
    /// Or what is wrong with it.
    pub(super) ending: Result<Ending, String>,
    pub(super) allocations: u64,
    pub(super) most: isize,
    /// Those noted, or those refused.
    pub(super) sites: BTreeSet<u64>,
}

/// Starts a process that does the work, and waits for its end.
pub(super) fn of(work: &str, plan: Plan, seed: Seed) -> Outcome {
    let this = std::env::current_exe().expect("the path of this program");
    let mut child = Command::new(this)
        .args(["faults", "--starve", work, "--plan", &plan.to_string(), "--seed", &seed.to_string()])
        // Else a panic of the standard library's may stand still: the lock that it holds while it prints a backtrace is the one that its report of an
        // allocation that fails meanwhile waits for.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let status = wait(&mut child);
    let (mut said, mut complaint) = (String::new(), String::new());
    // What it had started has other pipes, so these are at their ends.
    child.stdout.take().expect("a pipe").read_to_string(&mut said).expect("lines");
    child.stderr.take().expect("a pipe").read_to_string(&mut complaint).expect("lines");
    let said = Said::parse(&said);
    let ending = match status {
        None => Err(format!("not over after {} s: {complaint}", PATIENCE.as_secs())),
        Some(status) => said.ending(status, &complaint, plan).and_then(|ending| {
            said.expect_nothing_left()?;
            Ok(ending)
        }),
    };
    Outcome { ending, allocations: said.allocations, most: said.most, sites: said.sites }
}

/// `None` if it had to be ended.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().expect("a child of ours") {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(500)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            status => return status,
        }
    }
}

/// What the process wrote to its standard output.
#[derive(Default)]
struct Said {
    allocations: u64,
    most: isize,
    sites: BTreeSet<u64>,
    refusals: usize,
    /// What was asked for in vain.
    sizes: BTreeSet<u64>,
    listened: Vec<SocketAddr>,
    files: Vec<String>,
    error: String,
}

impl Said {
    fn parse(text: &str) -> Self {
        let mut said = Said::default();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["site", site] => _ = said.sites.insert(number(site)),
                ["refused", size, site] => {
                    said.refusals += 1;
                    said.sizes.insert(number(size));
                    said.sites.insert(number(site));
                }
                ["listens", address] => said.listened.push(address.parse().expect("an address")),
                ["file", path] => said.files.push(path.to_owned()),
                ["done", allocations, most] => {
                    said.allocations = number(allocations);
                    said.most = number(most) as isize;
                }
                ["error", ..] => said.error = line.to_owned(),
                _ => panic!("{line:?} is nothing that is said here"),
            }
        }
        said
    }

    fn ending(&self, status: ExitStatus, complaint: &str, plan: Plan) -> Result<Ending, String> {
        let is_space = matches!(plan, Plan::Space(_));
        let is_refused = is_space || !self.sizes.is_empty();
        let is_complaint = !complaint.is_empty();
        match (status.signal(), status.code()) {
            (Some(libc::SIGABRT), _)
                if is_refused && is_complaint && self.is_of_memory(complaint, is_space) =>
            {
                Ok(Ending::Aborted)
            }
            (_, Some(REFUSED)) if is_refused && !is_complaint && self.is_error_expected(is_space) => {
                Ok(Ending::Refused)
            }
            (_, Some(PANICKED)) if is_space && is_of_no_thread(complaint) => Ok(Ending::Refused),
            (_, Some(0)) if !is_complaint => Ok(Ending::Finished),
            _ => Err(format!("{status}; {}; {complaint:?}", self.error)),
        }
    }

    /// Whether a process that was refused something may say this while it aborts.
    fn is_of_memory(&self, complaint: &str, is_space: bool) -> bool {
        let is_line = |line: &str| {
            let size = line.strip_prefix(OF_SIZE[0]).and_then(|rest| rest.strip_suffix(OF_SIZE[1]));
            line == NOTE || size.is_some_and(|size| size.parse().is_ok_and(|size| self.sizes.contains(&size)))
        };
        // Threads that are refused something at once write at once, in pieces.
        let is_of_several = is_space || self.refusals > 1;
        complaint.lines().all(is_line) || (is_of_several && is_of_pieces(complaint, is_space))
    }

    fn is_error_expected(&self, is_space: bool) -> bool {
        match self.error.as_str() {
            "error OutOfMemory 0" | "error OutOfMemory 12" => true,
            // A thread was refused.
            error => is_space && error == "error WouldBlock 11",
        }
    }

    /// What the system takes back is back.
    fn expect_nothing_left(&self) -> Result<(), String> {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        for address in &self.listened {
            if TcpStream::connect(address).is_ok() {
                return Err(format!("somebody listens at {address} still"));
            }
            TcpListener::bind(address).map_err(|error| format!("{address} is taken: {error}"))?;
        }
        Ok(())
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::{Ending, NO_THREAD, NOTE, Said};
    use crate::scarcity::Plan;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    const ABORT: i32 = libc::SIGABRT;
    const PANIC: i32 = 101 << 8;

    fn check(said: &str, status: i32, complaint: &str, plan: Plan, expected: Option<Ending>) {
        let ending = Said::parse(said).ending(ExitStatus::from_raw(status), complaint, plan);
        assert_eq!(ending.ok(), expected, "{said:?}, {status}, {complaint:?}");
    }

    #[test]
    fn an_abort_for_what_was_refused_is_expected() {
        let complaint = format!("memory allocation of 8 bytes failed\n{NOTE}\n");
        check("refused 8 1", ABORT, &complaint, Plan::Nth(1), Some(Ending::Aborted));
        check("error OutOfMemory 0\nrefused 8 1", 3 << 8, "", Plan::Nth(1), Some(Ending::Refused));
        check("done 1 1", 0, "", Plan::Nth(2), Some(Ending::Finished));
    }

    #[test]
    fn threads_may_complain_at_once() {
        let complaint = "memory allocation of 1memory allocation of 48 bytes failed\n bytes failed\n";
        check("refused 1 1\nrefused 48 2", ABORT, complaint, Plan::From(1), Some(Ending::Aborted));
        check("refused 48 2", ABORT, complaint, Plan::Nth(1), None);
        let other = format!("{complaint}something else");
        check("refused 1 1\nrefused 48 2", ABORT, &other, Plan::From(1), None);
    }

    #[test]
    fn an_end_of_another_kind_is_a_fault() {
        let complaint = "memory allocation of 8 bytes failed\n";
        for (said, status, complaint) in [
            ("refused 8 1", libc::SIGSEGV, complaint),
            ("refused 8 1", PANIC, complaint),
            ("refused 8 1", ABORT, ""),
            ("refused 9 1", ABORT, complaint),
            ("", ABORT, complaint),
            ("refused 8 1", ABORT, &format!("{complaint}thread 'main' (7) panicked at a.rs:1:1:\n")),
            ("refused 8 1", PANIC, NO_THREAD),
            ("error Other 0\nrefused 8 1", 3 << 8, ""),
            ("error OutOfMemory 0", 3 << 8, ""),
            ("error WouldBlock 11\nrefused 8 1", 3 << 8, ""),
            ("done 1 1", 0, complaint),
        ] {
            check(said, status, complaint, Plan::Nth(1), None);
        }
    }

    #[test]
    fn a_thread_is_refused_only_where_address_space_is() {
        check("", PANIC, NO_THREAD, Plan::Space(1), Some(Ending::Refused));
        check("error WouldBlock 11", 3 << 8, "", Plan::Space(1), Some(Ending::Refused));
        check("", PANIC, "thread 'main' (7) panicked at a.rs:1:1:\nsomething else\n", Plan::Space(1), None);
    }
}
