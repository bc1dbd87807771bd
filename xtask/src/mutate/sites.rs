//! Where the orderings of a source file stand, and what weaker ones there are.

/// A source file with one ordering weakened, or one fence left out.
pub(super) struct Mutant {
    /// `function operation ordering -> weaker`, with a number behind it if there are several such.
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) source: String,
}

const ORDERINGS: [&str; 4] = ["SeqCst", "AcqRel", "Acquire", "Release"];

/// All mutants of a file. Its tests and models, which stand at its end, are left alone, and so are comments and imports.
pub(super) fn mutants(source: &str) -> Vec<Mutant> {
    let end = ["\n#[cfg(all(test", "\n#[cfg(test)]\nmod", "\n#[cfg(nezumi_loom)]\nmod models"]
        .iter()
        .filter_map(|mark| {
            source.find(mark).filter(|&at| source[at..].contains("\nmod ") && is_module(source, at))
        })
        .min()
        .unwrap_or(source.len());
    let mut found: Vec<Mutant> = Vec::new();
    let mut start = 0;
    let mut is_import = false;
    for (index, line) in source[..end].split_inclusive('\n').enumerate() {
        let code = &line[..line.find("//").unwrap_or(line.len())];
        is_import |= code.trim_start().starts_with("use ") || code.trim_start().starts_with("pub use ");
        if !is_import {
            for (at, ordering) in words(code) {
                for weaker in weaker(ordering, operation(source, start + at)) {
                    let name = format!(
                        "{} {} {ordering} -> {weaker}",
                        function(source, start + at),
                        operation(source, start + at)
                    );
                    let mutated = replaced(source, start + at, ordering, weaker);
                    found.push(Mutant { name: numbered(&found, name), line: index + 1, source: mutated });
                }
            }
        }
        is_import &= !code.contains(';');
        start += line.len();
    }
    found
}

/// Whether the attribute at `at` is that of an inline module: what follows it to the end of the file are tests.
fn is_module(source: &str, at: usize) -> bool {
    let item = source[at..].lines().skip(1).find(|line| !line.starts_with("#[")).unwrap_or_default();
    item.starts_with("mod ") && item.ends_with('{')
}

/// The orderings in a line of code, and where.
fn words(code: &str) -> Vec<(usize, &'static str)> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut found: Vec<_> = ORDERINGS
        .iter()
        .flat_map(|ordering| code.match_indices(ordering).map(move |(at, _)| (at, *ordering)))
        .filter(|(at, word)| {
            let bytes = code.as_bytes();
            !is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
                && !is_part(bytes.get(at + word.len()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The name of the function whose argument stands at `at`: the nearest opening parenthesis that is not closed before.
fn operation(source: &str, at: usize) -> &str {
    let mut depth = 0;
    for (open, byte) in source[..at].bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' if depth == 0 => {
                let start =
                    source[..open].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
                return &source[start..open];
            }
            b'(' => depth -= 1,
            _ => {}
        }
    }
    ""
}

/// The name of the function in whose body `at` lies, as far as indentation tells.
fn function(source: &str, at: usize) -> &str {
    let Some(start) = source[..at].rfind("fn ").map(|start| start + 3) else { return "" };
    let end = source[start..]
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(source.len(), |len| start + len);
    &source[start..end]
}

/// What an ordering is weakened to. Loom takes `SeqCst` accesses for `AcqRel`, so that the next weaker one would never be noticed.
fn weaker(ordering: &str, operation: &str) -> &'static [&'static str] {
    match (ordering, operation) {
        (_, "fence") => &["no fence"],
        ("AcqRel", _) => &["Acquire", "Release"],
        _ => &["Relaxed"],
    }
}

fn replaced(source: &str, at: usize, ordering: &str, weaker: &str) -> String {
    let (from, to, by) = if weaker == "no fence" {
        // From the first letter of the path to the closing parenthesis.
        let open = source[..at].rfind("fence(").unwrap_or(at);
        let start = source[..open]
            .rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
            .map_or(0, |at| at + 1);
        let close = source[at..].find(')').map_or(at + ordering.len(), |len| at + len + 1);
        (start, close, "()")
    } else {
        (at, at + ordering.len(), weaker)
    };
    // An ordering that was imported by its name has no other beside it, perhaps.
    let path = by != "()" && !source[..from].ends_with("Ordering::");
    let by = if path { format!("::std::sync::atomic::Ordering::{by}") } else { by.to_owned() };
    format!("{}{by}{}", &source[..from], &source[to..])
}

fn numbered(found: &[Mutant], name: String) -> String {
    let is_same = |mutant: &&Mutant| {
        mutant.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
    };
    match found.iter().filter(is_same).count() {
        0 => name,
        before => format!("{name} #{}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::mutants;

    const SOURCE: &str = "\
use std::sync::atomic::{Ordering, fence};
use Ordering::{Acquire, Release};

// A comment: Release.
fn give(&self) {
    self.word.fetch_add(one(), Ordering::AcqRel); // SeqCst
    fence(Ordering::SeqCst);
    self.word.store(1, Release);
    self.word.store(2, Release);
}

#[cfg(all(test, nezumi_loom))]
mod models {
    fn model() { word.load(Acquire); }
}
";

    #[test]
    fn each_ordering_of_the_code_is_weakened_by_itself() {
        let mutants = mutants(SOURCE);
        let names: Vec<_> = mutants.iter().map(|mutant| (mutant.name.as_str(), mutant.line)).collect();
        let expected = [
            ("give fetch_add AcqRel -> Acquire", 6),
            ("give fetch_add AcqRel -> Release", 6),
            ("give fence SeqCst -> no fence", 7),
            ("give store Release -> Relaxed", 8),
            ("give store Release -> Relaxed #2", 9),
        ];
        assert_eq!(names, expected);
        assert!(mutants[0].source.contains("fetch_add(one(), Ordering::Acquire)"));
        assert!(mutants[2].source.contains("\n    ();\n"));
        assert!(mutants[4].source.contains("store(2, ::std::sync::atomic::Ordering::Relaxed)"));
        assert!(mutants[4].source.contains("store(1, Release)"));
    }
}
