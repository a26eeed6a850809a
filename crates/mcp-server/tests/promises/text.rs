//! Arguments of prompts, variables of URIs, and answers to forms.

use std::num::NonZeroU32;

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{Args, Ask, Prompt, Resource, Revision, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

type Count = u32;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is shown")]
struct Port(u16);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
enum Mode {
    Fast,
    Safe,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Numbers {
    count: Count,
    nonzero: NonZeroU32,
    port: Port,
    ratio: Option<f64>,
    flag: Option<bool>,
    mode: Option<Mode>,
    text: Option<String>,
}

fn shown(numbers: &Numbers) -> String {
    let Numbers {
        count,
        nonzero,
        port,
        ratio,
        flag,
        mode,
        text,
    } = numbers;
    format!("{count} {nonzero} {port:?} {ratio:?} {flag:?} {mode:?} {text:?}")
}

#[test]
fn prompts_read_numbers_by_schema_and_not_by_the_name_of_the_type() {
    let prompt = Prompt::new("p", |Args(numbers): Args<Numbers>| shown(&numbers));
    let client = TestClient::new(Server::builder("s", "1").prompt(prompt));
    let get = |arguments| {
        block_on(client.get_prompt("p", arguments)).map(|result| json!(result).to_string())
    };
    let all = json!({
        "count": "5", "nonzero": " 7", "port": "80", "ratio": "2.5", "flag": "true", "mode": "Fast", "text": "5",
    });
    let expected = r#"5 7 Port(80) Some(2.5) Some(true) Some(Fast) Some(\"5\")"#;
    assert!(get(all).unwrap().contains(expected));
    // Clients with forms send empty fields.
    let empty = json!({
        "count": "5", "nonzero": "7", "port": "80", "ratio": "", "flag": "", "mode": "", "text": "",
    });
    assert!(
        get(empty)
            .unwrap()
            .contains(r#"5 7 Port(80) None None None Some(\"\")"#)
    );
    for (name, value, problem) in [
        ("count", "x", "/count: expected an integer, got \"x\""),
        ("count", "", "/count: expected an integer, got \"\""),
        (
            "count",
            "5000000000",
            "/count: expected a number of at most 4294967295, got 5000000000",
        ),
        (
            "nonzero",
            "0",
            "/nonzero: expected a number of at least 1, got 0",
        ),
        (
            "port",
            "-1",
            "/port: expected a number of at least 0, got -1",
        ),
    ] {
        let mut arguments = json!({"count": "5", "nonzero": "7", "port": "80"});
        arguments[name] = value.into();
        let error = get(arguments).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is shown")]
struct Fields {
    /// With a description.
    mode: Option<Mode>,
    address: Option<std::net::IpAddr>,
    #[schemars(length(min = 2))]
    code: Option<String>,
}

#[test]
fn an_empty_field_of_a_prompt_counts_as_absent_unless_it_may_be_empty_text() {
    let fields = Prompt::new("fields", |Args(fields): Args<Fields>| format!("{fields:?}"));
    let client = TestClient::new(Server::builder("s", "1").prompt(fields));
    let get = |arguments| {
        block_on(client.get_prompt("fields", arguments)).map(|result| json!(result).to_string())
    };
    let text = get(json!({"mode": "", "address": "", "code": ""})).unwrap();
    assert!(
        text.contains("mode: None, address: None, code: None"),
        "{text}"
    );
    let error = get(json!({"mode": "Slow"})).unwrap_err();
    assert!(error.to_string().contains("Slow"), "{error}");
}

#[test]
fn uri_variables_are_converted_to_the_types_of_their_parameters() {
    #[derive(Deserialize, JsonSchema)]
    struct Variables {
        id: NonZeroU32,
        port: Port,
    }
    let resource = Resource::new("x://{id}/{port}", "x", |Args(v): Args<Variables>| {
        format!("{} {:?}", v.id, v.port)
    })
    .readable_if(|Args(v): Args<Variables>| v.id.get() < 100);
    let client = TestClient::new(Server::builder("s", "1").resource(resource));
    let read =
        |uri: &str| block_on(client.read_resource(uri)).map(|result| json!(result).to_string());
    assert!(read("x://7/80").unwrap().contains("7 Port(80)"));
    assert!(read("x://100/80").is_err());
    let error = read("x://a/80").unwrap_err().to_string();
    assert!(
        error.contains("/id: expected an integer, got \"a\""),
        "{error}"
    );
}

#[test]
fn a_number_in_a_uri_has_one_spelling() {
    #[derive(Deserialize, JsonSchema)]
    struct Variables {
        id: i64,
        at: f64,
    }
    let resource = Resource::new("x://{id}/{at}", "x", |Args(v): Args<Variables>| {
        format!("{} {}", v.id, v.at)
    });
    let client = TestClient::new(Server::builder("s", "1").resource(resource));
    let read =
        |uri: &str| block_on(client.read_resource(uri)).map(|result| json!(result).to_string());
    for uri in [
        "x://7/1.5",
        "x://-7/2",
        "x://0/0.5",
        "x://7/9007199254740992",
    ] {
        assert!(read(uri).is_ok(), "{uri}");
    }
    // With these spellings, one resource would have several URIs.
    for uri in [
        "x://007/2",
        "x://+7/2",
        "x://%207/2",
        "x://7%0A/2",
        "x://7.0/2",
        "x://7e0/2",
        "x://-0/2",
        "x://7/02",
        "x://7/2.0",
        "x://7/1.50",
        "x://7/2e0",
        "x://7/+2",
        "x://7/.5",
        "x://7/9007199254740993",
    ] {
        let error = read(uri).unwrap_err().to_string();
        assert!(
            error.contains(": write ") && error.contains(" instead of "),
            "{uri}: {error}"
        );
    }
}

#[test]
fn forms_accept_what_their_schemas_admit() {
    let ask = Tool::new("ask", |Ask(numbers): Ask<Numbers>| shown(&numbers));
    let server = Server::builder("s", "1").tool(ask).build().unwrap();
    let answered = |content: serde_json::Value| {
        let client = TestClient::at(Revision::V2025_11_25, server.clone());
        let client = client.answer_forms(move |_, _| content.clone());
        let result = block_on(client.call_tool("ask", json!({}))).unwrap();
        (result.is_error != Some(true), result.joined_text())
    };
    let (accepted, text) =
        answered(json!({"count": 5.0, "nonzero": 7, "port": 80, "ratio": 2, "mode": "Safe"}));
    assert_eq!(text, "5 7 Port(80) Some(2.0) None Some(Safe) None");
    assert!(accepted);
    for content in [
        json!({"count": 5.5, "nonzero": 7, "port": 80}),
        json!({"count": 5_000_000_000_u64, "nonzero": 7, "port": 80}),
        json!({"count": 5, "nonzero": 0, "port": 80}),
        json!({"count": 5, "nonzero": 7, "port": 65_536}),
        json!({"count": 5, "nonzero": 7, "port": 80, "mode": "Slow"}),
        json!({"count": 5, "nonzero": 7}),
    ] {
        let (accepted, text) = answered(content);
        assert!(!accepted, "{text}");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Colour {
    #[schemars(title = "Dark red")]
    DarkRed,
    Green,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is shown")]
struct Profile {
    address: std::net::IpAddr,
    colour: Colour,
    more: Option<Vec<Colour>>,
    #[cfg_attr(feature = "validate", schemars(regex(pattern = "^[a-z]+$")))]
    name: String,
}

#[test]
fn a_form_has_titled_choices_and_only_the_formats_of_forms() {
    let ask = Tool::new("ask", |Ask(profile): Ask<Profile>| format!("{profile:?}"));
    let server = Server::builder("s", "1").tool(ask).build().unwrap();
    let answered = |address: &str, name: &str| {
        let content =
            json!({"address": address, "colour": "DarkRed", "more": ["Green"], "name": name});
        let client = TestClient::at(Revision::V2025_11_25, server.clone());
        let client = client.answer_forms(move |_, form| {
            let choices = json!([
                {"const": "DarkRed", "title": "Dark red"},
                {"const": "Green", "title": "Green"},
            ]);
            let mut found = form["properties"]["colour"]["oneOf"].clone();
            found
                .as_array_mut()
                .unwrap()
                .sort_by_key(|choice| choice["const"].to_string());
            assert_eq!(found, choices);
            assert!(
                form["properties"]["more"]["items"]["anyOf"].is_array(),
                "{form}"
            );
            assert_eq!(form["properties"]["address"], json!({"type": "string"}));
            content.clone()
        });
        let result = block_on(client.call_tool("ask", json!({}))).unwrap();
        (result.is_error != Some(true), result.joined_text())
    };
    let (accepted, text) = answered("127.0.0.1", "ada");
    assert!(accepted, "{text}");
    assert!(text.contains("DarkRed"), "{text}");
    assert!(!answered("here", "ada").0);
    #[cfg(feature = "validate")]
    assert!(!answered("127.0.0.1", "Ada").0);
}
