//! What the tests of this crate read from and write to: sources and sinks that do as a script says.

use proptest::test_runner::Config;

/// How property tests run: `cases` times, and a few times under Miri, which is slow and has no files.
pub(crate) fn cases(cases: u32) -> Config {
    if cfg!(miri) {
        Config { cases: 6, failure_persistence: None, ..Config::default() }
    } else {
        Config { cases, failure_persistence: None, ..Config::default() }
    }
}
