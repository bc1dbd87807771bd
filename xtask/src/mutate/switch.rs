//! Put into each crate that is mutated, as `mutant`: at every site it says what ordering holds, by the environment.
//!
//! `NEZUMI_MUTANT` is the number of the mutant that lives in this process. If `NEZUMI_MUTANTS_SEEN` names a file, the numbers of the mutants
//! whose sites are passed go into it; a program has several of these modules, one of each crate, that share it.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What holds where `strong` stood.
pub(crate) fn ordering(strong: Ordering, weaker: &[(u32, Ordering)]) -> Ordering {
    let mut now = strong;
    for &(number, weaker) in weaker {
        if lives(number) {
            now = weaker;
        }
    }
    now
}

/// Runs the fence, unless it is the one to be left out.
pub(crate) fn fence(number: u32, fence: impl FnOnce()) {
    if !lives(number) {
        fence();
    }
}

fn lives(number: u32) -> bool {
    static LIVE: OnceLock<u32> = OnceLock::new();
    note(number);
    let live = LIVE.get_or_init(|| {
        std::env::var("NEZUMI_MUTANT").map_or(0, |number| number.parse().expect("a mutant has a number"))
    });
    number == *live
}

fn note(number: u32) {
    static FILE: OnceLock<Option<std::fs::File>> = OnceLock::new();
    static SEEN: [AtomicBool; 1024] = [const { AtomicBool::new(false) }; 1024];
    let file = FILE.get_or_init(|| {
        std::env::var_os("NEZUMI_MUTANTS_SEEN")
            .map(|path| std::fs::OpenOptions::new().create(true).append(true).open(path))
            .map(|file| file.expect("the file of what is seen"))
    });
    if let Some(mut file) = file.as_ref()
        && !SEEN[number as usize].swap(true, Ordering::Relaxed)
    {
        writeln!(file, "{number}").expect("the file of what is seen");
    }
}
