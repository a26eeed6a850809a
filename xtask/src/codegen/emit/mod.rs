//! From the [`Model`] to Rust source: one file per area, `methods.rs`, `mod.rs` and `bridges.rs`. The templates beside this
//! file have the text.

mod scope;

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};

use super::model::{Item, Kind, Model, Presence, Property, Struct, words};
use crate::workspace::Result;
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
        revision => scope.revision,
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
        Kind::Struct(structure) => emit_struct(name, structure, scope)?,
        Kind::Enum(string_enum) => {
            let values = string_enum.values.iter();
            let values =
                values.map(|value| (value, scope.docs.member(scope.revision, name, value)));
            let values = Vec::from_iter(values);
            let values = context!(name, values, ..Value::from_serialize(string_enum));
            render(include_str!("enum.rs.jinja"), values)?
        }
        Kind::Union(union) => {
            let values = context!(name, ..Value::from_serialize(union));
            render(include_str!("union.rs.jinja"), values)?
        }
        Kind::Alias(alias) => format!("pub type {name} = {alias};\n"),
        Kind::Open => render(include_str!("open.rs.jinja"), context!(name))?,
    };
    Ok(format!(
        "{}\n{definition}",
        scope.docs.item(scope.revision, name, area)
    ))
}

/// A struct: fields, `new` and `with_…`.
fn emit_struct(name: &str, structure: &Struct, scope: &Scope<'_>) -> Result<String> {
    let fields = structure.fields.iter();
    let is_camel = |field: &Property| !field.is_renamed() && field.rust != field.wire;
    let is_optional = |field: &Property| field.presence == Presence::Optional;
    let views = fields.clone().map(|field| {
        let range = field.range.filter(|_| field.ty == "f64");
        context! {
            doc => scope.docs.member(scope.revision, name, &field.wire),
            held => field.held(),
            is_renamed => field.is_renamed(),
            is_optional => is_optional(field),
            range => range.map(|(least, greatest)| [least.to_string(), greatest.to_string()]),
            is_plain => scope.is_plain(field),
            ..Value::from_serialize(field)
        }
    });
    let values = context! {
        name,
        constant => structure.constant(),
        is_camel => fields.clone().any(is_camel),
        is_empty => fields.clone().all(is_optional),
        fields => Vec::from_iter(views),
        ..Value::from_serialize(structure)
    };
    render(include_str!("struct.rs.jinja"), values)
}

/// `methods.rs`: names, markers and directions of the methods of the canonical revision, or what a later one does not share
/// with it.
fn methods(model: &Model, scope: &Scope<'_>) -> Result<String> {
    // Every name of every revision, each once, and the module of its marker.
    let methods = model.methods.iter();
    let mut constants = Vec::from_iter(methods.clone().map(|method| (method, "super".to_owned())));
    for (module, novel) in &scope.later {
        let place = format!("crate::{module}");
        constants.extend(novel.iter().map(|method| (method, place.clone())));
    }
    constants.sort_by(|(a, _), (b, _)| a.method.cmp(&b.method));
    let methods = methods.map(|method| {
        context! {
            doc => scope.docs.item(scope.revision, &method.name, "methods"),
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

/// `bridges.rs`: conversions of canonical types to those of a later revision and back, for pairs of a type and its canonical
/// namesake.
pub(super) fn bridges(pairs: &[(&Item, &Item)], scope: &Scope<'_>) -> Result<String> {
    let bridged: BTreeSet<&str> = pairs.iter().map(|(item, _)| &*item.name).collect();
    let bridges = pairs.iter().filter_map(|(item, known)| {
        let values = match (&item.kind, &known.kind) {
            (Kind::Struct(own), Kind::Struct(known)) => {
                let lost = known.fields.iter().map(|field| &field.wire);
                context! {
                    narrow => literal(own, own, &bridged),
                    widen => literal(known, own, &bridged),
                    lost => Vec::from_iter(lost.filter(|wire| own.field(wire).is_none())),
                }
            }
            (Kind::Union(own), _) => context!(arms => own.arms),
            _ => return None,
        };
        let (later, canonical) = (scope.path(&item.name), format!("crate::{}", item.name));
        Some(context!(later, canonical, ..values))
    });
    let values = context!(bridges => Vec::from_iter(bridges), ..scope.head("bridges"));
    render(include_str!("bridges.rs.jinja"), values)
}

/// A literal of `target` from a value that has the members of `own`.
fn literal(target: &Struct, own: &Struct, bridged: &BTreeSet<&str>) -> Value {
    let fields = target.fields.iter().map(|field| {
        let own = own.field(&field.wire);
        context! {
            name => field.rust,
            is_known => own.is_some(),
            is_bridged => own.is_some_and(|own| words(&own.ty).any(|name| bridged.contains(name))),
            is_optional => own.is_some_and(|own| own.presence == Presence::Optional),
            is_list => own.is_some_and(|own| own.ty.starts_with("Vec<")),
        }
    });
    let fields = Vec::from_iter(fields);
    context!(fields, constant => target.constant(), extra => target.extra)
}
