//! Tokio and Nezumi, side by side.
//!
//! Every workload is one file that asks one question, compiled once per runtime from the same source. Both sides run in
//! this one process and take turns (A B B A …), so that what disturbs one disturbs the other. Absolute figures are noise
//! on a shared machine; the ratios are the result.
//!
//! In reading order: `case` (what a workload says of itself) → `workloads/` (one file per question) → `on_*` (the same
//! files, once per runtime) → `harness` (turns, warm-up, samples) with `meter` and `stats` below it → `report` (one
//! result) → `table`, `json`, `html` (three ways to show it) and `gate` (what must hold).

// The files of `workloads/` are loaded once per runtime: that is the point.
#![allow(clippy::duplicate_mod)]

mod apart;
mod args;
mod case;
mod curves;
mod floor;
mod gate;
mod harness;
mod html;
mod http;
mod json;
mod load;
mod machine;
mod meter;
mod on_nezumi;
mod on_smol;
mod on_tokio;
mod open_loop;
mod report;
#[cfg(test)]
mod sides;
mod signal;
mod stats;
mod syscalls;
mod table;

use std::process::ExitCode;

use args::{Args, Parsed, Rivals};
use harness::Pace;
use report::Report;

#[global_allocator]
static ALLOCATOR: meter::CountingAllocator = meter::CountingAllocator;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(Parsed::Run(args)) => args,
        Ok(Parsed::Help) => {
            print!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(complaint) => {
            eprintln!("{complaint}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    if args.floor {
        return match floor::show(args.quick, args.pairs) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the load could not be carried out: {error}");
                ExitCode::FAILURE
            }
        };
    }
    if args.list {
        table::list(&on_tokio::all());
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(complaint) => {
            eprintln!("{complaint}");
            ExitCode::from(2)
        }
    }
}

/// Measures, shows, writes. False if a gate was asked for and something missed it.
fn run(args: &Args) -> Result<bool, String> {
    meter::allow_many_files();
    let [first, second] = match args.rivals {
        Rivals::TokioAndNezumi => [on_tokio::all(), on_nezumi::all()],
        Rivals::TokioTwice => [on_tokio::all(), on_tokio::all()],
        Rivals::WithoutWatchAndWith => on_nezumi::without_watch_and_with(),
    };
    let contests = harness::contests(first, second, on_smol::all(), args)?;

    if let Some(side) = args.apart {
        for contest in &contests {
            println!("{}", apart::render(&contest.sample(side, &Pace::of(args))));
        }
        return Ok(true);
    }
    if let Some(side) = args.profile {
        for contest in &contests {
            if let Some(rounds) = args.rounds {
                println!("{}", contest.rounds(side, rounds));
                continue;
            }
            let (name, ns) = contest.profile(side, &Pace::of(args));
            println!("{name}: {} ns", table::figure(ns));
        }
        return Ok(true);
    }

    let mut report = Report::new(args);
    let mut shown = table::Printer::new(args.rivals);
    for contest in &contests {
        let result = contest.run(&Pace::of(args));
        shown.row(&result);
        report.results.push(result);
    }
    shown.summary(&report);

    if let Some(path) = &args.json {
        write(path, &json::render(&report))?;
    }
    if let Some(path) = &args.html {
        write(path, &html::render(&report))?;
    }
    let missed = gate::missed(&report);
    table::missed(&missed);
    Ok(!args.gate || missed.is_empty())
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {path}: {error}"))
}
