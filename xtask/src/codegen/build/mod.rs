//! From a schema file to the [`Model`].

mod unions;

use std::collections::BTreeMap;

use heck::ToSnakeCase as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::{Item, Kind, Method, Model, Presence, Property, Struct, Tag};
use super::overrides::Overrides;
use super::schema::Schema;
use crate::workspace::{At as _, Result};

/// Reads every definition; one that is neither generated nor skipped with a reason is an error.
pub(super) fn build(schema: &Value, overrides: &Overrides) -> Result<Model> {
    let definitions = schema.get("$defs").ok_or("the schema has no $defs")?;
    let mut builder = Builder {
        definitions: &parse(definitions)?,
        overrides,
        items: BTreeMap::new(),
        methods: Vec::new(),
    };
    for (name, definition) in builder.definitions {
        if overrides.has("skip", name) {
            continue;
        }
        let built = if let Some(lift) = overrides.find("lift", name) {
            let part = definitions.pointer(&format!("/{name}{}", lift.pointer));
            let problem = "the pointer of the lifted definition names nothing in the schema";
            let part = parse(part.ok_or(problem)?)?;
            let rust = overrides.renamed("lift", name).unwrap_or(name);
            builder.composite(rust, None, &part)
        } else if let Some(method) = definition.method() {
            builder.method(name, method, definition)
        } else {
            builder.definition(name, definition)
        };
        built.at(name)?;
    }
    builder.methods.sort_by(|a, b| a.method.cmp(&b.method));
    Ok(Model {
        items: builder.items.into_values().collect(),
        methods: builder.methods,
    })
}

fn parse<T: DeserializeOwned>(schema: &Value) -> Result<T> {
    T::deserialize(schema).at("the schema")
}

struct Builder<'a> {
    definitions: &'a BTreeMap<String, Schema>,
    overrides: &'a Overrides,
    items: BTreeMap<String, Item>,
    methods: Vec<Method>,
}

impl<'a> Builder<'a> {
    fn definition(&mut self, name: &str, schema: &Schema) -> Result {
        let rust = self.rust_name(name);
        if schema.is_open() {
            return self.insert(&rust, Some(name), Kind::Open);
        }
        let has_members = schema.properties.is_some() || !schema.all_of.is_empty();
        let has_arms = schema.any_of.is_some() || schema.values.is_some();
        let has_name = schema.reference.is_some() || self.overrides.has("enum", &rust);
        if has_members || has_arms || has_name {
            return self.composite(&rust, Some(name), schema);
        }
        let ty = self.ty(name, schema)?;
        self.insert(&rust, Some(name), Kind::Alias(ty))
    }

    /// Adds a union, a string enum or a struct.
    fn composite(&mut self, name: &str, definition: Option<&str>, schema: &Schema) -> Result {
        let kind = if let Some(arms) = &schema.any_of {
            Kind::Union(self.union(name, arms)?)
        } else if schema.values.is_some() || self.overrides.has("enum", name) {
            Kind::Enum(self.string_enum(name, schema)?)
        } else {
            Kind::Struct(self.structure(name, schema)?)
        };
        self.insert(name, definition, kind)
    }

    /// Adds the anonymous type of a member.
    fn anonymous(&mut self, at: &str, schema: &Schema) -> Result<String> {
        let name = self.overrides.renamed("inline", at);
        let name = name.ok_or_else(|| format!("{at} needs a name under [[inline]]"))?;
        self.composite(name, None, schema)?;
        Ok(name.to_owned())
    }

    fn insert(&mut self, name: &str, definition: Option<&str>, kind: Kind) -> Result {
        let area = self.overrides.area(name);
        let area = area.ok_or_else(|| format!("{name} has no entry under [areas]"))?;
        let item = Item {
            name: name.to_owned(),
            definition: definition.map(str::to_owned),
            area: area.to_owned(),
            kind,
        };
        match self.items.get(name) {
            Some(known) if *known != item => {
                return Err(format!("two different types have the name {name}"));
            }
            _ => self.items.insert(name.to_owned(), item),
        };
        Ok(())
    }

    fn rust_name(&self, definition: &str) -> String {
        let renamed = self.overrides.renamed("rename", definition);
        renamed.unwrap_or(definition).to_owned()
    }

    fn resolve(&self, reference: &str) -> Result<(&'a str, &'a Schema)> {
        let definition = reference
            .strip_prefix("#/$defs/")
            .and_then(|name| self.definitions.get_key_value(name));
        let (name, schema) = definition.ok_or_else(|| format!("no definition {reference}"))?;
        Ok((name, schema))
    }

    fn method(&mut self, name: &str, method: &str, schema: &Schema) -> Result {
        let params = schema.member("params").ok_or("a message without params")?;
        let params_type = self.params_type(name, params)?;
        if params.reference.is_none() {
            self.composite(&params_type, None, params)?;
        }
        let is_request = schema.member("id").is_some() || schema.is_embedded();
        let stem = name.strip_suffix("Request").unwrap_or(name);
        let [response, result] = ["ResultResponse", "Result"].map(|end| {
            let name = format!("{stem}{end}");
            Some(name).filter(|name| self.definitions.contains_key(name))
        });
        let lifted = response.as_ref();
        let lifted = lifted.and_then(|response| self.overrides.renamed("lift", response));
        let result = match (lifted, result) {
            (Some(lifted), _) => lifted.to_owned(),
            (None, Some(result)) => self.rust_name(&result),
            (None, None) => "EmptyResult".to_owned(),
        };
        self.methods.push(Method {
            name: name.to_owned(),
            method: method.to_owned(),
            params: params_type,
            params_optional: !schema.requires("params"),
            result: is_request.then_some(result),
            direction: match ["Client", "Server"].map(|side| self.sends(side, name, method)) {
                [true, true] => Some("Both"),
                [true, false] => Some("ClientToServer"),
                [false, true] => Some("ServerToClient"),
                [false, false] => None,
            },
            response,
        });
        Ok(())
    }

    /// The type of a message's params, named after the message where they have no name.
    fn params_type(&self, name: &str, params: &Schema) -> Result<String> {
        match &params.reference {
            Some(reference) => Ok(self.rust_name(self.resolve(reference)?.0)),
            None => Ok(format!("{name}Params")),
        }
    }

    /// Whether a message is an arm of what one side sends, or all that it sends.
    fn sends(&self, side: &str, message: &str, method: &str) -> bool {
        let reference = format!("#/$defs/{message}");
        let is_message = |schema: &Schema| schema.reference.as_ref() == Some(&reference);
        ["Request", "Notification"].iter().any(|kind| {
            let union = self.definitions.get(&format!("{side}{kind}"));
            union.is_some_and(|union| {
                is_message(union)
                    || union.any_of.iter().flatten().any(is_message)
                    || union.method() == Some(method)
            })
        })
    }

    /// The members and the required members of an object, merged over `$ref` and `allOf`.
    fn members(&self, schema: &Schema) -> Result<(BTreeMap<String, Schema>, Vec<String>)> {
        let (mut properties, mut required) = (BTreeMap::new(), schema.required.clone());
        let reference = schema.reference.as_deref();
        let base = reference.map(|reference| self.resolve(reference));
        let base = base.transpose()?.map(|(_, base)| base);
        for part in base.into_iter().chain(&schema.all_of) {
            let (more, also_required) = self.members(part)?;
            properties.extend(more);
            required.extend(also_required);
        }
        properties.extend(schema.properties.clone().unwrap_or_default());
        Ok((properties, required))
    }

    fn structure(&mut self, name: &str, schema: &Schema) -> Result<Struct> {
        let (properties, required) = self.members(schema)?;
        let mut structure = Struct::default();
        for (wire, property) in &properties {
            let at = format!("{name}.{wire}");
            match self.constant(&at, property) {
                Some(_) if self.overrides.has("drop_tag", &at) => {}
                Some(_) if structure.tag.is_some() => {
                    return Err("two constant members".to_owned());
                }
                Some((value, checked)) => {
                    let (wire, value) = (wire.clone(), value.to_owned());
                    structure.tag = Some(Tag {
                        wire,
                        value,
                        checked,
                    });
                }
                None => {
                    let field = self.field(&at, wire, property, required.contains(wire))?;
                    structure.fields.push(field);
                }
            }
        }
        for (wire, ty) in self.overrides.added(name) {
            let is_used = || self.overrides.has("add", &format!("{name}.{wire}"));
            if !properties.contains_key(wire) && is_used() {
                structure.fields.push(self.property(wire, ty.to_owned()));
            }
        }
        let fields = &mut structure.fields;
        fields.sort_by_key(|field| (self.overrides.rank(&field.wire), field.wire.clone()));
        structure.extra = self.overrides.has("extra", name);
        Ok(structure)
    }

    /// The only value of a member that has no other, and whether input is checked for it.
    fn constant<'s>(&'s self, at: &str, schema: &'s Schema) -> Option<(&'s str, bool)> {
        match self.overrides.find("constant", at) {
            Some(entry) => Some((&entry.value, true)),
            None => schema.constant().map(|value| (value, false)),
        }
    }

    /// An optional member.
    fn property(&self, wire: &str, ty: String) -> Property {
        let rust = self.overrides.renamed("field_name", wire);
        Property {
            wire: wire.to_owned(),
            rust: rust.map_or_else(|| wire.to_snake_case(), str::to_owned),
            ty,
            presence: Presence::Optional,
            range: None,
            keeps_null: false,
        }
    }

    fn field(&mut self, at: &str, wire: &str, schema: &Schema, required: bool) -> Result<Property> {
        let required = required && !self.overrides.has("optional", at);
        let presence = match (required, schema.is_nullable()) {
            (true, false) if self.overrides.has("default", at) => Presence::Defaulted,
            (true, true) => Presence::Nullable,
            (true, false) => Presence::Required,
            (false, false) => Presence::Optional,
            (false, true) => {
                let problem = "is optional and nullable, which no type here can tell apart";
                return Err(format!("{at} {problem}"));
            }
        };
        let ty = if wire == "_meta" && schema.reference.is_none() {
            "Meta".to_owned()
        } else {
            self.ty(at, schema)?
        };
        let has_null = schema.is_any() || self.overrides.has("null", at);
        Ok(Property {
            keeps_null: has_null && presence == Presence::Optional,
            presence,
            range: schema.range(),
            ..self.property(wire, ty)
        })
    }

    fn ty(&mut self, at: &str, schema: &Schema) -> Result<String> {
        if let Some(entry) = self.overrides.find("field", at) {
            return Ok(entry.ty.clone());
        }
        if let Some(reference) = &schema.reference {
            return Ok(self.rust_name(self.resolve(reference)?.0));
        }
        let has_members = schema.properties.iter().any(|all| !all.is_empty());
        let has_arms = schema.any_of.is_some() || schema.values.is_some();
        if has_members || has_arms || self.overrides.has("inline", at) {
            return self.anonymous(at, schema);
        }
        let plain = match schema.ty.as_str() {
            None if schema.ty.is_null() => "Value",
            Some("string") => "String",
            Some("boolean") => "bool",
            Some("integer") => "i64",
            Some("number") => "f64",
            Some("array") => {
                let items = schema.items.as_ref();
                let items = items.ok_or_else(|| format!("{at}: an array without items"))?;
                return Ok(format!("Vec<{}>", self.ty(&format!("{at}[]"), items)?));
            }
            Some("object") => match schema.other_members() {
                Some(values) => {
                    let values = self.ty(&format!("{at}{{}}"), values)?;
                    return Ok(format!("BTreeMap<String, {values}>"));
                }
                None => "JsonObject",
            },
            _ => return Err(format!("{at}: codegen does not support {}", schema.ty)),
        };
        Ok(plain.to_owned())
    }
}
