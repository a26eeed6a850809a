//! Files, schemas, overrides and texts that must not pass. `codegen --check` compares the output of those that pass.

use serde_json::{Value, json};

use super::*;

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_stale_or_foreign_file_fails_the_check_with_the_command_that_fixes_it() {
    let root = folder("check");
    let file = format!("{FOLDER}/a.rs");
    let files = Files::from([(file.clone(), "new\n".to_owned())]);
    apply(&root, &files, false).unwrap();
    assert_eq!(apply(&root, &files, true), Ok(()));
    fs::write(root.join(&file), "old\n").unwrap();
    fs::write(root.join(FOLDER).join("gone.rs"), "").unwrap();
    let error = apply(&root, &files, true).unwrap_err();
    for part in ["run `cargo xtask codegen`", "a.rs", "gone.rs"] {
        assert!(error.contains(part), "{error}");
    }
    apply(&root, &files, false).unwrap();
    assert_eq!(apply(&root, &files, true), Ok(()));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_schema_that_is_not_the_pinned_one_is_refused() {
    let folder = folder("lock");
    fs::create_dir_all(folder.join("r")).unwrap();
    fs::write(folder.join("r/schema.json"), "{}").unwrap();
    let read = |sha256: &str, revision| {
        let pin = format!("r = {{ url = \"\", commit = \"\", sha256 = {sha256:?} }}");
        let lock: Lock = toml::from_str(&pin).unwrap();
        lock.read(&folder, revision)
    };
    let sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(read(sha256, "r"), Ok(json!({})));
    let error = read("00", "r").unwrap_err();
    assert!(
        error.contains("but xtask/schema.lock pins 00 for r"),
        "{error}"
    );
    assert_eq!(
        read(sha256, "s").unwrap_err(),
        "xtask/schema.lock does not pin s"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// The definition of an object with one member.
fn object(name: &str, member: &str, schema: &Value) -> Value {
    json!({name: {"type": "object", "properties": {member: schema}}})
}

#[test]
fn a_schema_without_a_rule_and_a_rule_that_matches_nothing_are_errors() {
    let fails = |definitions, start: &str, part: &str| {
        let overrides = Overrides::load().unwrap();
        let model = build::build(&json!({ "$defs": definitions }), &overrides);
        let error = model.and_then(|_| overrides.check()).unwrap_err();
        assert!(error.starts_with(start) && error.contains(part), "{error}");
    };
    let novel = object("Novel", "a", &json!({"type": "string"}));
    fails(novel, "Novel: Novel has no entry under [areas]", "");
    let tool = |schema, start: &str| {
        let start = format!("Tool: {start}");
        fails(object("Tool", "x", &schema), &start, "");
    };
    let nullable = "Tool.x is optional and nullable, which no type here can tell apart";
    tool(json!({"type": ["string", "null"]}), nullable);
    tool(
        json!({"enum": ["a"]}),
        "Tool.x needs a name under [[inline]]",
    );
    tool(
        json!({"$ref": "#/$defs/Gone"}),
        "no definition #/$defs/Gone",
    );
    let unused = "overrides.toml: entries that match nothing:\n";
    fails(json!({}), unused, "\n  skip JSONRPCMessage");
    // An override adds a member that the schema has.
    let added = object("StringSchema", "pattern", &json!({"type": "string"}));
    fails(added, unused, "\n  add StringSchema.pattern");
}

#[test]
fn an_item_without_a_text_and_a_text_without_an_item_are_errors() {
    let text = r#"
        modules.tools = { page = "tools", line = "Tools." }
        types.Tool = { self = "A tool.", name = "Its name." }
    "#;
    let docs = Docs::parse(text).unwrap();
    docs.item("r", "Tool", "tools");
    docs.module("r", "tools");
    let stale = "docs.toml describes items that the schema does not have:\n  types.Tool.name";
    assert_eq!(docs.check(), Err(stale.to_owned()));
    docs.member("r", "Tool", "title");
    let missing = "docs.toml lacks these lines:\n  types.Tool.title";
    assert_eq!(docs.check(), Err(missing.to_owned()));
}
