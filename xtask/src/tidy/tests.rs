//! Files and manifests that break the rules, and others that do not.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::files::File;
use syntax::Token;

fn source(path: &str, text: &str) -> Source {
    Source::parse(File::new(path, text)).unwrap()
}

/// What the token rules find.
fn found(path: &str, text: &str) -> Vec<String> {
    let methods = ["tools/call", "ping"].map(str::to_owned);
    source::check(&source(path, text), &methods)
}

#[test]
fn token_rules_apply_to_libraries_and_tests() {
    let pure = "crates/mcp-types/src/a.rs";
    let client = "crates/mcp-client/src/a.rs";
    let suite = "tests/suites/a.rs";
    // Fixtures may be slow on purpose.
    let fixture = "tests/src/everything/a.rs";
    let impure = "use std::net::X;\nfn f(now: Instant) { Instant::now() }\n// Instant::now\n";
    let method = "/// `tools/call`\nfn g() { f(\"tools/call\"); }\n#[cfg(test)]\nmod tests { const A: &str = \"ping\"; }\n";
    let sleep = "fn f() {\n tokio::time::sleep(x) }\n";
    let in_module = "#[cfg(test)]\nmod a {\n fn f() { sleep(x) } }\nfn g() { sleep(x) }";
    let paused = "#[tokio::test(start_paused = true)]\nasync fn a() { sleep(x).await }\n";
    let justified = "fn f() {\n // sleep: the end of a process sends no event\n sleep(x) }\n";
    let cases: [(&str, &str, &[&str]); 15] = [
        (pure, impure, &[":1: std::net in", ":2: Instant::now in"]),
        (client, impure, &[]),
        (pure, "fn f() { tokio::spawn(x) }", &[":1: tokio:: in"]),
        (client, method, &[":2: method name \"tools/call\": use"]),
        (pure, method, &[]),
        (suite, method, &[]),
        (suite, sleep, &[":2: sleep in a test"]),
        ("crates/a/src/b/tests.rs", sleep, &[":2: sleep in a test"]),
        ("crates/a/tests/b.rs", sleep, &[":2: sleep in a test"]),
        (client, in_module, &[":3: sleep in a test"]),
        (client, sleep, &[]),
        (fixture, sleep, &[]),
        (suite, paused, &[]),
        (suite, justified, &[]),
        (
            fixture,
            "#[ignore = \"a\"] fn f() {}",
            &[":1: ignored test"],
        ),
    ];
    for (path, text, expected) in cases {
        let found = found(path, text);
        assert_eq!(found.len(), expected.len(), "{path}: {text}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }
}

#[test]
fn revisions_are_compared_in_one_crate_only() {
    let count = |path: &str, code: &str| found(path, &format!("fn f() {{ {code} }}")).len();
    for code in [
        "if revision >= Revision::V2025_06_18 {}",
        "Revision::V2025_06_18 == x",
        "assert!(x != mcp_protocol::Revision::V2024_11_05)",
        "if x < Revision::LATEST {}",
    ] {
        assert_eq!(count("crates/mcp-server/src/a.rs", code), 1, "{code}");
        assert_eq!(count("crates/mcp-protocol/src/a.rs", code), 0, "{code}");
        assert_eq!(count("crates/mcp-server/src/tests.rs", code), 0, "{code}");
    }
    for code in [
        "match x { x => Revision::V2025_06_18 }",
        "Vec::<Revision>::new()",
        "fn f() -> Revision { Revision::LATEST }",
        "let x: Vec<Revision> = Revision::ALL.to_vec();",
    ] {
        assert_eq!(count("crates/mcp-server/src/a.rs", code), 0, "{code}");
    }
}

#[test]
fn strings_and_operators_are_one_token() {
    let code = "a /* b */ == c::D(\"e\", r#\"f\"#, b\"g\", 'h') // todo!()";
    let tokens = syntax::tokens(code.parse().unwrap());
    let strings: Vec<&str> = tokens.iter().filter_map(Token::string).collect();
    assert_eq!(strings, ["e", "f"]);
    let texts: Vec<&str> = tokens.iter().map(|token| &*token.text).collect();
    assert_eq!(texts[..6], ["a", "==", "c", "::", "D", "("]);
}

/// The largest circle of a crate with these files.
fn circle(files: &[(&str, &str)]) -> String {
    let path = |path: &str| format!("crates/a/src/{path}.rs");
    let files = files.iter().map(|(name, text)| source(&path(name), text));
    circles::largest(&files.collect::<Vec<_>>())["crates/a"].join(" ")
}

#[test]
fn files_that_import_each_other_are_a_circle() {
    let files = [
        ("lib", "mod a; mod b; mod c; mod d;"),
        ("a", "use crate::b::{B, x::Y as Z}; struct A;"),
        ("b/mod", "pub mod x; fn f() { super::c::g(); } struct B;"),
        ("b/x", "struct Y;"),
        ("c", "use super::a; fn g(_: a::A) {}"),
        ("d", "use crate::a::A; struct D(A);"),
    ];
    assert_eq!(circle(&files), "a b c");
    let inline = [
        (
            "a",
            "mod x { fn f() { vec![super::super::b::B] } } struct A;",
        ),
        ("b", "struct B(super::a::A);"),
    ];
    assert_eq!(circle(&inline), "a b");
}

#[test]
fn a_reexport_belongs_to_the_file_that_defines_the_item() {
    let parent = "mod a; mod b; pub use a::A; pub use self::b::*;";
    let a = ("m/a", "use super::B; struct A(B);");
    assert_eq!(circle(&[("m/mod", parent), a, ("m/b", "struct B;")]), "");
    let closed = [("m/mod", parent), a, ("m/b", "struct B(super::A);")];
    assert_eq!(circle(&closed), "m/a m/b");
    let parent = "mod a; pub use a::A; fn lock() {} fn f() -> A {}";
    let through_parent = [("m/mod", parent), ("m/a", "use super::lock; struct A;")];
    assert_eq!(circle(&through_parent), "m m/a");
}

#[test]
fn tests_quoted_code_and_visibilities_import_nothing() {
    let a = "pub(in crate::b) struct A; #[cfg(test)] mod tests { use crate::b::B; }
             impl A { #[cfg(test)] fn g(b: crate::b::B) {} }
             fn f() { vec![quote!(crate::b::B { x })]; }";
    let files = [
        ("lib", "mod a; mod b; #[cfg(test)] mod tests;"),
        ("a", a),
        ("b", "use crate::a::A; struct B(A);"),
        ("tests", "use crate::a::A; fn f() {}"),
    ];
    assert_eq!(circle(&files), "");
}

#[test]
fn a_count_may_shrink_and_not_grow() {
    let allowed = "[circles]\na = 3\nb = 2\nc = 3\n";
    let mut allowances: Allowances = toml::from_str(allowed).unwrap();
    let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let found = [("a", "x x x x"), ("b", "x"), ("c", "x x"), ("d", "y y")];
    let found = found.map(|(place, found)| (place.to_owned(), list(found)));
    let violations = allowances.check("circles", 1, &Places::from(found));
    let expected = [
        "a: circles: 4, but 3 are allowed",
        "x",
        "x",
        "x",
        "x",
        "d: circles: 2, but 1 are allowed",
        "y",
        "y",
    ];
    assert_eq!(violations, expected);
    let left = [("a".to_owned(), 3), ("c".to_owned(), 2)];
    assert_eq!(allowances.0["circles"], BTreeMap::from(left));
}

#[test]
fn violations_belong_to_a_crate_a_folder_or_the_root() {
    let paths = ["crates/a/src/b.rs", "docs/c.md", "README.md"];
    let violations = paths.map(|path| format!("{path}:1: x and/or y"));
    let places: Vec<String> = by_place(violations.to_vec()).into_keys().collect();
    assert_eq!(places, [".", "crates/a", "docs"]);
}

#[test]
fn phrases_are_found_across_lines_in_function_names_and_in_commits() {
    let phrase = ["no", "body"].concat();
    let text = format!("/// Heard\n/// of {phrase}_else.\nfn it_{phrase}_x() {{ a.is_none() }}\n");
    let expected = [
        format!("a.rs:1: rejected phrase \"{}\"", ["heard", "of"].join(" ")),
        format!("a.rs:3: rejected phrase \"{phrase}\""),
    ];
    assert_eq!(language::phrases(&File::new("a.rs", &text)), expected);
    let log = format!("abc fix: answer {phrase} else\ndef fix: answer the client\n");
    let violations = language::subjects(&log);
    assert!(violations[0].starts_with("abc: rejected phrase"));
    assert_eq!(violations.len(), 1);
}

#[test]
fn a_definition_with_a_rejected_name_is_found() {
    let source = source(
        "a.rs",
        "struct Seat;\nuse a::Seat;\nimpl Seats for Seat {}\n",
    );
    let expected = ["a.rs:1: rejected type name Seat"];
    assert_eq!(language::type_names(&source), expected);
}

#[test]
fn files_have_a_first_line_and_a_greatest_length() {
    let missing = "a.rs:1: no module documentation: begin the file with //! and its purpose";
    let long = format!("//! A.\n{}", "\n".repeat(800));
    let generated = format!("// Generated from x.\n\n{long}");
    let cases: [(&str, &[&str]); 5] = [
        ("//! A.\n", &[]),
        ("use b::C;\n//! A.\n", &[missing]),
        ("", &[missing]),
        (&long, &["a.rs:801: 801 lines, limit 800: split the file"]),
        (&generated, &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(shape::check(&File::new("a.rs", text)), expected);
    }
}

#[test]
fn the_root_folder_has_no_other_files() {
    let unexpected = [".github", "Cargo.toml", "notes.txt"].map(shape::unexpected);
    assert_eq!(unexpected[..2], [None, None]);
    assert!(unexpected[2].as_ref().unwrap().starts_with("notes.txt: "));
}

fn manifest(name: &str, text: &str) -> manifest::Manifest {
    let text = format!("package.name = \"{name}\"\n{text}");
    let path = format!("crates/{name}/Cargo.toml");
    manifest::Manifest::parse(File::new(&path, &text)).unwrap()
}

#[test]
fn dependencies_and_lints_come_from_the_workspace() {
    let good = "[lints]\nworkspace = true\n[dependencies]\na.workspace = true\n\
                b = { workspace = true, features = [\"x\"] }\n[target.'cfg(unix)'.dev-dependencies]\nc.workspace = true\n";
    let bad = "[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies]\nb = { version = \"1\" }\n\
               [dev-dependencies]\nc = { path = \"../c\" }\n";
    assert!(manifest::check(&[manifest("x", good)]).is_empty());
    let found = manifest::check(&[manifest("x", bad)]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("crates/x/Cargo.toml:1: a has a separate version"));
    assert!(found[1].starts_with("crates/x/Cargo.toml:1: b has a separate version"));
    assert!(found[2].starts_with("crates/x/Cargo.toml:1: no workspace lints"));
}

#[test]
fn a_forbidden_dependency_between_crates_is_named() {
    let server = "[dependencies]\nmcp-protocol.workspace = true\n";
    let client = "[target.'cfg(unix)'.dependencies]\nmcp-server.workspace = true\n";
    let macros = "[dev-dependencies]\nmcp-server.path = \"x\"\n";
    let found = dependencies::edges(&[
        manifest("mcp-server", server),
        manifest("mcp-client", client),
        manifest("mcp-macros", macros),
        manifest("mcp-protocol", ""),
        manifest("mcp-tests", "[dependencies]\nmcp-client.workspace = true\n"),
        manifest("mcp-extra", ""),
    ]);
    assert_eq!(found.len(), 2);
    assert!(found[0].ends_with(": mcp-client may not depend on mcp-server: remove the dependency"));
    assert!(found[1].contains("mcp-extra has no row in EDGES"));
}

#[test]
fn the_trees_of_crates_are_counted_and_checked() {
    let tree = "mcp-types v0.1.0 (crates/mcp-types)\nserde v1.0.1\nserde_derive v1.0.1 (proc-macro)\n\n\
                mcp-jsonrpc v0.1.0\nserde v1.0.1 (*)\nserde v2.0.0\ntokio v1\n";
    assert_eq!(dependencies::below(tree).len(), 6);
    let names = dependencies::names(tree);
    assert_eq!(dependencies::impure("mcp-types", &names).len(), 1);
    let base = BTreeSet::from(["serde", "serde_derive"]);
    let found = dependencies::costly(&names, &base);
    assert!(found.len() == 1 && found[0].contains("mcp-types depends on tokio"));
}
