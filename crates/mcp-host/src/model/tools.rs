//! Converts lists of tools to the formats of model APIs.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::ModelApi;
use super::schema::{ListWork, flat_object, gemini, rewrite};
use super::search::ToolSearch;
use crate::host::HostTool;

/// Tools in the format of a model API.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelTools {
    /// The member `tools` of a request.
    pub tools: Value,
    /// The keywords that were removed from input schemas because the API rejects them, at most 1,000 for each server.
    pub dropped: Vec<DroppedKeyword>,
    /// How the model finds tools that are not listed because they exceeded the budget ([`ModelApi::tools_within_budget`]). `None`
    /// if all tools are listed.
    pub search: Option<ToolSearch>,
}

/// A part of an input schema that was removed because a model API does not accept it. The server still checks this part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedKeyword {
    /// The name of the tool for the model.
    pub tool: String,
    /// The JSON Pointer of the keyword in the input schema.
    pub pointer: String,
}

impl ModelApi {
    /// Returns tools in this format.
    ///
    /// An API rejects the whole request if it does not accept one of the schemas. The schemas are therefore changed:
    /// - OpenAI and Anthropic need an object without `anyOf`, `oneOf` and `allOf` at the root. The properties of the branches are
    ///   therefore merged into this object. Of these properties, only the properties of `allOf` can be required.
    /// - Keywords with invalid values are left out, for example `"type": "any"` and the `"required": true` of a property.
    /// - Tuples of earlier dialects become `prefixItems`. References without a target are left out. For OpenAI, every array gets
    ///   `items`.
    /// - Gemini accepts a part of OpenAPI 3.0. References are replaced by their targets, and unknown keywords are left out.
    ///
    /// References and branches can make a converted schema much larger than the original schema. The work for each tool, for all
    /// tools of a server and for the list is therefore limited. Parts that exceed a limit are left out, and the model then knows
    /// less about the arguments.
    pub fn tools(self, tools: &[HostTool]) -> ModelTools {
        let mut dropped = Vec::new();
        let mut list = Vec::new();
        let mut work = ListWork::new(tools.iter().map(|tool| &*tool.server));
        for tool in tools {
            let name = self.name(&tool.name);
            let mut conversion = work.start(&tool.server, &tool.tool.input_schema);
            let schema = flat_object(&mut conversion);
            let schema = match self {
                Self::OpenAiChat | Self::OpenAiResponses => {
                    let schema = rewrite(schema, true);
                    conversion.without_broken_references(schema)
                }
                Self::Anthropic => {
                    let schema = rewrite(schema, false);
                    let schema = conversion.with_short_names(schema);
                    conversion.without_broken_references(schema)
                }
                Self::Gemini => gemini::schema(&mut conversion, schema),
            };
            let pointers = work.finish(&tool.server, conversion).into_iter();
            dropped.extend(pointers.map(|pointer| DroppedKeyword {
                tool: tool.name.clone(),
                pointer,
            }));
            list.push(self.tool(&name, tool, schema));
        }
        let tools = match self {
            Self::Gemini if list.is_empty() => json!([]),
            Self::Gemini => json!([{ "functionDeclarations": list }]),
            _ => list.into(),
        };
        ModelTools {
            tools,
            dropped,
            search: None,
        }
    }

    fn tool(self, name: &str, tool: &HostTool, schema: Value) -> Value {
        let has_arguments = schema["properties"]
            .as_object()
            .is_some_and(|all| !all.is_empty());
        let schema_name = match self {
            Self::Anthropic => "input_schema",
            _ => "parameters",
        };
        let mut definition = Map::new();
        definition.insert("name".to_owned(), name.into());
        if let Some(description) = &tool.tool.description {
            definition.insert("description".to_owned(), description.as_str().into());
        }
        // Gemini rejects an object without properties.
        if has_arguments || self != Self::Gemini {
            definition.insert(schema_name.to_owned(), schema);
        }
        match self {
            Self::OpenAiChat => json!({ "type": "function", "function": definition }),
            Self::OpenAiResponses => {
                definition.insert("type".to_owned(), "function".into());
                // With the default `true`, the API accepts only schemas in which every property is required.
                definition.insert("strict".to_owned(), false.into());
                definition.into()
            }
            Self::Anthropic | Self::Gemini => definition.into(),
        }
    }

    /// Returns the name of a tool in this format. For Gemini, changes a name that does not begin with a letter or `_`.
    pub(super) fn name(self, name: &str) -> Cow<'_, str> {
        let is_accepted = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if self != Self::Gemini || is_accepted {
            return name.into();
        }
        let hash = HEXLOWER.encode(&Sha256::digest(name)[..4]);
        let end = name.len().min(54);
        format!("_{}_{hash}", &name[..end]).into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn tool(server: &str, number: usize, schema: &Value) -> HostTool {
        let tool = json!({ "name": "t", "inputSchema": schema });
        HostTool {
            name: format!("{server}__{number}"),
            server: server.to_owned(),
            tool: Arc::new(serde_json::from_value(tool).unwrap()),
            is_stale: false,
        }
    }

    const ALL: [ModelApi; 4] = [
        ModelApi::Anthropic,
        ModelApi::OpenAiChat,
        ModelApi::OpenAiResponses,
        ModelApi::Gemini,
    ];

    /// A schema with many references to one definition.
    fn references(count: usize, definition: &Value) -> Value {
        let names = (0..count).map(|number| (format!("p{number}"), json!({ "$ref": "#/$defs/a" })));
        json!({ "properties": Map::from_iter(names), "$defs": { "a": definition } })
    }

    fn strings(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("value {number}")).collect()
    }

    /// Schemas that are small, and large when their references are replaced or their branches are merged.
    fn growing() -> Vec<Value> {
        let mut definitions = Map::new();
        for number in 0..25 {
            let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
            let definition = json!({ "properties": { "a": next, "b": next } });
            definitions.insert(format!("d{number}"), definition);
        }
        let tree = json!({ "properties": { "x": { "$ref": "#/$defs/d0" } }, "$defs": definitions });
        let long = "x".repeat(60_000);
        let booleans = (0..5_000).map(|number| (format!("b{number}"), Value::Bool(true)));
        let unknown = (0..5_000).map(|number| (format!("u{number}"), json!(1)));
        let same = |count: usize| vec![json!({ "$ref": "#/$defs/a" }); count];
        vec![
            tree,
            references(500, &json!({ "enum": strings(1_000) })),
            references(500, &json!({ "description": long })),
            references(300, &json!({ "default": { &*long: 1 } })),
            references(300, &json!({ "type": &*long })),
            references(200, &json!({ "type": vec!["string"; 2_000] })),
            references(200, &json!({ "anyOf": vec![1; 5_000] })),
            references(100, &json!({ "properties": Map::from_iter(booleans) })),
            references(100, &json!({ "required": strings(3_000) })),
            references(100, &Value::Object(Map::from_iter(unknown))),
            json!({ "allOf": same(400), "$defs": { "a": { "required": strings(3_000) } } }),
            json!({ "anyOf": same(2_000), "$defs": { "a": { "properties": { "a": { "enum": strings(5_000) } } } } }),
            json!({ "properties": { "a": {} }, "required": strings(60_000) }),
            json!({ "allOf": [{ "required": strings(60_000) }] }),
            json!({ "properties": { &*long: { "properties": Map::from_iter((0..2_000).map(|n| (n.to_string(), json!({})))) } } }),
        ]
    }

    #[test]
    fn a_server_cannot_make_a_list_of_tools_long_or_slow() {
        let point = json!({ "properties": { "x": { "type": "number" } } });
        let usual = json!({ "properties": { "at": { "$ref": "#/$defs/point" } }, "$defs": { "point": point } });
        for schema in growing() {
            let text = schema.to_string().len();
            let mut tools = vec![tool("bad", 0, &schema), tool("bad", 1, &schema)];
            tools.push(tool("good", 0, &usual));
            for api in ALL {
                let begin = std::time::Instant::now();
                let list = api.tools(&tools);
                let size = list.tools.to_string().len();
                assert!(
                    size < 4 * text + (1 << 20),
                    "{api:?}: {text} bytes become {size}"
                );
                let pointers: usize = list
                    .dropped
                    .iter()
                    .map(|dropped| dropped.pointer.len())
                    .sum();
                assert!(pointers < 2 << 20, "{pointers}");
                // A debug build on a busy machine is slow. Without limits, the conversions took minutes.
                let seconds = begin.elapsed().as_secs();
                assert!(seconds < 10, "{api:?}: {seconds} s for {text} bytes");
                if api == ModelApi::Gemini {
                    let last = &list.tools[0]["functionDeclarations"][2]["parameters"];
                    assert_eq!(
                        last["properties"]["at"]["properties"]["x"]["type"],
                        "NUMBER"
                    );
                }
            }
        }
    }

    #[test]
    fn usual_schemas_lose_no_keywords_because_of_the_limits() {
        let zones: Vec<String> = (0..598)
            .map(|number| format!("Area/Zone_{number}"))
            .collect();
        let schema = json!({
            "properties": {
                "from_zone": { "$ref": "#/$defs/Zone" }, "to_zone": { "$ref": "#/$defs/Zone" },
                "when": { "$ref": "#/$defs/When" }
            },
            "$defs": { "Zone": { "type": "string", "enum": zones }, "When": { "type": "string", "description": "a date" } }
        });
        let list = ModelApi::Gemini.tools(&[tool("s", 0, &schema)]);
        let properties = &list.tools[0]["functionDeclarations"][0]["parameters"]["properties"];
        for name in ["from_zone", "to_zone"] {
            assert_eq!(properties[name]["enum"].as_array().unwrap().len(), 598);
        }
        assert_eq!(properties["when"]["description"], "a date");
        assert!(list.dropped.is_empty(), "{:?}", list.dropped);
    }

    /// An API rejects the tools of all servers if one keyword has an invalid value.
    #[test]
    fn keywords_with_invalid_values_are_removed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "any": { "type": "any", "description": "any value" },
                "old": { "type": "string", "required": true, "default": "any" },
                "above": { "type": "number", "minimum": 1, "exclusiveMinimum": true },
                "list": { "type": ["string", "string", "null"], "minLength": -1, "enum": [] },
                "inner": { "type": "array", "items": { "type": "float", "title": 1 }, "maxItems": 3 },
                "choice": { "anyOf": [{ "type": "string" }, { "type": "text" }], "oneOf": [] },
                "none": null
            },
            "required": ["any", "any"],
            "$defs": { "a b": { "type": "string" } }
        });
        for api in ALL {
            let list = api.tools(&[tool("s", 0, &schema)]);
            let dropped: Vec<&str> = list
                .dropped
                .iter()
                .map(|dropped| &*dropped.pointer)
                .collect();
            let expected = [
                "/properties/any/type",
                "/properties/old/required",
                "/properties/above/exclusiveMinimum",
                "/properties/list/minLength",
                "/properties/list/enum",
                "/properties/inner/items/type",
                "/properties/inner/items/title",
                "/properties/choice/anyOf/type",
                "/properties/choice/oneOf",
                "/properties/none",
            ];
            assert_eq!(dropped, expected, "{api:?}");
            let text = list.tools.to_string();
            assert!(
                text.contains("any value") && text.contains(r#""required":["any"]"#),
                "{text}"
            );
        }
    }

    #[test]
    fn broken_references_in_properties_named_like_keywords_are_removed() {
        let gone = json!({ "$ref": "#/$defs/gone" });
        let schema = json!({
            "properties": { "default": gone, "enum": gone, "const": gone, "examples": { "properties": { "x": gone } } },
            "$defs": { "default": { "$dynamicRef": "#/nothing" } }
        });
        for api in [ModelApi::Anthropic, ModelApi::OpenAiChat] {
            let list = api.tools(&[tool("s", 0, &schema)]);
            assert_eq!(list.dropped.len(), 5, "{:?}", list.dropped);
            let text = list.tools.to_string();
            assert!(
                !text.contains("gone") && !text.contains("nothing"),
                "{text}"
            );
        }
    }

    #[test]
    fn gemini_gets_the_properties_of_references_in_every_order_of_keywords() {
        let base = json!({ "properties": { "must": { "type": "string" } }, "required": ["must"] });
        let own = json!({ "x": {} });
        for inner in [
            json!({ "allOf": [{ "$ref": "#/$defs/base" }], "properties": own }),
            json!({ "properties": own, "allOf": [{ "$ref": "#/$defs/base" }] }),
            json!({ "$ref": "#/$defs/base", "properties": own }),
            json!({ "properties": own, "anyOf": [{ "$ref": "#/$defs/base" }, { "type": "null" }] }),
        ] {
            let schema = json!({ "properties": { "inner": inner }, "$defs": { "base": base } });
            let list = ModelApi::Gemini.tools(&[tool("s", 0, &schema)]);
            assert!(list.dropped.is_empty(), "{inner}: {:?}", list.dropped);
            let parameters = &list.tools[0]["functionDeclarations"][0]["parameters"];
            let inner = &parameters["properties"]["inner"];
            assert_eq!(inner["required"], json!(["must"]), "{inner}");
            assert!(
                inner["properties"]["x"].is_object() && inner["properties"]["must"].is_object()
            );
        }
    }

    #[test]
    fn gemini_gets_all_parts_of_a_property_that_is_defined_twice() {
        let base = json!({ "properties": { "x": { "type": "string", "minLength": 2 } } });
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let schema = json!({
            "properties": {
                "a": { "$ref": "#/$defs/base", "properties": { "x": { "description": "d" } } },
                "b": { "$ref": "#/$defs/list", "items": { "minLength": 3 } },
                "c": { "allOf": [{ "$ref": "#/$defs/base" }, { "properties": { "x": { "enum": ["zz"] } } }] },
                "d": { "type": ["array", "string"] },
                "e": { "const": "" },
                "f": { "type": "object", "properties": { "not accepted": {} } },
                "g": { "enum": ["a"], "const": "b" }
            },
            "$defs": { "base": base, "list": list }
        });
        let list = ModelApi::Gemini.tools(&[tool("s", 0, &schema)]);
        let properties = &list.tools[0]["functionDeclarations"][0]["parameters"]["properties"];
        let both = json!({ "description": "d", "type": "STRING", "minLength": 2 });
        assert_eq!(properties["a"]["properties"]["x"], both);
        let items = json!({ "minLength": 3, "type": "STRING" });
        assert_eq!(properties["b"]["items"], items);
        let x = json!({ "type": "STRING", "minLength": 2, "enum": ["zz"] });
        assert_eq!(properties["c"]["properties"]["x"], x);
        let array = json!({ "type": "ARRAY", "items": { "type": "STRING" } });
        assert_eq!(properties["d"]["anyOf"][0], array);
        assert_eq!(properties["e"], json!({}));
        assert_eq!(properties["f"], json!({ "type": "OBJECT" }));
        let dropped = list.dropped.iter().map(|dropped| &*dropped.pointer);
        let dropped: Vec<&str> = dropped.collect();
        let expected = [
            "/properties/e/const",
            "/properties/f/properties/not accepted",
            "/properties/g/enum",
        ];
        assert_eq!(dropped, expected);
    }

    #[test]
    fn dependencies_are_checked_and_kept_beside_the_newer_keywords() {
        let schema = json!({
            "properties": {},
            "dependencies": { "a": { "type": "any", "title": "t" }, "b": 5, "c": ["d"] },
            "dependentSchemas": { "e": { "title": "u" } },
            "dependentRequired": { "f": ["g"] },
            "$id": "https://example.com/#a"
        });
        let list = ModelApi::OpenAiChat.tools(&[tool("s", 0, &schema)]);
        let parameters = &list.tools[0]["function"]["parameters"];
        let schemas = json!({ "e": { "title": "u" }, "a": { "title": "t" } });
        assert_eq!(parameters["dependentSchemas"], schemas);
        assert_eq!(
            parameters["dependentRequired"],
            json!({ "f": ["g"], "c": ["d"] })
        );
        let dropped = list.dropped.iter().map(|dropped| &*dropped.pointer);
        let dropped: Vec<&str> = dropped.collect();
        assert_eq!(dropped, ["/dependencies/a/type", "/dependencies/b"]);
    }

    #[test]
    fn large_schemas_of_some_servers_do_not_use_up_the_limit_of_another_server() {
        let mut tools = Vec::new();
        let tree = &growing()[0];
        for number in 0..200 {
            tools.push(tool(&format!("bad{}", number / 10), number, tree));
        }
        let zone = json!({ "enum": strings(300) });
        let usual = json!({ "properties": { "a": { "$ref": "#/$defs/zone" }, "b": { "$ref": "#/$defs/zone" } }, "$defs": { "zone": zone } });
        tools.push(tool("good", 0, &usual));
        let list = ModelApi::Gemini.tools(&tools);
        assert!(
            list.dropped
                .iter()
                .all(|dropped| !dropped.tool.starts_with("good"))
        );
        let properties = &list.tools[0]["functionDeclarations"][200]["parameters"]["properties"];
        assert_eq!(properties["b"]["enum"].as_array().unwrap().len(), 300);
    }

    #[test]
    fn many_tools_that_copy_a_definition_do_not_make_a_list_long() {
        let names = (0..20).map(|number| (format!("p{number}"), json!({ "$ref": "#/$defs/a" })));
        let schema = json!({ "properties": Map::from_iter(names), "$defs": { "a": { "enum": strings(100) } } });
        let tools: Vec<HostTool> = (0..500).map(|number| tool("s", number, &schema)).collect();
        let input = 500 * schema.to_string().len();
        let size = ModelApi::Gemini.tools(&tools).tools.to_string().len();
        assert!(size < 4 * input, "{input} bytes become {size}");
    }

    #[test]
    fn references_with_escaped_characters_have_a_target() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/a%20b" } },
            "$defs": { "a b": { "type": "string" } }
        });
        for api in ALL {
            let list = api.tools(&[tool("s", 0, &schema)]);
            assert!(list.dropped.is_empty(), "{:?}", list.dropped);
        }
    }

    /// An API rejects the tools of all servers if one reference has no target.
    #[test]
    fn references_to_parts_that_the_conversion_moves_are_removed() {
        let schema = json!({
            "anyOf": [{ "properties": { "at": { "type": "string" } } }],
            "properties": {
                "a": { "$ref": "#/anyOf/0/properties/at" },
                "pair": { "type": "array", "items": [{ "type": "string" }] },
                "b": { "$ref": "#/properties/pair/items/0" },
                "c": { "$ref": "#/properties/at" },
                "d": { "default": { "$ref": "#/data" } }
            }
        });
        for api in [ModelApi::Anthropic, ModelApi::OpenAiChat] {
            let list = api.tools(&[tool("s", 0, &schema)]);
            let text = list.tools.to_string();
            assert!(
                !text.contains("#/anyOf") && !text.contains("items/0"),
                "{text}"
            );
            assert!(
                text.contains("#/properties/at") && text.contains("#/data"),
                "{text}"
            );
            let dropped: Vec<&str> = list
                .dropped
                .iter()
                .map(|dropped| &*dropped.pointer)
                .collect();
            for pointer in ["/properties/a/$ref", "/properties/b/$ref"] {
                assert!(dropped.contains(&pointer), "{dropped:?}");
            }
        }
    }
}
