//! A schema as a graph: the schemas that apply to a value and to its parts.
//!
//! The graph records only which other schemas each schema applies. Malformed keywords are reported by the engines.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::words::clip;
use super::{Origin, SchemaError};

/// Maximum number of references in a schema from a peer.
const REFERENCES: usize = 1_000;
/// Maximum number of regular expressions in a schema from a peer. Compiling one of them takes up to a millisecond.
const PATTERNS: usize = 256;

/// The index of a schema in [`Graph::nodes`].
pub(super) type Id = usize;

/// A part of a value that is named in a keyword.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Property(String),
    Item(usize),
}

/// A pair of values: one for the parts of an object, and one for the parts of an array.
#[derive(Debug, Default)]
pub(super) struct Kinds<T> {
    pub(super) object: T,
    pub(super) array: T,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    /// The cost of applying this schema to one value, without the schemas that it applies.
    pub(super) weight: u64,
    /// The schemas that this schema applies to the same value.
    pub(super) same: Vec<Id>,
    /// Whether the schemas in `same` are applied a second time, to find unevaluated members.
    pub(super) twice: bool,
    /// The schemas for parts that the schema names.
    pub(super) named: BTreeMap<Part, Id>,
    /// The schema for all parts that the schema does not name.
    pub(super) others: Kinds<Option<Id>>,
    /// The schemas that can apply to every part, whether or not the schema names the part. An example is a schema in
    /// `patternProperties`.
    pub(super) any: Kinds<Vec<Id>>,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// Number of regular expressions.
    pub(super) patterns: usize,
}

impl Graph {
    pub(super) fn of(root: &Value, dialect: Dialect, origin: Origin) -> Result<Self, SchemaError> {
        let mut walk = Walk {
            root,
            dialect,
            foreign: origin == Origin::Foreign,
            graph: Self::default(),
            ids: HashMap::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
        };
        walk.visit(root)?;
        walk.connect()?;
        Ok(walk.graph)
    }
}

/// Returns the schema to which a reference of the form `#`, `#/…` or `<$id of the root>#/…` points. Returns `None` for other
/// references.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = local_fragment(root, reference)?;
    let pointer = percent_decode(fragment)?;
    if pointer.is_empty() || pointer.starts_with('/') {
        return root.pointer(&pointer);
    }
    None
}

fn local_fragment<'r>(root: &Value, reference: &'r str) -> Option<&'r str> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let id = || root.get("$id")?.as_str()?.strip_suffix('#');
    let own = || base == root.get("$id").and_then(Value::as_str).unwrap_or_default();
    (base.is_empty() || own() || id() == Some(base)).then_some(fragment)
}

fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

struct Walk<'a> {
    root: &'a Value,
    dialect: Dialect,
    foreign: bool,
    graph: Graph,
    /// The schemas by their memory address. With this map, a reference finds a schema that is already in the graph.
    ids: HashMap<*const Value, Id>,
    anchors: HashMap<&'a str, Vec<Id>>,
    references: Vec<(Id, &'a str)>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value) -> Result<Option<Id>, SchemaError> {
        if let Some(&id) = self.ids.get(&std::ptr::from_ref(schema)) {
            return Ok(Some(id));
        }
        // `true` and `false` have no cost and no references.
        let Value::Object(keywords) = schema else {
            return Ok(None);
        };
        let id = self.graph.nodes.len();
        self.ids.insert(std::ptr::from_ref(schema), id);
        self.graph.nodes.push(Node {
            weight: 1,
            ..Node::default()
        });
        self.identity(schema, keywords)?;
        for (keyword, value) in keywords {
            self.keyword(id, keyword, value)?;
        }
        Ok(Some(id))
    }

    fn identity(&self, schema: &Value, keywords: &Map<String, Value>) -> Result<(), SchemaError> {
        if std::ptr::eq(schema, self.root) {
            return Ok(());
        }
        let dialect = match keywords.get("$schema") {
            Some(_) => Dialect::of(keywords)?,
            None => self.dialect,
        };
        if self.foreign && dialect != self.dialect {
            return Err(SchemaError::new(
                "\"$schema\" inside the schema names another dialect: use one dialect for the whole schema",
            ));
        }
        let keyword = self.dialect.id_keyword();
        match keywords.get(keyword) {
            // A nested id would change the base URI of the references inside its schema.
            Some(Value::String(id)) if self.foreign => Err(SchemaError::new(format!(
                "{keyword:?} {:?} inside the schema is not supported: use \"$defs\" and \
                 references of the form \"#/$defs/name\"",
                clip(id)
            ))),
            _ => Ok(()),
        }
    }

    /// Adds the schemas that one keyword applies. The function is one flat table, so that it is easy to compare with the
    /// specification.
    fn keyword(&mut self, id: Id, keyword: &str, value: &'a Value) -> Result<(), SchemaError> {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(id, value)?,
            "$anchor" | "$dynamicAnchor" => {
                if let Some(name) = value.as_str() {
                    self.anchors.entry(name).or_default().push(id);
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for schema in value.as_array().into_iter().flatten() {
                    self.same(id, schema)?;
                }
            }
            "not" | "if" | "then" | "else" => self.same(id, value)?,
            "dependentSchemas" | "dependencies" => {
                for schema in members(value).map(|(_, schema)| schema) {
                    self.same(id, schema)?;
                }
            }
            "properties" => {
                for (name, schema) in members(value) {
                    self.named(id, Part::Property(name.clone()), schema)?;
                }
            }
            "patternProperties" => {
                for (pattern, schema) in members(value) {
                    self.pattern(id, pattern)?;
                    let child = self.visit(schema)?;
                    self.node(id).any.object.extend(child);
                }
            }
            "additionalProperties" => self.link(id, value, |node, child| {
                node.others.object = Some(child);
            })?,
            "propertyNames" => self.link(id, value, |node, child| {
                node.any.object.push(child);
            })?,
            "unevaluatedProperties" => self.link(id, value, |node, child| {
                node.twice = true;
                node.any.object.push(child);
            })?,
            "prefixItems" => self.items(id, value)?,
            "items" if value.is_array() => self.items(id, value)?,
            "items" | "additionalItems" => self.link(id, value, |node, child| {
                node.others.array = Some(child);
            })?,
            "contains" => self.link(id, value, |node, child| {
                node.any.array.push(child);
            })?,
            "unevaluatedItems" => self.link(id, value, |node, child| {
                node.twice = true;
                node.any.array.push(child);
            })?,
            "enum" | "required" => {
                let options = value.as_array().map_or(0, Vec::len);
                self.node(id).weight += options as u64;
            }
            "pattern" => self.pattern(id, value.as_str().unwrap_or_default())?,
            "$defs" | "definitions" => {
                for schema in members(value).map(|(_, schema)| schema) {
                    self.visit(schema)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, id: Id) -> &mut Node {
        &mut self.graph.nodes[id]
    }

    fn link(
        &mut self,
        id: Id,
        schema: &'a Value,
        edge: impl FnOnce(&mut Node, Id),
    ) -> Result<(), SchemaError> {
        if let Some(child) = self.visit(schema)? {
            edge(self.node(id), child);
        }
        Ok(())
    }

    fn same(&mut self, id: Id, schema: &'a Value) -> Result<(), SchemaError> {
        self.link(id, schema, |node, child| node.same.push(child))
    }

    fn named(&mut self, id: Id, part: Part, schema: &'a Value) -> Result<(), SchemaError> {
        self.link(id, schema, |node, child| {
            node.named.insert(part, child);
        })
    }

    fn items(&mut self, id: Id, value: &'a Value) -> Result<(), SchemaError> {
        for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
            self.named(id, Part::Item(index), schema)?;
        }
        Ok(())
    }

    fn pattern(&mut self, id: Id, pattern: &str) -> Result<(), SchemaError> {
        self.graph.patterns += 1;
        self.node(id).weight += pattern.len() as u64;
        if self.foreign && self.graph.patterns > PATTERNS {
            return Err(SchemaError::new(format!(
                "the schema has more than {PATTERNS} regular expressions: remove some"
            )));
        }
        Ok(())
    }

    fn reference(&mut self, id: Id, value: &'a Value) -> Result<(), SchemaError> {
        self.references.extend(value.as_str().map(|to| (id, to)));
        if self.foreign && self.references.len() > REFERENCES {
            return Err(SchemaError::new(format!(
                "the schema has more than {REFERENCES} references: remove some"
            )));
        }
        Ok(())
    }

    /// Connects each reference with its target. Follows JSON pointers first, because their targets may contain more references
    /// and anchors.
    fn connect(&mut self) -> Result<(), SchemaError> {
        let mut at = 0;
        let mut anchored = Vec::new();
        while let Some(&(id, reference)) = self.references.get(at) {
            at += 1;
            match target(self.root, reference) {
                Some(schema) => self.same(id, schema)?,
                None => anchored.push((id, reference)),
            }
        }
        for (id, reference) in anchored {
            let anchor = local_fragment(self.root, reference);
            match anchor.and_then(|name| self.anchors.get(name)) {
                // A dynamic anchor may occur several times; each occurrence counts.
                Some(ids) => self.graph.nodes[id].same.extend(ids),
                None if self.foreign => {
                    return Err(SchemaError::new(format!(
                        "the reference {:?} has no target: only references inside the schema are \
                         resolved, so copy the target to \"$defs\"",
                        clip(reference)
                    )));
                }
                // The engine supports more kinds of references, or reports a better error.
                None => {}
            }
        }
        Ok(())
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
