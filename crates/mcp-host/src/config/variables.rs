//! Variables in configuration: `${NAME}`, `${NAME:-default}`, `${env:NAME | value:default}`,
//! `${input:id}` and custom references.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{MAIN_SEPARATOR_STR, PathBuf};
use std::sync::Arc;

use super::error::{ConfigError, ConfigErrorKind};

/// The beginning of a text that is a reference to a secret.
pub(super) const SECRET: &str = "op://";

/// The variables that do not contain secrets: their values are folders, or are the same for every user.
const NO_SECRETS: [&str; 5] = ["$", "/", "pathSeparator", "workspaceFolder", "userHome"];

type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The values of the variables in a configuration.
///
/// `${NAME}` and `${env:NAME}` are environment variables. `${input:id}` is a value that the user enters. `${workspaceFolder}` and
/// `${userHome}` are folders. `${pathSeparator}` and `${/}` are the separator of paths. `${$}` is a dollar sign. A default value
/// follows after `:-` or `| value:`. A variable without a value is an error of the server that uses it, and is never replaced
/// with an empty text.
#[derive(Clone)]
#[must_use]
pub struct Variables {
    env: Lookup,
    inputs: BTreeMap<String, String>,
    workspace: Option<PathBuf>,
    secrets: Option<Lookup>,
}

impl Default for Variables {
    fn default() -> Self {
        Self {
            env: Arc::new(|name| std::env::var(name).ok()),
            inputs: BTreeMap::new(),
            workspace: None,
            secrets: None,
        }
    }
}

impl Variables {
    /// Creates variables with the environment of this process, and without other values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads environment variables with `lookup` instead of reading the environment of this process.
    pub fn with_env(
        mut self,
        lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.env = Arc::new(lookup);
        self
    }

    /// Sets the value of `${input:id}`.
    pub fn with_input(mut self, id: impl Into<String>, value: impl Into<String>) -> Self {
        self.inputs.insert(id.into(), value.into());
        self
    }

    /// Sets `${workspaceFolder}`.
    pub fn with_workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Sets the function that resolves references to secrets. References to secrets are texts that begin with `op://`, and
    /// `${kind:name}` with an unknown kind. The function receives the whole reference without `${` and `}`.
    pub fn with_secrets(
        mut self,
        lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.secrets = Some(Arc::new(lookup));
        self
    }

    /// Replaces all references to variables in a text. References in the values are not replaced.
    ///
    /// # Errors
    /// The error names the first variable without a value.
    pub fn expand(&self, text: &str) -> Result<String, ConfigError> {
        if text.starts_with(SECRET) {
            return self.secret(text);
        }
        let mut expanded = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => expanded.push_str(text),
                Part::Reference(reference) => expanded.push_str(&self.value(reference)?),
            }
        }
        Ok(expanded)
    }

    /// Returns the references in a text to environment variables, inputs and secrets, with their values. Leaves out references
    /// without a value, and references whose value is the default in the text.
    pub(super) fn values(&self, text: &str) -> Vec<(String, String)> {
        if text.starts_with(SECRET) {
            let value = self.secret(text).ok();
            return value
                .map(|value| (text.to_owned(), value))
                .into_iter()
                .collect();
        }
        let value = |part| match part {
            Part::Reference(reference) => {
                let variable = variable_of(reference).0;
                // The value of the variable, not the default in the text.
                let value = self.value(variable).ok()?;
                (!NO_SECRETS.contains(&variable)).then(|| (format!("${{{variable}}}"), value))
            }
            Part::Text(_) => None,
        };
        parts(text).into_iter().filter_map(value).collect()
    }

    fn value(&self, reference: &str) -> Result<String, ConfigError> {
        let (variable, default) = variable_of(reference);
        let found = match variable.split_once(':') {
            None if variable == "workspaceFolder" => {
                let folder = self.workspace.as_ref();
                folder.map(|folder| folder.display().to_string())
            }
            None if variable == "$" => Some("$".to_owned()),
            None if matches!(variable, "/" | "pathSeparator") => {
                Some(MAIN_SEPARATOR_STR.to_owned())
            }
            None if variable == "userHome" => (self.env)("HOME").or((self.env)("USERPROFILE")),
            None => (self.env)(variable),
            Some(("env", name)) => (self.env)(name.trim()),
            Some(("input", id)) => self.inputs.get(id.trim()).cloned(),
            Some(_) => match (&self.secrets, default) {
                (Some(lookup), _) => lookup(variable),
                (None, Some(_)) => None,
                (None, None) => return self.secret(variable),
            },
        };
        found.or(default.map(str::to_owned)).ok_or_else(|| {
            let advice = match variable.split_once(':') {
                Some(("input", _)) => {
                    "this program has not asked the user for this input; use ${env:NAME}"
                }
                _ if variable == "workspaceFolder" => "no folder is open",
                _ => "set it, or write a default as in ${NAME:-default}",
            };
            let message = format!("the variable ${{{variable}}} has no value; {advice}");
            ConfigError::new(ConfigErrorKind::Variable, message)
        })
    }

    fn secret(&self, reference: &str) -> Result<String, ConfigError> {
        let missing = |advice| {
            let message = format!("the secret {reference:?} has no value; {advice}");
            ConfigError::new(ConfigErrorKind::Variable, message)
        };
        let Some(lookup) = &self.secrets else {
            return Err(missing(
                "this program does not read secrets; use ${env:NAME}",
            ));
        };
        lookup(reference).ok_or_else(|| missing("the source of secrets does not have it"))
    }
}

/// A part of a value in a configuration.
enum Part<'a> {
    Text(&'a str),
    /// The text of a reference, between `${` and `}`.
    Reference(&'a str),
}

/// Splits a text into plain text and references. The text must not begin with `op://`.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        parts.push(Part::Text(&rest[..start]));
        parts.push(Part::Reference(&rest[start + 2..start + length]));
        rest = &rest[start + length + 1..];
    }
    parts.push(Part::Text(rest));
    parts
}

/// Returns the name of the variable in a reference, including its kind (such as `env:`), and the default.
fn variable_of(reference: &str) -> (&str, Option<&str>) {
    let (variable, default) = match reference.split_once('|') {
        Some((variable, default)) => (variable, default.trim().strip_prefix("value:")),
        None => match reference.split_once(":-") {
            Some((variable, default)) => (variable, Some(default)),
            None => (reference, None),
        },
    };
    (variable.trim(), default)
}

/// Returns the references in a text without their defaults, as `${NAME}` or `op://..`.
pub(crate) fn references(text: &str) -> Vec<String> {
    if text.starts_with(SECRET) {
        return vec![text.to_owned()];
    }
    let reference = |part| match part {
        Part::Reference("$") | Part::Text(_) => None,
        Part::Reference(reference) => Some(format!("${{{}}}", variable_of(reference).0)),
    };
    parts(text).into_iter().filter_map(reference).collect()
}

/// Returns the ids of the inputs in a text. Leaves out inputs for which the text has a default.
pub(super) fn inputs(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Reference(reference) => match variable_of(reference) {
            (variable, None) => variable.strip_prefix("input:").map(str::trim),
            (_, Some(_)) => None,
        },
        Part::Text(_) => None,
    })
}

impl fmt::Debug for Variables {
    /// Omits the values, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables")
            .field("inputs", &self.inputs.keys())
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let env = |name: &str| (name == "KEY").then(|| "k${KEY}".to_owned());
        Variables::new().with_env(env).with_input("id", "7")
    }

    #[test]
    fn references_in_values_of_variables_are_not_replaced() {
        for (text, expected) in [
            ("a ${KEY} b", "a k${KEY} b"),
            ("${env:KEY}${input:id}", "k${KEY}7"),
            ("${NONE:-x:y}", "x:y"),
            ("${env:NONE | value:http://h}", "http://h"),
            ("${NONE:-}", ""),
            ("$KEY ${open", "$KEY ${open"),
            ("${$}{KEY}", "${KEY}"),
            #[cfg(unix)]
            ("a${/}b${pathSeparator}c", "a/b/c"),
        ] {
            assert_eq!(variables().expand(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn each_resolved_value_is_returned_with_its_reference() {
        let text = "a ${KEY} ${env:KEY | value:x} ${NONE} ${$}${/} ${NONE:-default}";
        let values = variables().values(text);
        let expected = [("${KEY}", "k${KEY}"), ("${env:KEY}", "k${KEY}")];
        assert_eq!(
            values,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let variables = variables().with_secrets(|reference| Some(reference.to_uppercase()));
        assert_eq!(
            variables.values("op://a"),
            [("op://a".to_owned(), "OP://A".to_owned())]
        );
    }

    #[test]
    fn the_error_for_a_variable_without_a_value_names_the_variable() {
        for text in [
            "${NONE}",
            "${input:token}",
            "${workspaceFolder}/a",
            "op://vault/a",
        ] {
            let error = variables().expand(text).unwrap_err();
            assert_eq!(error.kind(), ConfigErrorKind::Variable);
            let name = text.trim_start_matches("${").split('}').next().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        let variables = variables().with_secrets(|reference| Some(reference.to_uppercase()));
        assert_eq!(variables.expand("op://a").unwrap(), "OP://A");
        assert_eq!(variables.expand("${vault:a}").unwrap(), "VAULT:A");
    }
}
