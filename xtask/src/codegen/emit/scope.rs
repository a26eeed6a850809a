//! Templates, and what the files of one revision have in common.

use std::collections::{BTreeMap, BTreeSet};

use heck::{ToShoutySnakeCase as _, ToSnakeCase as _, ToUpperCamelCase as _};
use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::codegen::compare::{Split, find};
use crate::codegen::docs::Docs;
use crate::codegen::model::{Item, Kind, Method, Model, Presence, Property, words};
use crate::workspace::Result;

/// Modules and names of them that generated code uses.
const IMPORTS: &[(&str, &str)] = &[
    ("crate", "JsonObject OutOfRange"),
    ("serde", "Deserialize Deserializer Serialize Serializer"),
    ("serde_json", "Number Value"),
    ("std", "fmt"),
    ("std::collections", "BTreeMap"),
    ("std::ops", "Deref DerefMut"),
];

/// Names of types that need no import.
const PRELUDE: &str = "String Vec";

/// The context of the generated files of one revision.
pub(crate) struct Scope<'a> {
    pub(super) docs: &'a Docs,
    pub(super) revision: &'a str,
    /// The first line of each file, with the commit of the schema.
    pub(super) header: String,
    model: &'a Model,
    /// The module of a later revision, and what it has in common with the canonical one, which has none.
    pub(super) module: Option<(String, &'a Split)>,
    /// For the canonical revision: the modules of later ones, and the methods that only they have.
    pub(crate) later: BTreeMap<String, Vec<Method>>,
}

impl<'a> Scope<'a> {
    /// `commit` is the commit of the specification's repository that the schema comes from.
    pub(crate) fn new(
        docs: &'a Docs,
        revision: &'a str,
        commit: &str,
        model: &'a Model,
        module: Option<(String, &'a Split)>,
    ) -> Self {
        Self {
            header: format!(
                "// Generated from the official schema of {} at commit {commit}: do not edit. Run `cargo xtask codegen`.",
                revision
            ),
            docs,
            revision,
            model,
            module,
            later: BTreeMap::new(),
        }
    }

    /// Whether the module shares a type or marker with the canonical revision.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        let module = self.module.as_ref();
        module.is_some_and(|(_, split)| split.shared.contains(name))
    }

    fn root(&self, name: &str) -> String {
        match &self.module {
            Some((module, split)) if find(&split.own, name).is_some() => format!("crate::{module}"),
            _ => "crate".to_owned(),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}::{name}", self.root(name))
    }

    /// Whether an argument has the type of the member: `impl Into` would only make inference harder.
    pub(super) fn is_plain(&self, Property { ty, presence, .. }: &Property) -> bool {
        let is_container = ty.starts_with("Vec<") || ty.starts_with("BTreeMap<");
        let is_plain = match find(self.model, ty).map(|item| &item.kind) {
            Some(Kind::Struct(_) | Kind::Open) => true,
            Some(Kind::Alias(ty)) => ty != "String",
            Some(Kind::Enum(_) | Kind::Union(_)) => false,
            None => matches!(
                &**ty,
                "bool" | "i64" | "u64" | "f64" | "JsonObject" | "Meta"
            ),
        };
        is_container || *presence == Presence::Nullable || is_plain
    }

    /// The text of the file of an area, with the imports that its items need.
    pub(super) fn file(&self, area: &str, items: &[&Item], texts: &[String]) -> Result<String> {
        let lines = texts.iter().flat_map(|text| text.lines());
        let code = lines.filter(|line| !line.trim_start().starts_with("///"));
        let types: BTreeSet<&str> = items.iter().flat_map(|item| item.kind.names()).collect();
        let has = |list: &str, name: &str| list.split(' ').any(|known| known == name);
        let mut imports: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in code.flat_map(words).collect::<BTreeSet<_>>() {
            let known = IMPORTS.iter().find(|(_, list)| has(list, name));
            let is_type = types.contains(name) && name.starts_with(char::is_uppercase);
            let is_own = has(PRELUDE, name) || items.iter().any(|item| item.name == name);
            let module = known.map(|(module, _)| (*module).to_owned());
            let module = module.or_else(|| (is_type && !is_own).then(|| self.root(name)));
            if let Some(module) = module {
                imports.entry(module).or_default().push(name);
            }
        }
        let imports: Vec<_> = imports.into_iter().collect();
        let values = context!(imports, items => texts, ..self.head(area));
        render(include_str!("area.rs.jinja"), values)
    }

    /// Returns the template values for the first lines of an area's file.
    pub(super) fn head(&self, area: &str) -> Value {
        context!(header => self.header, line => self.docs.module(self.revision, area))
    }
}

/// Renders a template. The filter `constant` turns a method into the name of its constant: `SAMPLING_CREATE_MESSAGE` for
/// `sampling/createMessage`.
pub(super) fn render(template: &str, values: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.add_filter("constant", |text: &str| text.to_shouty_snake_case());
    environment.add_filter("snake", |text: &str| text.to_snake_case());
    environment.add_filter("upper_camel", |text: &str| text.to_upper_camel_case());
    let text = environment.render_str(template, values);
    text.map_err(|error| format!("{error:#}"))
}
