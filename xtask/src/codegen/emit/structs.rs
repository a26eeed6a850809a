//! Structs: fields, `new` and `with_…`.

use heck::ToLowerCamelCase as _;
use minijinja::{Value, context};

use super::scope::{Scope, render};
use crate::codegen::model::{Presence, Property, Struct};
use crate::workspace::Result;

/// The struct and its impl.
pub(super) fn emit(name: &str, structure: &Struct, scope: &Scope<'_>) -> Result<String> {
    let fields = structure.fields.iter();
    let is_optional = |field: &Property| field.presence == Presence::Optional;
    let views = fields.clone().map(|field| {
        let (parameter, value) = scope.argument(field);
        let range = field.range.filter(|_| field.ty == "f64");
        context! {
            doc => scope.docs.member(name, &field.wire),
            serde => field_settings(field),
            name => field.rust,
            held => field.held(),
            is_optional => is_optional(field),
            range => range.map(|(least, greatest)| [least.to_string(), greatest.to_string()]),
            parameter,
            value,
        }
    });
    let values = context! {
        name,
        serde => container_settings(structure),
        constant => structure.constant().map(Value::from_serialize),
        is_empty => fields.clone().all(is_optional),
        fields => Vec::from_iter(views),
        extra => structure.extra,
    };
    render(include_str!("struct.rs.jinja"), values)
}

fn container_settings(structure: &Struct) -> String {
    let is_camel = |field: &Property| {
        field.rust.contains('_') && field.rust.to_lower_camel_case() == field.wire
    };
    let mut settings = Vec::new();
    if let Some(tag) = structure.tag.as_ref().filter(|tag| !tag.checked) {
        settings.push(format!("tag = {:?}, rename = {:?}", tag.wire, tag.value));
    }
    if structure.fields.iter().any(is_camel) {
        settings.push("rename_all = \"camelCase\"".to_owned());
    }
    settings.join(", ")
}

fn field_settings(field: &Property) -> String {
    let with = |direction, path| format!("{direction}_with = \"crate::{path}\"");
    let mut settings = Vec::new();
    if field.rust.to_lower_camel_case() != field.wire {
        settings.push(format!("rename = {:?}", field.wire));
    }
    match field.presence {
        Presence::Required => {}
        Presence::Defaulted => {
            settings.push("default".to_owned());
            if field.ty == "u64" {
                settings.push(with("deserialize", "number::at_least_zero"));
            }
        }
        Presence::Optional => {
            if field.keeps_null {
                settings.push("default".to_owned());
                settings.push(with("deserialize", "presence::kept"));
            }
            settings.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        Presence::Nullable => settings.push(with("deserialize", "number::nullable")),
    }
    if field.ty == "f64" {
        settings.push(match field.presence {
            Presence::Required | Presence::Defaulted => with("serialize", "number::serialize"),
            _ => with("serialize", "number::serialize_optional"),
        });
    }
    settings.join(", ")
}
