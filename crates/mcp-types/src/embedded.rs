//! Messages inside other messages, without an envelope: a method and its params.
//!
//! Usually the method precedes the params, and the params are decoded directly into their type. Otherwise, the object is buffered
//! first.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::JsonObject;

const METHOD: &str = "method";
const PARAMS: &str = "params";

/// A union of messages. The method selects the variant, and the variant contains the params.
pub(crate) trait EmbeddedUnion: Sized {
    /// The name of the union, for error messages.
    const NAME: &'static str;
    /// The known methods, in the order of the variants.
    const METHODS: &'static [&'static str];

    /// Decodes params into the variant with this index.
    fn arm<'de, D: Deserializer<'de>>(index: usize, params: D) -> Result<Self, D::Error>;

    /// Returns the variant with this index without params. Returns `None` if the protocol requires params.
    fn bare(index: usize) -> Option<Self>;

    /// Wraps an object whose method is not among [`Self::METHODS`].
    fn unknown(raw: Value) -> Self;
}

/// Decodes an [`EmbeddedUnion`].
pub(crate) fn read<'de, U: EmbeddedUnion, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<U, D::Error> {
    deserializer.deserialize_map(EmbeddedVisitor(PhantomData))
}

/// Encodes a method and its params.
pub(crate) fn write<P: Serialize, S: Serializer>(
    serializer: S,
    method: &'static str,
    params: Option<&P>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1 + usize::from(params.is_some())))?;
    map.serialize_entry(METHOD, method)?;
    if let Some(params) = params {
        map.serialize_entry(PARAMS, params)?;
    }
    map.end()
}

fn find<U: EmbeddedUnion>(method: &str) -> Option<usize> {
    U::METHODS.iter().position(|known| *known == method)
}

struct EmbeddedVisitor<U>(PhantomData<U>);

impl<'de, U: EmbeddedUnion> Visitor<'de> for EmbeddedVisitor<U> {
    type Value = U;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} object", U::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<U, A::Error> {
        let mut members = JsonObject::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == METHOD {
                let method: String = map.next_value()?;
                if let (Some(index), false) = (find::<U>(&method), members.contains_key(PARAMS)) {
                    return read_params(index, map);
                }
                members.insert(key, Value::String(method));
            } else {
                members.insert(key, map.next_value()?);
            }
        }
        from_members(members)
    }
}

/// Reads the members that follow after the method, if the method is known.
fn read_params<'de, U: EmbeddedUnion, A: MapAccess<'de>>(
    index: usize,
    mut map: A,
) -> Result<U, A::Error> {
    let mut found = None;
    while let Some(key) = map.next_key::<String>()? {
        if key == PARAMS {
            found = Some(map.next_value_seed(ParamsSeed::<U>(index, PhantomData))?);
        } else {
            map.next_value::<IgnoredAny>()?;
        }
    }
    found
        .or_else(|| U::bare(index))
        .ok_or_else(|| A::Error::missing_field(PARAMS))
}

fn from_members<U: EmbeddedUnion, E: serde::de::Error>(mut members: JsonObject) -> Result<U, E> {
    let method = members.get(METHOD).and_then(Value::as_str);
    let Some(index) = find::<U>(method.ok_or_else(|| E::missing_field(METHOD))?) else {
        return Ok(U::unknown(Value::Object(members)));
    };
    match members.shift_remove(PARAMS) {
        Some(params) => U::arm(index, params).map_err(E::custom),
        None => U::bare(index).ok_or_else(|| E::missing_field(PARAMS)),
    }
}

struct ParamsSeed<U>(usize, PhantomData<U>);

impl<'de, U: EmbeddedUnion> DeserializeSeed<'de> for ParamsSeed<U> {
    type Value = U;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<U, D::Error> {
        U::arm(self.0, deserializer)
    }
}
