//! What does a small HTTP request cost hyper, on Tokio and with Tokio patched away?
//!
//! Two programs of one source (`hello/`), which differ in the patch of their manifests alone. Each runs as a process of
//! its own and is asked by the same client in this one. What it used, it says itself.
//!
//! How the answer could mislead: client and server share the cores, and the client is one thread: with enough workers it is
//! the client that is measured. The time is mostly the kernel's, so look at the user CPU, which is the server's alone, as are
//! the context switches. The system calls are those of both processes, the allocations the client's.

mod client;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::case::{Case, Done, Round, Setup, Side};
use crate::meter::Usage;
use client::Client;

/// For the side that is named.
pub(crate) fn cases(side: Side) -> Vec<Case> {
    let case = |variant, connections| {
        let what = "hyper says hello over so many keep-alive connections, to a client in another process";
        Case::new(22, "http", what, 1.0, move |setup| prepare(side, setup, connections))
            .variant(variant)
            .at("connections", connections)
            .must_user_cpu(0.8)
    };
    vec![case("1 connection", 1), case("64 connections", 64), case("256 connections", 256)]
}

fn prepare(side: Side, setup: &Setup, connections: u64) -> Round {
    let laps = setup.size(20_480, 2048, 256).max(connections) / connections;
    let mut server = Server::start(side, setup.workers);
    let mut client = Client::connect(server.address, connections).expect("the server cannot be reached");
    Box::new(move || {
        let before = server.used();
        let start = Instant::now();
        let answers = client.run(laps).expect("the server did not answer as it should");
        let elapsed = start.elapsed();
        let used = server.used().since(before);
        assert_eq!(answers, laps * connections, "an answer was lost");
        Done { elapsed: Some(elapsed), used: Some(used), ..Done::ops(answers) }
    })
}

/// A server in a process of its own. It ends when its input does.
struct Server {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start(side: Side, workers: usize) -> Server {
        let mut process = Command::new(program(side))
            .arg(workers.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server could not be started");
        let questions = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let line = read_line(&mut answers);
        let (address, runtime) = line.split_once(' ').expect("address and name of the runtime");
        // Cargo only warns of a patch that does not take.
        assert!(runtime.starts_with(side.of_runtime()), "the server for {side:?} runs on {runtime}");
        let address = address.parse().expect("an address");
        Server { process, questions, answers, address }
    }

    fn used(&mut self) -> Usage {
        self.questions
            .as_ref()
            .expect("only dropping takes it")
            .write_all(b"\n")
            .expect("the server has ended");
        let line = read_line(&mut self.answers);
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
        let [user, system, voluntary_switches] = numbers[..] else { panic!("not what was used: {line}") };
        let time = Duration::from_micros;
        Usage { voluntary_switches, user: time(user), system: time(system) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.process.wait();
    }
}

impl Side {
    /// How the name of the type of its runtime begins.
    fn of_runtime(self) -> &'static str {
        match self {
            Side::Tokio => "tokio::",
            Side::Nezumi | Side::Unwatched => "nezumi",
        }
    }
}

fn read_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("the server's output cannot be read");
    line.trim_end().to_owned()
}

/// Where the server's program lies; built the first time that it is asked for.
fn program(side: Side) -> PathBuf {
    static BUILT: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    BUILT[side as usize].get_or_init(|| build(side)).clone()
}

fn build(side: Side) -> PathBuf {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let here = std::env::current_exe().expect("the program does not know where it lies");
    let target = here.ancestors().find(|path| path.ends_with(profile)).and_then(|path| path.parent());
    let target = target.expect("the program does not lie in a target directory").join("hello");
    let manifest = format!("{}/hello/{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"), side.name());
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--manifest-path", &manifest, "--target-dir"]).arg(&target);
    if profile == "release" {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("cargo could not be started");
    assert!(status.success(), "the server for {side:?} could not be built");
    target.join(profile).join(format!("hello-{}", side.name()))
}
