//! Files and manifests that break the rules, and others that do not.

use super::*;
use crate::cases::{cases, check};
use crate::workspace::{self, File};

fn source(path: &str, text: &str) -> Source {
    Source::parse(File::new(path, text)).unwrap()
}

#[test]
fn rules_on_tokens_and_words_apply_to_libraries_and_tests() {
    let methods = ["tools/call", "ping"].map(str::to_owned);
    for (paths, text) in cases(include_str!("cases/rules.txt")) {
        for path in paths.split(' ') {
            check(path, text, |code| {
                let source = source(path, code);
                let mut found = source::check(&source, &methods);
                found.extend(language::type_names(&source));
                found.extend(language::phrases(&source.file));
                found
            });
        }
    }
}

#[test]
fn an_optimisation_needs_a_row_of_the_page() {
    let text = "// thread_local!\n#[inline]\nfn f() {}\nthread_local! { static A: B = C; }\n#[inline(always)]\nfn g() {}";
    let found = |path: &str, fences| source::fenced(&source(path, text), fences);
    let violations = found("crates/a/src/b.rs", "| `a/src/other.rs` | 5 % |");
    assert!(
        violations[0].starts_with("crates/a/src/b.rs:4: thread_local! in a file without a row")
    );
    assert!(violations[1].starts_with("crates/a/src/b.rs:5: inline(always) in a file"));
    assert!(found("crates/a/src/b.rs", "| `a/src/b.rs` | 5 % |").is_empty());
    assert!(found("tests/suites/b.rs", "").is_empty());
}

#[test]
fn files_that_import_each_other_are_a_circle() {
    for (expected, files) in cases(include_str!("cases/circles.txt")) {
        let files = files.lines().map(|line| line.split_once(": ").unwrap());
        let sources = files.map(|(name, text)| source(&format!("{name}.rs"), text));
        let sources: Vec<Source> = sources.collect();
        let modules = sources.iter();
        let modules = modules.map(|source| (workspace::module(&source.file.path), source));
        let largest = circles::largest(&circles::imports_of(&modules.collect()));
        let largest = Vec::from_iter(largest.iter().map(|path| path.join("/"))).join(" ");
        let is_none = largest.is_empty() && expected.starts_with("(none: ");
        assert!(is_none || largest == expected, "{largest}, not {expected}");
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
    let check = |last: &str| {
        let files = [
            ("a/x", "use crate::b::B; struct A;"),
            ("b/mod", "mod y; struct B;"),
            ("b/y", "use crate::c::C; fn f(a: crate::a::x::A) {}"),
            ("c", last),
        ];
        let files = files.map(|(name, text)| source(&format!("crates/a/src/{name}.rs"), text));
        circles::check(&files)
    };
    assert!(check("struct C;").is_empty());
    let expected = "crates/a/src:1: 3 folders import each other, limit 2: a, b, c; \
        a/x -> b, b/y -> a/x, b/y -> c, c -> a/x";
    assert_eq!(check("use crate::a::x::A; struct C;"), [expected]);
    let folders = |count| shape::folders(files(count).iter().map(|source| &source.file));
    assert!(folders(12).is_empty());
    assert!(folders(13)[0].starts_with("crates/a/src:1: 13 files, limit 12: "));
}

#[test]
fn rejected_phrases_in_subjects_are_found() {
    let phrase = ["no", "body"].concat();
    let expected = format!("abc:1: rejected phrase \"{phrase}\"");
    let subject = format!("abc fix: answer {phrase} else");
    assert_eq!(language::subject(&subject), [expected]);
    assert_eq!(language::subject("def fix: answer the client"), [""; 0]);
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
    let unexpected = [".github", "Cargo.toml", "notes.txt"].map(shape::unexpected);
    assert_eq!(unexpected[..2], [None, None]);
    assert!(unexpected[2].as_ref().unwrap().starts_with("notes.txt: "));
}

#[test]
fn dependencies_are_allowed_and_come_with_the_lints_from_the_workspace() {
    let (mut manifests, mut expected) = (Vec::new(), Vec::new());
    for (name, text) in cases(include_str!("cases/manifests.txt")) {
        let path = format!("crates/{name}/Cargo.toml");
        let marks = text.lines().filter_map(|line| line.strip_prefix("#~ "));
        expected.extend(marks.map(|mark| format!("{path}:1: {mark}")));
        let file = File::new(&path, &format!("package.name = \"{name}\"\n{text}"));
        manifests.push(dependencies::Manifest::parse(file).unwrap());
    }
    let found = dependencies::check_manifests(&manifests);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(&expected), "{found}");
    }
}
