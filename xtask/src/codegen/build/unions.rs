//! String enums and unions.

use std::collections::BTreeSet;

use heck::ToUpperCamelCase as _;

use super::Builder;
use crate::codegen::model::{Arm, Rule, StringEnum, Union};
use crate::codegen::overrides::Entry;
use crate::codegen::schema::Schema;
use crate::workspace::Result;

impl Builder<'_> {
    pub(super) fn string_enum(&self, name: &str, schema: &Schema) -> Result<StringEnum> {
        let none = Entry::default();
        let rule = self.overrides.find("enum", name).unwrap_or(&none);
        let (listed, ordered) = (&schema.values, &rule.values);
        let is_same = |listed| BTreeSet::from_iter(listed) == BTreeSet::from_iter(ordered);
        let values = match listed {
            Some(listed) if ordered.is_empty() => listed,
            Some(listed) if !is_same(listed) => {
                return Err(format!("the values of {name} are not those of the schema"));
            }
            _ => ordered,
        };
        Ok(StringEnum {
            values: values.clone(),
            closed: rule.closed,
            ranked: rule.closed && !ordered.is_empty(),
        })
    }

    pub(super) fn union(&self, name: &str, arms: &[Schema]) -> Result<Union> {
        let resolve = |arm: &Schema| {
            let reference = arm.reference.as_ref();
            let reference = reference.ok_or_else(|| format!("{name}: an arm without a name"))?;
            self.resolve(reference)
        };
        let targets = arms.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        if let Some(rule) = self.overrides.find("union", name) {
            self.shaped(name, rule, &targets)
        } else if targets.iter().all(|(_, arm)| arm.is_embedded()) {
            self.embedded(name, &targets)
        } else {
            self.tagged(name, &targets)
        }
    }

    fn shaped(&self, name: &str, rule: &Entry, targets: &[(&str, &Schema)]) -> Result<Union> {
        let wanted = targets.iter().map(|(target, _)| self.rust_name(target));
        let wanted: BTreeSet<String> = wanted.collect();
        let listed: BTreeSet<String> = rule.arms.iter().map(|arm| arm.ty.clone()).collect();
        if wanted != listed {
            let problem = format!("lists {listed:?}, the schema {wanted:?}");
            return Err(format!("the rule of {name} {problem}"));
        }
        let (requires, arms) = (rule.requires.clone(), rule.arms.clone());
        let rule = Rule::Shaped { requires };
        Ok(Union { rule, arms })
    }

    fn tagged(&self, name: &str, targets: &[(&str, &Schema)]) -> Result<Union> {
        let mut tags = Vec::new();
        let mut default = None;
        let mut arms = Vec::new();
        for (index, (target, definition)) in targets.iter().enumerate() {
            let ty = self.rust_name(target);
            let mut members = definition.properties.iter().flatten();
            let constant = members.find_map(|(wire, schema)| {
                Some((wire, self.constant(&format!("{ty}.{wire}"), schema)?))
            });
            let (wire, (value, _)) =
                constant.ok_or_else(|| format!("{name}: {target} has no constant member"))?;
            let rule = self.overrides.find("constant", &format!("{ty}.{wire}"));
            if rule.is_some_and(|rule| rule.absent) || !definition.requires(wire) {
                default = Some(index);
            }
            tags.push(wire);
            // `Prompt` for `ref/prompt`.
            let last = value.rsplit('/').next().unwrap_or(value);
            arms.push(Arm {
                name: last.to_upper_camel_case(),
                ty,
                value: value.to_owned(),
                ..Arm::default()
            });
        }
        tags.dedup();
        let [tag] = tags[..] else {
            return Err(format!("{name}: its arms have the discriminators {tags:?}"));
        };
        let tag = tag.clone();
        let rule = Rule::Tagged { tag, default };
        Ok(Union { rule, arms })
    }

    fn embedded(&self, name: &str, targets: &[(&str, &Schema)]) -> Result<Union> {
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
                when: Vec::new(),
            });
        }
        let rule = Rule::Embedded;
        Ok(Union { rule, arms })
    }
}
