//! Repeated members of objects. Different JSON parsers read different values for such members.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::DecodeError;
use crate::decode::explain;

/// Checks that no object in the JSON text, at any depth, has a repeated member. Names are compared without their escapes.
///
/// # Errors
/// The text is not JSON, or an object has a repeated member. The error has the JSON pointer of the object.
pub fn check_unique_members(text: &str) -> Result<(), DecodeError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let checked = UniqueMembers.deserialize(&mut reader);
    let checked = checked.and_then(|()| reader.end());
    checked.map_err(|error| explain(text, &error))
}

/// A deserializer seed that reads a JSON value and checks that no object in it has a repeated member.
struct UniqueMembers;

impl<'de> DeserializeSeed<'de> for UniqueMembers {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(Name(name)) = object.next_key()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!(
                    "the member {name:?} is repeated; send it once"
                )));
            }
            names.insert(name);
            object.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while array.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The name of a member. A name without escapes is not copied.
#[derive(PartialEq, Eq, Hash, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
