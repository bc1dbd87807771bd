//! Values out of a TOML table, each with its line.
//!
//! Called by `check`, which knows what the keys mean. Knows TOML and the shapes of values (a duration, a size, one of
//! a few words), nothing of proxies.
//!
//! Promise: a value of the wrong shape, a missing one and an unknown key each leave a [`Problem`] and a usable default
//! behind, so that reading goes on and the next problem is found as well.
//!
//! Tests: `config::tests`, and the snapshots in `tests/gateway/config.rs`.

use super::problem::Problem;
use bytesize::ByteSize;
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file being read, and what was found wrong in it.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, problems: RefCell::default() }
    }

    /// The document as a section without a name, unless it is not TOML at all.
    pub(super) fn parse(&self) -> Option<Spanned<DeTable<'a>>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let at = error.span().map_or(0, |span| span.start);
            let what = format!("not valid TOML: {}", error.message().trim_end().replace('\n', ", "));
            self.problem(at, "", what, "correct the syntax of this line (https://toml.io has the rules)");
        }
        errors.is_empty().then_some(document)
    }

    /// Says that what stands at byte `at` is wrong.
    fn problem(&self, at: usize, key: &str, what: impl Into<String>, mend: impl Into<String>) {
        self.note(self.line(at), key, what.into(), mend.into());
    }

    /// Says that the file as a whole is wrong.
    fn problem_of_file(&self, what: impl Into<String>, mend: impl Into<String>) {
        self.note(0, "", what.into(), mend.into());
    }

    fn note(&self, line: usize, key: &str, what: String, mend: String) {
        self.problems.borrow_mut().push(Problem {
            file: self.file.to_owned(),
            line,
            key: key.to_owned(),
            what,
            mend,
        });
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

/// One table of the file, whose keys are taken one by one.
pub(super) struct Section<'r, 'a> {
    reader: &'r Reader<'a>,
    name: &'static str,
    table: &'r DeTable<'a>,
    span: Range<usize>,
    known: RefCell<Vec<&'static str>>,
}

impl<'r, 'a> Section<'r, 'a> {
    pub(super) fn root(reader: &'r Reader<'a>, document: &'r Spanned<DeTable<'a>>) -> Self {
        Self::new(reader, "", document.get_ref(), document.span())
    }

    fn new(reader: &'r Reader<'a>, name: &'static str, table: &'r DeTable<'a>, span: Range<usize>) -> Self {
        Self { reader, name, table, span, known: RefCell::default() }
    }

    /// The one table `[name]`; none if it is not there.
    pub(super) fn section(&self, name: &'static str) -> Option<Section<'r, 'a>> {
        let value = self.get(name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::new(self.reader, name, table, value.span())),
            other => {
                self.wrong_type(name, value, other, &format!("write it as a table: [{name}]"));
                None
            }
        }
    }

    /// Every table `[[name]]`, in order.
    pub(super) fn sections(&self, name: &'static str) -> Vec<Section<'r, 'a>> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(name, value, value.get_ref(), &format!("write it with two brackets: [[{name}]]"));
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => sections.push(Self::new(self.reader, name, table, item.span())),
                other => self.wrong_type(name, item, other, &format!("write it as a table: [[{name}]]")),
            }
        }
        sections
    }

    /// A text and where it stands; none if the key is absent.
    pub(super) fn text(&self, key: &'static str) -> Option<Spanned<String>> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(Spanned::new(value.span(), text.clone().into_owned())),
            other => {
                self.wrong_type(key, value, other, &format!("write a text in quotes: {key} = \"…\""));
                None
            }
        }
    }

    /// A text that must be there.
    pub(super) fn required_text(&self, key: &'static str, example: &str) -> Option<Spanned<String>> {
        if !self.table.contains_key(key) {
            self.missing(key, example);
        }
        self.text(key)
    }

    /// A list of texts that must be there and must not be empty.
    pub(super) fn required_list(&self, key: &'static str, example: &str) -> Vec<Spanned<String>> {
        let Some(value) = self.get(key) else {
            self.missing(key, example);
            return Vec::new();
        };
        let mend = format!("write a list of texts: {key} = {example}");
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(key, value, value.get_ref(), &mend);
            return Vec::new();
        };
        if items.is_empty() {
            self.problem(key, value.span(), "the list is empty", mend.as_str());
        }
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref() {
                DeValue::String(text) => texts.push(Spanned::new(item.span(), text.clone().into_owned())),
                other => self.wrong_type(key, item, other, &mend),
            }
        }
        texts
    }

    pub(super) fn flag(&self, key: &'static str, default: bool) -> bool {
        let Some(value) = self.get(key) else { return default };
        match value.get_ref() {
            DeValue::Boolean(flag) => *flag,
            other => {
                self.wrong_type(key, value, other, "write true or false, without quotes");
                default
            }
        }
    }

    /// A whole number within `range`.
    pub(super) fn count(&self, key: &'static str, range: RangeInclusive<usize>) -> Option<usize> {
        let value = self.get(key)?;
        let mend = format!("write a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(digits) = value.get_ref() else {
            self.wrong_type(key, value, value.get_ref(), &mend);
            return None;
        };
        match usize::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(count) if range.contains(&count) => Some(count),
            _ => {
                self.problem(key, value.span(), format!("{} is out of range", digits.as_str()), mend);
                None
            }
        }
    }

    /// A duration above zero, such as `"1500ms"` or `"2m 30s"`.
    pub(super) fn duration(&self, key: &'static str, default: Duration) -> Duration {
        self.parsed(key, "a duration", "\"30s\", \"250ms\" or \"2m\"", duration).unwrap_or(default)
    }

    /// A duration above zero, or `"off"` for none.
    pub(super) fn duration_or_off(&self, key: &'static str, default: Duration) -> Option<Duration> {
        let read = |text: &str| if text == "off" { Some(None) } else { duration(text).map(Some) };
        self.parsed(key, "a duration", "\"30s\", \"250ms\", \"2m\" or \"off\"", read).unwrap_or(Some(default))
    }

    /// A number of bytes, such as `"64 KiB"`.
    pub(super) fn size(&self, key: &'static str, default: u64) -> u64 {
        let read = |text: &str| text.parse::<ByteSize>().ok().map(|size| size.as_u64());
        self.parsed(key, "a size", "\"64 KiB\" or \"10 MiB\"", read).unwrap_or(default)
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)], default: T) -> T {
        let list = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        let read = |text: &str| words.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        self.parsed(key, "one of its words", &list, read).unwrap_or(default)
    }

    /// Says that the value of `key` at `span` is wrong.
    pub(super) fn problem(
        &self,
        key: &str,
        span: Range<usize>,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.reader.problem(span.start, &self.path(key), what, mend);
    }

    /// Whether the table has `key` at all.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The line on which the section begins.
    pub(super) fn line(&self) -> usize {
        self.reader.line(self.span.start)
    }

    /// Says that the section itself is wrong.
    pub(super) fn problem_here(&self, what: impl Into<String>, mend: impl Into<String>) {
        self.reader.problem(self.span.start, self.name, what, mend);
    }

    /// Says that the file as a whole is wrong.
    pub(super) fn problem_of_file(&self, what: impl Into<String>, mend: impl Into<String>) {
        self.reader.problem_of_file(what, mend);
    }

    /// Every key has been asked for: whatever else stands in the table is unknown.
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let near = known
                .iter()
                .map(|candidate| (strsim::jaro_winkler(candidate, name), *candidate))
                .filter(|(likeness, _)| *likeness > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let mend = match near {
                Some((_, candidate)) => format!("did you mean `{candidate}`?"),
                None => format!("remove it; the keys known here are {}", known.join(", ")),
            };
            self.problem(name, key.span(), "unknown key", mend);
        }
    }

    /// The raw value, and the key noted as known.
    fn get(&self, key: &'static str) -> Option<&'r Spanned<DeValue<'a>>> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    fn parsed<T>(
        &self,
        key: &'static str,
        kind: &str,
        examples: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let mend = format!("write {examples}");
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(key, value, value.get_ref(), &mend);
            return None;
        };
        let parsed = read(text);
        if parsed.is_none() {
            self.problem(key, value.span(), format!("\"{text}\" is not {kind}"), mend);
        }
        parsed
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, found: &DeValue<'_>, mend: &str) {
        self.problem(key, value.span(), format!("unexpected {}", found.type_str()), mend);
    }

    fn missing(&self, key: &str, example: &str) {
        self.reader.problem(
            self.span.start,
            &self.path(key),
            "the key is missing",
            format!("add {key} = {example} to this section"),
        );
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

fn duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok().filter(|duration| !duration.is_zero())
}
