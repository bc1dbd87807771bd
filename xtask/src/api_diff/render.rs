//! Types, bounds and signatures as text.
//!
//! Written so that two spellings of one thing look the same: a path is its last name, parameters are numbered in the order
//! in which they are declared, bounds are sorted and stand in one place. Names of arguments do not appear at all.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the names of parameters have been replaced with.
#[derive(Clone, Default)]
pub(crate) struct Names {
    by_name: BTreeMap<String, String>,
    types: usize,
    lifetimes: usize,
}

impl Names {
    /// Numbers what `generics` declares, after what is there already.
    pub(crate) fn declare(&mut self, generics: &Value) {
        for param in generics["params"].as_array().into_iter().flatten() {
            let name = param["name"].as_str().unwrap_or_default();
            let kind = &param["kind"];
            if kind.get("lifetime").is_some() {
                self.by_name.insert(name.to_owned(), format!("'{}", self.lifetimes));
                self.lifetimes += 1;
            } else if kind["type"]["is_synthetic"] != true {
                self.by_name.insert(name.to_owned(), format!("T{}", self.types));
                self.types += 1;
            }
        }
    }

    /// Lets `Self` be what it stands for.
    pub(crate) fn declare_self(&mut self, of: &Value) {
        let this = self.ty(of);
        self.by_name.insert("Self".to_owned(), this);
    }

    fn of(&self, name: &str) -> String {
        self.by_name.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// All that `generics` asks of its parameters, sorted: ` where …`, or nothing.
    pub(crate) fn bounds(&self, generics: &Value) -> String {
        let mut bounds = BTreeSet::new();
        for param in generics["params"].as_array().into_iter().flatten() {
            let name = self.of(param["name"].as_str().unwrap_or_default());
            let kind = &param["kind"];
            if kind["type"]["is_synthetic"] == true {
                continue;
            }
            for bound in list(&kind["type"]["bounds"]) {
                bounds.insert(format!("{name}: {}", self.bound(bound)));
            }
            for outlives in list(&kind["lifetime"]["outlives"]) {
                bounds.insert(format!("{name}: {}", self.of(outlives.as_str().unwrap_or_default())));
            }
            if let Some(constant) = kind.get("const") {
                bounds.insert(format!("const {name}: {}", self.ty(&constant["type"])));
            }
        }
        for predicate in list(&generics["where_predicates"]) {
            if let Some(of) = predicate.get("bound_predicate") {
                for bound in list(&of["bounds"]) {
                    bounds.insert(format!("{}: {}", self.ty(&of["type"]), self.bound(bound)));
                }
            }
            if let Some(of) = predicate.get("lifetime_predicate") {
                let name = self.of(of["lifetime"].as_str().unwrap_or_default());
                for outlives in list(&of["outlives"]) {
                    bounds.insert(format!("{name}: {}", self.of(outlives.as_str().unwrap_or_default())));
                }
            }
            if let Some(of) = predicate.get("eq_predicate") {
                bounds.insert(format!("{} == {}", self.ty(&of["lhs"]), self.ty(&of["rhs"]["type"])));
            }
        }
        match bounds.len() {
            0 => String::new(),
            _ => format!(" where {}", bounds.into_iter().collect::<Vec<_>>().join(", ")),
        }
    }

    /// `fn(&self, u8) -> bool where …`, with what stands before `fn`.
    pub(crate) fn function(&self, function: &Value) -> String {
        let mut names = self.clone();
        names.declare(&function["generics"]);
        let mut text = String::new();
        for (flag, word) in [("is_const", "const "), ("is_unsafe", "unsafe "), ("is_async", "async ")] {
            if function["header"][flag] == true {
                text += word;
            }
        }
        let inputs: Vec<_> = list(&function["sig"]["inputs"]).map(|input| names.ty(&input[1])).collect();
        text += &format!("fn({})", inputs.join(", "));
        if !function["sig"]["output"].is_null() {
            text += &format!(" -> {}", names.ty(&function["sig"]["output"]));
        }
        text + &names.bounds(&function["generics"])
    }

    /// A path with its arguments: of a trait, or of a type.
    pub(crate) fn path(&self, path: &Value) -> String {
        let name = path["path"].as_str().or(path["name"].as_str()).unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or_default();
        format!("{name}{}", self.args(&path["args"]))
    }

    fn args(&self, args: &Value) -> String {
        if let Some(angle) = args.get("angle_bracketed") {
            let mut parts: Vec<String> = list(&angle["args"]).map(|arg| self.arg(arg)).collect();
            for constraint in list(&angle["constraints"]) {
                let name = constraint["name"].as_str().unwrap_or_default();
                let binding = &constraint["binding"];
                parts.push(match binding.get("equality") {
                    Some(equal) => format!("{name} = {}", self.term(equal)),
                    None => format!("{name}: {}", self.all(&binding["constraint"])),
                });
            }
            return if parts.is_empty() { String::new() } else { format!("<{}>", parts.join(", ")) };
        }
        if let Some(round) = args.get("parenthesized") {
            let inputs: Vec<_> = list(&round["inputs"]).map(|input| self.ty(input)).collect();
            let output = match &round["output"] {
                Value::Null => String::new(),
                output => format!(" -> {}", self.ty(output)),
            };
            return format!("({}){output}", inputs.join(", "));
        }
        String::new()
    }

    fn arg(&self, arg: &Value) -> String {
        if let Some(lifetime) = arg["lifetime"].as_str() {
            // Declared on the impl or left out: it is the same.
            return if lifetime == "'_" { "'0".to_owned() } else { self.of(lifetime) };
        }
        match arg.get("type") {
            Some(ty) => self.ty(ty),
            None => self.term(arg),
        }
    }

    /// A type, or a constant.
    fn term(&self, term: &Value) -> String {
        if let Some(ty) = term.get("type") {
            return self.ty(ty);
        }
        let constant = term.get("constant").or(term.get("const")).unwrap_or(term);
        self.of(constant["expr"].as_str().unwrap_or("_"))
    }

    fn all(&self, bounds: &Value) -> String {
        // What an opaque type captures is not part of what it can do, and what it captures unasked depends on the edition.
        let bounds = list(bounds).filter(|bound| bound.get("use").is_none());
        let sorted: BTreeSet<_> = bounds.map(|bound| self.bound(bound)).collect();
        sorted.into_iter().collect::<Vec<_>>().join(" + ")
    }

    pub(crate) fn bound(&self, bound: &Value) -> String {
        if let Some(of_trait) = bound.get("trait_bound") {
            let maybe = if of_trait["modifier"] == "maybe" { "?" } else { "" };
            return format!("{maybe}{}", self.path(&of_trait["trait"]));
        }
        match bound["outlives"].as_str() {
            Some(lifetime) => self.of(lifetime),
            None => "use".to_owned(),
        }
    }

    pub(crate) fn ty(&self, ty: &Value) -> String {
        let Some((kind, of)) = ty.as_object().and_then(|ty| ty.iter().next()) else {
            return ty.as_str().unwrap_or("()").to_owned();
        };
        match kind.as_str() {
            "resolved_path" => self.path(of),
            "generic" => self.of(of.as_str().unwrap_or_default()),
            "primitive" => of.as_str().unwrap_or_default().to_owned(),
            "tuple" => {
                let parts: Vec<_> = list(of).map(|part| self.ty(part)).collect();
                format!("({})", parts.join(", "))
            }
            "slice" => format!("[{}]", self.ty(of)),
            "array" => format!("[{}; {}]", self.ty(&of["type"]), self.of(of["len"].as_str().unwrap_or("_"))),
            "impl_trait" => format!("impl {}", self.all(of)),
            "dyn_trait" => {
                let mut bounds: BTreeSet<_> =
                    list(&of["traits"]).map(|of_trait| self.path(&of_trait["trait"])).collect();
                if let Some(lifetime) = of["lifetime"].as_str() {
                    bounds.insert(self.of(lifetime));
                }
                format!("dyn {}", bounds.into_iter().collect::<Vec<_>>().join(" + "))
            }
            "borrowed_ref" => {
                // `'_` is an elided lifetime with a name.
                let lifetime = of["lifetime"].as_str().filter(|lifetime| *lifetime != "'_");
                let lifetime = lifetime.map_or(String::new(), |lifetime| format!("{} ", self.of(lifetime)));
                format!("&{lifetime}{}{}", mutable(of), self.ty(&of["type"]))
            }
            "raw_pointer" => {
                let mutable = if of["is_mutable"] == true { "mut" } else { "const" };
                format!("*{mutable} {}", self.ty(&of["type"]))
            }
            "qualified_path" => {
                format!("<{}>::{}", self.ty(&of["self_type"]), of["name"].as_str().unwrap_or_default())
            }
            "function_pointer" => self.function(of),
            other => other.to_owned(),
        }
    }
}

fn mutable(of: &Value) -> &'static str {
    if of["is_mutable"] == true { "mut " } else { "" }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_parameters_and_modules_do_not_count() {
        let of = |name: &str, path: &str| {
            let param = json!({"name": name, "kind": {"type": {"bounds": [], "is_synthetic": false}}});
            let arg = json!({"angle_bracketed": {"args": [{"type": {"generic": name}}], "constraints": []}});
            let function = json!({
                "header": {"is_async": true},
                "generics": {"params": [param], "where_predicates": []},
                "sig": {"inputs": [["x", {"resolved_path": {"path": path, "args": arg}}]], "output": null},
            });
            Names::default().function(&function)
        };
        assert_eq!(of("T", "a::Vec"), "async fn(Vec<T0>)");
        assert_eq!(of("Item", "Vec"), of("T", "b::Vec"));
    }

    #[test]
    fn bounds_may_stand_in_either_place() {
        let send = json!({"trait_bound": {"trait": {"path": "Send", "args": null}, "modifier": "none"}});
        let bounds = |here: &[&Value], there: &[&Value]| {
            let generics = json!({
                "params": [{"name": "T", "kind": {"type": {"bounds": here, "is_synthetic": false}}}],
                "where_predicates": [{"bound_predicate": {"type": {"generic": "T"}, "bounds": there}}],
            });
            let mut names = Names::default();
            names.declare(&generics);
            names.bounds(&generics)
        };
        assert_eq!(bounds(&[&send], &[]), " where T0: Send");
        assert_eq!(bounds(&[], &[&send]), " where T0: Send");
    }
}
