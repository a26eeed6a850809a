//! Schemas, overrides and texts that must not pass, and the comparison of revisions.

use serde_json::{Value, json};

use super::compare::{bridged, split};
use super::model::{Item, Kind, Model, Presence, Property, Rule, Struct, Tag};
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

fn build_with(definitions: &Value) -> (Result<Model, String>, Overrides) {
    let overrides = Overrides::load().unwrap();
    let model = build::build(&json!({ "$defs": definitions }), &overrides);
    (model, overrides)
}

#[test]
fn a_schema_without_a_rule_is_an_error() {
    let members = json!({"a": {"type": "string"}});
    let cases = [
        (
            json!({"Novel": {"type": "object", "properties": members}}),
            "Novel: Novel has no entry under [areas]",
        ),
        (
            json!({"Tool": {"type": "object", "properties": {"x": {"enum": ["a"]}}}}),
            "Tool: Tool.x needs a name under [[inline]]",
        ),
        (
            json!({"Tool": {"properties": {"x": {"type": ["string", "null"]}}}}),
            "Tool: Tool.x is optional and nullable, which no type here can tell apart",
        ),
        (
            json!({"Tool": {"properties": {"x": {"$ref": "#/$defs/Gone"}}}}),
            "Tool: no definition #/$defs/Gone",
        ),
    ];
    for (definitions, expected) in cases {
        assert_eq!(build_with(&definitions).0.unwrap_err(), expected);
    }
}

#[test]
fn an_override_that_matches_nothing_is_an_error() {
    let members = json!({"pattern": {"type": "string"}});
    let has_pattern = json!({"StringSchema": {"type": "object", "properties": members}});
    let cases = [
        (json!({}), "\n  skip JSONRPCMessage"),
        // An override adds a member that the schema has.
        (has_pattern, "\n  add StringSchema.pattern"),
    ];
    for (definitions, expected) in cases {
        let (model, overrides) = build_with(&definitions);
        model.unwrap();
        let error = overrides.check().unwrap_err();
        let start = "overrides.toml: entries that match nothing:";
        assert!(error.starts_with(start), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_message_without_an_envelope_is_an_arm_that_holds_its_params() {
    let params = json!({"type": "object", "properties": {"_meta": {"type": "object"}}});
    let members = json!({"method": {"const": "roots/list"}, "params": params});
    let (model, _) = build_with(&json!({
        "ListRootsRequest": {"type": "object", "properties": members, "required": ["method"]},
        "InputRequest": {"anyOf": [{"$ref": "#/$defs/ListRootsRequest"}]},
    }));
    let model = model.unwrap();
    let union = compare::find(&model, "InputRequest").map(|item| &item.kind);
    let Some(Kind::Union(union)) = union else {
        panic!("{:?}", model.items);
    };
    assert_eq!(union.rule, Rule::Embedded);
    let arm = &union.arms[0];
    assert_eq!(
        (&*arm.name, &*arm.ty),
        ("ListRoots", "ListRootsRequestParams")
    );
    assert_eq!((&*arm.value, arm.optional), ("roots/list", true));
}

/// A struct with members: `name` is required, `name?` optional.
fn item(name: &str, members: &[(&str, &str)]) -> Item {
    let fields = members.iter().map(|(member, ty)| Property {
        wire: member.trim_end_matches('?').to_owned(),
        rust: member.trim_end_matches('?').to_owned(),
        ty: (*ty).to_owned(),
        presence: match member.ends_with('?') {
            true => Presence::Optional,
            false => Presence::Required,
        },
        range: None,
        keeps_null: false,
    });
    let structure = Struct {
        fields: fields.collect(),
        ..Struct::default()
    };
    Item {
        name: name.to_owned(),
        definition: Some(name.to_owned()),
        area: "base".to_owned(),
        kind: Kind::Struct(structure),
    }
}

fn model<const N: usize>(items: [Item; N]) -> Model {
    let methods = Vec::new();
    Model {
        items: items.into(),
        methods,
    }
}

fn names<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<&'a str> {
    items.into_iter().map(|item| &*item.name).collect()
}

#[test]
fn a_type_differs_if_a_type_differs_that_it_mentions_directly_or_indirectly() {
    let tree = |leaf| {
        let branch = item("Branch", &[("leaf", "Vec<Leaf>")]);
        let tree = item("Tree", &[("branch", "BTreeMap<String, Branch>")]);
        model([leaf, branch, tree, item("Stone", &[])])
    };
    let later = tree(item("Leaf", &[("vein", "Stone")]));
    let split = split(&later, &tree(item("Leaf", &[])), &BTreeMap::new()).unwrap();
    assert_eq!(names(&split.own.items), ["Leaf", "Branch", "Tree"]);
    assert_eq!(split.shared, BTreeSet::from(["Stone".to_owned()]));
}

#[test]
fn a_hand_written_wrapper_of_a_type_that_differs_is_an_error() {
    let leaf = item("Leaf", &[("a", "Stone")]);
    let later = model([leaf, item("Tree", &[("b", "Leaves")])]);
    let wrappers = BTreeMap::from([("Leaves".to_owned(), "Leaf".to_owned())]);
    let error = split(&later, &model([item("Leaf", &[])]), &wrappers).unwrap_err();
    assert!(error.starts_with("Leaves is written by hand around Leaf"));
}

#[test]
fn a_type_that_lost_optional_members_has_a_bridge() {
    let canonical = model([
        item("Lost", &[("a", "bool"), ("b?", "bool")]),
        item("Lacks", &[("a", "bool"), ("b", "bool")]),
        item("Gains", &[]),
        // A bridge converts no type that has none.
        item("Outer", &[("a", "Vec<Lacks>")]),
        item("Done", &[]),
    ]);
    let mut done = item("Done", &[]);
    if let Kind::Struct(structure) = &mut done.kind {
        structure.tag = Some(Tag {
            wire: "kind".to_owned(),
            value: "done".to_owned(),
            checked: true,
        });
    }
    let own = model([
        item("Lost", &[("a", "bool")]),
        item("Lacks", &[("a", "bool")]),
        item("Gains", &[("c?", "bool")]),
        item("Outer", &[("a", "Vec<Lacks>")]),
        done,
    ]);
    let pairs = bridged(&own, &canonical);
    assert_eq!(
        names(pairs.into_iter().map(|(item, _)| item)),
        ["Lost", "Done"]
    );
}

const DOCS: &str = r#"
    site = "https://example.test"
    modules.tools = { page = "tools", line = "Tools." }
    moved.s.tools = "server/tools"
    common = { _meta = "Metadata." }
    types.Tool = { self = "A tool.", name = "Its name." }
    types."Tool@s" = { name = "Its new name." }
"#;

#[test]
fn a_revision_may_have_its_own_lines_and_pages() {
    let docs = Docs::parse(DOCS).unwrap();
    let emitted = ["r", "s"].map(|revision| {
        let lines = docs.of(revision);
        let members = ["name", "_meta"].map(|wire| lines.member("Tool", wire).to_string());
        let item = lines.item("Tool", "tools").to_string();
        item + &members.concat() + lines.module("tools")
    });
    assert!(emitted[0].contains("<https://example.test/r/tools>"));
    assert!(emitted[0].contains("Its name."));
    assert!(emitted[1].contains("<https://example.test/s/server/tools>"));
    assert!(emitted[1].contains("Its new name."));
    assert_eq!(docs.check(), Ok(()));
    docs.of("r").member("Tool", "title");
    let expected = "docs.toml lacks 1 lines:\n  types.Tool.title";
    assert_eq!(docs.check(), Err(expected.to_owned()));
}

#[test]
fn a_line_without_an_item_is_named() {
    let docs = Docs::parse(DOCS).unwrap();
    let lines = docs.of("r");
    lines.item("Tool", "tools");
    lines.member("Tool", "_meta");
    lines.module("tools");
    let stale = "docs.toml describes what is not there:\n  moved.s.tools\n  types.Tool.name\n  types.Tool@s.name";
    assert_eq!(docs.check(), Err(stale.to_owned()));
}
