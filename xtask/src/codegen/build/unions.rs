//! String enums and unions.

use serde_json::Value;

use super::Builder;
use super::messages;
use crate::codegen::model::{Arm, Condition, Kind, Rule, StringEnum, Union};
use crate::codegen::naming;

impl<'a> Builder<'a> {
    pub(super) fn string_enum(
        &mut self,
        name: &str,
        definition: Option<&str>,
        schema: &Value,
    ) -> Result<(), String> {
        let rule = self.overrides.string_enum(name);
        let listed = schema
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let mut values: Vec<String> = listed
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        if let Some(prose) = rule.and_then(|rule| rule.values.clone()) {
            values = prose;
        }
        let order = rule.and_then(|rule| rule.order.clone());
        if let Some(order) = &order {
            let (mut left, mut right) = (order.clone(), values.clone());
            left.sort();
            right.sort();
            if left != right {
                return Err(format!(
                    "the order of {name} does not list the values of the schema"
                ));
            }
        }
        let closed = rule.is_some_and(|rule| rule.closed);
        let ranked = order.is_some();
        let values = order.unwrap_or(values);
        self.insert(
            name.to_owned(),
            definition,
            Kind::Enum(StringEnum {
                values,
                closed,
                ranked,
            }),
        )
    }

    pub(super) fn union(
        &mut self,
        name: &str,
        definition: Option<&str>,
        arms: &'a [Value],
    ) -> Result<(), String> {
        let mut targets = Vec::new();
        for arm in arms {
            let reference = arm
                .get("$ref")
                .ok_or_else(|| format!("{name}: an arm without a name"))?;
            targets.push(self.resolve(reference)?);
        }
        let union = if self.overrides.union(name).is_some() {
            self.shaped(name, &targets)?
        } else if targets.iter().all(|(_, arm)| messages::is_embedded(arm)) {
            self.embedded(name, &targets)?
        } else {
            self.tagged(name, &targets)?
        };
        self.insert(name.to_owned(), definition, Kind::Union(union))
    }

    fn shaped(&self, name: &str, targets: &[(&str, &Value)]) -> Result<Union, String> {
        let rule = self.overrides.union(name).ok_or("the rule is there")?;
        let mut arms: Vec<Arm> = Vec::new();
        let mut cases = Vec::new();
        for case in &rule.arms {
            let index = arms
                .iter()
                .position(|arm| arm.name == case.name)
                .unwrap_or_else(|| {
                    arms.push(Arm {
                        name: case.name.clone(),
                        ty: case.ty.clone(),
                    });
                    arms.len() - 1
                });
            cases.push((
                case.when
                    .iter()
                    .map(|text| Condition::parse(text))
                    .collect(),
                index,
            ));
        }
        let mut wanted: Vec<_> = targets
            .iter()
            .map(|(target, _)| self.rust_name(target))
            .collect();
        let mut listed: Vec<_> = arms.iter().map(|arm| arm.ty.clone()).collect();
        wanted.sort();
        listed.sort();
        if wanted != listed {
            return Err(format!(
                "the rule of {name} lists {listed:?}, the schema {wanted:?}"
            ));
        }
        Ok(Union {
            rule: Rule::Shaped {
                requires: rule.requires.clone(),
                cases,
            },
            arms,
        })
    }

    fn tagged(&self, name: &str, targets: &[(&str, &Value)]) -> Result<Union, String> {
        let mut tag: Option<String> = None;
        let mut default = None;
        let (mut values, mut arms) = (Vec::new(), Vec::new());
        for (index, (target, definition)) in targets.iter().enumerate() {
            let properties = definition
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            let owner = self.rust_name(target);
            let constant = properties
                .filter_map(|(wire, schema)| Some((wire, self.constant(&owner, wire, schema)?)))
                .next();
            let (wire, (value, checked)) =
                constant.ok_or_else(|| format!("{name}: {target} has no constant member"))?;
            if tag.get_or_insert_with(|| wire.clone()) != wire {
                return Err(format!("{name}: its arms have different discriminators"));
            }
            let absent = checked && self.overrides.is_default_constant(value);
            if absent || !messages::requires(definition, wire) {
                default = Some(index);
            }
            values.push(value.to_owned());
            arms.push(Arm {
                name: naming::arm(value),
                ty: owner,
            });
        }
        let tag = tag.ok_or_else(|| format!("{name}: no arms"))?;
        Ok(Union {
            rule: Rule::Tagged {
                tag,
                values,
                default,
            },
            arms,
        })
    }

    fn embedded(&self, name: &str, targets: &[(&str, &Value)]) -> Result<Union, String> {
        let (mut methods, mut optional, mut arms) = (Vec::new(), Vec::new(), Vec::new());
        for (target, definition) in targets {
            let method = definition.pointer("/properties/method/const");
            let params = definition.pointer("/properties/params");
            let (Some(method), Some(params)) = (method.and_then(Value::as_str), params) else {
                return Err(format!("{name}: {target} has no method or no params"));
            };
            methods.push(method.to_owned());
            optional.push(!messages::requires(definition, "params"));
            arms.push(Arm {
                name: target.strip_suffix("Request").unwrap_or(target).to_owned(),
                ty: self.params_type(target, params)?,
            });
        }
        Ok(Union {
            rule: Rule::Embedded { methods, optional },
            arms,
        })
    }
}
