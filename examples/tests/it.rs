//! Every example runs, ends by itself within its time, and says what it is meant to show.
//!
//! Cargo builds the examples of a package before it runs its tests; but not if it is given the name of a test: then
//! `cargo build -p examples --examples` comes first.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of them takes, on a machine with much else to do.
const LIMIT: Duration = Duration::from_secs(60);

fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    // target/debug/deps/it-… beside target/debug/examples/.
    let built = test.parent().and_then(|deps| deps.parent()).expect("it lies in a target directory");
    built.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// Runs an example, and looks for each of `expected` in what it prints.
#[track_caller]
fn check(name: &str, arguments: &[&str], expected: &[&str]) {
    let mut child = Command::new(program(name))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status;
        }
        if began.elapsed() > LIMIT {
            child.kill().ok();
            child.wait().ok();
            panic!("{name} does not come to an end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // They print less than a pipe holds.
    let (mut said, mut complained) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    child.stderr.take().expect("piped").read_to_string(&mut complained).expect("text");
    assert!(status.success(), "{name}: {status}\n{said}{complained}");
    assert_eq!(complained, "", "{name} has nothing to complain of");
    for text in expected {
        assert!(said.contains(text), "{name} should say {text:?}, and says:\n{said}");
    }
}

#[test]
fn hello() {
    check("hello", &[], &["hello, mouse\nhello, cat\n"]);
}

#[test]
fn echo() {
    check("echo", &[], &["the server answered \"squeak\"\n"]);
}

#[test]
fn chat() {
    check("chat", &[], &["bob hears \"ann: is anybody here?\"\n"]);
}

#[test]
fn proxy() {
    check("proxy", &[], &["through the proxy came \"SQUEAK\"\n"]);
}

#[test]
fn timeouts() {
    check(
        "timeouts",
        &[],
        &[
            "an answer in time\n",
            "none: deadline has elapsed\n",
            "the time for all steps was over",
            "beat 3\n",
        ],
    );
}

#[test]
fn shutdown() {
    check(
        "shutdown",
        &[],
        &["stopping\n", "worker 0 has put its work away\n", "worker 1 has put", "all 2 have ended\n"],
    );
}

#[test]
fn blocking() {
    check(
        "blocking",
        &[],
        &["1229 primes below 10000\n", "reading 1\nreading 2\nreading 3\n", "25 primes below 100\n"],
    );
}

#[test]
fn channels() {
    check("channels", &[], &["the counter says 10\n", "all can see 10\n", "nobody is left to ask\n"]);
}

#[test]
fn select() {
    check(
        "select",
        &[],
        &[
            "the hare was first\none and other\nErr(\"a step failed\")\n",
            "message 1\nmessage 2\nmessage 3\nno more messages\n",
        ],
    );
}

#[cfg(unix)]
#[test]
fn unix_sockets() {
    check("unix_sockets", &[], &["the server knows who calls: true\n", "through the pair came \"squeak\"\n"]);
}

#[test]
fn udp() {
    check("udp", &[], &["6 bytes came\n", "the answer is \"squeak\"\n"]);
}

#[test]
fn settings() {
    check(
        "settings",
        &[],
        &["a task ran on a thread called mouse\n2 workers\n", "on this very thread: true\n"],
    );
}

#[test]
fn local_set() {
    check("local_set", &[], &["one begins\n", "other begins\n", "one ends\n", "other ends\n"]);
}

#[test]
fn paused_clock() {
    check(
        "paused_clock",
        &[],
        &[
            "6 reminders in 60 minutes\na second before: false\nafter: true\n",
            "took less than a minute: true\n",
        ],
    );
}

#[test]
fn moving_over() {
    check("moving_over", &[], &["backwards: desserts\n", "spawned through nezumi"]);
}

#[cfg(unix)]
#[test]
fn pipeline() {
    check(
        "pipeline",
        &[],
        &["1 has a one in it\n10 has a one in it\n", "the first ended with exit status: 0\n"],
    );
}

#[test]
fn walk() {
    check("walk", &[], &["3 files, 18 bytes\n"]);
    check("walk", &["no/such/directory"], &["left out: ", "0 files, 0 bytes\n"]);
}

/// So that an example that is added here is run, too.
#[test]
fn no_example_is_left_out() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = include_str!("it.rs");
    for entry in std::fs::read_dir(directory).expect("the examples can be listed") {
        let name = entry.expect("they can be listed").file_name();
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".rs")) {
            assert!(tests.contains(&format!("\"{name}\"")), "{name} is not run by these tests");
        }
    }
}
