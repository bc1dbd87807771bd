//! When which request is sent.
//!
//! Promise: the same seed, rate and time give the same plan.
//!
//! Tests: below.

use std::time::Duration;

/// One request in so many is hostile.
const HOSTILE_EVERY: f64 = 100.0;

/// What a request asks its handler to do before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Plain,
    /// To block its thread.
    Block,
    /// To use its processor.
    Burn,
    /// To spawn many tasks.
    Flood,
}

impl Kind {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Plain => "/demo",
            Self::Block => "/hostile/block",
            Self::Burn => "/hostile/burn",
            Self::Flood => "/hostile/flood",
        }
    }

    pub(super) fn of(path: &str) -> Self {
        let hostile = [Self::Block, Self::Burn, Self::Flood];
        hostile.into_iter().find(|kind| kind.path() == path).unwrap_or(Self::Plain)
    }
}

/// One request to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Intent {
    /// After the start.
    pub(super) at: Duration,
    pub(super) kind: Kind,
}

/// All of them, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan(Vec<Intent>);

impl Plan {
    /// Requests that come independently of one another, `rate` in a second in the mean.
    pub(super) fn draw(seed: u64, rate: u32, time: Duration) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut intents = Vec::new();
        let mut at = 0.0;
        loop {
            at += -(1.0 - random.f64()).ln() / f64::from(rate);
            if at >= time.as_secs_f64() {
                return Self(intents);
            }
            let kind = if random.f64() < 1.0 / HOSTILE_EVERY {
                [Kind::Block, Kind::Burn, Kind::Flood][random.usize(..3)]
            } else {
                Kind::Plain
            };
            intents.push(Intent { at: Duration::from_secs_f64(at), kind });
        }
    }

    pub(super) fn intents(&self) -> &[Intent] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_one_plan_with_the_rate_and_the_share_that_were_asked_for() {
        let draw = |seed| Plan::draw(seed, 5000, Duration::from_secs(10));
        let plan = draw(7);
        assert_eq!(plan, draw(7));
        assert_ne!(plan, draw(8));
        let all = plan.intents();
        assert!(all.is_sorted_by_key(|intent| intent.at));
        // The deviation of such counts is their root.
        assert!((49_000..51_000).contains(&all.len()), "{}", all.len());
        for kind in [Kind::Block, Kind::Burn, Kind::Flood] {
            let count = all.iter().filter(|intent| intent.kind == kind).count();
            assert!((110..230).contains(&count), "{kind:?}: {count}");
        }
    }

    #[test]
    fn a_path_says_what_is_asked_for() {
        for kind in [Kind::Plain, Kind::Block, Kind::Burn, Kind::Flood] {
            assert_eq!(Kind::of(kind.path()), kind);
        }
    }
}
