//! String enums and unions.

use std::collections::BTreeSet;

use heck::ToUpperCamelCase as _;

use super::Builder;
use crate::codegen::model::{Arm, Case, Rule, StringEnum, Union};
use crate::codegen::overrides::Entry;
use crate::codegen::schema::Schema;

impl Builder<'_> {
    pub(super) fn string_enum(&self, name: &str, schema: &Schema) -> Result<StringEnum, String> {
        let none = Entry::default();
        let rule = self.overrides.find("enum", name).unwrap_or(&none);
        let listed = schema.values.as_ref().filter(|_| rule.values.is_empty());
        let values = listed.unwrap_or(&rule.values);
        let ranked = !rule.order.is_empty();
        if ranked && BTreeSet::from_iter(values) != BTreeSet::from_iter(&rule.order) {
            return Err(format!(
                "the order of {name} does not list the values of the schema"
            ));
        }
        Ok(StringEnum {
            values: if ranked { &rule.order } else { values }.clone(),
            closed: rule.closed,
            ranked,
        })
    }

    pub(super) fn union(&self, name: &str, arms: &[Schema]) -> Result<Union, String> {
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

    fn shaped(
        &self,
        name: &str,
        rule: &Entry,
        targets: &[(&str, &Schema)],
    ) -> Result<Union, String> {
        let arm = |case: &Case| Arm {
            name: case.name.clone(),
            ty: case.ty.clone(),
            ..Arm::default()
        };
        let mut arms: Vec<Arm> = rule.arms.iter().map(arm).collect();
        arms.dedup();
        let wanted = targets.iter().map(|(target, _)| self.rust_name(target));
        let wanted: BTreeSet<String> = wanted.collect();
        let listed: BTreeSet<String> = arms.iter().map(|arm| arm.ty.clone()).collect();
        if wanted != listed {
            return Err(format!(
                "the rule of {name} lists {listed:?}, the schema {wanted:?}"
            ));
        }
        let (requires, cases) = (rule.requires.clone(), rule.arms.clone());
        let rule = Rule::Shaped { requires, cases };
        Ok(Union { rule, arms })
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
            let (wire, (value, _)) =
                constant.ok_or_else(|| format!("{name}: {target} has no constant member"))?;
            let rule = self.overrides.find("constant", &format!("{ty}.{wire}"));
            if rule.is_some_and(|rule| rule.absent) || !definition.requires(wire) {
                default = Some(index);
            }
            tags.push(wire);
            arms.push(Arm {
                // `Prompt` for `ref/prompt`.
                name: value
                    .rsplit('/')
                    .next()
                    .unwrap_or(value)
                    .to_upper_camel_case(),
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
        let rule = Rule::Tagged { tag, default };
        Ok(Union { rule, arms })
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
