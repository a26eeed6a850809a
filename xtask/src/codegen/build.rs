//! From a schema file to the [`Model`].

use std::collections::BTreeMap;

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use serde_json::Value;

use super::model::{
    Arm, Item, Kind, Method, Model, Presence, Property, Rule, StringEnum, Struct, Tag, Union,
};
use super::overrides::{Entry, Overrides};
use super::schema::{Schema, Type};

/// Reads every definition; one that is neither generated nor skipped with a reason is an error.
pub(super) fn build(schema: &Value, overrides: &Overrides) -> Result<Model, String> {
    let parse = |schema: &Value| {
        serde_json::from_value(schema.clone()).map_err(|error| format!("the schema: {error}"))
    };
    let definitions = schema.get("$defs").ok_or("the schema has no $defs")?;
    let mut builder = Builder {
        definitions: &serde_json::from_value(definitions.clone())
            .map_err(|error| format!("the schema: {error}"))?,
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
            let part: Schema = parse(part.ok_or("the lifted pointer leads nowhere")?)?;
            let rust = overrides.renamed("lift", name).unwrap_or(name);
            match &part.any_of {
                Some(arms) => builder.union(rust, None, arms),
                None => builder.structure(rust, None, &part),
            }
        } else {
            builder.definition(name, definition)
        };
        built.map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(Model {
        items: builder.items.into_values().collect(),
        methods: builder.methods,
    })
}

struct Builder<'a> {
    definitions: &'a BTreeMap<String, Schema>,
    overrides: &'a Overrides,
    items: BTreeMap<String, Item>,
    methods: Vec<Method>,
}

impl<'a> Builder<'a> {
    fn definition(&mut self, name: &str, schema: &Schema) -> Result<(), String> {
        if let Some(method) = schema.method() {
            return self.method(name, method, schema);
        }
        let rust = self.rust_name(name);
        if let Some(arms) = &schema.any_of {
            return self.union(&rust, Some(name), arms);
        }
        if schema.values.is_some() || self.overrides.has("enum", &rust) {
            return self.string_enum(&rust, Some(name), schema);
        }
        if schema.is_open() {
            return self.insert(&rust, Some(name), Kind::Open);
        }
        let has_members = schema.properties.is_some() || !schema.all_of.is_empty();
        if has_members || schema.reference.is_some() {
            return self.structure(&rust, Some(name), schema);
        }
        let ty = self.ty(name, schema)?;
        self.insert(&rust, Some(name), Kind::Alias(ty))
    }

    fn insert(&mut self, name: &str, definition: Option<&str>, kind: Kind) -> Result<(), String> {
        let area = self.overrides.area(name);
        let item = Item {
            name: name.to_owned(),
            definition: definition.map(str::to_owned),
            area: area
                .ok_or_else(|| format!("{name} has no entry under [areas]"))?
                .to_owned(),
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

    /// The Rust name of the anonymous type of a member.
    fn inline(&self, at: &str) -> Result<String, String> {
        let name = self.overrides.renamed("inline", at);
        name.map(str::to_owned)
            .ok_or_else(|| format!("{at} needs a name under [[inline]]"))
    }

    fn resolve(&self, reference: &str) -> Result<(&'a str, &'a Schema), String> {
        let definition = reference
            .strip_prefix("#/$defs/")
            .and_then(|name| self.definitions.get_key_value(name));
        let (name, schema) = definition.ok_or_else(|| format!("no definition {reference}"))?;
        Ok((name, schema))
    }

    fn method(&mut self, name: &str, method: &str, schema: &Schema) -> Result<(), String> {
        let params = schema.member("params").ok_or("a message without params")?;
        let params_type = self.params_type(name, params)?;
        if params.reference.is_none() {
            self.structure(&params_type, None, params)?;
        }
        let is_request = schema.member("id").is_some() || schema.is_embedded();
        let stem = name.strip_suffix("Request").unwrap_or(name);
        let response = format!("{stem}ResultResponse");
        let response = Some(response).filter(|name| self.definitions.contains_key(name));
        let lifted = response.as_ref();
        let lifted = lifted.and_then(|response| self.overrides.renamed("lift", response));
        let result = format!("{stem}Result");
        let result = match lifted {
            Some(lifted) => lifted.to_owned(),
            None if self.definitions.contains_key(&result) => self.rust_name(&result),
            None => "EmptyResult".to_owned(),
        };
        self.methods.push(Method {
            name: name.to_owned(),
            method: method.to_owned(),
            params: params_type,
            params_optional: !schema.requires("params"),
            result: is_request.then_some(result),
            from_client: self.sends("Client", name, method),
            from_server: self.sends("Server", name, method),
            response,
        });
        Ok(())
    }

    /// The type of a message's params, named after the message where they have no name.
    fn params_type(&self, name: &str, params: &Schema) -> Result<String, String> {
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
    fn members(&self, schema: &Schema) -> Result<(BTreeMap<String, Schema>, Vec<String>), String> {
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

    fn structure(
        &mut self,
        name: &str,
        definition: Option<&str>,
        schema: &Schema,
    ) -> Result<(), String> {
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
                    structure.tag = Some(Tag {
                        wire: wire.clone(),
                        value: value.to_owned(),
                        checked,
                    });
                }
                None => {
                    let required = required.contains(wire);
                    structure
                        .fields
                        .push(self.field(&at, wire, property, required)?);
                }
            }
        }
        for (wire, ty) in self.overrides.added_fields(name) {
            if !properties.contains_key(wire) {
                self.overrides.was_added(name, wire);
                structure.fields.push(self.property(wire, ty.to_owned()));
            }
        }
        let fields = &mut structure.fields;
        fields.sort_by_key(|field| (self.overrides.rank(&field.wire), field.wire.clone()));
        structure.extra = self.overrides.has("extra", name);
        self.insert(name, definition, Kind::Struct(structure))
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

    fn field(
        &mut self,
        at: &str,
        wire: &str,
        schema: &Schema,
        required: bool,
    ) -> Result<Property, String> {
        let required = required && !self.overrides.has("optional", at);
        let presence = match (required, schema.is_nullable()) {
            (true, false) if self.overrides.has("default", at) => Presence::Defaulted,
            (true, true) => Presence::Nullable,
            (true, false) => Presence::Required,
            (false, false) => Presence::Optional,
            (false, true) => {
                return Err(format!(
                    "{at} is optional and nullable, which no type here can tell apart"
                ));
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

    /// The Rust type of a member.
    fn ty(&mut self, at: &str, schema: &Schema) -> Result<String, String> {
        if let Some(entry) = self.overrides.find("field", at) {
            // A plain string that the overrides turn into an enum.
            if self.overrides.renamed("inline", at) == Some(&entry.ty) {
                self.string_enum(&entry.ty, None, schema)?;
            }
            return Ok(entry.ty.clone());
        }
        if let Some(reference) = &schema.reference {
            return Ok(self.rust_name(self.resolve(reference)?.0));
        }
        if let Some(arms) = &schema.any_of {
            let name = self.inline(at)?;
            self.union(&name, None, arms)?;
            return Ok(name);
        }
        if schema.values.is_some() {
            let name = self.inline(at)?;
            self.string_enum(&name, None, schema)?;
            return Ok(name);
        }
        let plain = match &schema.ty {
            None => "Value",
            Some(Type::One(ty)) => match ty.as_str() {
                "string" => "String",
                "boolean" => "bool",
                "integer" => "i64",
                "number" => "f64",
                "array" => {
                    let items = schema.items.as_ref();
                    let items = items.ok_or_else(|| format!("{at}: an array without items"))?;
                    return Ok(format!("Vec<{}>", self.ty(&format!("{at}[]"), items)?));
                }
                "object" => return self.object(at, schema),
                _ => return Err(format!("{at}: no rule for the type {ty}")),
            },
            Some(types) => return Err(format!("{at}: no rule for the types {types:?}")),
        };
        Ok(plain.to_owned())
    }

    fn object(&mut self, at: &str, schema: &Schema) -> Result<String, String> {
        if let Some(properties) = &schema.properties
            && (!properties.is_empty() || self.overrides.has("inline", at))
        {
            let name = self.inline(at)?;
            self.structure(&name, None, schema)?;
            return Ok(name);
        }
        match schema.other_members() {
            Some(values) => {
                let values = self.ty(&format!("{at}{{}}"), values)?;
                Ok(format!("BTreeMap<String, {values}>"))
            }
            None => Ok("JsonObject".to_owned()),
        }
    }

    fn string_enum(
        &mut self,
        name: &str,
        definition: Option<&str>,
        schema: &Schema,
    ) -> Result<(), String> {
        let none = Entry::default();
        let rule = self.overrides.find("enum", name).unwrap_or(&none);
        let listed = schema.values.as_ref().filter(|_| rule.values.is_empty());
        let values = listed.unwrap_or(&rule.values);
        let ranked = !rule.order.is_empty();
        let is_rank = |value: &String| rule.order.contains(value);
        if ranked && !(values.len() == rule.order.len() && values.iter().all(is_rank)) {
            return Err(format!(
                "the order of {name} does not list the values of the schema"
            ));
        }
        let string_enum = StringEnum {
            values: if ranked { &rule.order } else { values }.clone(),
            closed: rule.closed,
            ranked,
        };
        self.insert(name, definition, Kind::Enum(string_enum))
    }

    fn union(
        &mut self,
        name: &str,
        definition: Option<&str>,
        arms: &[Schema],
    ) -> Result<(), String> {
        let mut targets = Vec::new();
        for arm in arms {
            let reference = arm.reference.as_ref();
            let reference = reference.ok_or_else(|| format!("{name}: an arm without a name"))?;
            targets.push(self.resolve(reference)?);
        }
        let union = if let Some(rule) = self.overrides.find("union", name) {
            self.shaped(name, rule, &targets)?
        } else if targets.iter().all(|(_, arm)| arm.is_embedded()) {
            self.embedded(name, &targets)?
        } else {
            self.tagged(name, &targets)?
        };
        self.insert(name, definition, Kind::Union(union))
    }

    fn shaped(
        &self,
        name: &str,
        rule: &Entry,
        targets: &[(&str, &Schema)],
    ) -> Result<Union, String> {
        let mut arms: Vec<Arm> = Vec::new();
        let mut cases = Vec::new();
        for case in &rule.arms {
            let known = arms.iter().position(|arm| arm.name == case.name);
            let index = known.unwrap_or(arms.len());
            if known.is_none() {
                arms.push(Arm {
                    name: case.name.clone(),
                    ty: case.ty.clone(),
                    ..Arm::default()
                });
            }
            cases.push((case.when.clone(), index));
        }
        let wanted = targets.iter().map(|(target, _)| self.rust_name(target));
        let mut wanted: Vec<_> = wanted.collect();
        let mut listed: Vec<_> = arms.iter().map(|arm| arm.ty.clone()).collect();
        wanted.sort();
        listed.sort();
        if wanted != listed {
            return Err(format!(
                "the rule of {name} lists {listed:?}, the schema {wanted:?}"
            ));
        }
        let requires = rule.requires.clone();
        Ok(Union {
            rule: Rule::Shaped { requires, cases },
            arms,
        })
    }

    fn tagged(&self, name: &str, targets: &[(&str, &Schema)]) -> Result<Union, String> {
        let mut tags = Vec::new();
        let mut default = None;
        let mut arms = Vec::new();
        for (index, (target, definition)) in targets.iter().enumerate() {
            let ty = self.rust_name(target);
            let mut members = definition.properties.iter().flatten();
            let constant = members.find_map(|(wire, schema)| {
                Some((wire, self.constant(&format!("{ty}.{wire}"), schema)?))
            });
            let (wire, (value, checked)) =
                constant.ok_or_else(|| format!("{name}: {target} has no constant member"))?;
            let is_default = checked && self.overrides.is_default_constant(value);
            if is_default || !definition.requires(wire) {
                default = Some(index);
            }
            tags.push(wire);
            arms.push(Arm {
                name: last_part(value).to_upper_camel_case(),
                ty,
                value: value.to_owned(),
                optional: false,
            });
        }
        tags.dedup();
        let [tag] = tags[..] else {
            return Err(format!("{name}: its arms have the discriminators {tags:?}"));
        };
        let tag = tag.clone();
        Ok(Union {
            rule: Rule::Tagged { tag, default },
            arms,
        })
    }

    fn embedded(&self, name: &str, targets: &[(&str, &Schema)]) -> Result<Union, String> {
        let mut arms = Vec::new();
        for (target, definition) in targets {
            let (Some(method), Some(params)) = (definition.method(), definition.member("params"))
            else {
                return Err(format!("{name}: {target} has no method or no params"));
            };
            arms.push(Arm {
                name: target.strip_suffix("Request").unwrap_or(target).to_owned(),
                ty: self.params_type(target, params)?,
                value: method.to_owned(),
                optional: !definition.requires("params"),
            });
        }
        let rule = Rule::Embedded;
        Ok(Union { rule, arms })
    }
}

/// `prompt` of `ref/prompt`.
fn last_part(value: &str) -> &str {
    value.rsplit('/').next().unwrap_or(value)
}
