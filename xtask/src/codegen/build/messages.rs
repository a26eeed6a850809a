//! Requests and notifications.

use serde_json::Value;

use super::Builder;
use crate::codegen::model::Method;

impl<'a> Builder<'a> {
    pub(super) fn method(
        &mut self,
        name: &str,
        method: &str,
        definition: &'a Value,
    ) -> Result<(), String> {
        let request = definition.pointer("/properties/id").is_some();
        let params = definition
            .pointer("/properties/params")
            .ok_or("a message without params")?;
        let params_type = match params.get("$ref") {
            Some(reference) => self.rust_name(self.resolve(reference)?.0),
            None => {
                let params_type = format!("{name}Params");
                self.structure(&params_type, None, params)?;
                params_type
            }
        };
        let required = definition
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        self.methods.push(Method {
            name: name.to_owned(),
            method: method.to_owned(),
            params: params_type,
            params_optional: !required.into_iter().any(|member| member == "params"),
            result: request.then(|| self.result_of(name)),
            from_client: self.sends("Client", name),
            from_server: self.sends("Server", name),
        });
        Ok(())
    }

    fn result_of(&self, request: &str) -> String {
        let stem = request.strip_suffix("Request").unwrap_or(request);
        let result = format!("{stem}Result");
        if self.definitions.contains_key(&result) {
            self.rust_name(&result)
        } else {
            "EmptyResult".to_owned()
        }
    }

    fn sends(&self, side: &str, message: &str) -> bool {
        let unions = [format!("{side}Request"), format!("{side}Notification")];
        let reference = format!("#/$defs/{message}");
        unions
            .iter()
            .filter_map(|union| self.definitions.get(union))
            .any(|union| {
                let arms = union
                    .get("anyOf")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                let single = union.get("$ref").into_iter();
                arms.filter_map(|arm| arm.get("$ref"))
                    .chain(single)
                    .any(|arm| arm == reference.as_str())
            })
    }
}
