//! The whole gateway at work in one process: two servers, the proxy, and clients that load it, all on loopback.
//!
//! - `upstream`: the servers.
//! - `client`: the clients, and what they saw.
//! - `report`: what came out, as a table and as JSON.
//! - `hostile`: another load and another report, for handlers that do not behave.
//!
//! Promise: a demonstration ends in good order. When its time is over the clients finish what they have begun, the
//! gateway drains, the servers stop, and nothing of it counts as an error.
//!
//! Tests: `tests/gateway/demo.rs`.

mod client;
pub mod hostile;
mod report;
mod upstream;

pub use report::Report;

use crate::config::Config;
use crate::metrics::RuntimeFigures;
use crate::serve::Gateway;
use crate::{cli, descriptors};
use client::Load;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;
use upstream::Upstream;

/// What `gateway demo` takes.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How long to load the gateway
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
    /// Clients at once, each on a connection of its own
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: u32,
    /// Threads that run tasks; one for each core if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Also write the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Ask for trouble: 1 % of the requests block, burn or flood; latency of the others, with the runtime's watch off and on
    #[arg(long)]
    pub hostile: bool,
    /// With --hostile: requests for each second, sent whether or not others have been answered
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "hostile", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
    /// With --hostile: what the times and kinds of the requests are drawn from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "hostile")]
    pub seed: u64,
}

/// Runs a demonstration.
///
/// # Errors
///
/// If it could not be run, or its report could not be written; what to do about it. Requests that failed are part of
/// the report.
///
/// # Panics
///
/// If called within a runtime.
pub fn run(options: &Options) -> Result<Report, String> {
    enough_descriptors(options.connections)?;
    let runtime = cli::runtime(options.workers.map(usize::from)).map_err(said("cannot start the runtime"))?;
    let report = runtime.block_on(demonstrate(options));
    runtime.shutdown_timeout(Duration::from_secs(1));
    let report = report?;
    if let Some(path) = &options.json {
        write_json(&report, path)?;
    }
    Ok(report)
}

fn write_json(report: &impl serde::Serialize, path: &Path) -> Result<(), String> {
    let json = serde_json::to_string_pretty(report).map_err(said("cannot write the report"))?;
    let failed = format!("cannot write {}", path.display());
    std::fs::write(path, json + "\n").map_err(said(&failed))
}

fn said<E: Display>(what: &str) -> impl FnOnce(E) -> String + use<'_, E> {
    move |error| format!("{what}: {error}")
}

/// A connection of a client is one end in the client and one in the gateway, and the same again to the server.
fn enough_descriptors(connections: u32) -> Result<(), String> {
    let needed = u64::from(connections) * 4 + 64;
    match descriptors::raise_limit() {
        Some(limit) if limit < needed => Err(format!(
            "{connections} connections need about {needed} file descriptors, and the limit is {limit}\n  mend: raise it \
             (ulimit -n {needed}), or use --connections {}",
            limit.saturating_sub(64) / 4
        )),
        _ => Ok(()),
    }
}

async fn demonstrate(options: &Options) -> Result<Report, String> {
    let upstreams = [
        Upstream::start().await.map_err(said("cannot start a server"))?,
        Upstream::start().await.map_err(said("cannot start a server"))?,
    ];
    let text = configuration(options.connections, &upstreams);
    let config =
        Config::parse(&text, "the configuration of the demonstration").map_err(|it| it.to_string())?;
    let gateway = Gateway::bind(&config).map_err(|error| error.to_string())?;
    let address = gateway.addresses()[0];
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let gateway = tokio::spawn(gateway.run(async { drop(stopped.await) }, std::future::pending()));

    let before = RuntimeFigures::read(&Handle::current());
    let start = Instant::now();
    let load = Load::start(address, options.connections, start + Duration::from_secs(options.seconds.into()));
    show_progress(options.seconds, &load).await;
    let tally = load.finish().await;
    let elapsed = start.elapsed();
    let runtime = RuntimeFigures::read(&Handle::current()).since(&before);

    drop(stop);
    gateway.await.map_err(said("the gateway failed"))?;
    for upstream in upstreams {
        upstream.stop().await;
    }
    Ok(Report::new(options.connections, elapsed, &tally, runtime))
}

fn configuration(connections: u32, upstreams: &[Upstream]) -> String {
    let members =
        upstreams.iter().map(|upstream| format!("\"{}\"", upstream.address())).collect::<Vec<_>>().join(", ");
    format!(
        "[server]\nmax_connections = {slots}\ndrain_timeout = \"5s\"\n\
         [log]\naccess = false\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\n\
         [[upstream]]\nname = \"demo\"\nmembers = [{members}]\nmax_idle = {slots}\n\
         [[route]]\nname = \"demo\"\nupstream = \"demo\"\nmax_concurrency = {slots}\n",
        slots = connections + 16,
    )
}

/// A bar that fills until the time is over; nothing where there is no terminal.
async fn show_progress(seconds: u32, load: &Load) {
    let bar = ProgressBar::new(u64::from(seconds) * 10);
    let style = ProgressStyle::with_template("{bar:40} {elapsed} {msg}").expect("the template is valid");
    bar.set_style(style);
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds.into()) {
        ticks.tick().await;
        bar.set_position(u64::try_from(start.elapsed().as_millis() / 100).unwrap_or(u64::MAX));
        bar.set_message(format!("{} requests, {} errors", load.requests(), load.errors()));
    }
    bar.finish_and_clear();
}
