//! Files, schemas, overrides and texts that must not pass. `codegen --check` compares the output of those that pass.

use serde_json::json;

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
        let pin = format!("[[schema]]\nrevision = \"r\"\nurl = \"\"\nsha256 = \"{sha256}\"");
        let lock: Lock = toml::from_str(&pin).unwrap();
        lock.read(&folder, revision)
    };
    let sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(read(sha256, "r"), Ok(json!({})));
    let error = read("00", "r").unwrap_err();
    let expected = "but xtask/schema.lock pins 00 for r";
    assert!(error.contains(expected), "{error}");
    let error = read(sha256, "s").unwrap_err();
    assert_eq!(error, "xtask/schema.lock does not pin s");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn generated_files_name_the_commit_of_their_schema() {
    let commit = |url: &str| {
        let pin = format!("[[schema]]\nrevision = \"r\"\nurl = \"{url}\"\nsha256 = \"\"");
        let lock: Lock = toml::from_str(&pin).unwrap();
        lock.commit("r").map(str::to_owned)
    };
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let found = commit(&format!("https://h/a/b/{sha}/schema/r/schema.json"));
    assert_eq!(found.as_deref(), Ok(sha));
    assert!(commit("https://h/a/b/main/schema/r/schema.json").is_err());
    for revision in ["2025-11-25", "2026-07-28"] {
        let lock = Lock::load(root()).unwrap();
        let commit = lock.commit(revision).unwrap();
        let module = match revision == CANONICAL {
            true => String::new(),
            false => format!("/v{}", revision.replace('-', "_")),
        };
        let file = root().join(format!("{FOLDER}{module}/methods.rs"));
        let text = fs::read_to_string(file).unwrap();
        let first = text.lines().next().unwrap();
        assert!(
            first.contains(&format!("of {revision} at commit {commit}")),
            "{first}"
        );
    }
}

#[test]
fn a_schema_without_a_rule_and_a_rule_that_matches_nothing_are_errors() {
    let tool = |member| json!({"Tool": {"type": "object", "properties": {"x": member}}});
    let text = json!({"type": "string"});
    let pattern = json!({"type": "object", "properties": {"pattern": text}});
    let unused = "overrides.toml: entries that match nothing:\n";
    let cases = [
        (
            json!({"Novel": {"type": "object", "properties": {"a": text}}}),
            "Novel: Novel has no entry under [areas]",
            "",
        ),
        (
            tool(json!({"enum": ["a"]})),
            "Tool: Tool.x needs a name under [[inline]]",
            "",
        ),
        (
            tool(json!({"type": ["string", "null"]})),
            "Tool: Tool.x is optional and nullable, which no type here can tell apart",
            "",
        ),
        (
            tool(json!({"$ref": "#/$defs/Gone"})),
            "Tool: no definition #/$defs/Gone",
            "",
        ),
        (json!({}), unused, "\n  skip JSONRPCMessage"),
        // An override adds a member that the schema has.
        (
            json!({"StringSchema": pattern}),
            unused,
            "\n  add StringSchema.pattern",
        ),
    ];
    for (definitions, start, part) in cases {
        let overrides = Overrides::load().unwrap();
        let model = build::build(&json!({ "$defs": definitions }), &overrides);
        let error = model.and_then(|_| overrides.check()).unwrap_err();
        assert!(error.starts_with(start) && error.contains(part), "{error}");
    }
}

#[test]
fn an_item_without_a_text_and_a_text_without_an_item_are_errors() {
    let text = r#"
        modules.tools = { page = "tools", line = "Tools." }
        types.Tool = { self = "A tool.", name = "Its name." }
    "#;
    let docs = Docs::parse(text).unwrap();
    docs.of("r").item("Tool", "tools");
    docs.of("r").module("tools");
    let stale = "docs.toml describes items that the schema does not have:\n  types.Tool.name";
    assert_eq!(docs.check(), Err(stale.to_owned()));
    docs.of("r").member("Tool", "title");
    let missing = "docs.toml lacks these lines:\n  types.Tool.title";
    assert_eq!(docs.check(), Err(missing.to_owned()));
}
