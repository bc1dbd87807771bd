//! What there is to run.

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// The published package that it comes from.
    pub(crate) package: &'static str,
    pub(crate) content: Content,
    /// Features of the package that are turned on.
    pub(crate) features: &'static [&'static str],
    /// Flags for the compiler, for the whole graph.
    pub(crate) rustflags: Option<&'static str>,
}

pub(crate) enum Content {
    /// The files in `tests/`, which use the package from outside, so that another can take its place.
    Tests {
        /// Only files that mention this.
        mentioning: Option<&'static str>,
    },
    /// The whole package, with its unit tests, as it was published: only its `tokio` changes.
    Package,
}

pub(crate) const ALL: &[Suite] = &[
    Suite {
        name: "tokio",
        package: "tokio",
        content: Content::Tests { mentioning: None },
        features: &["full", "test-util"],
        rustflags: None,
    },
    Suite {
        name: "tokio-unstable",
        package: "tokio",
        content: Content::Tests { mentioning: Some("tokio_unstable") },
        features: &["full", "test-util", "taskdump", "tracing", "schedule-latency"],
        rustflags: Some("--cfg tokio_unstable"),
    },
    Suite {
        name: "tokio-util",
        package: "tokio-util",
        content: Content::Package,
        features: &["full"],
        rustflags: None,
    },
    Suite {
        name: "tokio-stream",
        package: "tokio-stream",
        content: Content::Package,
        features: &["full"],
        rustflags: None,
    },
    Suite {
        name: "tokio-test",
        package: "tokio-test",
        content: Content::Package,
        features: &[],
        rustflags: None,
    },
    Suite {
        name: "axum",
        package: "axum",
        content: Content::Package,
        // The last two are what its unit tests want.
        features: &["default", "http2", "macros", "multipart", "ws", "__private", "axum-macros/__private"],
        rustflags: None,
    },
];

pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|suite| suite.name).collect()
}
