//! `docs.toml`: the doc comment of every generated item, in our own words.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;
use serde::Deserialize;

const FILE: &str = include_str!("docs.toml");

/// The key of a type's own line in its table.
const SELF: &str = "self";

/// The parsed file, plus which entries were used and which were missed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Docs {
    /// Where the specification lives; the revision and the page follow.
    site: String,
    modules: BTreeMap<String, Module>,
    /// Page of a type that is not described on the page of its module.
    pages: BTreeMap<String, String>,
    /// Lines of members that mean the same in every type.
    common: BTreeMap<String, String>,
    types: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(skip)]
    used: RefCell<BTreeSet<String>>,
    #[serde(skip)]
    missing: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    page: String,
    line: String,
}

impl Docs {
    /// Reads the file compiled into this command.
    pub(crate) fn load() -> Result<Self, String> {
        toml::from_str(FILE).map_err(|error| format!("docs.toml: {error}"))
    }

    /// The line at the head of a module.
    pub(crate) fn module(&self, area: &str) -> String {
        match self.modules.get(area) {
            Some(module) => module.line.clone(),
            None => {
                self.missing.borrow_mut().insert(format!("modules.{area}"));
                String::new()
            }
        }
    }

    /// The doc attributes of a type.
    pub(crate) fn item(&self, name: &str, area: &str, revision: &str) -> TokenStream {
        let line = format!(" {}", self.line(name, SELF));
        let page = self
            .pages
            .get(name)
            .or_else(|| self.modules.get(area).map(|module| &module.page));
        if self.pages.contains_key(name) {
            self.used.borrow_mut().insert(format!("pages.{name}"));
        }
        let link = format!(
            " Specification: <{}/{revision}/{}>",
            self.site,
            page.map_or("", |page| page)
        );
        quote!(#[doc = #line] #[doc = ""] #[doc = #link])
    }

    /// The doc attribute of a member or an enum value.
    pub(crate) fn member(&self, owner: &str, wire: &str) -> TokenStream {
        let line = format!(" {}", self.line(owner, wire));
        quote!(#[doc = #line])
    }

    fn line(&self, owner: &str, key: &str) -> String {
        if let Some(line) = self.types.get(owner).and_then(|lines| lines.get(key)) {
            self.used
                .borrow_mut()
                .insert(format!("types.{owner}.{key}"));
            return line.clone();
        }
        if let Some(line) = self.common.get(key) {
            self.used.borrow_mut().insert(format!("common.{key}"));
            return line.clone();
        }
        self.missing
            .borrow_mut()
            .insert(format!("types.{owner}.{key}"));
        String::new()
    }

    /// What is wrong with the file, once everything has been emitted.
    pub(crate) fn check(&self) -> Result<(), String> {
        let missing = self.missing.borrow();
        if !missing.is_empty() {
            let list: Vec<_> = missing.iter().map(String::as_str).collect();
            return Err(format!(
                "docs.toml lacks {} lines:\n  {}",
                list.len(),
                list.join("\n  ")
            ));
        }
        let mut all: BTreeSet<String> = self
            .common
            .keys()
            .map(|key| format!("common.{key}"))
            .collect();
        all.extend(self.pages.keys().map(|name| format!("pages.{name}")));
        for (owner, lines) in &self.types {
            all.extend(lines.keys().map(|key| format!("types.{owner}.{key}")));
        }
        let used = self.used.borrow();
        let stale: Vec<_> = all.difference(&used).map(String::as_str).collect();
        if stale.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "docs.toml describes what is not there:\n  {}",
                stale.join("\n  ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs() -> Docs {
        toml::from_str(
            r#"
            site = "https://example.test"
            modules.tools = { page = "tools", line = "Tools." }
            pages = {}
            common = { _meta = "Metadata." }
            types.Tool = { self = "A tool.", name = "Its name." }
            "#,
        )
        .unwrap()
    }

    #[test]
    fn a_missing_line_is_named() {
        let docs = docs();
        docs.item("Tool", "tools", "r");
        docs.member("Tool", "name");
        docs.member("Tool", "_meta");
        assert_eq!(docs.check(), Ok(()));
        docs.member("Tool", "title");
        assert_eq!(
            docs.check(),
            Err("docs.toml lacks 1 lines:\n  types.Tool.title".to_owned())
        );
    }

    #[test]
    fn a_line_without_an_item_is_named() {
        let docs = docs();
        docs.item("Tool", "tools", "r");
        docs.member("Tool", "_meta");
        let error = docs.check().unwrap_err();
        assert_eq!(
            error,
            "docs.toml describes what is not there:\n  types.Tool.name"
        );
    }

    #[test]
    fn the_link_names_revision_and_page() {
        let text = docs().item("Tool", "tools", "r").to_string();
        assert!(text.contains("<https://example.test/r/tools>"), "{text}");
    }
}
