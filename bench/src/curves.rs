//! How the cost of an operation grows with the number of things.
//!
//! One drawing per axis and number of workers, both axes logarithmic: a cost that does not grow is a level line, one that
//! grows in proportion rises as steeply as it runs.

use std::fmt::Write;

use crate::case::Figure;
use crate::report::Outcome;
use crate::table;

/// Fewer are no curve.
const FEWEST_POINTS: usize = 3;
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = HEIGHT - 32.0;

/// What both sides cost along one axis.
#[derive(Debug, PartialEq)]
pub(crate) struct Curve {
    axis: &'static str,
    /// None where it is their number that grows.
    workers: Option<usize>,
    unit: &'static str,
    /// By place.
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    place: f64,
    tokio: f64,
    nezumi: f64,
}

/// One side's.
type Cost = fn(&Point) -> f64;

/// All that can be drawn of one workload's results.
pub(crate) fn of(results: &[Outcome]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for result in results {
        let Some((axis, place)) = result.at else { continue };
        let workers =
            (place != result.workers as f64 || !axis.starts_with("workers")).then_some(result.workers);
        let (unit, tokio, nezumi) = match result.figure {
            Figure::Time => ("ns", result.tokio.ns, result.nezumi.ns),
            Figure::Own(unit) => (unit, result.tokio.figure, result.nezumi.figure),
        };
        let point = Point { place, tokio, nezumi };
        match curves.iter_mut().find(|curve| curve.axis == axis && curve.workers == workers) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { axis, workers, unit, points: vec![point] }),
        }
    }
    curves.retain(|curve| curve.points.len() >= FEWEST_POINTS);
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.place.total_cmp(&b.place));
    }
    curves
}

impl Curve {
    /// What it shows, in a few words.
    pub(crate) fn title(&self) -> String {
        let workers = self.workers.map_or_else(String::new, |workers| format!(", {workers} workers"));
        format!("{} against {}{workers}", self.unit, self.axis)
    }

    pub(crate) fn svg(&self) -> String {
        let x = self.x();
        let y = self.y();
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"growth\">");
        for mark in y.marks() {
            let at = y.at(mark);
            let _ = write!(
                svg,
                "<line class=\"mark\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                at + 3.5,
                short(mark)
            );
        }
        for point in &self.points {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x.at(point.place),
                BOTTOM + 14.0,
                short(point.place)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><text x=\"0\" y=\"10\">{}</text>",
            BOTTOM + 27.0,
            self.axis,
            self.unit
        );
        for (side, of) in self.sides() {
            self.line(&mut svg, side, of, &x, &y);
        }
        svg + "</svg>"
    }

    fn line(&self, svg: &mut String, side: &str, of: Cost, x: &Log, y: &Log) {
        let at = |point: &Point| (x.at(point.place), y.at(of(point)));
        let path: Vec<String> = self.points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(svg, "<polyline class=\"{side}\" points=\"{}\"/>", path.join(" "));
        for point in &self.points {
            let (x, y) = at(point);
            let _ = write!(
                svg,
                "<circle class=\"{side}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{side}: {} {} at {}</title></circle>",
                table::figure(of(point)),
                self.unit,
                short(point.place)
            );
        }
    }

    fn sides(&self) -> [(&'static str, Cost); 2] {
        [("tokio", |point| point.tokio), ("nezumi", |point| point.nezumi)]
    }

    fn x(&self) -> Log {
        Log::over(self.points.iter().map(|point| point.place), LEFT + 10.0, RIGHT - 10.0)
    }

    /// A little more than what is needed, so that no line runs along the edge.
    fn y(&self) -> Log {
        let costs = || self.points.iter().flat_map(|point| [point.tokio, point.nezumi]);
        let least = costs().fold(f64::INFINITY, f64::min);
        let most = costs().fold(0.0, f64::max);
        Log::over([least / 1.5, most * 1.5].into_iter(), BOTTOM, TOP)
    }
}

/// A logarithmic axis.
struct Log {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Log {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Log {
        let (least, most) =
            values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        let least = least.max(f64::MIN_POSITIVE);
        // All in one place is a place, too.
        let most = if most > least { most } else { least * 2.0 };
        Log { least, most, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.least) / self.least).ln() / (self.most / self.least).ln();
        self.from + share.min(1.0) * (self.to - self.from)
    }

    /// Round numbers: the fewest of 1, of 1 2 5 or of all digits that are at least two.
    fn marks(&self) -> Vec<f64> {
        let decades = || self.least.log10().floor() as i32..=self.most.log10().ceil() as i32;
        let of = |digits: &[f64]| -> Vec<f64> {
            let all = decades().flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
            all.filter(|mark| (self.least..=self.most).contains(mark)).collect()
        };
        let choices: [&[f64]; 3] = [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]];
        choices.into_iter().map(of).find(|marks| marks.len() >= 2).unwrap_or_default()
    }
}

/// 100000 as 100k.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", round(v / 1e6)),
        v if v >= 1e3 => format!("{}k", round(v / 1e3)),
        v => round(v),
    }
}

/// With one digit after the point, if it is not 0.
fn round(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    fn outcome(axis: &'static str, place: f64, workers: usize, tokio: f64, nezumi: f64) -> Outcome {
        let mut outcome = sample("growth", "", tokio / nezumi);
        outcome.at = Some((axis, place));
        outcome.workers = workers;
        (outcome.tokio.ns, outcome.nezumi.ns) = (tokio, nezumi);
        outcome
    }

    fn tasks() -> Vec<Outcome> {
        vec![
            outcome("tasks", 1000.0, 2, 400.0, 50.0),
            outcome("tasks", 10.0, 2, 100.0, 50.0),
            outcome("tasks", 100.0, 2, 200.0, 50.0),
        ]
    }

    #[test]
    fn points_are_sorted_and_two_are_no_curve() {
        let curves = of(&tasks());
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].title(), "ns against tasks, 2 workers");
        let places: Vec<f64> = curves[0].points.iter().map(|point| point.place).collect();
        assert_eq!(places, [10.0, 100.0, 1000.0]);
        assert_eq!(of(&tasks()[..2]), []);
    }

    #[test]
    fn workers_are_the_axis_only_where_that_is_said() {
        let growing = [1, 2, 4].map(|n| outcome("workers, burst", n as f64, n, 100.0, 50.0));
        assert_eq!(of(&growing)[0].title(), "ns against workers, burst");
        // One task on one worker, two on two: three curves of one point each.
        let tasks = [1, 2, 4].map(|n| outcome("tasks", n as f64, n, 100.0, 50.0));
        assert_eq!(of(&tasks), []);
    }

    /// The coordinates of a side's line.
    fn drawn(svg: &str, side: &str) -> Vec<(f64, f64)> {
        let begin = format!("<polyline class=\"{side}\" points=\"");
        let points = svg.split_once(&begin).unwrap().1.split_once('"').unwrap().0;
        let number = |text: &str| text.parse().unwrap();
        points
            .split(' ')
            .map(|pair| pair.split_once(',').unwrap())
            .map(|(x, y)| (number(x), number(y)))
            .collect()
    }

    #[test]
    fn what_is_drawn_can_be_read_back() {
        let curve = &of(&tasks())[0];
        let svg = curve.svg();
        let (x, y) = (curve.x(), curve.y());
        // The inverse of an axis, by itself.
        let value = |axis: &Log, at: f64| {
            let share = (at - axis.from) / (axis.to - axis.from);
            axis.least * (axis.most / axis.least).powf(share)
        };
        for (side, of) in curve.sides() {
            let line = drawn(&svg, side);
            assert_eq!(line.len(), curve.points.len());
            for (point, (px, py)) in curve.points.iter().zip(line) {
                assert!((value(&x, px) / point.place - 1.0).abs() < 0.01, "{side} {point:?}: {px}");
                assert!((value(&y, py) / of(point) - 1.0).abs() < 0.01, "{side} {point:?}: {py}");
                assert!((LEFT..=RIGHT).contains(&px) && (TOP..=BOTTOM).contains(&py));
            }
        }
    }

    #[test]
    fn a_level_cost_is_a_level_line() {
        let line = drawn(&of(&tasks())[0].svg(), "nezumi");
        assert!(line.iter().all(|point| point.1 == line[0].1), "{line:?}");
        let rising = drawn(&of(&tasks())[0].svg(), "tokio");
        assert!(rising.is_sorted_by(|a, b| a.1 > b.1), "up is towards 0: {rising:?}");
    }

    #[test]
    fn marks_are_round_and_at_least_two() {
        let marks = |least, most| Log { least, most, from: 0.0, to: 1.0 }.marks();
        assert_eq!(marks(5.0, 2000.0), [10.0, 100.0, 1000.0]);
        assert_eq!(marks(15.0, 60.0), [20.0, 50.0]);
        assert_eq!(marks(29.0, 51.0), [30.0, 40.0, 50.0]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1e6, 1e5, 1500.0, 64.0, 0.5].map(short), ["1M", "100k", "1.5k", "64", "0.5"]);
    }
}
