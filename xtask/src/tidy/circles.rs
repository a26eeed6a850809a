//! Import circles between the files of a crate.
//!
//! A file imports another file if it names an item of it through `crate::`, `self::`, `super::` or a child module. A
//! re-exported item belongs to the file that defines it; the file that re-exports it imports it only if it also uses it.
//! Code under `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::Token;

/// The files of a crate: module path and tokens.
pub(super) type Files<'a> = BTreeMap<Vec<String>, &'a [Token]>;

/// Keywords that open the definition of an item with a name.
const ITEMS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "const",
    "static",
    "type",
    "union",
    "macro_rules",
];

/// The module path of a file, from the folder of its crate's sources. Programs under `bin/` are crates of their own.
pub(super) fn module(inner: &str) -> Option<Vec<String>> {
    let path = inner.strip_suffix(".rs")?;
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    if parts[0] == "bin" {
        return None;
    }
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    Some(parts)
}

/// The largest set of files that import each other, directly or indirectly.
pub(super) fn largest(files: &Files<'_>) -> Vec<String> {
    let krate = Crate::read(files);
    let edges: BTreeMap<&[String], BTreeSet<&[String]>> = krate
        .modules
        .iter()
        .map(|(path, module)| (*path, krate.imports(path, module)))
        .collect();
    let reach: BTreeMap<&[String], BTreeSet<&[String]>> = edges
        .keys()
        .map(|path| (*path, reachable(path, &edges)))
        .collect();
    let circle = |path: &&[String]| -> Vec<String> {
        let others = reach[*path]
            .iter()
            .filter(|other| reach[**other].contains(*path));
        others.map(|other| other.join("/")).collect()
    };
    let circles = edges.keys().map(circle);
    // Of circles with the same size, the first.
    circles.rev().max_by_key(Vec::len).unwrap_or_default()
}

fn reachable<'a>(
    from: &[String],
    edges: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> BTreeSet<&'a [String]> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(path) = waiting.pop() {
        for next in edges.get(path).into_iter().flatten() {
            if found.insert(*next) {
                waiting.push(next);
            }
        }
    }
    found
}

/// What one file defines and names.
#[derive(Debug, Default)]
struct Module {
    /// Items and inline modules at the top level.
    items: BTreeSet<String>,
    /// Each path that is named.
    named: Vec<Vec<String>>,
    /// Each imported name with its path; `*` is a glob.
    uses: Vec<(String, Vec<String>)>,
}

struct Crate<'a> {
    modules: BTreeMap<&'a [String], Module>,
}

impl<'a> Crate<'a> {
    fn read(files: &'a Files<'_>) -> Self {
        let mut test_modules = BTreeSet::new();
        for (path, tokens) in files {
            for pair in tokens.windows(3) {
                if pair[0].text == "mod" && pair[0].in_test && pair[2].text == ";" {
                    test_modules.insert([&path[..], &[pair[1].text.clone()]].concat());
                }
            }
        }
        let is_test = |path: &[String]| (1..=path.len()).any(|n| test_modules.contains(&path[..n]));
        let modules = files
            .iter()
            .filter(|(path, _)| !is_test(path))
            .map(|(path, tokens)| (path.as_slice(), Reader::new(path, files).read(tokens)))
            .collect();
        Self { modules }
    }

    /// The modules that a module imports.
    fn imports(&self, path: &[String], module: &Module) -> BTreeSet<&'a [String]> {
        let targets = module
            .named
            .iter()
            .filter_map(|named| self.definer(named, 0));
        targets.filter(|target| *target != path).collect()
    }

    /// The module whose file defines what a path names.
    fn definer(&self, named: &[String], depth: usize) -> Option<&'a [String]> {
        let known = (0..=named.len())
            .rev()
            .find_map(|n| self.modules.get_key_value(&named[..n]));
        let (path, module) = known?;
        let rest = &named[path.len()..];
        let Some(name) = rest.first() else {
            return Some(path);
        };
        if module.items.contains(name) || depth > 8 {
            return Some(path);
        }
        let through = |used: &[String]| self.definer(&[used, &rest[1..]].concat(), depth + 1);
        let plain = module.uses.iter().find(|(used, _)| used == name);
        if let Some((_, used)) = plain {
            return through(used);
        }
        for (_, glob) in module.uses.iter().filter(|(used, _)| used == "*") {
            if self
                .modules
                .get(glob.as_slice())
                .is_some_and(|module| module.items.contains(name))
            {
                return self.definer(glob, depth + 1);
            }
        }
        // A glob import of a module that only re-exports names no file.
        (name != "*" || !module.items.is_empty()).then_some(*path)
    }
}

/// Reads the tokens of one file.
struct Reader<'a> {
    files: &'a Files<'a>,
    /// The module that the tokens belong to, with inline modules.
    current: Vec<String>,
    /// Length of `current` and depth of braces where each inline module began.
    inline: Vec<usize>,
    depth: usize,
    module: Module,
    /// Re-exported names with their paths, and all other words.
    reexports: Vec<(String, Vec<String>)>,
    words: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn new(path: &[String], files: &'a Files<'a>) -> Self {
        Self {
            files,
            current: path.to_vec(),
            inline: Vec::new(),
            depth: 0,
            module: Module::default(),
            reexports: Vec::new(),
            words: BTreeSet::new(),
        }
    }

    fn read(mut self, tokens: &[Token]) -> Module {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
        let mut is_use = false;
        let mut is_reexport = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            if token.in_test {
                continue;
            }
            match token.text.as_str() {
                "{" => self.depth += 1,
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.inline.last() == Some(&self.depth) {
                        self.inline.pop();
                        self.current.pop();
                    }
                }
                "mod" if text(at + 1) == "{" => {
                    if self.depth == 0 {
                        self.module.items.insert(text(at).to_owned());
                    }
                    self.inline.push(self.depth);
                    self.current.push(text(at).to_owned());
                }
                "impl" if self.depth == 0 => {
                    self.module.items.insert("impl".to_owned());
                }
                "macro_rules" => {
                    self.module.items.insert(text(at + 1).to_owned());
                }
                // The paths in quoted code belong to the code that is generated.
                "quote" | "quote_spanned" if text(at) == "!" => at = group_end(tokens, at + 1),
                "use" => {
                    is_use = true;
                    let before = at.checked_sub(2).map_or("", text);
                    is_reexport = matches!(before, "pub" | ")");
                }
                ";" => is_use = false,
                word if ITEMS.contains(&word) && self.depth == 0 => {
                    self.module.items.insert(text(at).to_owned());
                }
                _ if text(at).starts_with("::") && self.is_start(tokens, at - 1) => {
                    let mut paths = Vec::new();
                    let mut end = at - 1;
                    tree(tokens, &mut end, &[], &mut paths);
                    for (name, path) in paths {
                        let Some(path) = self.absolute(&path) else {
                            continue;
                        };
                        if is_use && self.inline.is_empty() {
                            self.module.uses.push((name.clone(), path.clone()));
                        }
                        if is_use && is_reexport {
                            self.reexports.push((name, path));
                        } else {
                            self.module.named.push(path);
                        }
                    }
                    at = end;
                }
                word if !is_use => {
                    self.words.insert(word.to_owned());
                }
                _ => {}
            }
        }
        let used = self
            .reexports
            .into_iter()
            .filter(|(name, _)| self.words.contains(name));
        self.module.named.extend(used.map(|(_, path)| path));
        self.module
    }

    /// Whether a path of this crate begins at this token.
    fn is_start(&self, tokens: &[Token], at: usize) -> bool {
        let before = at
            .checked_sub(1)
            .map_or("", |before| tokens[before].text.as_str());
        if before.ends_with("::") || before == "in" {
            return false;
        }
        let word = &tokens[at].text;
        matches!(word.as_str(), "crate" | "self" | "super")
            || self
                .files
                .contains_key(&[&self.current[..], std::slice::from_ref(word)].concat())
    }

    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut base = self.current.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            _ => {}
        }
        while rest.first().is_some_and(|first| first == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        base.extend(rest.iter().filter(|part| *part != "self").cloned());
        Some(base)
    }
}

/// The token after the group that begins at this token.
fn group_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Reads a path, or a tree of paths in a `use` item; each with the name that it is imported as.
fn tree(
    tokens: &[Token],
    at: &mut usize,
    prefix: &[String],
    paths: &mut Vec<(String, Vec<String>)>,
) {
    let mut path = prefix.to_vec();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    loop {
        match text(*at) {
            "{" => {
                *at += 1;
                while !matches!(text(*at), "}" | "") {
                    if text(*at) == "," {
                        *at += 1;
                    } else {
                        tree(tokens, at, &path, paths);
                    }
                }
                *at += 1;
                return;
            }
            word => {
                path.push(word.to_owned());
                *at += 1;
            }
        }
        match text(*at) {
            "::" => *at += 1,
            "::*" | "::*;" => {
                *at += 1;
                path.push("*".to_owned());
                paths.push(("*".to_owned(), path[..path.len() - 1].to_vec()));
                return;
            }
            "as" => {
                paths.push((text(*at + 1).to_owned(), path));
                *at += 2;
                return;
            }
            _ => {
                let own = path.iter().rev().find(|part| *part != "self");
                paths.push((own.cloned().unwrap_or_default(), path));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let tokens: Vec<_> = files
            .iter()
            .map(|(path, text)| (module(path).unwrap(), tokens::of(text).unwrap()))
            .collect();
        largest(
            &tokens
                .iter()
                .map(|(path, tokens)| (path.clone(), tokens.as_slice()))
                .collect(),
        )
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        assert_eq!(
            circle(&[
                ("lib.rs", "mod a; mod b; mod c; mod d;"),
                ("a.rs", "use crate::b::{B, x::Y as Z}; struct A;"),
                ("b/mod.rs", "pub mod x; fn f() { super::c::g(); } struct B;"),
                ("b/x.rs", "struct Y;"),
                ("c.rs", "use super::a; fn g(_: a::A) {}"),
                ("d.rs", "use crate::a::A; struct D(A);"),
            ]),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn a_reexport_belongs_to_the_file_that_defines_the_item() {
        let reexports = (
            "m/mod.rs",
            "mod a; mod b; pub use a::A; pub use self::b::*;",
        );
        let open = [
            reexports,
            ("m/a.rs", "use super::B; struct A(B);"),
            ("m/b.rs", "struct B;"),
        ];
        assert!(circle(&open).is_empty());
        let closed = [open[0], open[1], ("m/b.rs", "struct B(super::A);")];
        assert_eq!(circle(&closed), ["m/a", "m/b"]);
        let helper_in_parent = [
            (
                "m/mod.rs",
                "mod a; pub use a::A; fn lock() {} fn f() -> A {}",
            ),
            ("m/a.rs", "use super::lock; struct A;"),
        ];
        assert_eq!(circle(&helper_in_parent), ["m", "m/a"]);
    }

    #[test]
    fn tests_and_visibilities_import_nothing() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
            (
                "a.rs",
                "pub(in crate::b) struct A; #[cfg(test)] mod tests { use crate::b::B; } fn f() { quote!(crate::b::B { x }); }",
            ),
            ("b.rs", "use crate::a::A; struct B(A);"),
            ("tests.rs", "use crate::a::A; fn f() {}"),
        ];
        assert!(circle(&files).is_empty());
    }
}
