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
    /// By area; `area@revision` goes before it.
    modules: BTreeMap<String, Module>,
    /// Pages that have moved, by revision.
    moved: BTreeMap<String, BTreeMap<String, String>>,
    /// Page of a type that is not described on the page of its module.
    pages: BTreeMap<String, String>,
    /// Lines of members that mean the same in every type; `member@revision` goes before the plain name.
    common: BTreeMap<String, String>,
    /// By type; `Type@revision` goes before it.
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

    /// The lines of one revision.
    pub(crate) fn of<'a>(&'a self, revision: &'a str) -> Lines<'a> {
        Lines {
            docs: self,
            revision,
        }
    }

    fn used(&self, entry: String) {
        self.used.borrow_mut().insert(entry);
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
        for (revision, moved) in &self.moved {
            all.extend(moved.keys().map(|page| format!("moved.{revision}.{page}")));
        }
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

/// The doc comments of one revision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    docs: &'a Docs,
    revision: &'a str,
}

impl Lines<'_> {
    /// The line at the head of a module.
    pub(crate) fn module(&self, area: &str) -> String {
        match self.find_module(area) {
            Some(module) => module.line.clone(),
            None => {
                let mut missing = self.docs.missing.borrow_mut();
                missing.insert(format!("modules.{area}"));
                String::new()
            }
        }
    }

    fn find_module(&self, area: &str) -> Option<&Module> {
        let modules = &self.docs.modules;
        modules.get(&self.own(area)).or_else(|| modules.get(area))
    }

    /// The doc attributes of a type.
    pub(crate) fn item(&self, name: &str, area: &str) -> TokenStream {
        let line = format!(" {}", self.line(name, SELF));
        let link = format!(
            " Specification: <{}/{}/{}>",
            self.docs.site,
            self.revision,
            self.page(name, area)
        );
        quote!(#[doc = #line] #[doc = ""] #[doc = #link])
    }

    /// The doc attribute of a member or an enum value.
    pub(crate) fn member(&self, owner: &str, wire: &str) -> TokenStream {
        let line = format!(" {}", self.line(owner, wire));
        quote!(#[doc = #line])
    }

    fn page(&self, name: &str, area: &str) -> &str {
        let found = [self.own(name), name.to_owned()]
            .iter()
            .find_map(|key| self.docs.pages.get_key_value(key));
        if let Some((key, _)) = found {
            self.docs.used(format!("pages.{key}"));
        }
        let page = found
            .map(|(_, page)| page)
            .or_else(|| self.find_module(area).map(|module| &module.page));
        let page = page.map_or("", String::as_str);
        match self
            .docs
            .moved
            .get(self.revision)
            .and_then(|moved| moved.get_key_value(page))
        {
            Some((from, to)) => {
                self.docs.used(format!("moved.{}.{from}", self.revision));
                to
            }
            None => page,
        }
    }

    fn line(&self, owner: &str, key: &str) -> String {
        for owner in [self.own(owner), owner.to_owned()] {
            let lines = self.docs.types.get(&owner);
            if let Some(line) = lines.and_then(|lines| lines.get(key)) {
                self.docs.used(format!("types.{owner}.{key}"));
                return line.clone();
            }
        }
        for key in [self.own(key), key.to_owned()] {
            if let Some(line) = self.docs.common.get(&key) {
                self.docs.used(format!("common.{key}"));
                return line.clone();
            }
        }
        let mut missing = self.docs.missing.borrow_mut();
        missing.insert(format!("types.{owner}.{key}"));
        String::new()
    }

    /// The key of an entry that is for this revision only.
    fn own(&self, name: &str) -> String {
        format!("{name}@{}", self.revision)
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
            moved.s.tools = "server/tools"
            pages = {}
            common = { _meta = "Metadata." }
            types.Tool = { self = "A tool.", name = "Its name." }
            types."Tool@s" = { name = "Its new name." }
            "#,
        )
        .unwrap()
    }

    /// Everything the file describes.
    fn emit_all(docs: &Docs) {
        let (first, later) = (docs.of("r"), docs.of("s"));
        first.item("Tool", "tools");
        later.item("Tool", "tools");
        for lines in [first, later] {
            lines.member("Tool", "name");
            lines.member("Tool", "_meta");
        }
    }

    #[test]
    fn a_missing_line_is_named() {
        let docs = docs();
        emit_all(&docs);
        assert_eq!(docs.check(), Ok(()));
        docs.of("r").member("Tool", "title");
        assert_eq!(
            docs.check(),
            Err("docs.toml lacks 1 lines:\n  types.Tool.title".to_owned())
        );
    }

    #[test]
    fn a_line_without_an_item_is_named() {
        let docs = docs();
        let lines = docs.of("r");
        lines.item("Tool", "tools");
        lines.member("Tool", "_meta");
        let error = docs.check().unwrap_err();
        assert_eq!(
            error,
            "docs.toml describes what is not there:\n  moved.s.tools\n  types.Tool.name\n  types.Tool@s.name"
        );
    }

    #[test]
    fn a_revision_may_have_lines_and_pages_of_its_own() {
        let docs = docs();
        let name = docs.of("s").member("Tool", "name").to_string();
        assert!(name.contains("Its new name."), "{name}");
        let link = docs.of("r").item("Tool", "tools").to_string();
        assert!(link.contains("<https://example.test/r/tools>"), "{link}");
        let link = docs.of("s").item("Tool", "tools").to_string();
        assert!(
            link.contains("<https://example.test/s/server/tools>"),
            "{link}"
        );
    }
}
