//! From the root of a crate to a flat list of what can be named from outside.

use super::render::Names;
use super::rustdoc::{Crates, Item};
use anyhow::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// What can be imported.
    Path,
    /// What is called on it, or is a part of it.
    Method,
    /// A trait that it implements.
    Impl,
}

pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) signature: String,
}

/// By path below the crate: `sync::Mutex`, `sync::Mutex::lock`, `sync::Mutex: Send`.
pub(crate) type Surface = BTreeMap<String, Entry>;

/// Traits that nobody asks for.
const OF_THE_COMPILER: &[&str] = &["Drop", "Freeze", "StructuralPartialEq", "UnsafeUnpin"];

struct Walk<'a> {
    crates: &'a Crates,
    surface: Surface,
    /// Modules that the walk is in, so that one that exports another which exports the first ends.
    inside: BTreeSet<String>,
}

pub(crate) fn surface(crates: &Crates, name: &str) -> Result<Surface> {
    let mut walk = Walk { crates, surface: Surface::new(), inside: BTreeSet::new() };
    debug_assert_eq!(crates.first().name, name);
    walk.module("", crates.first().root()?)?;
    let mut surface = walk.surface;
    let exported: BTreeSet<String> =
        surface.keys().filter_map(|path| path.rsplit("::").next()).map(str::to_owned).collect();
    // A type of the standard library keeps its name where one that is not exported has the same.
    let standard: BTreeSet<&str> = crates.standard_types().collect();
    let unnamed: BTreeSet<&str> =
        crates.types().filter(|name| !exported.contains(*name) && !standard.contains(name)).collect();
    for entry in surface.values_mut() {
        entry.signature = without_names(&entry.signature, &unnamed);
    }
    Ok(surface)
}

/// The signature with `_` for every type that a program cannot name, such as the futures of some methods.
fn without_names(signature: &str, unnamed: &BTreeSet<&str>) -> String {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut text = String::new();
    let mut rest = signature;
    while let Some(start) = rest.find(is_part) {
        let end =
            rest[start..].find(|character| !is_part(character)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        text.push_str(&rest[..start]);
        rest = &rest[end..];
        if unnamed.contains(word) {
            text.push('_');
            rest = after_arguments(rest);
        } else {
            text.push_str(word);
        }
    }
    text + rest
}

/// What follows `<…>` at the beginning, if that is there.
fn after_arguments(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            // Not the one of `->`.
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
        before = character;
    }
    ""
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") }
}

impl<'a> Walk<'a> {
    fn add(&mut self, kind: Kind, path: String, signature: String) {
        self.surface.insert(path, Entry { kind, signature });
    }

    fn module(&mut self, path: &str, module: Item<'a>) -> Result<()> {
        let this = format!("{} {}", module.of.name, module.id);
        if !self.inside.insert(this.clone()) {
            return Ok(());
        }
        for id in list(&module.inner()?.1["items"]) {
            if let Some(item) = self.crates.resolve(module.of, id) {
                self.item(path, None, item)?;
            }
        }
        self.inside.remove(&this);
        Ok(())
    }

    /// `name`: what it is exported as, if not by its own name.
    fn item(&mut self, path: &str, name: Option<&str>, item: Item<'a>) -> Result<()> {
        let (kind, inner) = item.inner()?;
        if kind == "use" {
            return self.export(path, item, inner);
        }
        if !item.is_public() && kind != "macro" && kind != "proc_macro" {
            return Ok(());
        }
        let Some(name) = name.or(item.name()) else { return Ok(()) };
        let path = join(path, name);
        let mut names = Names::default();
        names.declare(&inner["generics"]);
        let bounds = names.bounds(&inner["generics"]);
        match kind {
            "module" => {
                self.add(Kind::Path, path.clone(), "mod".to_owned());
                self.module(&path, item)?;
            }
            "struct" | "enum" | "union" => {
                self.add(Kind::Path, path.clone(), format!("{kind}{bounds}"));
                self.parts(&path, item, inner, &names)?;
                self.impls(&path, item, inner)?;
            }
            "trait" => {
                let bounds_of_self: Vec<_> = list(&inner["bounds"]).map(|bound| names.bound(bound)).collect();
                self.add(Kind::Path, path.clone(), format!("trait {}{bounds}", bounds_of_self.join(" + ")));
                self.of_trait(&path, item, inner, &names)?;
            }
            "function" => self.add(Kind::Path, path, names_from_nothing(inner)),
            "constant" => self.add(Kind::Path, path, format!("const {}", names.ty(&inner["type"]))),
            "static" => self.add(Kind::Path, path, format!("static {}", names.ty(&inner["type"]))),
            "type_alias" => self.add(Kind::Path, path, format!("type {}", names.ty(&inner["type"]))),
            "macro" => self.add(Kind::Path, format!("{path}!"), "macro".to_owned()),
            "proc_macro" => self.add(Kind::Path, format!("#[{path}]"), "macro".to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn export(&mut self, path: &str, item: Item<'a>, of: &'a Value) -> Result<()> {
        if !item.is_public() {
            return Ok(());
        }
        match self.crates.resolve(item.of, &of["id"]) {
            Some(target) if of["is_glob"] == true => self.module(path, target),
            Some(target) => self.item(path, of["name"].as_str(), target),
            // The standard library's, or another's that we do not look into: its name is all there is to compare.
            None => {
                if let Some(name) = of["name"].as_str().filter(|_| of["is_glob"] != true) {
                    self.add(Kind::Path, join(path, name), "re-export".to_owned());
                }
                Ok(())
            }
        }
    }

    /// Public fields, and variants.
    fn parts(&mut self, path: &str, item: Item<'a>, inner: &'a Value, names: &Names) -> Result<()> {
        let plain = list(&inner["kind"]["plain"]["fields"]).chain(list(&inner["fields"]));
        for id in plain.chain(list(&inner["kind"]["tuple"])) {
            if let Some(field) = self.crates.resolve(item.of, id)
                && field.is_public()
                && let (Some(name), ("struct_field", ty)) = (field.name(), field.inner()?)
            {
                self.add(Kind::Method, join(path, name), format!("field {}", names.ty(ty)));
            }
        }
        for id in list(&inner["variants"]) {
            let Some(variant) = self.crates.resolve(item.of, id) else { continue };
            let Some(name) = variant.name() else { continue };
            let kind = &variant.inner()?.1["kind"];
            let mut fields = Vec::new();
            for id in list(&kind["tuple"]).chain(list(&kind["struct"]["fields"])) {
                if let Some(field) = self.crates.resolve(variant.of, id) {
                    fields.push(names.ty(field.inner()?.1));
                }
            }
            self.add(Kind::Method, join(path, name), format!("variant({})", fields.join(", ")));
        }
        Ok(())
    }

    fn impls(&mut self, path: &str, item: Item<'a>, inner: &'a Value) -> Result<()> {
        for id in list(&inner["impls"]) {
            let Some(found) = self.crates.resolve(item.of, id) else { continue };
            let of = found.inner()?.1;
            let mut names = Names::default();
            names.declare(&of["generics"]);
            if of["trait"].is_null() {
                self.methods(path, found, of, &names)?;
            } else if let Some((of_trait, signature)) = implementation(of, &names) {
                self.add(Kind::Impl, format!("{path}: {of_trait}"), signature);
            }
        }
        Ok(())
    }

    fn methods(&mut self, path: &str, found: Item<'a>, of: &'a Value, names: &Names) -> Result<()> {
        for id in list(&of["items"]) {
            let Some(method) = self.crates.resolve(found.of, id) else { continue };
            let (true, Some(name)) = (method.is_public(), method.name()) else { continue };
            let (kind, inner) = method.inner()?;
            let for_type = names.ty(&of["for"]);
            let mut names = names.clone();
            names.declare_self(&of["for"]);
            let signature = match kind {
                "function" => names.function(inner),
                "assoc_const" => format!("const {}", names.ty(&inner["type"])),
                _ => continue,
            };
            // What the impl asks for, the method asks for.
            let bounds = names.bounds(&of["generics"]);
            self.add(Kind::Method, join(path, name), with_bounds(&signature, &bounds, &for_type));
        }
        Ok(())
    }

    fn of_trait(&mut self, path: &str, item: Item<'a>, inner: &'a Value, names: &Names) -> Result<()> {
        for id in list(&inner["items"]) {
            let Some(part) = self.crates.resolve(item.of, id) else { continue };
            let Some(name) = part.name() else { continue };
            let (kind, of) = part.inner()?;
            let has_default = if of["has_body"] == true { "default " } else { "" };
            let signature = match kind {
                "function" => format!("{has_default}{}", names.function(of)),
                "assoc_type" => {
                    let bounds: BTreeSet<_> = list(&of["bounds"]).map(|bound| names.bound(bound)).collect();
                    format!("type {}", bounds.into_iter().collect::<Vec<_>>().join(" + "))
                }
                _ => continue,
            };
            self.add(Kind::Method, join(path, name), signature);
        }
        // For types that are not of this crate; those of this crate have them themselves.
        for id in list(&inner["implementations"]) {
            let Some(found) = self.crates.resolve(item.of, id) else { continue };
            let of = found.inner()?.1;
            let is_ours = self.crates.resolve(found.of, &of["for"]["resolved_path"]["id"]).is_some();
            let mut names = Names::default();
            names.declare(&of["generics"]);
            if !is_ours && let Some((of_trait, signature)) = implementation(of, &names) {
                self.add(Kind::Impl, format!("{}: {of_trait} ({path})", names.ty(&of["for"])), signature);
            }
        }
        Ok(())
    }
}

/// The trait, and the impl's head; `None` where it is not the crate's doing.
fn implementation(of: &Value, names: &Names) -> Option<(String, String)> {
    let of_trait = names.path(&of["trait"]);
    if !of["blanket_impl"].is_null() || OF_THE_COMPILER.contains(&of_trait.as_str()) {
        return None;
    }
    let not = if of["is_negative"] == true { "!" } else { "" };
    Some((of_trait, format!("{not}impl for {}{}", names.ty(&of["for"]), names.bounds(&of["generics"]))))
}

/// A method's signature with the bounds of its impl among its own.
fn with_bounds(signature: &str, bounds: &str, for_type: &str) -> String {
    let (head, own) = signature.split_once(" where ").unwrap_or((signature, ""));
    let of_impl = bounds.strip_prefix(" where ").unwrap_or_default();
    let all: BTreeSet<_> =
        own.split(", ").chain(of_impl.split(", ")).filter(|bound| !bound.is_empty()).collect();
    match all.len() {
        0 => head.to_owned(),
        _ => format!("{head} for {for_type} where {}", all.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

fn names_from_nothing(function: &Value) -> String {
    Names::default().function(function)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_cannot_be_named_are_left_out_with_their_arguments() {
        let unnamed = BTreeSet::from(["Read", "Fill"]);
        let without = |signature| without_names(signature, &unnamed);
        assert_eq!(
            without("fn(&Self) -> Read<'0, Box<dyn Fn() -> u8>> where Self: Unpin"),
            "fn(&Self) -> _ where Self: Unpin"
        );
        assert_eq!(without("fn(Fill) -> Reader<Fill>"), "fn(_) -> Reader<_>");
    }
}
