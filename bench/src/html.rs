//! The results as one page: nothing outside of it, readable on a phone, light or dark.
//!
//! The drawing is our own SVG: a ratio is a dot with its interval on a logarithmic axis that all rows share, the time per
//! operation is a bar per side. Colours come from the style sheet, so the reader's preference decides.

use std::fmt::Write;

use crate::args::Rivals;
use crate::case::Figure;
use crate::curves;
use crate::report::{Outcome, Report};
use crate::table;

/// The ratios that the axis marks.
const MARKS: [f64; 7] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Of the drawings, in their own units; they scale to the width of the page.
const WIDTH: f64 = 340.0;
/// Leaves room for the side's name before it, the figure and its unit after it.
const LONGEST_BAR: f64 = 160.0;

/// The whole page.
pub(crate) fn render(report: &Report) -> String {
    let mut page = String::from(HEAD);
    let rival = match report.rivals {
        Rivals::TokioAndNezumi => "Tokio and Nezumi, side by side",
        Rivals::TokioTwice => "Tokio against itself",
        Rivals::WithoutWatchAndWith => "Nezumi without its watch and with it",
    };
    let quick = if report.quick { " Quick form: smaller rounds, fewer pairs." } else { "" };
    let _ = write!(
        page,
        "<h1>{rival}</h1>\n<p>{}, commit {}, {}.{quick}</p>\n\
         <p>Ratio: {}; the line through a dot is its 95 % interval, the triangle what \
         it must reach. Times are ns per operation, medians. Absolute times are noise on a shared machine; the ratios are \
         the result.</p>\n",
        escape(&report.machine),
        escape(&report.commit),
        escape(&report.date),
        report.rivals.ratio(),
    );
    if let Some(mean) = report.geometric_mean() {
        let _ = writeln!(page, "<p class=\"mean\">Geometric mean of 1 to 19: <b>{mean:.2}</b></p>");
    }
    for group in report.results.chunk_by(|a, b| a.workload == b.workload) {
        section(&mut page, group);
    }
    numbers(&mut page, report);
    page.push_str("</main></body></html>\n");
    page
}

/// One workload: what it does, and each variant at each number of workers.
fn section(page: &mut String, group: &[Outcome]) {
    let first = &group[0];
    let one_question = group.iter().all(|row| row.what == first.what);
    let what = if one_question { first.what } else { "" };
    let scaled = match first.scaled {
        "" => String::new(),
        scaled => format!("<p>The quick form is not what the definition says: {}.</p>", escape(scaled)),
    };
    let _ = writeln!(
        page,
        "<section><h2>{}. {}</h2><p>{}</p>{scaled}{}",
        first.number,
        escape(first.workload),
        escape(what),
        axis()
    );
    let dearest = group.iter().flat_map(|row| [row.tokio.ns, row.nezumi.ns]).fold(0.0, f64::max);
    for row in group {
        let mut label = match row.variant {
            "" => format!("{} workers", row.workers),
            variant => format!("{variant}, {} workers", row.workers),
        };
        if !one_question {
            let _ = write!(label, ": {}", row.what);
        }
        let verdict = if row.ratio.hi < row.must { "short" } else { "good" };
        let _ = writeln!(
            page,
            "<figure><figcaption>{} <b class=\"{verdict}\">{:.2}</b></figcaption>{}{}{}</figure>",
            escape(&label),
            row.ratio.value,
            dot(row, verdict),
            bars(row, dearest),
            notes(row),
        );
    }
    for curve in curves::of(group) {
        let (title, svg) = (escape(&curve.title()), curve.svg());
        let _ = writeln!(page, "<figure><figcaption>{title}</figcaption>{svg}</figure>");
    }
    page.push_str("</section>\n");
}

/// What was noted besides, each as Tokio's / ours.
fn notes(row: &Outcome) -> String {
    let pairs = row.tokio.notes.iter().zip(&row.nezumi.notes);
    let note = |((name, tokio), (_, nezumi)): (&(&str, f64), &(&str, f64))| {
        format!("{}: {} / {}", escape(name), table::figure(*tokio), table::figure(*nezumi))
    };
    let notes: Vec<String> = pairs.map(note).collect();
    if notes.is_empty() { String::new() } else { format!("<p class=\"notes\">{}</p>", notes.join("; ")) }
}

/// Where a ratio lies on the axis.
fn across(ratio: f64) -> f64 {
    let (first, last) = (MARKS[0].ln(), MARKS[MARKS.len() - 1].ln());
    let share = (ratio.max(f64::MIN_POSITIVE).ln() - first) / (last - first);
    8.0 + share.clamp(0.0, 1.0) * (WIDTH - 16.0)
}

fn axis() -> String {
    let mut svg = open(14.0, "ratio axis");
    for mark in MARKS {
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"11\" text-anchor=\"middle\">{mark}</text>", across(mark));
    }
    svg + "</svg>"
}

fn dot(row: &Outcome, verdict: &str) -> String {
    let mut svg = open(16.0, "ratio with interval");
    for mark in MARKS {
        let class = if mark == 1.0 { "one" } else { "mark" };
        let x = across(mark);
        let _ = write!(svg, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"16\"/>");
    }
    let (lo, at, hi, must) =
        (across(row.ratio.lo), across(row.ratio.value), across(row.ratio.hi), across(row.must));
    let _ = write!(
        svg,
        "<path class=\"must\" d=\"M{must:.1} 9l-4 7h8z\"/>\
         <line class=\"{verdict} range\" x1=\"{lo:.1}\" x2=\"{hi:.1}\" y1=\"7\" y2=\"7\"/>\
         <circle class=\"{verdict}\" cx=\"{at:.1}\" cy=\"7\" r=\"4\"/></svg>"
    );
    svg
}

fn bars(row: &Outcome, dearest: f64) -> String {
    let (tokio, nezumi, unit) = match row.figure {
        Figure::Own(unit) => (row.tokio.figure, row.nezumi.figure, unit),
        Figure::Time => (row.tokio.ns, row.nezumi.ns, "ns"),
    };
    let widest = if unit == "ns" { dearest } else { tokio.max(nezumi) };
    let mut sides = vec![("tokio", tokio), ("nezumi", nezumi)];
    sides.extend(row.smol_ns.map(|ns| ("smol", ns)));
    let mut svg = open(sides.len() as f64 * 15.0, "figure of each side");
    for (i, (side, value)) in sides.into_iter().enumerate() {
        let (y, width) = (i as f64 * 15.0, (value / widest).min(1.0) * LONGEST_BAR);
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.0}\">{side}</text><rect class=\"{side}\" x=\"48\" y=\"{:.0}\" width=\"{width:.1}\" \
             height=\"10\"/><text x=\"{:.1}\" y=\"{:.0}\">{} {}</text>",
            y + 10.0,
            y + 2.0,
            53.0 + width,
            y + 10.0,
            table::figure(value),
            escape(unit),
        );
    }
    svg + "</svg>"
}

/// All figures, for those who read tables. It scrolls within itself on a narrow screen.
fn numbers(page: &mut String, report: &Report) {
    page.push_str(
        "<section><h2>All figures</h2><p>Pairs are Tokio / Nezumi, per operation.</p><div class=\"wide\"><table><tr><th>#\
         </th><th>workload</th><th>workers</th><th>ns</th><th>ratio</th><th>95 %</th><th>must</th><th>CPU ratio</th><th>allocations</th>\
         <th>voluntary switches</th><th>system calls</th><th>user CPU ns</th><th>system CPU ns</th><th>pairs</th></tr>\n",
    );
    for row in &report.results {
        let (tokio, nezumi) = (&row.tokio, &row.nezumi);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{} / {}</td><td>{:.2}</td><td>{:.2}..{:.2}</td><td>{}</td><td>{:.2}</td>\
             <td>{:.2} / {:.2}</td><td>{:.4} / {:.4}</td><td>{}</td><td>{:.0} / {:.0}</td><td>{:.0} / {:.0}</td><td>{}</td></tr>",
            row.number,
            escape(&row.name()),
            row.workers,
            table::figure(tokio.ns),
            table::figure(nezumi.ns),
            row.ratio.value,
            row.ratio.lo,
            row.ratio.hi,
            row.must,
            row.cpu_ratio.value,
            tokio.allocations,
            nezumi.allocations,
            tokio.switches,
            nezumi.switches,
            table::syscalls(row),
            tokio.user_ns,
            nezumi.user_ns,
            tokio.system_ns,
            nezumi.system_ns,
            row.pairs,
        );
    }
    page.push_str("</table></div></section>\n");
}

fn open(height: f64, label: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEAD: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Tokio and Nezumi, side by side</title>
<style>
:root { color-scheme: light dark; --ground: #fdfdfb; --ink: #22252a; --faint: #c9ccd1; --tokio: #8a93a0; --nezumi: #2f6fb2;
  --smol: #b9a26a; --good: #2d7f4f; --short: #b5402f; }
@media (prefers-color-scheme: dark) { :root { --ground: #17191c; --ink: #e4e6e9; --faint: #43474d; --tokio: #7d8692;
  --nezumi: #6aa6e3; --smol: #cbb67f; --good: #6cc28f; --short: #e58272; } }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }
main { max-width: 42rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 0.2rem; } p { margin: 0.3rem 0; }
figure { margin: 0.8rem 0; } figcaption { font-size: 0.9rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 10px; }
.mark { stroke: var(--faint); } .one { stroke: var(--ink); stroke-width: 1.5; } .must { fill: var(--faint); }
.range { stroke-width: 2; } line.good { stroke: var(--good); } line.short { stroke: var(--short); }
circle.good { fill: var(--good); } circle.short { fill: var(--short); } b.good { color: var(--good); }
b.short { color: var(--short); } rect.tokio { fill: var(--tokio); } rect.nezumi { fill: var(--nezumi); }
rect.smol { fill: var(--smol); } polyline { fill: none; stroke-width: 1.5; }
.notes { font-size: 0.85rem; } polyline.tokio { stroke: var(--tokio); } polyline.nezumi { stroke: var(--nezumi); }
circle.tokio { fill: var(--tokio); } circle.nezumi { fill: var(--nezumi); } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; } th, td { padding: 0.2rem 0.6rem; text-align: right;
  white-space: nowrap; border-bottom: 1px solid var(--faint); } td:nth-child(2), th:nth-child(2) { text-align: left; }
</style></head><body><main>
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{report, sample};

    fn page() -> String {
        let mut results = vec![sample("spawn_join", "", 3.5), sample("timer_churn", "a <b> variant", 0.01)];
        results[1].scaled = "smaller & faster";
        results[1].tokio.notes = vec![("p50 <ms>", 3.0)];
        results[1].nezumi.notes = vec![("p50 <ms>", 1.5)];
        for place in [1.0, 10.0, 100.0] {
            let mut point = sample("growth", "", 2.0);
            point.at = Some(("tasks", place));
            results.push(point);
        }
        render(&report(results))
    }

    #[test]
    fn growth_notes_and_what_was_scaled_are_shown() {
        let page = page();
        assert_eq!(page.matches("<polyline").count(), 2);
        assert!(page.contains("p50 &lt;ms&gt;: 3.00 / 1.50"));
        assert!(page.contains("smaller &amp; faster"));
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        let page = page();
        for word in ["http:", "https:", "src=", "@import", "url(", "<script"] {
            assert!(!page.contains(word), "the page has {word}");
        }
    }

    #[test]
    fn what_is_opened_is_closed() {
        let page = page();
        for tag in ["svg", "figure", "section", "table", "tr", "main", "html", "style"] {
            let opened =
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
            assert!(opened > 0, "{tag}");
        }
    }

    #[test]
    fn names_cannot_break_the_page() {
        let page = page();
        assert!(page.contains("a &lt;b&gt; variant") && page.contains("a &lt;machine&gt;"));
        assert!(!page.contains("a <b>"));
    }

    #[test]
    fn a_ratio_off_the_axis_stays_on_the_page() {
        assert_eq!(across(0.0), 8.0);
        assert_eq!(across(1e9), WIDTH - 8.0);
        assert!(across(1.0) < across(2.0));
    }
}
