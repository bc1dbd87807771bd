//! The results for programs.

use serde_json::{Value, json};

use crate::case::Figure;
use crate::report::{Outcome, Report};

/// The whole report, indented.
pub(crate) fn render(report: &Report) -> String {
    let results: Vec<Value> = report.results.iter().map(result).collect();
    let value = json!({
        "machine": report.machine,
        "commit": report.commit,
        "date": report.date,
        "quick": report.quick,
        "sides": report.rivals.names(),
        "geometric_mean_1_to_19": report.geometric_mean(),
        "results": results,
    });
    format!("{value:#}\n")
}

fn result(result: &Outcome) -> Value {
    let mut extra = json!({
        "number": result.number,
        "must": result.must,
        "pairs": result.pairs,
        "tokio_allocs_per_op": result.tokio.allocations,
        "nezumi_allocs_per_op": result.nezumi.allocations,
        "tokio_voluntary_switches_per_op": result.tokio.switches,
        "nezumi_voluntary_switches_per_op": result.nezumi.switches,
        "cpu_ratio": result.cpu_ratio.value,
        "cpu_ratio_lo": result.cpu_ratio.lo,
        "cpu_ratio_hi": result.cpu_ratio.hi,
        "tokio_cpu_ns_per_op": result.tokio.cpu_ns,
        "nezumi_cpu_ns_per_op": result.nezumi.cpu_ns,
        "tokio_user_cpu_ns_per_op": result.tokio.user_ns,
        "nezumi_user_cpu_ns_per_op": result.nezumi.user_ns,
        "tokio_system_cpu_ns_per_op": result.tokio.system_ns,
        "nezumi_system_cpu_ns_per_op": result.nezumi.system_ns,
    });
    for (side, name) in [(&result.tokio, "tokio"), (&result.nezumi, "nezumi")] {
        if let Some(syscalls) = side.syscalls {
            extra[format!("{name}_syscalls_per_op")] = json!(syscalls);
        }
        for (note, value) in &side.notes {
            extra[format!("{name}_{}", note.replace(' ', "_"))] = json!(value);
        }
    }
    if !result.scaled.is_empty() {
        extra["quick_form"] = json!(result.scaled);
    }
    if let Some((axis, place)) = result.at {
        extra["axis"] = json!(axis);
        extra["place"] = json!(place);
    }
    if let Some(ns) = result.smol_ns {
        extra["smol_ns"] = json!(ns);
    }
    if let Some(share) = result.must_user_cpu {
        extra["must_user_cpu_share"] = json!(share);
    }
    if let Figure::Own(unit) = result.figure {
        extra["figure"] = json!(unit);
        extra["tokio_figure"] = json!(result.tokio.figure);
        extra["nezumi_figure"] = json!(result.nezumi.figure);
    }
    json!({
        "workload": result.workload,
        "variant": result.variant,
        "workers": result.workers,
        "tokio_ns": result.tokio.ns,
        "nezumi_ns": result.nezumi.ns,
        "ratio": result.ratio.value,
        "ratio_lo": result.ratio.lo,
        "ratio_hi": result.ratio.hi,
        "extra": extra,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{report, sample};

    #[test]
    fn the_shape_is_the_one_that_was_agreed() {
        let text =
            render(&report(vec![sample("spawn_join", "", 3.5), sample("timer_churn", "100k pending", 2.0)]));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(["machine", "commit", "date"].iter().all(|name| value[name].is_string()));
        let results = value["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        for result in results {
            assert!(result["workload"].is_string() && result["variant"].is_string());
            assert!(result["workers"].is_u64());
            for key in ["tokio_ns", "nezumi_ns", "ratio", "ratio_lo", "ratio_hi"] {
                assert!(result[key].is_f64(), "{key} of {result}");
            }
            assert!(result["extra"].is_object());
        }
        assert_eq!(results[1]["variant"], "100k pending");
        assert_eq!(results[0]["ratio"], 3.5);
    }

    #[test]
    fn a_figure_that_is_no_time_is_carried_along() {
        let mut sparse = sample("sparse", "", 1.5);
        sparse.figure = Figure::Own("switches per task");
        sparse.tokio.figure = 3.0;
        sparse.nezumi.figure = 2.0;
        let value: Value = serde_json::from_str(&render(&report(vec![sparse]))).unwrap();
        let extra = &value["results"][0]["extra"];
        assert_eq!(extra["figure"], "switches per task");
        assert_eq!(extra["tokio_figure"], 3.0);
        assert_eq!(extra["nezumi_figure"], 2.0);
    }

    #[test]
    fn notes_counts_and_what_was_scaled_are_carried_along() {
        let mut sleepers = sample("million_sleep", "", 2.0);
        sleepers.scaled = "fewer of them";
        sleepers.at = Some(("sleepers", 1e6));
        sleepers.nezumi.notes = vec![("p99.9 ms", 1.5)];
        let value: Value = serde_json::from_str(&render(&report(vec![sleepers]))).unwrap();
        let extra = &value["results"][0]["extra"];
        assert_eq!(extra["nezumi_p99.9_ms"], 1.5);
        assert_eq!(extra["quick_form"], "fewer of them");
        assert_eq!(extra["tokio_syscalls_per_op"], 2.0);
        assert_eq!((&extra["axis"], &extra["place"]), (&json!("sleepers"), &json!(1e6)));
    }
}
