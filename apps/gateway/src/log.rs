//! Where events go: to standard error, as text or JSON, by a thread of its own.
//!
//! Promise: a slow terminal never holds up a worker; if events come faster than they can be written, some are dropped.

use crate::config::Log;
use std::io::IsTerminal;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

/// Starts logging as `settings` say, for the whole process; what is not written yet is when the guard is dropped.
///
/// Does nothing if something else in the process logs already.
pub(crate) fn start(settings: &Log) -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    // Checked when the configuration was read.
    let levels = settings.level.parse::<Targets>().unwrap_or_default();
    let layer = fmt::layer().with_writer(writer);
    let layer = if settings.json {
        layer.json().flatten_event(true).boxed()
    } else {
        layer.with_ansi(std::io::stderr().is_terminal()).boxed()
    };
    let _ = registry().with(layer.with_filter(levels)).try_init();
    guard
}
