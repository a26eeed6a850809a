//! Finds the settings of a crate, and compares their documentation with the constructors.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprAssign, ExprMethodCall, ExprStruct, ImplItem, ImplItemConst};
use syn::{
    ImplItemFn, ItemConst, ItemImpl, ItemMod, ItemStruct, Lit, Member, Meta, Type, Visibility,
};

use super::quantity::{self, Constants, Quantity};
use crate::workspace::{At as _, File, Result};

/// A setting with a default number.
#[derive(Debug, Serialize)]
pub(super) struct Setting {
    /// The type and the field or setter.
    pub(super) name: String,
    pub(super) default: String,
    /// The documentation without its links and its sentence about the default.
    text: String,
}

/// A public field or setter with documentation.
struct Candidate {
    name: String,
    /// The fields that can have the value.
    fields: Vec<String>,
    docs: String,
}

/// A limit without a setting.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct FixedLimit {
    /// The file in the folder `src` of its crate.
    place: String,
    text: String,
    value: String,
}

/// The items of the sources that settings need.
#[derive(Default)]
pub(super) struct Crate {
    constants: Constants,
    /// The values that fields get in constructors.
    values: BTreeMap<String, Vec<Expr>>,
    candidates: Vec<Candidate>,
    /// The constants that are limits: the file, the documentation, the value, and whether it is a duration.
    fixed: Vec<(String, String, Expr, bool)>,
    /// The file that is being read.
    place: String,
}

impl Crate {
    pub(super) fn parse<'a>(files: impl Iterator<Item = &'a File>) -> Result<Self> {
        let mut found = Self::default();
        for file in files {
            let parsed = syn::parse_file(&file.text).at(&file.path)?;
            let place = file.path.split_once("/src/").map(|(_, place)| place);
            place.unwrap_or(&file.path).clone_into(&mut found.place);
            found.visit_file(&parsed);
        }
        Ok(found)
    }

    /// Returns the settings with a number, and the settings whose documentation has another number than every constructor of this
    /// crate. `all` has the constants of all crates.
    pub(super) fn settings(&self, all: &Self) -> (Vec<Setting>, Vec<String>) {
        let (mut settings, mut faults) = (Vec::new(), Vec::new());
        for Candidate { name, fields, docs } in &self.candidates {
            let Some((sentence, default, value)) = default_of(docs) else {
                continue;
            };
            // Some settings are passed on to a type of another crate.
            let is_default = [self, all].iter().any(|sources| {
                let values = fields.iter().filter_map(|field| sources.values.get(field));
                values.flatten().any(|expr| {
                    let constants = [&self.constants, &all.constants];
                    let mut found = constants
                        .iter()
                        .filter_map(|known| quantity::evaluate(expr, known));
                    found.any(|found| found == value)
                })
            });
            if !is_default {
                faults.push(format!(
                    "{name}: the documentation says {default}, but no constructor has this value for {fields:?}"
                ));
            }
            settings.push(Setting {
                name: name.clone(),
                default: default.to_owned(),
                text: plain(&docs.replace(sentence, "")),
            });
        }
        (settings, faults)
    }

    /// Returns the limits that are constants.
    pub(super) fn fixed_limits(&self) -> BTreeSet<FixedLimit> {
        let limits = self
            .fixed
            .iter()
            .filter_map(|(place, docs, expr, is_duration)| {
                let value = quantity::evaluate(expr, &self.constants)?;
                let is_size = docs.contains("byte") || docs.contains("memory");
                Some(FixedLimit {
                    place: place.clone(),
                    text: plain(docs),
                    value: quantity::show(value, *is_duration, is_size),
                })
            });
        limits.collect()
    }

    fn add(&mut self, name: String, fields: Vec<String>, attributes: &[Attribute]) {
        let docs = docs(attributes);
        if default_of(&docs).is_some() {
            self.candidates.push(Candidate { name, fields, docs });
        }
    }
}

impl<'a> Visit<'a> for Crate {
    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_const(&mut self, item: &'a ItemConst) {
        let docs = docs(&item.attrs);
        if item.ident.to_string().starts_with("MAX_") && docs.starts_with("Maximum ") {
            let is_duration =
                matches!(&*item.ty, Type::Path(path) if path.path.is_ident("Duration"));
            let limit = (self.place.clone(), docs, (*item.expr).clone(), is_duration);
            self.fixed.push(limit);
        }
        self.constants
            .insert(item.ident.to_string(), (*item.expr).clone());
    }

    fn visit_impl_item_const(&mut self, item: &'a ImplItemConst) {
        self.constants
            .insert(item.ident.to_string(), item.expr.clone());
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        let is_public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
        for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
            if let (true, Some(name)) = (is_public(&item.vis), &field.ident) {
                let path = format!("{}::{name}", item.ident);
                self.add(path, vec![name.to_string()], &field.attrs);
            }
        }
    }

    fn visit_expr_struct(&mut self, item: &'a ExprStruct) {
        for field in &item.fields {
            if let Member::Named(name) = &field.member {
                let values = self.values.entry(name.to_string()).or_default();
                values.push(field.expr.clone());
            }
        }
        visit::visit_expr_struct(self, item);
    }

    /// `options.limit(4)` sets a limit, and `self.limit.unwrap_or(4)` contains its default.
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        let name = match &*call.receiver {
            Expr::Field(field) if call.method == "unwrap_or" => match &field.member {
                Member::Named(name) => Some(name.to_string()),
                Member::Unnamed(_) => None,
            },
            _ => Some(call.method.to_string()),
        };
        if let (Some(name), 1, Some(value)) = (name, call.args.len(), call.args.first()) {
            self.values.entry(name).or_default().push(value.clone());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if let (Type::Path(path), None) = (&*item.self_ty, &item.trait_) {
            let name = path.path.segments.last().map(|part| part.ident.to_string());
            for function in &item.items {
                if let (ImplItem::Fn(function), Some(name)) = (function, &name)
                    && matches!(function.vis, Visibility::Public(_))
                {
                    let path = format!("{name}::{}", function.sig.ident);
                    self.add(path, assigned(function), &function.attrs);
                }
            }
        }
        visit::visit_item_impl(self, item);
    }
}

/// The fields that a setter assigns, and its own name.
fn assigned(function: &ImplItemFn) -> Vec<String> {
    struct Fields(Vec<String>);
    impl<'a> Visit<'a> for Fields {
        fn visit_expr_assign(&mut self, assign: &'a ExprAssign) {
            if let Expr::Field(field) = &*assign.left
                && let Member::Named(name) = &field.member
            {
                self.0.push(name.to_string());
            }
        }
    }
    let mut fields = Fields(Vec::new());
    fields.visit_block(&function.block);
    let name = function.sig.ident.to_string();
    fields
        .0
        .push(name.strip_prefix("with_").unwrap_or(&name).to_owned());
    fields.0
}

fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(literal) = &pair.value else {
            return None;
        };
        match &literal.lit {
            Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value().trim().to_owned()),
            _ => None,
        }
    });
    // Only the paragraphs before code and headings.
    let lines = lines.take_while(|line| !line.starts_with(['#', '`']));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// The sentence about the default, its number as it is written, and the value.
fn default_of(docs: &str) -> Option<(&str, &str, Quantity)> {
    let starts = docs
        .match_indices("efault ")
        .chain(docs.match_indices("efault: "));
    let mut found = starts.filter_map(|(at, word)| {
        let after = at + word.len();
        let (shown, value) = quantity::parse(&docs[after..])?;
        let start = at
            .checked_sub(1)
            .filter(|start| docs.is_char_boundary(*start))?;
        // Some numbers have a noun behind them, as in "1,000 of each kind".
        let rest = &docs[after + shown.len()..];
        let noun = match rest.strip_prefix(" of ") {
            Some(noun) => " of ".len() + noun.find('.').unwrap_or(noun.len()),
            None => 0,
        };
        let end = after + shown.len() + noun;
        let shown = &docs[after..end];
        let before = docs[..start].trim_end();
        // The sentence may continue, for example with a minimum, or be a part of another sentence.
        let (start, end) = match (before.ends_with(';'), docs[end..].starts_with('.')) {
            (true, true) => (before.len() - 1, end),
            (_, is_end) => (start, end + usize::from(is_end)),
        };
        Some((&docs[start..end], shown, value))
    });
    found.next()
}

/// The text without links to items.
fn plain(docs: &str) -> String {
    let mut out = String::new();
    let mut rest = docs;
    while let Some((before, link)) = rest.split_once('[') {
        out += before;
        let (text, after) = link.split_once(']').unwrap_or((link, ""));
        out += text;
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or("", |(_, rest)| rest),
            None => after,
        };
    }
    out += rest;
    let words: Vec<&str> = out.split_whitespace().collect();
    let text = words.join(" ");
    text.replace("., ", "; ")
        .replace(".; ", "; ")
        .replace(" ; ", "; ")
}
