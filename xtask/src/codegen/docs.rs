//! `docs.toml`: the doc comment of every generated item.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::workspace::{At as _, Result, none_in};

/// The specification; the revision and a page follow.
const SITE: &str = "https://modelcontextprotocol.io/specification";

/// The file as one table with dotted keys, and which of them were not used yet and which were missing.
///
/// `types.Type.member` describes a member or a value, `types.Type.self` the type, and `common.member` a member that means
/// the same in every type. `modules.area` has the first line of a module and the page of its types, and `pages.Type` the
/// page of a type that is not on that page. `Type@revision`, `member@revision` and `area@revision` take precedence over
/// the plain name.
#[derive(Debug, Default)]
pub(super) struct Docs {
    texts: BTreeMap<String, String>,
    unused: RefCell<BTreeSet<String>>,
    missing: RefCell<BTreeSet<String>>,
}

impl Docs {
    pub(super) fn load() -> Result<Self> {
        Self::parse(include_str!("docs.toml"))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let table: Table = toml::from_str(text).at("docs.toml")?;
        let mut docs = Self::default();
        flatten("", table, &mut docs.texts)?;
        docs.unused = docs.texts.keys().cloned().collect::<BTreeSet<_>>().into();
        Ok(docs)
    }

    /// The first line of a module.
    pub(super) fn module(&self, revision: &str, area: &str) -> &str {
        self.get(&keys(revision, "modules.", area, ".line"))
    }

    /// The doc comment of a type.
    pub(super) fn item(&self, revision: &str, name: &str, area: &str) -> String {
        let line = self.member(revision, name, "self");
        let pages = [
            keys(revision, "pages.", name, ""),
            keys(revision, "modules.", area, ".page"),
        ];
        let page = self.get(&pages.concat());
        format!("{line}\n///\n/// Specification: <{SITE}/{revision}/{page}>")
    }

    /// The doc comment of a member or an enum value.
    pub(super) fn member(&self, revision: &str, owner: &str, wire: &str) -> String {
        let own = keys(revision, "types.", owner, &format!(".{wire}"));
        let keys = [own, keys(revision, "common.", wire, "")].concat();
        format!("/// {}", self.get(&keys))
    }

    /// The text of the first key that exists, or an empty text and a note.
    fn get(&self, keys: &[String]) -> &str {
        let found = keys.iter().find_map(|key| self.texts.get_key_value(key));
        let Some((key, text)) = found else {
            self.missing.borrow_mut().extend(keys.get(1).cloned());
            return "";
        };
        self.unused.borrow_mut().remove(key);
        text
    }

    /// Fails if an emitted item has no text, or a text no item. Call it after everything has been emitted.
    pub(super) fn check(&self) -> Result {
        none_in(&self.missing.borrow(), "docs.toml lacks these lines:")?;
        let stale = "docs.toml describes items that the schema does not have:";
        none_in(&self.unused.borrow(), stale)
    }
}

fn flatten(prefix: &str, table: Table, texts: &mut BTreeMap<String, String>) -> Result {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            Value::Table(table) => flatten(&format!("{key}."), table, texts)?,
            Value::String(text) => drop(texts.insert(key, text)),
            _ => return Err(format!("docs.toml: {key} is not a text")),
        }
    }
    Ok(())
}

/// The key for this revision, and the one for all revisions.
fn keys(revision: &str, before: &str, name: &str, after: &str) -> [String; 2] {
    let own = format!("{before}{name}@{revision}{after}");
    [own, format!("{before}{name}{after}")]
}
