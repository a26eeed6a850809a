//! Decoding of unions. A rule selects the variant, so that the variants are not tried one after the other.
//!
//! The value of one member selects the variant of a [`TaggedUnion`]. If that member comes first, as usual, the rest of the object
//! is decoded directly into the variant, without a buffer. The object of a [`ShapedUnion`] has no such member. It is buffered,
//! and its members determine the variant.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Unexpected, Visitor};
use serde_json::Value;

use crate::JsonObject;

/// A union in which the value of one string member selects the variant.
pub(crate) trait TaggedUnion: Sized {
    /// The name of the union, for error messages.
    const NAME: &'static str;
    /// The name of the member that selects the variant.
    const TAG: &'static str;
    /// The known values of this member, in the order of the variants.
    const TAGS: &'static [&'static str];
    /// The index of the variant for an object without this member.
    const DEFAULT: Option<usize> = None;

    /// Decodes the variant with this index.
    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error>;

    /// Wraps an object whose tag is not among [`Self::TAGS`].
    fn unknown(raw: Value) -> Self;
}

/// A union in which the variant depends on which members the object has.
pub(crate) trait ShapedUnion: Sized {
    /// The name of the union, for error messages.
    const NAME: &'static str;
    /// The name of a member that every variant has.
    const REQUIRES: Option<&'static str> = None;

    /// Returns the index of the variant that has these members.
    fn classify(members: &JsonObject) -> Option<usize>;

    /// Decodes the variant with this index.
    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error>;

    /// Wraps an object that matches no variant.
    fn unknown(raw: Value) -> Self;
}

/// Decodes a [`TaggedUnion`].
pub(crate) fn tagged<'de, U: TaggedUnion, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<U, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

/// Decodes a [`ShapedUnion`].
pub(crate) fn shaped<'de, U: ShapedUnion, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<U, D::Error> {
    deserializer.deserialize_map(ShapedVisitor(PhantomData))
}

/// Returns whether the member at `path` is the string `value`.
pub(crate) fn is(members: &JsonObject, path: &[&str], value: &str) -> bool {
    find(members, path).and_then(Value::as_str) == Some(value)
}

/// Returns whether there is a member at `path`. Null is treated as absent.
pub(crate) fn has(members: &JsonObject, path: &[&str]) -> bool {
    find(members, path).is_some_and(|found| !found.is_null())
}

fn find<'a>(members: &'a JsonObject, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(members.get(*first)?, |value, key| value.get(key))
}

struct TaggedVisitor<U>(PhantomData<U>);

impl<'de, U: TaggedUnion> Visitor<'de> for TaggedVisitor<U> {
    type Value = U;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} object", U::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<U, A::Error> {
        let mut members = JsonObject::new();
        match map.next_key_seed(KeySeed(U::TAG))? {
            None => {}
            Some(Key::Other(key)) => {
                members.insert(key, map.next_value()?);
            }
            Some(Key::Tag) => match map.next_value_seed(TagSeed::<U>(PhantomData))? {
                Tag::Arm(index) => return U::arm(index, MapAccessDeserializer::new(map)),
                Tag::Absent => {}
                Tag::Unknown(tag) => {
                    members.insert(U::TAG.to_owned(), Value::String(tag));
                }
            },
        }
        while let Some((key, value)) = map.next_entry()? {
            members.insert(key, value);
        }
        from_members(members)
    }
}

fn from_members<U: TaggedUnion, E: serde::de::Error>(members: JsonObject) -> Result<U, E> {
    let index = match members.get(U::TAG) {
        Some(Value::String(tag)) => U::TAGS.iter().position(|known| known == tag),
        Some(Value::Null) | None if U::DEFAULT.is_some() => U::DEFAULT,
        Some(other) => {
            return Err(E::invalid_type(
                unexpected(other),
                &Expected::<U>(PhantomData),
            ));
        }
        None => {
            return Err(E::custom(format_args!(
                "missing {}",
                Expected::<U>(PhantomData)
            )));
        }
    };
    match index {
        Some(index) => U::arm(index, Value::Object(members)).map_err(E::custom),
        None => Ok(U::unknown(Value::Object(members))),
    }
}

/// The text about the expected value in an error: the member, its union and the known values.
struct Expected<U>(PhantomData<U>);

impl<U: TaggedUnion> fmt::Display for Expected<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member `{}` of {}, expected one of", U::TAG, U::NAME)?;
        for (index, tag) in U::TAGS.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} `{tag}`")?;
        }
        Ok(())
    }
}

impl<U: TaggedUnion> serde::de::Expected for Expected<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string as {self}")
    }
}

enum Key {
    Tag,
    Other(String),
}

struct KeySeed(&'static str);

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key, E> {
        Ok(if key == self.0 {
            Key::Tag
        } else {
            Key::Other(key.to_owned())
        })
    }

    fn visit_string<E: serde::de::Error>(self, key: String) -> Result<Key, E> {
        Ok(if key == self.0 {
            Key::Tag
        } else {
            Key::Other(key)
        })
    }
}

enum Tag {
    Arm(usize),
    Absent,
    Unknown(String),
}

struct TagSeed<U>(PhantomData<U>);

impl<'de, U: TaggedUnion> DeserializeSeed<'de> for TagSeed<U> {
    type Value = Tag;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tag, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<U: TaggedUnion> Visitor<'_> for TagSeed<U> {
    type Value = Tag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        serde::de::Expected::fmt(&Expected::<U>(PhantomData), f)
    }

    fn visit_str<E: serde::de::Error>(self, tag: &str) -> Result<Tag, E> {
        let known = U::TAGS.iter().position(|known| *known == tag);
        Ok(known.map_or_else(|| Tag::Unknown(tag.to_owned()), Tag::Arm))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Tag, E> {
        if U::DEFAULT.is_some() {
            Ok(Tag::Absent)
        } else {
            Err(E::invalid_type(Unexpected::Unit, &self))
        }
    }
}

struct ShapedVisitor<U>(PhantomData<U>);

impl<'de, U: ShapedUnion> Visitor<'de> for ShapedVisitor<U> {
    type Value = U;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} object", U::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<U, A::Error> {
        let mut members = JsonObject::new();
        while let Some((key, value)) = map.next_entry()? {
            members.insert(key, value);
        }
        if let Some(member) = U::REQUIRES
            && !members.contains_key(member)
        {
            return Err(A::Error::custom(format_args!(
                "missing member `{member}` of {}",
                U::NAME
            )));
        }
        match U::classify(&members) {
            Some(index) => U::arm(index, Value::Object(members)).map_err(A::Error::custom),
            None => Ok(U::unknown(Value::Object(members))),
        }
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(value) => value
            .as_f64()
            .map_or(Unexpected::Other("number"), Unexpected::Float),
        Value::String(value) => Unexpected::Str(value),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}
