//! From a schema file to the [`Model`].

mod messages;
#[cfg(test)]
mod tests;
mod unions;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::model::{Item, Kind, Method, Model, Presence, Property, Struct, Tag, Ty};
use super::naming;
use super::overrides::Overrides;

type Object = Map<String, Value>;

/// Reads every definition; one that is neither generated nor skipped with a reason is an error.
pub(crate) fn build(schema: &Value, overrides: &Overrides) -> Result<Model, String> {
    let definitions = schema
        .get("$defs")
        .and_then(Value::as_object)
        .ok_or("the schema has no $defs")?;
    let mut builder = Builder {
        definitions,
        overrides,
        items: BTreeMap::new(),
        methods: Vec::new(),
    };
    for (name, definition) in definitions {
        if !overrides.is_skipped(name) {
            builder
                .definition(name, definition)
                .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(Model {
        items: builder.items.into_values().collect(),
        methods: builder.methods,
    })
}

struct Builder<'a> {
    definitions: &'a Object,
    overrides: &'a Overrides,
    items: BTreeMap<String, Item>,
    methods: Vec<Method>,
}

/// The members of an object schema, merged over `$ref` and `allOf`.
#[derive(Default)]
struct Members<'a> {
    properties: BTreeMap<&'a str, &'a Value>,
    required: Vec<&'a str>,
}

impl<'a> Builder<'a> {
    fn definition(&mut self, name: &str, definition: &'a Value) -> Result<(), String> {
        if let Some(lift) = self.overrides.lift(name) {
            let part = definition
                .pointer(&lift.pointer)
                .ok_or("the lifted pointer leads nowhere")?;
            return match part.get("anyOf").and_then(Value::as_array) {
                Some(arms) => self.union(&lift.to, None, arms),
                None => self.structure(&lift.to, None, part),
            };
        }
        if let Some(method) = definition
            .pointer("/properties/method/const")
            .and_then(Value::as_str)
        {
            return self.method(name, method, definition);
        }
        let rust = self.rust_name(name);
        if let Some(arms) = definition.get("anyOf").and_then(Value::as_array) {
            return self.union(&rust, Some(name), arms);
        }
        if definition.get("enum").is_some() || self.overrides.string_enum(&rust).is_some() {
            return self.string_enum(&rust, Some(name), definition);
        }
        if is_open(definition) {
            return self.insert(rust, Some(name), Kind::Open);
        }
        if definition.get("properties").is_some()
            || definition.get("allOf").is_some()
            || definition.get("$ref").is_some()
        {
            return self.structure(&rust, Some(name), definition);
        }
        let ty = self.ty(name, definition)?;
        self.insert(rust, Some(name), Kind::Alias(ty))
    }

    fn insert(&mut self, name: String, definition: Option<&str>, kind: Kind) -> Result<(), String> {
        let area = self
            .overrides
            .area(&name)
            .ok_or_else(|| format!("{name} has no entry under [areas]"))?
            .to_owned();
        let item = Item {
            name: name.clone(),
            definition: definition.map(str::to_owned),
            area,
            kind,
        };
        match self.items.get(&name) {
            Some(known) if *known != item => {
                Err(format!("two different types want the name {name}"))
            }
            _ => {
                self.items.insert(name, item);
                Ok(())
            }
        }
    }

    fn rust_name(&self, definition: &str) -> String {
        self.overrides
            .rename(definition)
            .unwrap_or(definition)
            .to_owned()
    }

    fn resolve(&self, reference: &Value) -> Result<(&'a str, &'a Value), String> {
        let path = reference.as_str().ok_or("a $ref is not a string")?;
        let name = path
            .strip_prefix("#/$defs/")
            .ok_or_else(|| format!("foreign $ref {path}"))?;
        let (name, definition) = self
            .definitions
            .get_key_value(name)
            .ok_or_else(|| format!("no definition {name}"))?;
        Ok((name, definition))
    }

    fn members(&self, schema: &'a Value, into: &mut Members<'a>) -> Result<(), String> {
        if let Some(reference) = schema.get("$ref") {
            self.members(self.resolve(reference)?.1, into)?;
        }
        for part in schema
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.members(part, into)?;
        }
        for (wire, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            into.properties.insert(wire, property);
        }
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        into.required.extend(required.filter_map(Value::as_str));
        Ok(())
    }

    fn structure(
        &mut self,
        name: &str,
        definition: Option<&str>,
        schema: &'a Value,
    ) -> Result<(), String> {
        let mut members = Members::default();
        self.members(schema, &mut members)?;
        let mut tag = None;
        let mut fields = Vec::new();
        for (wire, property) in members.properties {
            let required = members.required.contains(&wire);
            match self.constant(name, wire, property) {
                Some(_) if self.overrides.drops_tag(&format!("{name}.{wire}")) => {}
                Some(_) if tag.is_some() => return Err("two constant members".to_owned()),
                Some((value, checked)) => {
                    tag = Some(Tag {
                        wire: wire.to_owned(),
                        value: value.to_owned(),
                        checked,
                    })
                }
                None => fields.push(self.field(name, wire, property, required)?),
            }
        }
        for (wire, ty) in self.overrides.added_fields(name) {
            if fields.iter().any(|field| field.wire == wire) {
                continue;
            }
            self.overrides.was_added(name, wire);
            let rust = self.field_rust(wire);
            fields.push(Property {
                wire: wire.to_owned(),
                rust,
                ty: Ty::parse(ty)?,
                presence: Presence::Optional,
                range: None,
                keeps_null: false,
            });
        }
        fields.sort_by_key(|field| (self.overrides.rank(&field.wire), field.wire.clone()));
        let extra = self.overrides.keeps_extra(name);
        self.insert(
            name.to_owned(),
            definition,
            Kind::Struct(Struct { tag, fields, extra }),
        )
    }

    /// The one value of a member that has no other, and whether input is checked for it.
    fn constant(&self, owner: &str, wire: &str, schema: &'a Value) -> Option<(&str, bool)> {
        let asked = self.overrides.constant(&format!("{owner}.{wire}"));
        let listed = || schema.get("const")?.as_str();
        asked
            .map(|value| (value, true))
            .or_else(|| listed().map(|value| (value, false)))
    }

    fn field_rust(&self, wire: &str) -> String {
        self.overrides
            .field_name(wire)
            .map_or_else(|| naming::snake(wire), str::to_owned)
    }

    fn field(
        &mut self,
        owner: &str,
        wire: &str,
        schema: &'a Value,
        required: bool,
    ) -> Result<Property, String> {
        let at = format!("{owner}.{wire}");
        let nullable = schema
            .get("type")
            .and_then(Value::as_array)
            .is_some_and(|types| types.iter().any(|ty| ty == "null"));
        let required = required && !self.overrides.is_optional(&at);
        let presence = match (required, nullable) {
            (true, false) if self.overrides.is_defaulted(&at) => Presence::Defaulted,
            (true, true) => Presence::Nullable,
            (true, false) => Presence::Required,
            (false, false) => Presence::Optional,
            (false, true) => {
                return Err(format!(
                    "{at} is optional and nullable, which no type here can tell apart"
                ));
            }
        };
        let ty = if wire == "_meta" && schema.get("$ref").is_none() {
            Ty::Meta
        } else {
            self.ty(&at, schema)?
        };
        let any = is_any(schema) || self.overrides.keeps_null(&at);
        Ok(Property {
            keeps_null: any && presence == Presence::Optional,
            wire: wire.to_owned(),
            rust: self.field_rust(wire),
            ty,
            presence,
            range: range(schema),
        })
    }

    fn ty(&mut self, at: &str, schema: &'a Value) -> Result<Ty, String> {
        if let Some(ty) = self.overrides.field_type(at) {
            let ty = Ty::parse(ty)?;
            self.named_enum(at, &ty, schema)?;
            return Ok(ty);
        }
        if let Some(reference) = schema.get("$ref") {
            return Ty::parse(&self.rust_name(self.resolve(reference)?.0));
        }
        if let Some(arms) = schema.get("anyOf").and_then(Value::as_array) {
            let name = self.inline(at)?;
            self.union(&name, None, arms)?;
            return Ok(Ty::Named(name));
        }
        if schema.get("enum").is_some() {
            let name = self.inline(at)?;
            self.string_enum(&name, None, schema)?;
            return Ok(Ty::Named(name));
        }
        match schema.get("type").map_or(Some("any"), Value::as_str) {
            Some("any") => Ok(Ty::Value),
            Some("string") => Ok(Ty::String),
            Some("boolean") => Ok(Ty::Bool),
            Some("integer") => Ok(Ty::I64),
            Some("number") => Ok(Ty::F64),
            Some("array") => {
                let items = schema
                    .get("items")
                    .ok_or_else(|| format!("{at}: an array without items"))?;
                Ok(Ty::Vec(Box::new(self.ty(&format!("{at}[]"), items)?)))
            }
            Some("object") => self.object(at, schema),
            _ => Err(format!("{at}: no rule for {schema}")),
        }
    }

    /// A plain string that the overrides turn into an enum.
    fn named_enum(&mut self, at: &str, ty: &Ty, schema: &'a Value) -> Result<(), String> {
        match (ty, self.overrides.inline(at)) {
            (Ty::Named(name), Some(inline)) if name == inline => {
                self.string_enum(name, None, schema)
            }
            _ => Ok(()),
        }
    }

    fn object(&mut self, at: &str, schema: &'a Value) -> Result<Ty, String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.is_some() && self.overrides.inline(at).is_some();
        if known || properties.is_some_and(|properties| !properties.is_empty()) {
            let name = self.inline(at)?;
            self.structure(&name, None, schema)?;
            return Ok(Ty::Named(name));
        }
        match schema.get("additionalProperties") {
            Some(values) if values.as_object().is_some_and(|values| !values.is_empty()) => {
                Ok(Ty::Map(Box::new(self.ty(&format!("{at}{{}}"), values)?)))
            }
            _ => Ok(Ty::Object),
        }
    }

    fn inline(&self, at: &str) -> Result<String, String> {
        let name = self.overrides.inline(at);
        name.map(str::to_owned)
            .ok_or_else(|| format!("{at} needs a name under [[inline]]"))
    }
}

/// The bounds of a number, if the schema sets both.
fn range(schema: &Value) -> Option<(f64, f64)> {
    Some((
        schema.get("minimum")?.as_f64()?,
        schema.get("maximum")?.as_f64()?,
    ))
}

/// Whether every JSON value fits.
fn is_any(schema: &Value) -> bool {
    ["type", "$ref", "anyOf", "allOf", "enum", "const"]
        .iter()
        .all(|keyword| schema.get(keyword).is_none())
}

/// An object with no member but those of every result, and room for any other.
fn is_open(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let general = |wire: &String| matches!(wire.as_str(), "_meta" | "resultType");
    let bare = properties.is_none_or(|properties| properties.keys().all(general));
    schema.get("type").is_some_and(|ty| ty == "object")
        && bare
        && schema
            .get("additionalProperties")
            .is_some_and(|values| values.as_object().is_none_or(Object::is_empty))
}
