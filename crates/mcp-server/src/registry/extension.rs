//! Installed extensions, and their requirements.

use std::collections::BTreeMap;

use mcp_types::ServerCapabilities;

use crate::RegistrationError;

/// A requirement of an extension on its server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requirement {
    /// A capability of the server: `tools`, `prompts`, `resources`, `completions`, `logging` or
    /// `tasks`.
    Capability(String),
    /// Another extension, by its identifier.
    Extension(String),
}

/// An installed extension.
#[derive(Debug)]
pub(crate) struct InstalledExtension {
    pub(crate) id: String,
    pub(crate) requires: Vec<Requirement>,
}

/// Checks that the server has every capability and every extension that an installed extension requires. Returns one error for
/// each missing requirement, and an error if an extension requires itself.
pub(crate) fn check(
    installed: &[InstalledExtension],
    capabilities: &ServerCapabilities,
) -> Vec<RegistrationError> {
    let mut problems = Vec::new();
    for extension in installed {
        for requirement in &extension.requires {
            let (met, what) = match requirement {
                Requirement::Capability(name) => {
                    (declares(capabilities, name), format!("capability {name:?}"))
                }
                Requirement::Extension(id) => {
                    let declared = capabilities.extensions.as_ref();
                    let met = declared.is_some_and(|declared| declared.contains_key(id));
                    (met, format!("extension {id:?}"))
                }
            };
            if !met {
                let problem = format!(
                    "extension {:?} requires the {what}, which the server does not have",
                    extension.id
                );
                problems.push(RegistrationError::new(problem));
            }
        }
    }
    let edges: BTreeMap<&str, Vec<&str>> = installed
        .iter()
        .map(|extension| (&*extension.id, required_extensions(extension)))
        .collect();
    if let Some(id) = edges.keys().find(|id| reaches(&edges, id, id)) {
        let problem =
            format!("extension {id:?} requires itself, directly or through other extensions");
        problems.push(RegistrationError::new(problem));
    }
    problems
}

fn required_extensions(extension: &InstalledExtension) -> Vec<&str> {
    let ids = extension.requires.iter().filter_map(|needed| match needed {
        Requirement::Extension(id) => Some(&**id),
        Requirement::Capability(_) => None,
    });
    ids.collect()
}

/// Returns whether `target` is required by `from`, directly or through other extensions.
fn reaches(edges: &BTreeMap<&str, Vec<&str>>, from: &str, target: &str) -> bool {
    let mut seen = Vec::new();
    let mut open: Vec<&str> = edges.get(from).cloned().unwrap_or_default();
    while let Some(id) = open.pop() {
        if id == target {
            return true;
        }
        if !seen.contains(&id) {
            seen.push(id);
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    false
}

fn declares(capabilities: &ServerCapabilities, name: &str) -> bool {
    match name {
        "tools" => capabilities.tools.is_some(),
        "prompts" => capabilities.prompts.is_some(),
        "resources" => capabilities.resources.is_some(),
        "completions" => capabilities.completions.is_some(),
        "logging" => capabilities.logging.is_some(),
        "tasks" => capabilities.tasks.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_capability_is_declared_if_the_capabilities_have_its_member() {
        let names = [
            "tools",
            "prompts",
            "resources",
            "completions",
            "logging",
            "tasks",
        ];
        for name in names {
            let capabilities = serde_json::from_value(json!({ name: {} })).unwrap();
            let declared = names.iter().filter(|name| declares(&capabilities, name));
            assert_eq!(declared.collect::<Vec<_>>(), [&name]);
            assert!(!declares(&capabilities, "experimental"));
        }
    }
}
