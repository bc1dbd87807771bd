//! The command line.
//!
//! Promise: every way to end has its own exit code, and every message on the way says what to do about it.

use crate::config::{Config, Log, Problems};
use crate::serve::{Drained, Gateway};
use crate::{demo, descriptors, log};
use clap::{Parser, Subcommand};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Something failed while running.
const FAILED: u8 = 1;
/// The command line or the configuration is wrong. (clap uses the same.)
const WRONG: u8 = 2;
/// The drain was cut short.
const CUT: u8 = 3;

const EXIT_CODES: &str = "\
Exit codes:
  0  done: stopped by SIGTERM or SIGINT with everything finished, or a demonstration without errors
  1  failed: an address in use, or a demonstration with errors
  2  wrong command line or configuration
  3  stopped, but connections were cut: the drain reached its limit, or a second signal came";

#[derive(Debug, Parser)]
#[command(name = "gateway", version, about = "An HTTP/1.1 and HTTP/2 reverse proxy on Nezumi", after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGTERM or SIGINT, then finish what is under way
    Serve {
        /// The configuration; gateway.example.toml shows every key
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Threads that run tasks, instead of what the configuration says
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        workers: Option<u16>,
    },
    /// Say all that is wrong with a configuration
    Check {
        /// The configuration
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Run two servers, the gateway and a load client in this process, and report
    Demo(demo::Options),
}

/// What `main` does.
#[must_use]
pub fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve { config, workers } => serve(&config, workers),
        Command::Check { config } => check(&config),
        Command::Demo(options) => demonstrate(&options),
    }
}

fn check(path: &Path) -> ExitCode {
    match Config::load(path) {
        Ok(config) => {
            let (listeners, groups, routes) =
                (config.listeners.len(), config.groups.len(), config.routes.len());
            println!(
                "{}: valid ({listeners} listeners, {groups} upstreams, {routes} routes)",
                path.display()
            );
            ExitCode::SUCCESS
        }
        Err(problems) => wrong(&problems),
    }
}

fn serve(path: &Path, workers: Option<u16>) -> ExitCode {
    let config = match Config::load(path) {
        Ok(config) => config,
        Err(problems) => return wrong(&problems),
    };
    let _log = log::start(&config.log);
    let descriptors = descriptors::raise_limit();
    let runtime = match runtime(workers.map(usize::from).or(config.server.workers)) {
        Ok(runtime) => runtime,
        Err(error) => return fail(FAILED, format!("cannot start the runtime: {error}")),
    };
    let end = runtime.block_on(async {
        let signals = Signals::new().map_err(|error| format!("cannot listen for signals: {error}"))?;
        let gateway = Gateway::bind(&config).map_err(|error| error.to_string())?;
        for address in gateway.addresses() {
            tracing::info!(%address, ?descriptors, "listening");
        }
        Ok::<_, String>(until_stopped(gateway, signals).await)
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    match end {
        Ok(Drained::Clean) => ExitCode::SUCCESS,
        Ok(Drained::Cut(_)) => ExitCode::from(CUT),
        Err(message) => fail(FAILED, message),
    }
}

async fn until_stopped(gateway: Gateway, mut signals: Signals) -> Drained {
    let (told, hurried) = tokio::sync::oneshot::channel();
    let stop = async {
        let name = signals.next().await;
        tracing::info!(signal = name, "draining: finishing what is under way; a second signal cuts it off");
        // The other side waits for as long as this runs.
        let _ = told.send(signals);
    };
    let hurry = async {
        match hurried.await {
            Ok(mut signals) => drop(signals.next().await),
            Err(_) => std::future::pending().await,
        }
    };
    let drained = gateway.run(stop, hurry).await;
    match drained {
        Drained::Clean => tracing::info!("drained"),
        Drained::Cut(connections) => tracing::warn!(connections, "connections were cut"),
    }
    drained
}

fn demonstrate(options: &demo::Options) -> ExitCode {
    let _log = log::start(&Log { level: "warn".to_owned(), json: false, access: false });
    let told = |report: &dyn Display, is_flawless| {
        println!("{report}");
        if is_flawless { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
    };
    let ended = if options.hostile {
        demo::hostile::run(options).map(|report| told(&report, report.is_flawless()))
    } else {
        demo::run(options).map(|report| told(&report, report.is_flawless()))
    };
    ended.unwrap_or_else(|error| fail(FAILED, error))
}

/// A runtime with `workers` threads; one for each core if not said.
pub(crate) fn runtime(workers: Option<usize>) -> io::Result<Runtime> {
    builder(workers).build()
}

/// Settings of such a runtime.
pub(crate) fn builder(workers: Option<usize>) -> Builder {
    let mut builder = Builder::new_multi_thread();
    if let Some(workers) = workers {
        builder.worker_threads(workers);
    }
    builder.thread_name("gateway").enable_all();
    builder
}

fn wrong(problems: &Problems) -> ExitCode {
    let count = problems.list().len();
    let noun = if count == 1 { "problem" } else { "problems" };
    eprintln!("{problems}");
    fail(WRONG, format!("{count} {noun} in the configuration"))
}

fn fail(code: u8, message: impl Display) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// The signals that mean stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
