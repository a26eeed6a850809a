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
        let request = definition.pointer("/properties/id").is_some() || is_embedded(definition);
        let params = definition
            .pointer("/properties/params")
            .ok_or("a message without params")?;
        let params_type = self.params_type(name, params)?;
        if params.get("$ref").is_none() {
            self.structure(&params_type, None, params)?;
        }
        self.methods.push(Method {
            name: name.to_owned(),
            method: method.to_owned(),
            params: params_type,
            params_optional: !requires(definition, "params"),
            result: request.then(|| self.result_of(name)),
            from_client: self.sends("Client", name, method),
            from_server: self.sends("Server", name, method),
            response: Some(response_of(name)).filter(|name| self.definitions.contains_key(name)),
        });
        Ok(())
    }

    /// The type of a message's params, named after the message where they have no name.
    pub(super) fn params_type(&self, name: &str, params: &Value) -> Result<String, String> {
        match params.get("$ref") {
            Some(reference) => Ok(self.rust_name(self.resolve(reference)?.0)),
            None => Ok(format!("{name}Params")),
        }
    }

    fn result_of(&self, request: &str) -> String {
        let response = response_of(request);
        let lift = self.overrides.lift(&response);
        if let Some(lift) = lift.filter(|_| self.definitions.contains_key(&response)) {
            return lift.to.clone();
        }
        let result = format!("{}Result", stem(request));
        if self.definitions.contains_key(&result) {
            self.rust_name(&result)
        } else {
            "EmptyResult".to_owned()
        }
    }

    /// Whether a message is an arm of what one side sends, or all that it sends.
    fn sends(&self, side: &str, message: &str, method: &str) -> bool {
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
                let only = union.pointer("/properties/method/const");
                arms.chain(std::iter::once(union))
                    .filter_map(|arm| arm.get("$ref"))
                    .any(|arm| arm == reference.as_str())
                    || only.is_some_and(|only| only == method)
            })
    }
}

/// Whether a message travels inside another one: it has a method, and no envelope.
pub(super) fn is_embedded(definition: &Value) -> bool {
    definition.pointer("/properties/method/const").is_some()
        && definition.pointer("/properties/jsonrpc").is_none()
}

fn stem(request: &str) -> &str {
    request.strip_suffix("Request").unwrap_or(request)
}

fn response_of(request: &str) -> String {
    format!("{}ResultResponse", stem(request))
}

/// Whether an object schema requires a member.
pub(super) fn requires(definition: &Value, member: &str) -> bool {
    let required = definition.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|known| known == member))
}
