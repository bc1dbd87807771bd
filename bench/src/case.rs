//! What a workload says of itself.
//!
//! Knows nothing of any runtime: the same `Case` comes out of every side, and the harness pairs them by workload and
//! variant.

use std::time::Duration;

/// One workload in one variant, on one side.
pub(crate) struct Case {
    /// Its number in the table of workloads.
    pub(crate) number: u32,
    pub(crate) workload: &'static str,
    /// Empty if there is only one.
    pub(crate) variant: &'static str,
    /// What is done, in one line.
    pub(crate) what: &'static str,
    /// The ratio it must reach.
    pub(crate) must: f64,
    pub(crate) figure: Figure,
    /// The number of workers, if the definition fixes it.
    pub(crate) workers: Option<usize>,
    /// A round takes seconds: it is not warmed up, and ten pairs are enough.
    pub(crate) slow: bool,
    /// If given: user CPU per operation must be at most this share of Tokio's.
    pub(crate) must_user_cpu: Option<f64>,
    /// Builds the runtime and whatever else is not to be timed.
    pub(crate) prepare: Box<dyn Fn(&Setup) -> Round>,
}

/// What the ratio is a ratio of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Nanoseconds per operation.
    Time,
    /// What the round returned as [`Done::figure`]; the text is its unit.
    Own(&'static str),
}

/// What a side is prepared for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) quick: bool,
}

impl Setup {
    /// The size the definition names, or the smaller one of the quick form.
    pub(crate) fn size(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}

/// A prepared side: each call does the whole workload once. Dropping it tears the runtime down.
pub(crate) type Round = Box<dyn FnMut() -> Done>;

/// What one round did.
pub(crate) struct Done {
    pub(crate) ops: u64,
    /// How long it took, where the round knows better than a clock around it.
    pub(crate) elapsed: Option<Duration>,
    /// The figure of a workload whose figure is not a time, summed over its operations.
    pub(crate) figure: Option<f64>,
}

impl Done {
    pub(crate) fn ops(ops: u64) -> Done {
        Done { ops, elapsed: None, figure: None }
    }
}

impl Case {
    pub(crate) fn new(
        number: u32,
        workload: &'static str,
        what: &'static str,
        must: f64,
        prepare: impl Fn(&Setup) -> Round + 'static,
    ) -> Case {
        Case {
            number,
            workload,
            variant: "",
            what,
            must,
            figure: Figure::Time,
            workers: None,
            slow: false,
            must_user_cpu: None,
            prepare: Box::new(prepare),
        }
    }

    pub(crate) fn variant(self, variant: &'static str) -> Case {
        Case { variant, ..self }
    }

    pub(crate) fn workers(self, workers: usize) -> Case {
        Case { workers: Some(workers), ..self }
    }

    pub(crate) fn figure(self, unit: &'static str) -> Case {
        Case { figure: Figure::Own(unit), ..self }
    }

    pub(crate) fn slow(self) -> Case {
        Case { slow: true, ..self }
    }

    pub(crate) fn must_user_cpu(self, share: f64) -> Case {
        Case { must_user_cpu: Some(share), ..self }
    }

    pub(crate) fn is_same_as(&self, other: &Case) -> bool {
        self.workload == other.workload && self.variant == other.variant
    }
}
