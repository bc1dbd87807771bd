//! The Prometheus text format, version 0.0.4.
//!
//! Pure: names and values in, text out.

use std::fmt::{Display, Write};

/// A page under construction.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    /// The metric that samples belong to.
    name: &'static str,
}

impl Page {
    /// Begins a metric that only grows.
    pub(crate) fn counter(&mut self, name: &'static str, help: &str) {
        self.begin(name, "counter", help);
    }

    /// Begins a metric that goes up and down.
    pub(crate) fn gauge(&mut self, name: &'static str, help: &str) {
        self.begin(name, "gauge", help);
    }

    /// Begins a metric of counts below limits.
    pub(crate) fn histogram(&mut self, name: &'static str, help: &str) {
        self.begin(name, "histogram", help);
    }

    /// A sample of the metric begun last.
    pub(crate) fn sample(&mut self, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.part("", labels, value);
    }

    /// A sample of a part of the metric begun last.
    pub(crate) fn part(&mut self, part: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(part);
        for (index, (name, label)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            let escaped = label.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.write(format_args!("{name}=\"{escaped}\""));
        }
        self.write(format_args!("{} {value}\n", if labels.is_empty() { "" } else { "}" }));
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("writing to a string does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.counter("a_total", "Help.");
        page.sample(&[("x", &"a\"b\\c\nd"), ("y", &1)], 2);
        page.sample(&[], 3);
        assert_eq!(
            page.finish(),
            "# HELP a_total Help.\n# TYPE a_total counter\na_total{x=\"a\\\"b\\\\c\\nd\",y=\"1\"} 2\na_total 3\n"
        );
    }
}
