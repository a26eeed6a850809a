//! Files and manifests that break the rules, and others that do not.

use std::collections::BTreeSet;

use super::*;
use crate::files::File;
use syntax::Token;

fn source(path: &str, text: &str) -> Source {
    Source::parse(File::new(path, text)).unwrap()
}

#[test]
fn token_rules_apply_to_libraries_and_tests() {
    let methods = ["tools/call", "ping"].map(str::to_owned);
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
    let compared = "fn f() { if revision >= Revision::V2025_06_18 {} }";
    let comparison: &[&str] = &[":1: comparison of revisions"];
    let cases: [(&str, &str, &[&str]); 25] = [
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
        (client, compared, comparison),
        ("crates/mcp-protocol/src/a.rs", compared, &[]),
        ("crates/mcp-client/src/tests.rs", compared, &[]),
        (
            client,
            "const A: bool = Revision::V2025_06_18 == x;",
            comparison,
        ),
        (
            client,
            "const A: bool = x != b::Revision::V2024_11_05;",
            comparison,
        ),
        (client, "const A: bool = x < Revision::LATEST;", comparison),
        (
            client,
            "fn f() { match x { x => Revision::V2025_06_18 } }",
            &[],
        ),
        (client, "fn f() { Vec::<Revision>::new() }", &[]),
        (client, "fn f() -> Revision { Revision::LATEST }", &[]),
        (
            client,
            "const A: Vec<Revision> = Revision::ALL.to_vec();",
            &[],
        ),
    ];
    for (path, text, expected) in cases {
        let found = source::check(&source(path, text), &methods);
        assert_eq!(found.len(), expected.len(), "{path}: {text}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
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

#[test]
fn files_that_import_each_other_are_a_circle() {
    let parent = "mod a; mod b; pub use a::A; pub use self::b::*;";
    let child = ("m/a", "use super::B; struct A(B);");
    let tested = "pub(in crate::b) struct A; #[cfg(test)] mod tests { use crate::b::B; }
                  impl A { #[cfg(test)] fn g(b: crate::b::B) {} }
                  fn f() { vec![quote!(crate::b::B { x })]; }";
    let cases: [(&str, &[(&str, &str)]); 6] = [
        (
            "a b c",
            &[
                ("lib", "mod a; mod b; mod c; mod d;"),
                ("a", "use crate::b::{B, x::Y as Z}; struct A;"),
                ("b/mod", "pub mod x; fn f() { super::c::g(); } struct B;"),
                ("b/x", "struct Y;"),
                ("c", "use super::a; fn g(_: a::A) {}"),
                ("d", "use crate::a::A; struct D(A);"),
            ],
        ),
        (
            "a b",
            &[
                (
                    "a",
                    "mod x { fn f() { vec![super::super::b::B] } } struct A;",
                ),
                ("b", "struct B(super::a::A);"),
            ],
        ),
        // A re-exported item belongs to the file that defines it.
        ("", &[("m/mod", parent), child, ("m/b", "struct B;")]),
        (
            "m/a m/b",
            &[("m/mod", parent), child, ("m/b", "struct B(super::A);")],
        ),
        (
            "m m/a",
            &[
                ("m/mod", "mod a; pub use a::A; fn lock() {} fn f() -> A {}"),
                ("m/a", "use super::lock; struct A;"),
            ],
        ),
        // Tests, quoted code and visibilities import nothing.
        (
            "",
            &[
                ("lib", "mod a; mod b; #[cfg(test)] mod tests;"),
                ("a", tested),
                ("b", "use crate::a::A; struct B(A);"),
            ],
        ),
    ];
    for (expected, files) in cases {
        let source = |(name, text): &(&str, &str)| source(&format!("{name}.rs"), text);
        let sources: Vec<Source> = files.iter().map(source).collect();
        let modules = sources.iter();
        let modules = modules.map(|source| (circles::module(&source.file.path), source));
        assert_eq!(circles::largest(&modules.collect()).join(" "), expected);
    }
}

#[test]
fn circles_and_folders_have_limits() {
    // Each file imports the next one, and the last one the first.
    let files = |count: usize| {
        let file = |n: usize| {
            let text = format!("use crate::f{}::F; struct F;", (n + 1) % count);
            source(&format!("crates/a/src/f{n}.rs"), &text)
        };
        Vec::from_iter((0..count).map(file))
    };
    assert!(circles::check(&files(3)).is_empty());
    let expected = ["crates/a/src:1: 4 files import each other, limit 3: f0, f1, f2, f3"];
    assert_eq!(circles::check(&files(4)), expected);
    let folders = |count| shape::folders(files(count).iter().map(|source| &source.file));
    assert!(folders(12).is_empty());
    assert!(folders(13)[0].starts_with("crates/a/src:1: 13 files, limit 12: "));
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
    assert!(violations[0].starts_with("abc:1: rejected phrase"));
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
    let crates = dependencies::below(tree);
    assert_eq!(crates.len(), 6);
    let names = dependencies::names(crates);
    assert_eq!(dependencies::impure("mcp-types", &names).len(), 1);
    let base = ["serde", "serde_derive"].map(str::to_owned);
    let found = dependencies::costly(&names, &BTreeSet::from(base));
    assert!(found.len() == 1 && found[0].contains("mcp-types depends on tokio"));
}
