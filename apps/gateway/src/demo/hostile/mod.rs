//! What handlers that do not behave do to the requests of others, with the watch of the runtime off and on.
//!
//! - `plan`: when which request is sent, drawn beforehand.
//! - `client`: sends them at these times, whatever becomes of those before.
//! - `report`: what came out, side by side.
//!
//! Both sides are asked the same: the same plan, the same number of workers and connections, each in a runtime of its own. The rounds go off,
//! on, on, off, so that what changes on the machine meanwhile falls to both.
//!
//! Promise: no stall is left out. A request's latency counts from when it was meant to be sent, and no request waits to be sent until another is
//! answered.
//!
//! Tests: `tests/gateway/hostile.rs`.

mod client;
mod plan;
mod report;

pub use report::{Comparison, Latencies, Side};

use super::{Options, configuration, enough_descriptors, said, upstream::Upstream};
use crate::cli;
use crate::config::Config;
use crate::metrics::RuntimeFigures;
use crate::serve::Gateway;
use client::{Client, Tally};
use indicatif::{ProgressBar, ProgressStyle};
use plan::{Kind, Plan};
use std::time::{Duration, Instant};

/// How long a handler blocks its thread.
const BLOCK: Duration = Duration::from_millis(50);
/// How long another uses its processor.
const BURN: Duration = Duration::from_millis(10);
/// How many tasks a third spawns at once.
const FLOOD: u32 = 10_000;

/// How often each side is loaded.
const ROUNDS: u32 = 2;

/// For a handler: does what `path` asks for, if it asks for trouble.
pub(super) async fn misbehave(path: &str) {
    match Kind::of(path) {
        Kind::Plain => {}
        Kind::Block => std::thread::sleep(BLOCK),
        Kind::Burn => {
            let start = Instant::now();
            while start.elapsed() < BURN {
                std::hint::spin_loop();
            }
        }
        Kind::Flood => {
            for _ in 0..FLOOD {
                tokio::spawn(tokio::task::yield_now());
            }
        }
    }
}

/// Runs both sides.
///
/// # Errors
///
/// If they could not be run, or the report could not be written; what to do about it. Requests that failed are part of the report.
///
/// # Panics
///
/// If called within a runtime.
pub fn run(options: &Options) -> Result<Comparison, String> {
    enough_descriptors(client::MOST_LINKS)?;
    let bar = ProgressBar::new(u64::from(2 * ROUNDS));
    bar.set_style(ProgressStyle::with_template("{bar:40} {elapsed} {msg}").expect("the template is valid"));
    let (mut off, mut on) = (Tally::default(), Tally::default());
    let time = Duration::from_secs(options.seconds.into()) / ROUNDS;
    for round in 0..ROUNDS {
        let plan = Plan::draw(options.seed.wrapping_add(round.into()), options.rate, time);
        let sides = [(false, &mut off), (true, &mut on)];
        let sides: Vec<_> = if round % 2 == 0 { sides.into() } else { sides.into_iter().rev().collect() };
        for (watch, tally) in sides {
            bar.set_message(if watch { "watch on" } else { "watch off" });
            one_round(options, watch, &plan, tally)?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let report = Comparison::new(options, &off, &on);
    if let Some(path) = &options.json {
        super::write_json(&report, path)?;
    }
    Ok(report)
}

/// Two servers and the gateway, in a runtime with or without a watch, and the plan carried out against them.
fn one_round(options: &Options, watch: bool, plan: &Plan, tally: &mut Tally) -> Result<(), String> {
    let mut builder = cli::builder(options.workers.map(usize::from));
    let runtime = builder.watch(watch).build().map_err(said("cannot start the runtime"))?;
    let upstreams = runtime
        .block_on(async { Ok([Upstream::start().await?, Upstream::start().await?]) })
        .map_err(said::<std::io::Error>("cannot start a server"))?;
    let text = configuration(client::MOST_LINKS, &upstreams);
    let config =
        Config::parse(&text, "the configuration of the demonstration").map_err(|it| it.to_string())?;
    let inside = runtime.enter();
    let gateway = Gateway::bind(&config).map_err(|error| error.to_string())?;
    drop(inside);
    let address = gateway.addresses()[0];
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let gateway = runtime.spawn(gateway.run(async { drop(stopped.await) }, std::future::pending()));

    let client = Client::new(address, options.connections).map_err(said("cannot start the client"))?;
    let before = RuntimeFigures::read(runtime.handle());
    client.carry_out(plan, tally);
    tally.note_runtime(RuntimeFigures::read(runtime.handle()).since(&before));

    drop(client);
    drop(stop);
    let ended = runtime.block_on(async {
        let ended = gateway.await;
        for upstream in upstreams {
            upstream.stop().await;
        }
        ended
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended.map(drop).map_err(said("the gateway failed"))
}
