//! What a workload says of itself.
//!
//! Knows nothing of any runtime: the same `Case` comes out of every side, and the harness pairs them by workload and
//! variant.

use std::time::Duration;

use crate::meter::Usage;

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
    pub(crate) speed: Speed,
    /// Whose it is.
    pub(crate) side: Side,
    /// Each sample in a process of its own, where what others left in the heap would be measured too.
    pub(crate) apart: bool,
    /// Figures below this count as this: a ratio of nothing to nothing is 1.
    pub(crate) least_figure: f64,
    /// What the quick form does instead, if that does not measure what the definition says.
    pub(crate) scaled: &'static str,
    /// Where this variant lies on an axis along which cost may grow.
    pub(crate) at: Option<(&'static str, f64)>,
    /// If given: user CPU per operation must be at most this share of Tokio's.
    pub(crate) must_user_cpu: Option<f64>,
    /// What our own notes must keep to, whatever Tokio's are.
    pub(crate) bounds: Vec<Bound>,
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

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Tokio,
    Nezumi,
    /// Nezumi without its watch.
    Unwatched,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Side::Tokio => "tokio",
            Side::Nezumi => "nezumi",
            Side::Unwatched => "unwatched",
        }
    }
}

/// How many rounds a workload can afford.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    /// A round takes milliseconds: it is warmed up, and repeated for a sample.
    Normal,
    /// A round takes a second: it is not warmed up, and ten pairs are enough.
    Slow,
    /// A round takes seconds, in the full form perhaps minutes: as few pairs as have an interval.
    Glacial,
}

/// A limit for one of our own notes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) note: &'static str,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// What a side is prepared for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) form: Form,
}

/// How large the rounds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the definitions say.
    Full,
    Quick,
    /// Only to see that everything is done that should be.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing but tests has a use for it"))]
    Tiny,
}

impl Setup {
    /// The size the definition names, or the smaller one of the quick form, or the smallest that still means anything.
    pub(crate) fn size<T>(&self, full: T, quick: T, tiny: T) -> T {
        match self.form {
            Form::Full => full,
            Form::Quick => quick,
            Form::Tiny => tiny,
        }
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
    /// Figures besides, by name and unit: shown, and held to the bounds of the case.
    pub(crate) notes: Vec<(&'static str, f64)>,
    /// What was used, where the work is another process's.
    pub(crate) used: Option<Usage>,
}

impl Done {
    pub(crate) fn ops(ops: u64) -> Done {
        Done { ops, elapsed: None, figure: None, notes: Vec::new(), used: None }
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
            speed: Speed::Normal,
            side: Side::Tokio,
            apart: false,
            least_figure: f64::MIN_POSITIVE,
            scaled: "",
            at: None,
            must_user_cpu: None,
            bounds: Vec::new(),
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
        Case { speed: Speed::Slow, ..self }
    }

    pub(crate) fn glacial(self) -> Case {
        Case { speed: Speed::Glacial, ..self }
    }

    pub(crate) fn on(self, side: Side) -> Case {
        Case { side, ..self }
    }

    pub(crate) fn apart(self) -> Case {
        Case { apart: true, ..self }
    }

    pub(crate) fn least_figure(self, least_figure: f64) -> Case {
        Case { least_figure, ..self }
    }

    pub(crate) fn scaled(self, scaled: &'static str) -> Case {
        Case { scaled, ..self }
    }

    pub(crate) fn at(self, axis: &'static str, place: u64) -> Case {
        Case { at: Some((axis, place as f64)), ..self }
    }

    pub(crate) fn at_least(mut self, note: &'static str, least: f64) -> Case {
        self.bounds.push(Bound { note, least, most: f64::INFINITY });
        self
    }

    pub(crate) fn at_most(mut self, note: &'static str, most: f64) -> Case {
        self.bounds.push(Bound { note, least: f64::NEG_INFINITY, most });
        self
    }

    pub(crate) fn must_user_cpu(self, share: f64) -> Case {
        Case { must_user_cpu: Some(share), ..self }
    }

    pub(crate) fn is_same_as(&self, other: &Case) -> bool {
        self.workload == other.workload && self.variant == other.variant
    }
}
