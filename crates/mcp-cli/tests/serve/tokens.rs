//! Tokens for single users in the file of a gateway.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::*;

const ALICE: &str = "alice-9p4wJ0cY2mXqT7vLr3sZ";
const BOB: &str = "bob-Zs3rLv7TqXm2Yc0Jw4p9";
const VARIABLES: [(&str, &str); 2] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)];

/// The tokens of two users, of whom one may add.
fn users() -> Value {
    json!([
        { "token": "${env:ALICE_TOKEN}", "subject": "alice", "scopes": ["math:add"] },
        { "token": "${env:BOB_TOKEN}", "subject": "bob" },
    ])
}

/// Writes the file of a gateway with these tokens, whose tool `one__add` needs a scope.
fn write_tokens(file: &Path, tokens: &Value, more: Value) {
    let mut gateway = more;
    gateway["auth"]["tokens"] = tokens.clone();
    gateway["access"] = json!([{ "name": "add", "scope": "math:add" }]);
    let common = json!({ "accounts": "gateway" });
    gateway["servers"] = json!({ "one": common, "two": common });
    let servers = json!({ "one": { "command": calc() }, "two": { "command": example("ask") } });
    write(file, &servers, gateway);
}

fn add(url: &str, token: &str) -> Output {
    let header = format!("authorization: Bearer {token}");
    mcp(&["call", url, "one__add", "a=2", "b=3", "--header", &header])
}

fn check(file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(["serve", file.to_str().unwrap(), "--check"]);
    command.envs(VARIABLES).output().unwrap()
}

#[test]
fn each_token_of_the_file_identifies_a_user_with_scopes() {
    for (name, more) in [
        ("tokens-local", json!({})),
        (
            "tokens-public",
            json!({ "publicUrl": "https://mcp.example.com/mcp" }),
        ),
    ] {
        let file = file(name);
        let address = chosen_address();
        write_tokens(&file, &users(), more);
        let config = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, config.replace("127.0.0.1:0", &address)).unwrap();
        // The common token is not accepted beside those of the users.
        let mut gateway = Running::with(&file, &[VARIABLES[0], VARIABLES[1], TOKEN]);
        gateway.url();
        let url = format!("http://{address}/mcp");
        let called = add(&url, ALICE);
        assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
        let lacking = post(BOB, &url, &call("one__add", &json!({ "a": 2, "b": 3 })));
        let lacking = lacking.to_lowercase();
        assert!(lacking.starts_with("http/1.1 403 "), "{lacking}");
        assert!(
            lacking.contains("error=\"insufficient_scope\""),
            "{lacking}"
        );
        assert!(lacking.contains("scope=\"math:add\""), "{lacking}");
        for refused in [
            get(&url, "/mcp"),
            post(TOKEN.1, &url, &call("one__add", &json!({}))),
        ] {
            assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
        }
        let token = ["authorization: Bearer ", BOB].concat();
        let listed = mcp(&["list", &url, "--header", &token]);
        assert!(text(&listed.stdout).contains("one__add"), "{listed:?}");
    }
}

#[test]
fn limits_and_parked_calls_belong_to_the_user_of_a_token() {
    let file = file("tokens-users");
    write_tokens(
        &file,
        &users(),
        json!({ "limits": { "requestsPerMinute": 3 } }),
    );
    let mut gateway = Running::with(&file, &VARIABLES);
    let url = gateway.url();
    let parked = post(ALICE, &url, &call("two__ask", &json!({})));
    let (_, body) = parked.split_once("\r\n\r\n").unwrap();
    let parked: Value = serde_json::from_str(body).unwrap();
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
    let mut answer = call("two__ask", &json!({}));
    answer["inputResponses"] = json!({ "q1": accepted });
    answer["requestState"] = parked["result"]["requestState"].clone();
    assert!(answer["requestState"].is_string(), "{parked}");
    let taken = post(BOB, &url, &answer);
    assert!(taken.contains("requestState is unknown"), "{taken}");
    let answered = post(ALICE, &url, &answer);
    assert!(answered.contains("\"Ada\""), "{answered}");
    let last = post(ALICE, &url, &call("one__add", &json!({ "a": 1, "b": 1 })));
    assert!(last.contains("\"2\""), "{last}");
    let limited = post(ALICE, &url, &call("one__add", &json!({ "a": 1, "b": 1 })));
    assert!(limited.contains("retryAfterMs"), "{limited}");
    let other = post(BOB, &url, &call("one__add", &json!({ "a": 1, "b": 1 })));
    assert!(other.starts_with("HTTP/1.1 403 "), "{other}");
}

#[test]
fn check_reports_mistakes_in_tokens() {
    let file = file("tokens-mistakes");
    let user = |token: &str, subject: &str| json!({ "token": token, "subject": subject });
    let alice = user(ALICE, "alice");
    for (tokens, problem) in [
        (
            json!([alice, user(ALICE, "carol")]),
            "/gateway/auth/tokens: \"alice\" and \"carol\" have the same static token",
        ),
        (
            json!([user("a b c d e f g h i j k", "alice")]),
            "/gateway/auth/tokens: the static token of \"alice\" is empty or has characters",
        ),
        (
            json!([user("${env:CAROL_TOKEN}", "carol")]),
            "/gateway/auth/tokens/0/token: the variable ${env:CAROL_TOKEN} has no value",
        ),
        (
            json!([alice, user("short", "bob")]),
            "/gateway/auth/tokens/1/token: the token has fewer than 16 characters",
        ),
        (
            json!([{ "token": ALICE, "subject": "alice", "scopes": ["a b"] }]),
            "/gateway/auth/tokens: \"alice\": \"a b\" is not a scope",
        ),
        (json!([]), "/gateway/auth: \"tokens\" is empty"),
    ] {
        write_tokens(&file, &tokens, json!({}));
        let checked = check(&file);
        let error = text(&checked.stderr);
        assert_eq!(checked.status.code(), Some(1), "{tokens}: {error}");
        assert!(error.contains(problem), "{tokens}: {error}");
        assert!(
            !error.contains(ALICE) && !error.contains("a b c"),
            "{error}"
        );
    }
    let both = json!({ "auth": { "issuer": "https://login.example.com" }, "publicUrl": "https://a.example/mcp" });
    write_tokens(&file, &users(), both);
    let error = check(&file).stderr;
    let expected = "/gateway/auth: \"issuer\" and \"tokens\" exclude each other; remove one";
    assert!(text(&error).contains(expected), "{}", text(&error));
}

#[test]
fn tokens_of_the_file_are_accepted_and_missing_scopes_are_warnings() {
    let file = file("tokens-valid");
    write_tokens(&file, &users(), json!({}));
    let checked = check(&file);
    assert!(checked.status.success(), "{checked:?}");
    let said = text(&checked.stderr);
    assert!(!said.contains("warning"), "{said}");
    let auth = json!({ "auth": { "scopes": ["tools"] } });
    write_tokens(
        &file,
        &json!([{ "token": ALICE, "subject": "alice", "scopes": ["math:ad"] }]),
        auth,
    );
    let checked = check(&file);
    assert!(checked.status.success(), "{checked:?}");
    for warning in [
        "/gateway/auth/tokens/0: \"alice\" lacks the scope \"tools\"",
        "/gateway/auth/tokens/0: \"alice\" has the scope \"math:ad\", which no rule of /gateway/access needs",
        "/gateway/access: no token of /gateway/auth/tokens has the scope \"math:add\"",
    ] {
        assert!(text(&checked.stderr).contains(warning), "{checked:?}");
    }
}

#[test]
fn changed_tokens_are_used_after_a_restart() {
    let file = file("tokens-changed");
    write_tokens(&file, &users(), json!({}));
    let mut gateway = Running::with(&file, &VARIABLES);
    let url = gateway.url();
    gateway.logged("two: connected");
    let carol = json!([{ "token": "carol-9p4wJ0cY2mXqT7vLr3sZ", "subject": "carol" }]);
    write_tokens(&file, &carol, json!({}));
    gateway.signal("HUP");
    gateway.logged("no token of /gateway/auth/tokens has the scope \"math:add\"");
    gateway.logged("\"auth\" has changed; restart to use it");
    assert_eq!(text(&add(&url, ALICE).stdout), "5\n");
    write_tokens(
        &file,
        &json!([{ "token": "short", "subject": "carol" }]),
        json!({}),
    );
    gateway.signal("HUP");
    gateway.logged("the new configuration is not used");
}

#[test]
fn no_output_of_the_gateway_contains_a_token_of_the_file() {
    let file = file("tokens-secret");
    write_tokens(&file, &users(), json!({}));
    let variables = [VARIABLES[0], VARIABLES[1], ("MCP_LOG", "trace")];
    let mut gateway = Running::with(&file, &variables);
    let url = gateway.url();
    assert_eq!(text(&add(&url, ALICE).stdout), "5\n");
    for token in [BOB, "unknown"] {
        add(&url, token);
    }
    gateway.signal("TERM");
    let mut log = Vec::new();
    gateway.child.wait().unwrap();
    for line in gateway.log.by_ref() {
        log.push(line.unwrap());
    }
    assert!(!log.is_empty());
    for token in [ALICE, BOB] {
        assert!(!log.iter().any(|line| line.contains(token)), "{log:#?}");
    }
    let secret = "4711471147114711471";
    for tokens in [
        json!(secret),
        json!([secret]),
        json!([{ "token": 4_711_471_147_114_711_471_u64, "subject": "alice" }]),
        json!([{ "token": [secret], "subject": "alice" }]),
        json!({ "alice": secret }),
    ] {
        write_tokens(&file, &tokens, json!({}));
        let error = check(&file).stderr;
        assert!(text(&error).contains("/gateway/auth"), "{}", text(&error));
        assert!(!text(&error).contains(secret), "{tokens}: {}", text(&error));
    }
}

/// The server is another gateway, at which the users have other tokens.
#[test]
fn each_user_uses_a_separate_account_at_the_server() {
    let (server, file) = (file("tokens-server"), file("tokens-accounts"));
    let mut tokens = users();
    let own = json!({ "token": "gateway-9p4wJ0cY2mXqT7", "subject": "the gateway" });
    tokens.as_array_mut().unwrap().push(own);
    write_tokens(&server, &tokens, json!({}));
    let mut server = Running::with(&server, &VARIABLES);
    let server_url = server.url();
    let bearer = |token: &str| {
        let value = ["Bearer ", token].concat();
        json!({ "authorization": value })
    };
    let upstream = json!({ "url": server_url, "headers": bearer("gateway-9p4wJ0cY2mXqT7") });
    let front = |user: &str| ["front-of-", user, "-0cY2mXqT7v"].concat();
    let users = ["alice", "bob", "eve"];
    let tokens = users.map(|user| json!({ "token": front(user), "subject": user }));
    let accounts = json!({
        "alice": { "headers": bearer("${ALICE_TOKEN}") },
        "bob": { "headers": bearer("${BOB_TOKEN}") },
    });
    let settings = json!({
        "auth": { "tokens": tokens },
        "servers": { "behind": { "accounts": accounts } },
    });
    let address = chosen_address();
    let write_with = |upstream: &Value, settings: Value| {
        write(&file, &json!({ "behind": upstream }), settings);
        let config = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, config.replace("127.0.0.1:0", &address)).unwrap();
    };
    write_with(&upstream, settings.clone());
    let mut gateway = Running::with(&file, &VARIABLES);
    let url = gateway.url();
    let called = |user: &str| {
        let header = ["authorization: Bearer ", &front(user)].concat();
        let tool = "behind__one__add";
        mcp(&["call", &url, tool, "a=2", "b=3", "--header", &header])
    };
    let of_alice = called("alice");
    assert_eq!(text(&of_alice.stdout), "5\n", "{of_alice:?}");
    // Bob's account lacks the scope, and Eve has none.
    let of_bob = called("bob");
    assert!(!of_bob.status.success(), "{of_bob:?}");
    let of_eve = called("eve");
    assert!(
        text(&of_eve.stderr)
            .contains("the gateway has no account for you at the server \"behind\""),
        "{of_eve:?}"
    );
    assert_eq!(text(&called("alice").stdout), "5\n");
    // The account of a user ends at once, although the changed server cannot be reached with the account of the gateway.
    let mut removed = settings;
    let accounts = removed["servers"]["behind"]["accounts"].as_object_mut();
    accounts.unwrap().shift_remove("alice");
    let mut refused = upstream;
    refused["headers"] = bearer("wrong");
    write_with(&refused, removed);
    gateway.signal("HUP");
    gateway.logged("reached");
    let of_alice = called("alice");
    assert!(!of_alice.status.success(), "{of_alice:?}");
}
