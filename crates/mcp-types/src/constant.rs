//! Members that have the same fixed value in all objects of a type.
//!
//! `resultType` states the kind of a result. Each kind is a separate type here, so the member holds no data: its fixed value is
//! written, and another value in the input is an error. If the member is absent, as in older revisions, the result is `complete`.
//! A union removes the member before it decodes its variant.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// The value `complete`: the object is the result of the request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Complete;

/// The value `input_required`: the object contains input requests instead of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct InputRequired;

/// A type that represents one fixed value.
trait Constant: Default {
    const VALUE: &'static str;
}

impl Constant for Complete {
    const VALUE: &'static str = "complete";
}

impl Constant for InputRequired {
    const VALUE: &'static str = "input_required";
}

impl Serialize for Complete {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::VALUE)
    }
}

impl Serialize for InputRequired {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::VALUE)
    }
}

impl<'de> Deserialize<'de> for Complete {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Deserialize<'de> for InputRequired {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

fn read<'de, C: Constant, D: Deserializer<'de>>(deserializer: D) -> Result<C, D::Error> {
    deserializer.deserialize_str(ConstantVisitor(C::VALUE))?;
    Ok(C::default())
}

struct ConstantVisitor(&'static str);

impl Visitor<'_> for ConstantVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if text == self.0 {
            Ok(())
        } else {
            Err(E::invalid_value(Unexpected::Str(text), &self))
        }
    }
}
