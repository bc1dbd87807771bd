//! The program as a process.

use super::soon;
use rustix::process::{Pid, Signal, kill_process};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// Runs the program to its end.
pub(crate) fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gateway")).args(arguments).output().expect("the program runs")
}

/// `gateway serve` at work.
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    child: std::process::Child,
    _folder: TempDir,
}

impl Process {
    /// Serves as `config` says, with at most `descriptors` file descriptors.
    pub(crate) async fn start(config: &str, descriptors: Option<u32>) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, config).expect("a file");
        let limit = descriptors.map_or(String::new(), |count| format!("ulimit -n {count}; "));
        let (read, write) = std::io::pipe().expect("a pipe");
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{limit}exec \"$0\" serve --workers 2 --config \"$1\""));
        command.arg(env!("CARGO_BIN_EXE_gateway")).arg(&path).stderr(write);
        let child = command.spawn().expect("the program starts");
        // Or the pipe would never end.
        drop(command);
        let address = soon("the program to listen", listening(read)).await;
        Self { address, child, _folder: folder }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it still runs");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for its end; says its exit code.
    pub(crate) async fn exit_code(mut self) -> Option<i32> {
        soon("the program to end", async {
            loop {
                if let Some(status) = self.child.try_wait().expect("a child") {
                    return status.code();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    /// Processor time used so far.
    pub(crate) fn busy(&self) -> Duration {
        let path = PathBuf::from(format!("/proc/{}/stat", self.child.id()));
        let text = std::fs::read_to_string(path).expect("the process exists");
        // The name in parentheses may hold anything; the fields after it are numbers.
        let fields = text.rsplit(") ").next().expect("fields").split(' ').collect::<Vec<_>>();
        let ticks = fields[11].parse::<u64>().expect("user") + fields[12].parse::<u64>().expect("system");
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address the program says it listens on; what it says after that is thrown away.
async fn listening(read: std::io::PipeReader) -> SocketAddr {
    let (told, address) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    std::thread::spawn(move || {
        use std::io::BufRead;
        let mut all = String::new();
        for line in std::io::BufReader::new(read).lines().map_while(Result::ok) {
            if let Some(text) = line.split("address=").nth(1)
                && line.contains("listening")
                && let Some(told) = told.take()
            {
                let text = text.split(' ').next().unwrap_or_default();
                told.send(text.parse().expect("an address")).expect("somebody waits");
            }
            all.push_str(&line);
            all.push('\n');
        }
        assert!(told.is_none(), "it did not listen:\n{all}");
    });
    address.await.expect("an address")
}
