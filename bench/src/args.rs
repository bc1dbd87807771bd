//! The command line.

use crate::case::Side;

pub(crate) const USAGE: &str = "\
cargo run --release -- [OPTIONS]

  --quick            smaller rounds and fewer pairs: minutes, not an hour
  --only NAME,…      only these workloads (by name, or by number)
  --variant TEXT     only the variant of exactly this name
  --workers N,…      at these numbers of workers, where the workload does not fix its own (default 1,2,4)
  --pairs N          so many pairs of samples (at least 4; default 20, with --quick 10)
  --json FILE        write the results as JSON
  --html FILE        write the results as one page
  --profile SIDE     only tokio, nezumi or unwatched (nezumi without its watch), over and over, for a profiler to look at
  --rounds N         with --profile: one runtime and so many rounds after the first, for a profiler that counts
  --apart SIDE       one sample of one side, as JSON: what a run asks a process of its own for
  --self-check       Tokio against Tokio: every ratio should come out as 1
  --watch-check      Nezumi without its watch against Nezumi with it: the same
  --floor            what the kernel alone makes of `interference` and `rescue`: a thread for each connection, naps; no runtime
  --gate             fail if a workload misses what it must reach
  --list             say what there is
  --help             this
";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) quick: bool,
    pub(crate) only: Vec<String>,
    pub(crate) workers: Vec<usize>,
    pub(crate) pairs: usize,
    pub(crate) json: Option<String>,
    pub(crate) html: Option<String>,
    pub(crate) profile: Option<Side>,
    pub(crate) rounds: Option<usize>,
    pub(crate) apart: Option<Side>,
    pub(crate) variant: Option<String>,
    pub(crate) rivals: Rivals,
    pub(crate) gate: bool,
    pub(crate) floor: bool,
    pub(crate) list: bool,
}

/// Who is compared with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rivals {
    TokioAndNezumi,
    /// Tokio with itself: what the benchmark is worth.
    TokioTwice,
    /// Nezumi with itself: what its watch costs.
    WithoutWatchAndWith,
}

impl Rivals {
    /// Whether both should come out alike.
    pub(crate) fn are_one(self) -> bool {
        self != Rivals::TokioAndNezumi
    }

    /// Whose figure is divided by whose, for a reader.
    pub(crate) fn ratio(self) -> &'static str {
        match self {
            Rivals::TokioAndNezumi => "Tokio's figure over ours, more is better",
            Rivals::TokioTwice => "Tokio's figure over its own",
            Rivals::WithoutWatchAndWith => "the figure without the watch over that with it",
        }
    }

    pub(crate) fn names(self) -> [&'static str; 2] {
        match self {
            Rivals::TokioAndNezumi => ["tokio", "nezumi"],
            Rivals::TokioTwice => ["tokio", "again"],
            Rivals::WithoutWatchAndWith => ["unwatched", "nezumi"],
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Run(Args),
    Help,
}

/// Reads the arguments that follow the program's name. The complaint names the argument.
pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Parsed, String> {
    let mut args = Args {
        quick: false,
        only: Vec::new(),
        workers: vec![1, 2, 4],
        pairs: 0,
        json: None,
        html: None,
        profile: None,
        rounds: None,
        apart: None,
        variant: None,
        rivals: Rivals::TokioAndNezumi,
        gate: false,
        floor: false,
        list: false,
    };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--quick" => args.quick = true,
            "--only" => args.only = value()?.split(',').map(|name| name.trim().to_owned()).collect(),
            "--workers" => args.workers = numbers(&word, &value()?)?,
            "--pairs" => args.pairs = number(&word, &value()?)?,
            "--json" => args.json = Some(value()?),
            "--html" => args.html = Some(value()?),
            "--profile" => args.profile = Some(side(&word, &value()?)?),
            "--rounds" => args.rounds = Some(number(&word, &value()?)?),
            "--apart" => args.apart = Some(side(&word, &value()?)?),
            "--variant" => args.variant = Some(value()?),
            "--self-check" => args.rivals = Rivals::TokioTwice,
            "--watch-check" => args.rivals = Rivals::WithoutWatchAndWith,
            "--gate" => args.gate = true,
            "--floor" => args.floor = true,
            "--list" => args.list = true,
            "--help" | "-h" => return Ok(Parsed::Help),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    if [args.profile, args.apart].contains(&Some(Side::Unwatched)) {
        args.rivals = Rivals::WithoutWatchAndWith;
    }
    if args.pairs == 0 {
        args.pairs = if args.quick { 10 } else { 20 };
    }
    if args.pairs < 4 {
        return Err("--pairs wants at least 4: fewer have no interval to speak of".to_owned());
    }
    if args.rounds.is_some() && args.profile.is_none() {
        return Err("--rounds wants --profile: only one side is counted at a time".to_owned());
    }
    Ok(Parsed::Run(args))
}

fn side(word: &str, text: &str) -> Result<Side, String> {
    match text {
        "tokio" => Ok(Side::Tokio),
        "nezumi" => Ok(Side::Nezumi),
        "unwatched" => Ok(Side::Unwatched),
        _ => Err(format!("{word} wants tokio, nezumi or unwatched, not {text:?}")),
    }
}

fn numbers(word: &str, list: &str) -> Result<Vec<usize>, String> {
    list.split(',').map(|text| number(word, text)).collect()
}

fn number(word: &str, text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{word} wants numbers above 0, not {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Parsed, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn args(line: &str) -> Args {
        match read(line) {
            Ok(Parsed::Run(args)) => args,
            other => panic!("{line:?} gave {other:?}"),
        }
    }

    #[test]
    fn nothing_said_means_everything_in_full() {
        let args = args("");
        assert!(!args.quick && !args.gate && args.rivals == Rivals::TokioAndNezumi && args.only.is_empty());
        assert_eq!(args.workers, [1, 2, 4]);
        assert_eq!(args.pairs, 20);
    }

    #[test]
    fn every_option_is_heard() {
        let args = args(
            "--quick --only spawn_join,16 --workers 1,8 --pairs 12 --json a.json --html b.html --self-check --gate --list",
        );
        assert!(args.quick && args.rivals == Rivals::TokioTwice && args.gate && args.list);
        assert_eq!(args.only, ["spawn_join", "16"]);
        assert_eq!(args.workers, [1, 8]);
        assert_eq!(args.pairs, 12);
        assert_eq!(args.json.as_deref(), Some("a.json"));
        assert_eq!(args.html.as_deref(), Some("b.html"));
    }

    #[test]
    fn a_side_can_be_profiled() {
        assert_eq!(args("--profile nezumi").profile, Some(Side::Nezumi));
        assert_eq!(args("--profile tokio").profile, Some(Side::Tokio));
        assert_eq!(args("--profile nezumi --rounds 3").rounds, Some(3));
        assert_eq!(args("--profile unwatched").rivals, Rivals::WithoutWatchAndWith);
    }

    #[test]
    fn quick_takes_ten_pairs() {
        assert_eq!(args("--quick").pairs, 10);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for line in [
            "--fast",
            "--only",
            "--workers 0",
            "--workers two",
            "--pairs 3",
            "--json",
            "--profile smol",
            "--rounds 3",
        ] {
            assert!(read(line).is_err(), "{line:?} was taken");
        }
    }

    #[test]
    fn help_wins() {
        assert_eq!(read("--quick --help"), Ok(Parsed::Help));
    }
}
