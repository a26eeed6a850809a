//! `#[tool]`: definitions, options, calls.

use mcp_server::{Call, Extraction, FromCall, Json, ServerBuilder, State, tool};

use crate::prelude::*;

/// Adds two numbers.
///
/// And nothing else.
#[tool]
fn add(
    /** left */
    a: i64,
    /** right */
    b: i64,
) -> i64 {
    a + b
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Metre,
    Foot,
}

#[derive(Serialize, JsonSchema)]
struct Length {
    value: f64,
    unit: Unit,
}

/// Converts a length.
#[tool(
    name = "length.convert",
    title = "Convert",
    icon = "https://example.com/ruler.png",
    read_only,
    idempotent = true,
    open_world = false,
    destructive = false
)]
async fn convert(
    /// The length.
    /// In any unit.
    value: f64,
    /// What it is converted to.
    #[arg(default = Unit::Metre)]
    to: Unit,
    #[arg(rename = "type", default = "exact")] r#type: String,
    #[schemars(range(min = 0, max = 9))] digits: Option<u8>,
) -> Result<Json<Length>, HandlerError> {
    if r#type != "exact" {
        return Err(HandlerError::new("only exact lengths"));
    }
    let _ = digits;
    Ok(Json(Length { value, unit: to }))
}

#[derive(Clone)]
struct Database {
    name: &'static str,
}

/// Whatever the caller is.
struct Caller(String);

impl<S> FromCall<S> for Caller {
    fn from_call(call: &Call<'_>, _: &S) -> Extraction<Self> {
        let client = call.context.session().client();
        Extraction::Ready(Self(
            client.map_or_else(String::new, |info| info.name.clone()),
        ))
    }
}

#[tool(description = concat!("Greets", " everybody."), blocking)]
fn greet(
    mut greeting: String,
    State(db): State<Database>,
    #[extract] Caller(caller): Caller,
    cx: Ctx,
    times: Option<u32>,
) -> String {
    assert!(!cx.is_cancelled());
    greeting.push_str(&"!".repeat(times.unwrap_or(1) as usize));
    format!("{greeting} {caller} from {}", db.name)
}

#[tool]
fn nothing() {}

#[derive(Deserialize, JsonSchema)]
struct Point {
    x: i32,
}

#[tool]
async fn by_hand(Args(point): Args<Point>) -> i32 {
    point.x
}

/// Never built.
#[cfg(any())]
#[tool]
fn absent(thing: NoSuchType) -> NoSuchType {
    thing
}

fn server() -> ServerBuilder<Database> {
    Server::builder("s", "1")
        .state(Database { name: "db" })
        .tools([
            add::tool(),
            convert::tool(),
            greet::tool(),
            nothing::tool(),
            by_hand::tool(),
        ])
}

#[tokio::test]
async fn a_function_with_the_attribute_tool_can_still_be_called() {
    assert_eq!(add(1, 2), 3);
    let length = convert(1.0, Unit::Foot, "exact".to_owned(), None).await;
    assert!(matches!(
        length,
        Ok(Json(Length {
            unit: Unit::Foot,
            ..
        }))
    ));
}

#[test]
fn doc_comments_and_types_define_the_tool() {
    let tool: Tool = add::tool();
    let definition = json!(tool.definition());
    let integer = |description: &str| {
        json!({
            "type": "integer", "description": description, "minimum": i64::MIN, "maximum": i64::MAX,
        })
    };
    assert_eq!(
        definition,
        json!({
            "name": "add",
            "description": "Adds two numbers.\n\nAnd nothing else.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": integer("left"),
                    "b": integer("right"),
                },
                "required": ["a", "b"],
            },
        })
    );
    let tool: Tool = nothing::tool();
    let input = json!(tool.definition().input_schema);
    let expected = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(input, expected);
}

#[test]
fn options_and_parameter_attributes_apply() {
    let tool: Tool = convert::tool();
    let definition = json!(tool.definition());
    assert_eq!(definition["name"], "length.convert");
    assert_eq!(definition["title"], "Convert");
    let expected = json!([{"src": "https://example.com/ruler.png"}]);
    assert_eq!(definition["icons"], expected);
    assert_eq!(
        definition["annotations"],
        json!({
            "readOnlyHint": true, "idempotentHint": true,
            "openWorldHint": false, "destructiveHint": false,
        })
    );
    let expected = json!(["value", "unit"]);
    assert_eq!(definition["outputSchema"]["required"], expected);
    assert_eq!(
        definition["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "value": {"type": "number", "description": "The length.\nIn any unit."},
                "to": {
                    "type": "string", "enum": ["metre", "foot"], "default": "metre",
                    "description": "What it is converted to.",
                },
                "type": {"type": "string", "default": "exact"},
                "digits": {"type": "integer", "minimum": 0, "maximum": 9},
            },
            "required": ["value"],
        })
    );
    let tool: Tool<Database> = greet::tool();
    assert_eq!(
        tool.definition().description.as_deref(),
        Some("Greets everybody.")
    );
}

#[tokio::test]
async fn a_tool_call_runs_the_function_with_its_arguments() {
    let mut wire = PipeEnd::session(server()).await;
    let result = wire.tool("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(result["content"][0]["text"], "3");

    let result = wire.tool("length.convert", json!({"value": 2.5})).await;
    let expected = json!({"value": 2.5, "unit": "metre"});
    assert_eq!(result["structuredContent"], expected);
    let result = wire
        .tool("length.convert", json!({"value": 2, "type": "rough"}))
        .await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "only exact lengths");

    let result = wire
        .tool("greet", json!({"greeting": "hi", "times": 2}))
        .await;
    assert_eq!(result["content"][0]["text"], "hi!! scripted from db");
    assert_eq!(wire.tool("nothing", json!({})).await["content"], json!([]));
    let result = wire.tool("by_hand", json!({"x": 7})).await;
    assert_eq!(result["content"][0]["text"], "7");
}

// proves: TOOL-042
#[tokio::test]
async fn a_tool_call_with_invalid_arguments_does_not_run_the_function() {
    let server = server().strictness(Strictness::Strict);
    let mut wire = PipeEnd::session(server).await;
    for (name, arguments, place) in [
        ("add", json!({"a": 1}), "b"),
        ("add", json!({"a": 1, "b": "2"}), "/b"),
        ("add", Value::Null, "a"),
        ("length.convert", json!({"value": 1, "to": "mile"}), "/to"),
        (
            "length.convert",
            json!({"value": 1, "digits": 10}),
            "/digits",
        ),
        (
            "length.convert",
            json!({"value": 1, "digits": -1}),
            "/digits",
        ),
        ("nothing", json!({"a": 1}), "a"),
    ] {
        let mut params = json!({"name": name});
        if !arguments.is_null() {
            params["arguments"] = arguments;
        }
        let result = wire.call("tools/call", params).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(place), "{text}");
    }
}
