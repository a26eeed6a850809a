//! The built-in engine. It supports a subset of JSON Schema that covers most tools. A keyword outside of the subset is an error.

mod check;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Number, Value};

use super::dialect::Dialect;
use super::graph::{Graph, target};
use super::words::clip;
use super::{Origin, SchemaError, Violation};

/// The index of a schema in [`Engine::nodes`].
type Id = usize;

/// A compiled schema. The root is the first node.
pub(super) struct Engine {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// Whether the schema is `false`, which rejects every value.
    never: bool,
    types: Vec<Type>,
    options: Option<Vec<Value>>,
    constant: Option<Value>,
    properties: BTreeMap<String, Id>,
    required: Vec<String>,
    additional: Option<Id>,
    items: Option<Id>,
    all: Vec<Id>,
    any: Vec<Id>,
    one: Vec<Id>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    length: Range,
    count: Range,
}

#[derive(Default)]
struct Range {
    min: Option<u64>,
    max: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        use Type::{Array, Boolean, Integer, Null, Number, Object, String};
        let mut all = [Array, Boolean, Integer, Null, Number, Object, String].into_iter();
        all.find(|kind| kind.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Null => "null",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

impl Engine {
    pub(super) fn compile(
        root: &Value,
        dialect: Dialect,
        _: &Graph,
        _: Origin,
    ) -> Result<Self, SchemaError> {
        if matches!(dialect, Dialect::Draft4 | Dialect::Draft6) {
            let name = format!("the dialect {dialect:?}");
            return Err(SchemaError::needs_feature(name));
        }
        let mut compiler = Compiler {
            root,
            dialect,
            ids: HashMap::new(),
            schemas: Vec::new(),
        };
        compiler.id(root);
        let mut nodes = Vec::new();
        // Schemas are queued and compiled one by one, so that deep or recursive schemas do not use
        // the stack.
        while let Some(&schema) = compiler.schemas.get(nodes.len()) {
            nodes.push(compiler.node(schema)?);
        }
        Ok(Self { nodes })
    }

    // Only the full engine uses the estimate; this engine counts its steps.
    pub(super) fn check(
        &self,
        value: &Value,
        _estimate: u64,
        max: usize,
    ) -> Result<(), Vec<Violation>> {
        check::run(&self.nodes, value, max)
    }
}

struct Compiler<'a> {
    root: &'a Value,
    dialect: Dialect,
    ids: HashMap<*const Value, Id>,
    schemas: Vec<&'a Value>,
}

type Compiled<T> = Result<T, SchemaError>;

impl<'a> Compiler<'a> {
    fn id(&mut self, schema: &'a Value) -> Id {
        *self
            .ids
            .entry(std::ptr::from_ref(schema))
            .or_insert_with(|| {
                self.schemas.push(schema);
                self.schemas.len() - 1
            })
    }

    fn node(&mut self, schema: &'a Value) -> Compiled<Node> {
        let mut node = Node::default();
        match schema {
            Value::Bool(always) => node.never = !always,
            Value::Object(keywords) => self.keywords(&mut node, keywords)?,
            other => {
                return Err(SchemaError::new(format!(
                    "the schema is malformed: a schema or subschema must be an object, true or false, not {}",
                    super::words::describe(other)
                )));
            }
        }
        Ok(node)
    }

    fn keywords(&mut self, node: &mut Node, keywords: &'a Map<String, Value>) -> Compiled<()> {
        if self.dialect.ref_hides_siblings()
            && let Some(reference) = keywords.get("$ref")
        {
            return self.keyword(node, "$ref", reference);
        }
        keywords
            .iter()
            .try_for_each(|(keyword, value)| self.keyword(node, keyword, value))
    }

    /// Compiles one keyword. The function is one flat table, so that it is easy to compare with the specification.
    fn keyword(&mut self, node: &mut Node, keyword: &str, value: &'a Value) -> Compiled<()> {
        match keyword {
            "type" => node.types = types(value)?,
            "enum" => node.options = Some(array(keyword, value)?.clone()),
            "const" => node.constant = Some(value.clone()),
            "properties" => {
                for (name, schema) in object(keyword, value)? {
                    node.properties.insert(name.clone(), self.id(schema));
                }
            }
            "required" => node.required = strings(keyword, value)?,
            "additionalProperties" => node.additional = Some(self.id(value)),
            "items" if value.is_array() => {
                return Err(SchemaError::needs_feature("\"items\" with an array"));
            }
            "items" => node.items = Some(self.id(value)),
            "allOf" => node.all.extend(self.ids(keyword, value)?),
            "anyOf" => node.any = self.ids(keyword, value)?,
            "oneOf" => node.one = self.ids(keyword, value)?,
            "$ref" => {
                let target = self.target(value)?;
                node.all.push(target);
            }
            "minimum" => node.minimum = Some(number(keyword, value)?),
            "maximum" => node.maximum = Some(number(keyword, value)?),
            "minLength" => node.length.min = Some(size(keyword, value)?),
            "maxLength" => node.length.max = Some(size(keyword, value)?),
            "minItems" => node.count.min = Some(size(keyword, value)?),
            "maxItems" => node.count.max = Some(size(keyword, value)?),
            // These schemas are compiled where they are referenced.
            "$defs" | "definitions" => drop(object(keyword, value)?),
            "$schema" | "$comment" | "title" | "description" | "default" | "examples"
            | "format" | "deprecated" | "readOnly" | "writeOnly" | "contentEncoding"
            | "contentMediaType" => {}
            // Only the identity of the root; elsewhere it would change the meaning of references.
            "$id"
                if self
                    .root
                    .get("$id")
                    .is_some_and(|id| std::ptr::eq(id, value)) => {}
            _ if keyword.starts_with("x-") => {}
            _ => {
                let name = format!("the keyword {:?}", clip(keyword));
                return Err(SchemaError::needs_feature(name));
            }
        }
        Ok(())
    }

    fn ids(&mut self, keyword: &str, value: &'a Value) -> Compiled<Vec<Id>> {
        let schemas = array(keyword, value)?;
        if schemas.is_empty() {
            return Err(malformed(keyword, "at least one schema", value));
        }
        Ok(schemas.iter().map(|schema| self.id(schema)).collect())
    }

    fn target(&mut self, value: &'a Value) -> Compiled<Id> {
        let Some(reference) = value.as_str() else {
            return Err(malformed("$ref", "a string", value));
        };
        let Some(schema) = target(self.root, reference) else {
            if reference.starts_with("#/") {
                return Err(SchemaError::new(format!(
                    "the reference {:?} has no target: correct it",
                    clip(reference)
                )));
            }
            let name = format!("the reference {:?}", clip(reference));
            return Err(SchemaError::needs_feature(name));
        };
        Ok(self.id(schema))
    }
}

fn malformed(keyword: &str, expected: &str, value: &Value) -> SchemaError {
    SchemaError::new(format!(
        "the schema is malformed: {keyword:?} must be {expected}, not {}",
        super::words::describe(value)
    ))
}

fn array<'a>(keyword: &str, value: &'a Value) -> Compiled<&'a Vec<Value>> {
    let array = value.as_array();
    array.ok_or_else(|| malformed(keyword, "an array", value))
}

fn object<'a>(keyword: &str, value: &'a Value) -> Compiled<&'a Map<String, Value>> {
    let object = value.as_object();
    object.ok_or_else(|| malformed(keyword, "an object", value))
}

fn strings(keyword: &str, value: &Value) -> Compiled<Vec<String>> {
    let string = |item: &Value| item.as_str().map(str::to_owned);
    let strings = array(keyword, value)?.iter().map(string).collect();
    Option::ok_or_else(strings, || malformed(keyword, "an array of strings", value))
}

fn number(keyword: &str, value: &Value) -> Compiled<Number> {
    let number = value.as_number().cloned();
    number.ok_or_else(|| malformed(keyword, "a number", value))
}

fn size(keyword: &str, value: &Value) -> Compiled<u64> {
    // 2.0 is an integer to JSON Schema.
    let whole = |n: f64| (n >= 0.0 && n.fract() == 0.0 && n < 2f64.powi(53)).then_some(n as u64);
    let size = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    size.ok_or_else(|| malformed(keyword, "a whole number that is not negative", value))
}

fn types(value: &Value) -> Compiled<Vec<Type>> {
    let names = match value {
        Value::Array(names) if !names.is_empty() => names.as_slice(),
        other => std::slice::from_ref(other),
    };
    let types = names.iter().map(|name| Type::named(name.as_str()?));
    Option::ok_or_else(types.collect(), || {
        malformed("type", "the name of a JSON type, or several", value)
    })
}
