//! Polls that do not end.

use crate::StuckPoll;

const TARGET: &str = "nezumi::stuck";

/// Whether anybody hears of stuck polls, so that it is worthwhile to find out about one.
#[must_use]
pub fn hears_of_stuck_polls() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::WARN)
}

/// A poll has lasted too long. Told once.
pub fn poll_is_stuck(stuck: &StuckPoll<'_>) {
    let task = stuck.task;
    // What is `None` is left out.
    tracing::warn!(
        target: TARGET,
        {
            task.id = task.map(|task| task.id),
            task.name = task.and_then(|task| task.name),
            loc.file = task.map(|task| task.at.file()),
            loc.line = task.map(|task| task.at.line()),
            loc.col = task.map(|task| task.at.column()),
            worker = stuck.worker,
            elapsed_ms = u64::try_from(stuck.elapsed.as_millis()).unwrap_or(u64::MAX),
            pace = if stuck.burns { "burns" } else { "sleeps" },
        },
        "a task does not come back from its poll, and holds up its worker"
    );
}
