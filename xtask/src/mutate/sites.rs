//! Where the orderings of a source file stand, what weaker ones there are, and the source in which a switch stands in their place.

use std::fmt::Write;
use std::ops::Range;

/// An ordering in a source file, or a fence.
pub(super) struct Site {
    pub(super) line: usize,
    /// The path of the ordering, or the whole call of the fence.
    place: Range<usize>,
    /// At most two.
    pub(super) mutants: Vec<Mutant>,
}

/// An ordering weakened, or a fence left out.
pub(super) struct Mutant {
    /// `function operation ordering -> weaker`, with a number behind it if there are several such.
    pub(super) name: String,
    /// None for a fence.
    weaker: Option<&'static str>,
}

const ORDERINGS: [&str; 4] = ["SeqCst", "AcqRel", "Acquire", "Release"];
/// A fence that is there for loom only is called by this name.
const LOOM_FENCE: &str = "loom_fence";

/// All sites of a file. Its tests and models, which stand at its end, are left alone, and so are comments and imports.
pub(super) fn sites(source: &str) -> Vec<Site> {
    let end = ["\n#[cfg(all(test", "\n#[cfg(test)]\nmod", "\n#[cfg(nezumi_loom)]\nmod models"]
        .iter()
        .flat_map(|mark| source.match_indices(mark))
        .filter_map(|(at, _)| is_module(source, at).then_some(at))
        .min()
        .unwrap_or(source.len());
    let mut found: Vec<Site> = Vec::new();
    let mut imports = String::new();
    let mut start = 0;
    let mut is_import = false;
    for (index, line) in source[..end].split_inclusive('\n').enumerate() {
        let code = &line[..line.find("//").unwrap_or(line.len())];
        is_import |= code.trim_start().starts_with("use ") || code.trim_start().starts_with("pub use ");
        if is_import {
            imports.push_str(code);
        } else {
            for (at, word) in words(code) {
                if let Some(site) = site(source, start + at, word, index + 1, &imports, &found) {
                    found.push(site);
                }
            }
        }
        is_import &= !code.contains(';');
        start += line.len();
    }
    found
}

/// `source` with a switch at each site. The mutants are numbered in order, from `first` on.
pub(super) fn switched(source: &str, sites: &[Site], first: u32) -> String {
    let (mut text, mut done, mut number) = (String::new(), 0, first);
    for site in sites {
        let strong = &source[site.place.clone()];
        text.push_str(&source[done..site.place.start]);
        done = site.place.end;
        if site.mutants[0].weaker.is_none() {
            write!(text, "crate::mutant::fence({number}, || {strong})")
        } else {
            let weaker: Vec<_> = (number..)
                .zip(site.mutants.iter().filter_map(|mutant| mutant.weaker))
                .map(|(number, weaker)| format!("({number}, std::sync::atomic::Ordering::{weaker})"))
                .collect();
            write!(text, "crate::mutant::ordering({strong}, &[{}])", weaker.join(", "))
        }
        .expect("a string takes all");
        number += u32::try_from(site.mutants.len()).expect("there are few");
    }
    text + &source[done..]
}

/// Whether the attribute at `at` is that of an inline module: what follows it to the end of the file are tests.
fn is_module(source: &str, at: usize) -> bool {
    let item = source[at + 1..].lines().skip(1).find(|line| !line.starts_with("#[")).unwrap_or_default();
    item.starts_with("mod ") && item.ends_with('{')
}

/// The words in a line of code that could be sites, and where.
fn words(code: &str) -> Vec<(usize, &'static str)> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut found: Vec<_> = ORDERINGS
        .iter()
        .chain(&[LOOM_FENCE])
        .flat_map(|word| code.match_indices(word).map(move |(at, _)| (at, *word)))
        .filter(|(at, word)| {
            let bytes = code.as_bytes();
            !is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
                && !is_part(bytes.get(at + word.len()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The site at `at`, if the word there is not another thing of that name.
fn site(
    source: &str,
    at: usize,
    word: &'static str,
    line: usize,
    imports: &str,
    found: &[Site],
) -> Option<Site> {
    let path = path_start(source, at);
    let (operation, place) = if word == LOOM_FENCE {
        let is_call = source[at + word.len()..].starts_with("()") && !source[..at].ends_with("fn ");
        (word, is_call.then_some(path..at + word.len() + 2)?)
    } else {
        let is_ordering = source[..at].ends_with("Ordering::") || is_imported(imports, word);
        let operation = is_ordering.then(|| operation(source, at))?;
        match operation {
            "fence" => {
                let open = source[..at].rfind("fence(").expect("it is the operation");
                let close = source[at..].find(')').map_or(source.len(), |len| at + len + 1);
                (operation, path_start(source, open)..close)
            }
            _ => (operation, path..at + word.len()),
        }
    };
    let mut mutants: Vec<Mutant> = Vec::new();
    for weaker in weaker(word, operation) {
        let function = function(source, at);
        let name = match weaker {
            None if word == LOOM_FENCE => format!("{function} {LOOM_FENCE} -> no fence"),
            None => format!("{function} fence {word} -> no fence"),
            Some(weaker) => format!("{function} {operation} {word} -> {weaker}"),
        };
        let before = found.iter().flat_map(|site| &site.mutants).chain(&mutants);
        let name = numbered(before, name);
        mutants.push(Mutant { name, weaker: *weaker });
    }
    Some(Site { line, place, mutants })
}

/// Where the path starts that ends in the word at `at`.
fn path_start(source: &str, at: usize) -> usize {
    source[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').map_or(0, |at| at + 1)
}

/// Whether an ordering may be called by this name alone.
fn is_imported(imports: &str, ordering: &str) -> bool {
    imports.split("Ordering::").skip(1).any(|rest| {
        let end = rest.find(['}', ';']).unwrap_or(rest.len());
        words(&rest[..end]).iter().any(|(_, word)| *word == ordering)
    })
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

/// The name of the function in whose body `at` lies: the last that was begun before.
fn function(source: &str, at: usize) -> &str {
    let Some(start) = source[..at].rfind("fn ").map(|start| start + 3) else { return "" };
    let end = source[start..]
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(source.len(), |len| start + len);
    &source[start..end]
}

/// What a site is weakened to. Loom takes `SeqCst` accesses for `AcqRel`, so that the next weaker one would never be noticed.
fn weaker(word: &str, operation: &str) -> &'static [Option<&'static str>] {
    match (word, operation) {
        (_, "fence" | LOOM_FENCE) => &[None],
        ("AcqRel", _) => &[Some("Acquire"), Some("Release")],
        _ => &[Some("Relaxed")],
    }
}

fn numbered<'a>(found: impl Iterator<Item = &'a Mutant>, name: String) -> String {
    let is_same = |mutant: &&Mutant| {
        mutant.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
    };
    match found.filter(is_same).count() {
        0 => name,
        before => format!("{name} #{}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{sites, switched};

    const SOURCE: &str = "\
use std::sync::atomic::{Ordering, fence};
use Ordering::{Acquire, Release};

// A comment: Release.
fn give(&self) {
    self.word.fetch_add(one(), Ordering::AcqRel); // SeqCst
    fence(Ordering::SeqCst);
    self.word.store(1, Release);
    self.word.store(2, Release);
    loom_fence();
    let another = thing(SeqCst);
}

fn loom_fence() {}

#[cfg(all(test, nezumi_loom))]
mod models;

fn take(&self) {
    self.word.load(Acquire);
}

#[cfg(all(test, nezumi_loom))]
mod inline {
    fn model() { word.load(Acquire); }
}
";

    #[test]
    fn each_ordering_of_the_code_is_weakened_by_itself() {
        let sites = sites(SOURCE);
        let named = |site: &super::Site| {
            let line = site.line;
            site.mutants.iter().map(move |mutant| (mutant.name.clone(), line)).collect::<Vec<_>>()
        };
        let names: Vec<_> = sites.iter().flat_map(named).collect();
        let expected = [
            ("give fetch_add AcqRel -> Acquire", 6),
            ("give fetch_add AcqRel -> Release", 6),
            ("give fence SeqCst -> no fence", 7),
            ("give store Release -> Relaxed", 8),
            ("give store Release -> Relaxed #2", 9),
            ("give loom_fence -> no fence", 10),
            ("take load Acquire -> Relaxed", 20),
        ];
        assert_eq!(names, expected.map(|(name, line)| (name.to_owned(), line)));
    }

    #[test]
    fn a_switch_stands_where_an_ordering_stood() {
        let text = switched(SOURCE, &sites(SOURCE), 7);
        let expected = [
            "    self.word.fetch_add(one(), crate::mutant::ordering(Ordering::AcqRel, \
             &[(7, std::sync::atomic::Ordering::Acquire), (8, std::sync::atomic::Ordering::Release)])); // SeqCst\n",
            "    crate::mutant::fence(9, || fence(Ordering::SeqCst));\n",
            "    self.word.store(2, crate::mutant::ordering(Release, &[(11, std::sync::atomic::Ordering::Relaxed)]));\n",
            "    crate::mutant::fence(12, || loom_fence());\n    let another = thing(SeqCst);\n}\n\nfn loom_fence() {}\n",
            "    fn model() { word.load(Acquire); }\n",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }
}
