//! Files, schemas, overrides and texts that must not pass. `codegen --check` compares the output of those that pass.

use serde_json::{Value, json};

use super::*;
use crate::cases::cases;

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
    let read = |sha256: &str| {
        let pin = format!("url = \"\"\ncommit = \"\"\nsha256 = {sha256:?}");
        let pin: SchemaPin = toml::from_str(&pin).unwrap();
        pin.read(&folder, "r")
    };
    let sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(read(sha256), Ok(json!({})));
    let error = read("00").unwrap_err();
    let part = "but xtask/schema.lock pins 00 for r";
    assert!(error.contains(part), "{error}");
    let error = SchemaPin::load(root(), "s").unwrap_err();
    assert_eq!(error, "xtask/schema.lock does not pin s");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_schema_without_a_rule_and_a_rule_that_matches_nothing_are_errors() {
    for (part, definitions) in cases(include_str!("cases.txt")) {
        let definitions: Value = serde_json::from_str(definitions).unwrap();
        let overrides = Overrides::load().unwrap();
        let model = build::build(&json!({ "$defs": definitions }), &overrides);
        let error = model.and_then(|_| overrides.check()).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
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
