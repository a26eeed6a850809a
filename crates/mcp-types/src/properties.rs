//! The fields of a form, in display order.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::PrimitiveSchemaDefinition;

/// The fields of an elicitation form by name. They keep the order in which the sender wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FormProperties(Vec<(String, PrimitiveSchemaDefinition)>);

impl FormProperties {
    /// Creates an empty set of fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field at the end. If there is a field with this name, replaces it without changing the order.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        self.insert(name, schema);
        self
    }

    /// Adds a field at the end. If there is a field with this name, replaces it without changing the order.
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) {
        let (name, schema) = (name.into(), schema.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = schema,
            None => self.0.push((name, schema)),
        }
    }

    /// Returns the field with this name.
    pub fn get(&self, name: &str) -> Option<&PrimitiveSchemaDefinition> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, schema)| schema)
    }

    /// Returns the fields in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &PrimitiveSchemaDefinition)> {
        self.0.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, PrimitiveSchemaDefinition)> for FormProperties {
    fn from_iter<I: IntoIterator<Item = (String, PrimitiveSchemaDefinition)>>(fields: I) -> Self {
        let mut unique = Unique::default();
        for (name, schema) in fields {
            unique.push(name, schema);
        }
        unique.properties
    }
}

impl IntoIterator for FormProperties {
    type Item = (String, PrimitiveSchemaDefinition);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Serialize for FormProperties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for FormProperties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PropertiesVisitor)
    }
}

/// Collects fields in order. If a name occurs several times, the last field is kept. A hash map finds duplicates, so that the
/// time is linear.
#[derive(Default)]
struct Unique {
    properties: FormProperties,
    places: HashMap<String, usize>,
}

impl Unique {
    fn push(&mut self, name: String, schema: PrimitiveSchemaDefinition) {
        match self.places.get(&name) {
            Some(&place) => self.properties.0[place].1 = schema,
            None => {
                self.places.insert(name.clone(), self.properties.0.len());
                self.properties.0.push((name, schema));
            }
        }
    }
}

struct PropertiesVisitor;

impl<'de> Visitor<'de> for PropertiesVisitor {
    type Value = FormProperties;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of form fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FormProperties, A::Error> {
        let mut unique = Unique::default();
        while let Some((name, schema)) = map.next_entry()? {
            unique.push(name, schema);
        }
        Ok(unique.properties)
    }
}
