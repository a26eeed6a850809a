//! Tool parameters that are echoed in HTTP headers (`x-mcp-header`).

use mcp_jsonrpc::{ErrorObject, Request, decode as decode_json, members, text_of};
use mcp_types::JsonObject;
use serde_json::Value;

use super::{KEYWORD, PARAM_PREFIX, check_value, decode, encode, mismatch, sole_member};

/// The largest integer that all JSON implementations represent exactly. Its negative is the smallest such integer.
const SAFE: u64 = (1 << 53) - 1;

/// Maximum number of parameters in one input schema that are echoed in headers.
const MAX_PARAMS: usize = 64;

/// The parameters of one tool that are echoed in HTTP headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderParams(Vec<Param>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Param {
    header: String,
    path: Vec<String>,
}

impl HeaderParams {
    /// Finds the parameters of an input schema that are echoed in headers.
    ///
    /// # Errors
    /// An annotation violates a rule. The tool must then not be used over HTTP.
    pub fn of(schema: &JsonObject) -> Result<Self, String> {
        let mut this = Self::default();
        this.collect(schema, &mut Vec::new())?;
        Ok(this)
    }

    /// Returns whether no parameter is echoed in a header.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names of the headers.
    pub fn headers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|param| param.header.as_str())
    }

    fn collect(&mut self, schema: &JsonObject, path: &mut Vec<String>) -> Result<(), String> {
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                (KEYWORD, name) => self.annotation(schema, name, path)?,
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        if let Value::Object(property) = property {
                            path.push(name.clone());
                            self.collect(property, path)?;
                            path.pop();
                        }
                    }
                }
                // The values of these keywords are data, in which `x-mcp-header` has no meaning.
                ("const" | "enum" | "default" | "examples", _) => {}
                (_, value) if mentions(value) => {
                    return Err(format!(
                        "{KEYWORD} is used below {keyword:?} at /{}; it is allowed below \"properties\" only",
                        path.join("/")
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn annotation(
        &mut self,
        schema: &JsonObject,
        name: &Value,
        path: &[String],
    ) -> Result<(), String> {
        let at = path.join("/");
        let token = name.as_str().filter(|name| is_token(name));
        let name = token.ok_or_else(|| {
            let name = text_of(name);
            format!("{KEYWORD} {name} at /{at} is not a valid header token")
        })?;
        let kind = schema.get("type").and_then(Value::as_str);
        if path.is_empty() || !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "{KEYWORD} {name:?} at /{at} must be on a string, an integer or a boolean"
            ));
        }
        let header = format!("{PARAM_PREFIX}{name}");
        if self
            .headers()
            .any(|known| known.eq_ignore_ascii_case(&header))
        {
            return Err(format!("{KEYWORD} {name:?} is used twice"));
        }
        if self.0.len() == MAX_PARAMS {
            return Err(format!(
                "more than {MAX_PARAMS} parameters have headers; remove some annotations"
            ));
        }
        self.0.push(Param {
            header,
            path: path.to_vec(),
        });
        Ok(())
    }

    /// Returns the headers of a call with these arguments. Each item is a header name and an encoded value.
    ///
    /// # Errors
    /// An argument cannot be represented in a header.
    pub fn headers_for(&self, arguments: &str) -> Result<Vec<(&str, String)>, String> {
        let mut headers = Vec::new();
        for param in &self.0 {
            let value = param.value(arguments);
            if let Some(value) = value.map_err(|problem| param.explain(&problem))? {
                headers.push((param.header.as_str(), encode(&value).into_owned()));
            }
        }
        Ok(headers)
    }

    /// Checks the headers of a `tools/call` request against its arguments. `header` returns the value of a header by its name.
    ///
    /// # Errors
    /// A header is missing or invalid, a header and its argument have different values, or an argument is repeated.
    pub fn check_call<'a>(
        &self,
        request: &Request<'_>,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), ErrorObject> {
        let members = request.param_members().map_while(Result::ok);
        let arguments = sole_member(members, "arguments")
            .map_err(|problem| mismatch(format!("/arguments: {problem}")))?;
        self.check(arguments.unwrap_or("{}"), header)
    }

    /// Checks the headers of a call against its arguments. `header` returns the value of a header by its name.
    ///
    /// # Errors
    /// A header is missing or invalid, or a header and its argument have different values.
    fn check<'a>(
        &self,
        arguments: &str,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), ErrorObject> {
        for param in &self.0 {
            let sent = header(&param.header);
            let body = match param.value(arguments) {
                Ok(body) => body,
                // An argument of another type is rejected later, with a better error.
                Err(Unsendable::Type) if sent.is_none() => continue,
                Err(problem) => return Err(mismatch(param.explain(&problem))),
            };
            if let (Some(sent), Some(body)) = (sent.and_then(decode), &body)
                && let (Ok(sent), Ok(body)) = (sent.parse::<f64>(), body.parse::<i64>())
                && param.is_number(arguments)
            {
                #[expect(clippy::cast_precision_loss, reason = "safe integers are exact")]
                if sent == body as f64 {
                    continue;
                }
            }
            check_value(&param.header, sent, body.as_deref())?;
        }
        Ok(())
    }
}

/// The reason why an argument cannot be sent in a header.
enum Unsendable {
    Type,
    Number,
    /// The name of a member occurs several times or with escapes. The text says which of the two.
    Name(&'static str),
}

impl Param {
    fn raw<'a>(&self, arguments: &'a str) -> Result<Option<&'a str>, &'static str> {
        let mut at = arguments;
        for step in &self.path {
            match sole_member(members(at).map_while(Result::ok), step)? {
                Some(value) => at = value,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn explain(&self, problem: &Unsendable) -> String {
        let problem = match problem {
            Unsendable::Type => "only strings, integers and booleans fit into a header",
            Unsendable::Number => "only integers from -(2^53-1) to 2^53-1 fit into a header",
            Unsendable::Name(problem) => problem,
        };
        format!("/{}: {problem}", self.path.join("/"))
    }

    fn is_number(&self, arguments: &str) -> bool {
        let raw = self.raw(arguments).ok().flatten();
        raw.is_some_and(|raw| raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    }

    /// Returns the argument as text; `None` if it is absent or null.
    fn value(&self, arguments: &str) -> Result<Option<String>, Unsendable> {
        let Some(raw) = self.raw(arguments).map_err(Unsendable::Name)? else {
            return Ok(None);
        };
        if raw.starts_with(['{', '[']) {
            return Err(Unsendable::Type);
        }
        match decode_json(raw).map_err(|_| Unsendable::Type)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            Value::Bool(value) => Ok(Some(value.to_string())),
            Value::Number(number) => match whole(&number) {
                Some(whole) if whole.unsigned_abs() <= SAFE => Ok(Some(whole.to_string())),
                _ => Err(Unsendable::Number),
            },
            _ => Err(Unsendable::Type),
        }
    }
}

/// Returns the number as an integer if it has no fractional part, for example `2.0` or `2e3`.
fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let value = number.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value has no fraction and is small"
        )]
        (value.fract() == 0.0 && value.abs() < 1e16).then_some(value as i64)
    })
}

fn mentions(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(KEYWORD) || members.values().any(mentions),
        Value::Array(items) => items.iter().any(mentions),
        _ => false,
    }
}

/// Returns whether a text is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let special = b"!#$%&'*+-.^_`|~";
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || special.contains(&byte))
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
mod tests {
    use mcp_jsonrpc::ErrorCode;
    use serde_json::json;

    use super::*;

    fn mirrored(properties: Value) -> Result<HeaderParams, String> {
        let schema = json!({"type": "object", "properties": properties});
        HeaderParams::of(schema.as_object().unwrap())
    }

    #[test]
    fn only_numbers_that_are_exact_are_integers() {
        let number = |value| serde_json::Number::from_f64(value).unwrap();
        assert_eq!(whole(&number(9e15)), Some(9_000_000_000_000_000));
        for value in [1e16, -1e16, 1.5] {
            assert_eq!(whole(&number(value)), None, "{value}");
        }
    }

    // proves: M-HDR-004, M-HDR-005, M-HDR-006, M-HDR-007, M-HDR-008, M-HDR-010, M-HDR-011
    #[test]
    fn an_annotation_that_violates_a_rule_is_reported() {
        let text = |name: &str| json!({"type": "string", "x-mcp-header": name});
        for (properties, problem) in [
            (json!({"a": text("")}), "not a valid header token"),
            (json!({"a": text("My Header")}), "not a valid header token"),
            (json!({"a": text("a:b")}), "not a valid header token"),
            (json!({"a": text("é")}), "not a valid header token"),
            (json!({"a": text("a\r\nb")}), "not a valid header token"),
            (
                json!({"a": {"type": "string", "x-mcp-header": 7}}),
                "not a valid header token",
            ),
            (
                json!({"a": {"type": "number", "x-mcp-header": "A"}}),
                "must be on a string",
            ),
            (
                json!({"a": {"type": "object", "x-mcp-header": "A"}}),
                "must be on a string",
            ),
            (
                json!({"a": {"type": "null", "x-mcp-header": "A"}}),
                "must be on a string",
            ),
            (json!({"a": text("Same"), "b": text("sAME")}), "twice"),
            (json!({"a": {"type": "array", "items": text("A")}}), "below"),
            (json!({"a": {"anyOf": [text("A")]}}), "below"),
        ] {
            let refused = mirrored(properties.clone()).unwrap_err();
            assert!(refused.contains(problem), "{properties}: {refused}");
        }
        let schema = json!({"type": "object", "x-mcp-header": "A"});
        assert!(HeaderParams::of(schema.as_object().unwrap()).is_err());
    }

    // proves: M-HDR-003, M-HDR-009, M-HDR-012, M-HDR-017, M-HDR-029, M-HDR-030, M-HDR-031
    #[test]
    fn headers_echo_the_arguments_of_the_body() {
        let mirrored = mirrored(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"},
            "where": {"type": "object", "properties": {
                "dry": {"type": "boolean", "x-mcp-header": "Dry"}
            }},
            "other": {"type": "string"}
        }))
        .unwrap();
        let arguments = r#"{"region":"é","limit":42,"where":{"dry":true},"other":"x"}"#;
        let headers = mirrored.headers_for(arguments).unwrap();
        let lookup = |name: &str| {
            let found = headers.iter().find(|(header, _)| *header == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(headers.len(), 3);
        assert_eq!(lookup("Mcp-Param-Region"), Some("=?base64?w6k=?="));
        assert_eq!(lookup("Mcp-Param-Limit"), Some("42"));
        assert_eq!(lookup("Mcp-Param-Dry"), Some("true"));
        mirrored.check(arguments, lookup).unwrap();
        assert!(
            mirrored
                .headers_for(r#"{"region":null}"#)
                .unwrap()
                .is_empty()
        );
        mirrored.check(r#"{"region":null}"#, |_| None).unwrap();
        for sign in ["", "-"] {
            let limit = |number: &str| format!("{{\"limit\":{sign}{number}}}");
            let headers = mirrored.headers_for(&limit("9007199254740991")).unwrap();
            assert_eq!(headers[0].1, format!("{sign}9007199254740991"));
            assert!(mirrored.headers_for(&limit("9007199254740992")).is_err());
        }
    }

    // proves: M-HDR-021, M-HDR-026, M-HDR-027, M-HDR-028, M-HDR-032
    #[test]
    fn a_header_that_differs_from_the_body_is_rejected() {
        let mirrored = mirrored(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"}
        }))
        .unwrap();
        let with = |region: Option<&'static str>, limit: Option<&'static str>| {
            let arguments = r#"{"region":"é","limit":42}"#;
            mirrored.check(arguments, move |name| match name {
                "Mcp-Param-Region" => region,
                _ => limit,
            })
        };
        with(Some("=?base64?w6k=?="), Some("42.0")).unwrap();
        for (region, limit) in [
            (None, Some("42")),
            (Some("=?base64?w6k=?="), None),
            (Some("e"), Some("42")),
            (Some("=?base64?w6k?="), Some("42")),
            (Some("=?base64?w6k=?="), Some("43")),
        ] {
            let refused = with(region, limit).unwrap_err();
            assert_eq!(refused.code, ErrorCode::HEADER_MISMATCH);
        }
    }

    // The value that a header is compared with must be the value that the handler decodes.
    #[test]
    fn arguments_that_cannot_be_compared_with_a_header_are_rejected() {
        let mirrored = mirrored(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"}
        }))
        .unwrap();
        for (arguments, region) in [
            (r#"{"region":"eu","region":"us"}"#, Some("eu")),
            (r#"{"\u0072egion":"us"}"#, None),
            (r#"{"region":"eu","\u0072egion":"us"}"#, Some("eu")),
            (r#"{"limit":9007199254740993}"#, None),
            (r#"{"limit":1.5}"#, None),
            (r#"{"region":{}}"#, Some("eu")),
        ] {
            let lookup = |name: &str| region.filter(|_| name == "Mcp-Param-Region");
            let refused = mirrored.check(arguments, lookup).unwrap_err();
            assert_eq!(refused.code, ErrorCode::HEADER_MISMATCH, "{arguments}");
        }
        mirrored.check(r#"{"region":{}}"#, |_| None).unwrap();
    }
}
