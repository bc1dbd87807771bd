//! One sample in a process of its own.
//!
//! For workloads whose figure depends on what the process did before: memory that one side gave back to the allocator is
//! there for the other to take, and would not count as newly resident. The program starts itself with `--apart`, and answers
//! itself in one line of JSON.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Case, Form, Setup};
use crate::harness::Sample;
use crate::meter::Usage;

/// Has a process of its own take the sample.
pub(crate) fn sample(case: &Case, setup: &Setup) -> Sample {
    let program = std::env::current_exe().expect("the program does not know where it lies");
    let mut command = Command::new(program);
    command.args(["--apart", case.side.name(), "--only", case.workload, "--variant", case.variant]);
    command.args(["--workers", &setup.workers.to_string()]);
    if setup.form != Form::Full {
        command.arg("--quick");
    }
    let output = command.output().expect("the program could not be started once more");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a sample of {} failed: {complaint}", case.workload);
    read(&String::from_utf8_lossy(&output.stdout)).expect("the answer is not a sample")
}

/// The line that [`sample`] reads.
pub(crate) fn render(sample: &Sample) -> String {
    let notes: Vec<Value> = sample.notes.iter().map(|(name, value)| json!([name, value])).collect();
    json!({
        "ops": sample.ops,
        "elapsed": sample.elapsed.as_secs_f64(),
        "figure": sample.figure,
        "notes": notes,
        "switches": sample.used.voluntary_switches,
        "user": sample.used.user.as_secs_f64(),
        "system": sample.used.system.as_secs_f64(),
    })
    .to_string()
}

fn read(line: &str) -> Option<Sample> {
    let value: Value = serde_json::from_str(line).ok()?;
    let time = |name: &str| Duration::try_from_secs_f64(value[name].as_f64()?).ok();
    // A handful of names for as long as the program runs.
    let name = |text: &str| &*Box::leak(text.to_owned().into_boxed_str());
    let note = |note: &Value| Some((name(note[0].as_str()?), note[1].as_f64()?));
    Some(Sample {
        ops: value["ops"].as_u64()?,
        elapsed: time("elapsed")?,
        figure: value["figure"].as_f64()?,
        notes: value["notes"].as_array()?.iter().map(note).collect::<Option<_>>()?,
        used: Usage {
            voluntary_switches: value["switches"].as_u64()?,
            user: time("user")?,
            system: time("system")?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_survives_the_way_between_processes() {
        let sample = Sample {
            ops: 7,
            elapsed: Duration::from_millis(1500),
            figure: 2.5,
            notes: vec![("p50 ms", 0.25), ("p99.9 ms", 3.0)],
            used: Usage {
                voluntary_switches: 3,
                user: Duration::from_millis(250),
                system: Duration::from_millis(125),
            },
        };
        assert_eq!(read(&render(&sample)), Some(sample));
    }

    #[test]
    fn what_is_no_sample_is_refused() {
        assert_eq!(read("{\"ops\": 1}"), None);
        assert_eq!(read("thread panicked"), None);
    }
}
