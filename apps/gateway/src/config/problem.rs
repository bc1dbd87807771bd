//! What is wrong with a configuration, told so that it can be mended.
//!
//! Made by `reader` (a value of the wrong shape) and `check` (values that do not fit together), shown by `cli`.
//!
//! Promise: every problem of a file is told at once, each with its line, its key, and what to write instead.

use std::fmt;

/// One thing that is wrong in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named on the command line.
    pub file: String,
    /// The line in it, from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// The key, with the section it stands in: `route.max_body`. Empty where no key is meant.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}\n  mend: {}", self.what, self.mend)
    }
}

/// All that is wrong in a configuration file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `problems`, sorted by line.
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.line);
        Self(problems)
    }

    /// The problems, by line.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
