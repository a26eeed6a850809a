//! From the [`Model`] to Rust source: one file per area, `methods.rs`, `mod.rs` and `bridges.rs`. The templates beside this
//! file have the text.

mod bridges;
mod scope;
mod structs;

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};

use super::model::{Item, Kind, Method, Model};

use crate::workspace::Result;
pub(super) use bridges::emit as bridges;
pub(super) use scope::Scope;
use scope::render;

/// The files of one revision, except `bridges.rs`, by name.
pub(super) fn files(model: &Model, scope: &Scope<'_>) -> Result<BTreeMap<String, String>> {
    let mut areas: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in &model.items {
        areas.entry(&item.area).or_default().push(item);
    }
    let module = scope.module.as_ref();
    let root = context! {
        header => scope.header,
        revision => scope.docs.revision,
        areas => Vec::from_iter(areas.keys()),
        module => module.is_some(),
        shared => module.map(|(_, split)| &split.shared),
        later => Vec::from_iter(scope.later.keys()),
    };
    let root = render(include_str!("mod.rs.jinja"), root)?;
    let methods = methods(model, scope)?;
    let mut files = BTreeMap::from([("methods".to_owned(), methods), ("mod".to_owned(), root)]);
    for (area, items) in areas {
        let texts = items.iter().map(|item| emit_item(item, scope));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        files.insert(area.to_owned(), scope.file(area, &items, &texts)?);
    }
    Ok(files)
}

fn emit_item(item: &Item, scope: &Scope<'_>) -> Result<String> {
    let Item { name, area, .. } = item;
    let definition = match &item.kind {
        Kind::Struct(structure) => structs::emit(name, structure, scope)?,
        Kind::Enum(string_enum) => {
            let values = string_enum.values.iter();
            let values = values.map(|value| (value, scope.docs.member(name, value)));
            let values = Vec::from_iter(values);
            let (closed, ranked) = (string_enum.closed, string_enum.ranked);
            let values = context!(name, values, closed, ranked);
            render(include_str!("enum.rs.jinja"), values)?
        }
        Kind::Union(union) => {
            let values = context!(name, ..Value::from_serialize(union));
            render(include_str!("union.rs.jinja"), values)?
        }
        Kind::Alias(alias) => format!("pub type {name} = {alias};\n"),
        Kind::Open => render(include_str!("open.rs.jinja"), context!(name))?,
    };
    Ok(format!("{}\n{definition}", scope.docs.item(name, area)))
}

/// `methods.rs`: names, markers and directions of the methods of the canonical revision, or what a later one does not share
/// with it.
fn methods(model: &Model, scope: &Scope<'_>) -> Result<String> {
    let by_method = |method: &&Method| method.method.clone();
    let mut methods: Vec<&Method> = model.methods.iter().collect();
    methods.sort_by_key(by_method);
    // Every name of every revision, each once, and the module of its marker.
    let mut constants = Vec::from_iter(methods.iter().map(|method| (*method, "super".to_owned())));
    for (module, novel) in &scope.later {
        let place = format!("crate::{module}");
        constants.extend(novel.iter().map(|method| (method, place.clone())));
    }
    constants.sort_by_key(|(method, _)| by_method(method));
    let methods = methods.into_iter().map(|method| {
        context! {
            doc => scope.docs.item(&method.name, "methods"),
            is_own => !scope.is_shared(&method.name),
            kind => method.kind(),
            params => scope.path(&method.params),
            result => method.result.as_ref().map(|result| scope.path(result)),
            ..Value::from_serialize(method)
        }
    });
    let values = context! {
        methods => Vec::from_iter(methods),
        constants => scope.module.is_none().then_some(constants),
        ..scope.head("methods")
    };
    render(include_str!("methods.rs.jinja"), values)
}

/// The table of the round-trip tests of the types: the name of each definition, and a function that decodes a value and encodes it again.
pub(super) fn table(model: &Model, scope: &Scope<'_>) -> Result<String> {
    let module = scope.module.iter().map(|(module, _)| format!("::{module}"));
    let path = format!("mcp_types{}", module.collect::<String>());
    let mut rows = Vec::new();
    for item in &model.items {
        let definition = item.definition.as_ref();
        rows.extend(definition.map(|name| (name, "round_trip", &item.name)));
    }
    for method in model.methods.iter().filter(|_| scope.module.is_some()) {
        rows.push((&method.name, method.kind(), &method.name));
        let response = method.response.as_ref();
        rows.extend(response.map(|name| (name, "response", &method.name)));
    }
    rows.sort_unstable();
    let helpers: BTreeSet<&str> = rows.iter().map(|(_, helper, _)| *helper).collect();
    let values = context!(header => scope.header, helpers, path, rows);
    render(include_str!("table.rs.jinja"), values)
}
