//! What a crate exports, as rustdoc writes it down in JSON.
//!
//! The format belongs to the nightly toolchain and changes with it. Only few parts of it are read here, and each that is
//! missing is an error that names it.

use crate::conformance::scratch;
use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// One crate.
pub(crate) struct Crate {
    pub(crate) name: String,
    json: Value,
    /// The ids of its own items, by the path they are defined at.
    by_path: BTreeMap<String, String>,
}

/// Crates that export parts of each other.
pub(crate) struct Crates(Vec<Crate>);

/// An item, and the crate that it is in.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) of: &'a Crate,
    pub(crate) id: &'a str,
    json: &'a Value,
}

/// Our crates whose items are exported.
const OURS: &[&str] =
    &["nezumi", "nezumi-core", "nezumi-io", "nezumi-macros", "nezumi-os", "nezumi-sync", "nezumi-wake"];

pub(crate) fn ours(features: &str) -> Result<Crates> {
    let target = shell::target_dir().join("api-diff");
    let mut crates = Vec::new();
    for package in OURS {
        let mut rustdoc = shell::cargo_nightly();
        rustdoc.args(["rustdoc", "--quiet", "--lib", "--package", package]);
        if *package == "nezumi" {
            rustdoc.args(["--features", features]);
        }
        crates.push(document(rustdoc, &target, package)?);
    }
    Ok(Crates(crates))
}

pub(crate) fn upstream(features: &str, unstable: bool) -> Result<Crates> {
    let manifest = scratch::lay_out_library("tokio")?;
    let target = shell::target_dir().join(if unstable { "api-diff-unstable" } else { "api-diff" });
    let mut crates = Vec::new();
    let mut rustdoc = shell::cargo_nightly();
    rustdoc.args(["rustdoc", "--quiet", "--lib", "--features", features, "--manifest-path"]).arg(&manifest);
    if unstable {
        rustdoc.env("RUSTFLAGS", "--cfg tokio_unstable").env("RUSTDOCFLAGS", "--cfg tokio_unstable");
    }
    crates.push(document(rustdoc, &target, "tokio")?);
    let mut macros = shell::cargo_nightly();
    macros
        .args(["rustdoc", "--quiet", "--lib", "--manifest-path"])
        .arg(scratch::lay_out_library("tokio-macros")?);
    crates.push(document(macros, &target, "tokio-macros")?);
    Ok(Crates(crates))
}

fn document(mut rustdoc: Command, target: &std::path::Path, package: &str) -> Result<Crate> {
    rustdoc.env("CARGO_TARGET_DIR", target);
    rustdoc.args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    shell::run(&mut rustdoc)?;
    let name = package.replace('-', "_");
    let file = target.join("doc").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    Crate::new(name, serde_json::from_str(&text)?)
}

impl Crate {
    fn new(name: String, json: Value) -> Result<Self> {
        let paths = json.get("paths").and_then(Value::as_object).context("rustdoc wrote no `paths`")?;
        let by_path = paths
            .iter()
            .filter(|(_, summary)| summary["crate_id"] == 0)
            .map(|(id, summary)| (path_of(summary), id.clone()))
            .collect();
        Ok(Self { name, json, by_path })
    }

    fn item<'a>(&'a self, id: &'a str) -> Option<Item<'a>> {
        Some(Item { of: self, id, json: self.json["index"].get(id)? })
    }

    pub(crate) fn root(&self) -> Result<Item<'_>> {
        let (id, json) = self.json["index"]
            .as_object()
            .context("rustdoc wrote no `index`")?
            .iter()
            .find(|(id, _)| **id == id_of(&self.json["root"]))
            .context("rustdoc wrote no root")?;
        Ok(Item { of: self, id, json })
    }
}

impl Crates {
    pub(crate) fn first(&self) -> &Crate {
        &self.0[0]
    }

    /// The names of all types, exported or not; also of those that are hidden from the documentation, and of which no more is
    /// left than that a function returns them.
    pub(crate) fn types(&self) -> impl Iterator<Item = &str> {
        let items =
            self.0.iter().filter_map(|of| of.json["index"].as_object()).flat_map(|index| index.values());
        let described = items.filter_map(|item| {
            let inner = &item["inner"];
            (inner.get("struct").is_some() || inner.get("enum").is_some()).then(|| item["name"].as_str())?
        });
        let mut hidden = Vec::new();
        for of in &self.0 {
            hidden_types(&of.json, &of.json["index"], &mut hidden);
        }
        described.chain(hidden)
    }

    /// The names of types of the standard library that appear anywhere.
    pub(crate) fn standard_types(&self) -> impl Iterator<Item = &str> {
        let paths =
            self.0.iter().filter_map(|of| of.json["paths"].as_object()).flat_map(|paths| paths.values());
        paths.filter_map(|summary| {
            let is_type = matches!(summary["kind"].as_str(), Some("struct" | "enum"));
            let path = summary["path"].as_array().filter(|_| is_type)?;
            let is_standard = matches!(path.first()?.as_str(), Some("std" | "core" | "alloc"));
            path.last()?.as_str().filter(|_| is_standard)
        })
    }

    /// The item with this id, as seen from `of`; it may be another crate's. `None` for crates not looked at.
    pub(crate) fn resolve<'a>(&'a self, of: &'a Crate, id: &Value) -> Option<Item<'a>> {
        let id = id_of(id);
        if let Some((id, json)) = of.json["index"].as_object()?.get_key_value(&id) {
            return Some(Item { of, id, json });
        }
        let path = path_of(of.json["paths"].get(&id)?);
        self.0.iter().find_map(|other| other.item(other.by_path.get(&path)?))
    }
}

impl<'a> Item<'a> {
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.json["name"].as_str()
    }

    pub(crate) fn is_public(&self) -> bool {
        self.json["visibility"] == "public"
    }

    /// What kind of item it is, and what is written down about it.
    pub(crate) fn inner(&self) -> Result<(&'a str, &'a Value)> {
        let inner = self.json["inner"].as_object().context("an item without `inner`")?;
        let (kind, inner) = inner.iter().next().context("an item with an empty `inner`")?;
        Ok((kind, inner))
    }
}

/// Ids are numbers in values, and strings in keys.
fn id_of(id: &Value) -> String {
    match id {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn path_of(summary: &Value) -> String {
    let parts = summary["path"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // A macro and a module may have one path, but not two items of one kind.
    format!("{} {}", summary["kind"].as_str().unwrap_or_default(), parts.collect::<Vec<_>>().join("::"))
}
/// The types that are used somewhere in `part`, and described nowhere.
fn hidden_types<'a>(json: &Value, part: &'a Value, into: &mut Vec<&'a str>) {
    let parts: Box<dyn Iterator<Item = &'a Value>> = match part {
        Value::Object(fields) => {
            if let Some(path) = fields.get("resolved_path") {
                let id = id_of(&path["id"]);
                if json["index"].get(&id).is_none() && json["paths"].get(&id).is_none() {
                    into.extend(path["path"].as_str().and_then(|path| path.rsplit("::").next()));
                }
            }
            Box::new(fields.values())
        }
        Value::Array(parts) => Box::new(parts.iter()),
        _ => return,
    };
    parts.for_each(|part| hidden_types(json, part, into));
}
