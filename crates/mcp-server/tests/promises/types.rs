//! The types whose schemas are compared with their decoders.
#![allow(dead_code, reason = "the values are only decoded and encoded")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::{NonZeroI16, NonZeroU32, NonZeroU64};

use mcp_server::{Args, Json, ServerBuilder, Strictness, Tool};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whether the schema of arguments can be exact, see ADR 0008.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Exact,
    /// The schema admits more than the type.
    Wider,
}

macro_rules! describe {
    ($($item:item)*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        $item
    )*};
}

describe! {
    struct One<T> { v: T }
    struct Maybe<T> { v: Option<T>, n: Option<u8> }
    struct Many<T> { v: Vec<T> }
    struct Map<T> { v: BTreeMap<String, T>, n: u8 }
    struct Flat<T> { first: String, #[serde(flatten)] v: T, last: Option<u8> }
    struct Inside<T> { v: Flat<T> }
    struct MaybeFlat<T> { first: String, #[serde(flatten)] v: Option<T> }
    struct Beside<T> { a: Vec<One<T>>, b: Option<Box<One<T>>>, last: bool }

    struct Port(u16);
    struct Pair(i32, i32);
    struct Mixed2(i64, String);
    struct Empty {}
    struct Point { x: f64, y: f64 }
    struct Segment { from: Point, to: Point, label: Option<String> }
    #[serde(deny_unknown_fields)]
    struct Closed { a: u8, b: Option<Point> }
    #[serde(transparent)]
    struct Wrapped { inner: Point }
    #[serde(rename_all = "camelCase")]
    struct Renamed { first_name: String, #[serde(rename = "a/b~c")] odd: u8, #[serde(rename = "type")] kind: bool }
    struct Tree { v: i32, kids: Vec<Self>, next: Option<Box<Self>> }
    enum Plain { A, B }
    enum Documented {
        /// The first.
        A,
        /// The second.
        B,
        C,
    }
    enum External { Unit, New(i32), Tuple(i32, i32), Struct { x: u64, y: Option<u8> } }
    #[serde(tag = "op", rename_all = "snake_case")]
    enum Tagged { Add { a: i32, b: Option<i32> }, Remove { id: String }, Clear }
    #[serde(tag = "kind", content = "of")]
    enum Adjacent { Empty, One(u8), Both { a: u8, b: String } }
    #[serde(untagged)]
    enum Untagged { Number { number: u8 }, Name { name: String } }
    #[serde(untagged)]
    enum Scalar { Number(i32), Text(String), Flag(bool) }
    #[serde(tag = "verb")]
    enum Verb { Show { at: u8 }, Wipe }
    struct Order { #[serde(flatten)] target: Untagged, #[serde(flatten)] verb: Verb }
    struct Ranged {
        #[schemars(range(min = 1, max = 9))]
        digit: i64,
        #[schemars(length(min = 2, max = 3))]
        name: String,
        #[schemars(length(max = 2))]
        list: Vec<u8>,
    }
    struct Authored {
        #[schemars(extend("enum" = ["fast", "safe"]))]
        mode: String,
        #[schemars(required)]
        id: Option<u8>,
        #[schemars(with = "i32")]
        value: Value,
    }
    #[schemars(deny_unknown_fields)]
    struct Shut { a: u8 }
    struct Defaults {
        #[serde(default)]
        count: u32,
        #[serde(default)]
        name: String,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default)]
        any: Value,
    }
    struct Nullable { list: Vec<Option<bool>>, map: BTreeMap<String, Option<i8>> }
}

/// A builder of a server, and the names of its tools with their forms.
pub(crate) struct Tools {
    pub(crate) server: ServerBuilder,
    pub(crate) names: Vec<(String, Form)>,
}

impl Tools {
    /// Adds a tool that returns its arguments.
    fn add<T>(&mut self, form: Form)
    where
        T: JsonSchema + DeserializeOwned + Serialize + Send + 'static,
    {
        let name = format!("tool{}", self.names.len());
        let tool = Tool::new(&*name, |Args(value): Args<T>| Json(value));
        let tool = tool.description(std::any::type_name::<T>());
        self.server =
            std::mem::replace(&mut self.server, mcp_server::Server::builder("", "")).tool(tool);
        self.names.push((name, form));
    }

    /// Adds tools with the type at several places.
    fn values<T>(&mut self, form: Form)
    where
        T: JsonSchema + DeserializeOwned + Serialize + Send + 'static,
    {
        self.add::<One<T>>(form);
        self.add::<Maybe<T>>(form);
        self.add::<Many<T>>(form);
        self.add::<Map<T>>(form);
        self.add::<Beside<T>>(form);
    }

    /// Adds tools with the type as arguments, as a flattened part of them, and inside of them.
    fn objects<T>(&mut self, root: Form, form: Form)
    where
        T: JsonSchema + DeserializeOwned + Serialize + Send + 'static,
    {
        self.add::<T>(root);
        self.add::<Flat<T>>(root);
        self.add::<Inside<T>>(form);
        self.add::<One<T>>(form);
        self.add::<Many<T>>(form);
    }
}

pub(crate) fn tools() -> Tools {
    use Form::{Exact, Wider};
    let mut tools = Tools {
        server: mcp_server::Server::builder("promises", "1").strictness(Strictness::Strict),
        names: Vec::new(),
    };
    tools.values::<i8>(Exact);
    tools.values::<u8>(Exact);
    tools.values::<i16>(Exact);
    tools.values::<u32>(Exact);
    tools.values::<i32>(Exact);
    tools.values::<i64>(Exact);
    tools.values::<u64>(Exact);
    tools.values::<usize>(Exact);
    tools.values::<u128>(Wider);
    tools.values::<NonZeroU32>(Exact);
    tools.values::<NonZeroI16>(Exact);
    tools.values::<f64>(Exact);
    tools.values::<bool>(Exact);
    tools.values::<char>(Exact);
    tools.values::<String>(Exact);
    tools.values::<Port>(Exact);
    tools.values::<Pair>(Exact);
    tools.values::<[u16; 3]>(Exact);
    tools.values::<Mixed2>(Wider);
    tools.values::<BTreeSet<String>>(Exact);
    tools.values::<BTreeMap<u32, String>>(Wider);
    tools.values::<IpAddr>(Wider);
    tools.values::<Plain>(Exact);
    tools.values::<Documented>(Exact);
    tools.values::<External>(Exact);
    tools.values::<Scalar>(Exact);
    tools.values::<Tree>(Exact);
    tools.values::<Value>(Exact);
    tools.objects::<Point>(Exact, Exact);
    tools.objects::<Segment>(Exact, Exact);
    tools.objects::<Wrapped>(Exact, Exact);
    tools.objects::<Renamed>(Exact, Exact);
    tools.objects::<Defaults>(Exact, Exact);
    tools.objects::<Ranged>(Exact, Exact);
    tools.objects::<Authored>(Exact, Exact);
    tools.objects::<Nullable>(Exact, Exact);
    tools.objects::<Tagged>(Wider, Exact);
    tools.objects::<Adjacent>(Wider, Exact);
    tools.objects::<Untagged>(Wider, Exact);
    tools.objects::<Verb>(Wider, Exact);
    tools.objects::<Order>(Wider, Exact);
    tools.add::<MaybeFlat<Point>>(Wider);
    tools.add::<MaybeFlat<Segment>>(Wider);
    tools.add::<Closed>(Exact);
    tools.add::<One<Closed>>(Exact);
    tools.add::<Shut>(Exact);
    tools.add::<Empty>(Wider);
    tools.add::<One<Box<Point>>>(Exact);
    tools.add::<One<NonZeroU64>>(Exact);
    tools.add::<BTreeMap<String, u8>>(Exact);
    tools
}
