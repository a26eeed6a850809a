//! Import circles between the files of a crate.
//!
//! A file imports another file if it names an item of it through `crate::`, `self::`, `super::` or a child module. A
//! re-exported item belongs to the file that defines it; the file that re-exports it imports it only if it also uses it.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::UseTree;

use super::syntax::{Source, is_test};
use crate::workspace::module;

/// The largest circle that is allowed.
const LIMIT: usize = 3;

/// The segments of a path, or of the path of a module, from the root of its crate.
type Path = Vec<String>;

/// The files of a crate by their modules.
type Files<'a> = BTreeMap<Path, &'a Source>;

/// Tokens in front of the name of an item; `!` is the one of `macro_rules!`.
const DEFINITIONS: &[&str] = &[
    "const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union", "!",
];

/// Finds the crates whose largest circle is too large.
pub(super) fn check(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Files<'_>> = BTreeMap::new();
    for source in sources {
        let Some((name, inner)) = source.file.path.split_once("/src/") else {
            continue;
        };
        // Programs under `bin/` are separate crates, folders under `tests/` have other workspaces.
        let is_apart = inner.starts_with("bin/") || name.starts_with("tests/");
        if !(is_apart || is_test(&source.file.path)) {
            let files = crates.entry(name).or_default();
            files.insert(module(inner), source);
        }
    }
    let circles = crates.iter().map(|(name, files)| (name, largest(files)));
    let large = circles.filter(|(_, circle)| circle.len() > LIMIT);
    let violation = |(name, circle): (&&str, Vec<String>)| {
        let (count, list) = (circle.len(), circle.join(", "));
        format!("{name}/src:1: {count} files import each other, limit {LIMIT}: {list}")
    };
    large.map(violation).collect()
}

/// The largest set of files that import each other, directly or indirectly.
pub(super) fn largest(files: &Files<'_>) -> Vec<String> {
    let read = |(path, source): (_, &&_)| (path, Module::read(path, source, files));
    let modules: BTreeMap<&Path, Module> = files.iter().map(read).collect();
    let mut reach: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for (path, module) in &modules {
        let targets = module.named.iter();
        let targets = targets.filter_map(|named| definer(&modules, named, 0));
        reach.insert(path, targets.filter(|target| target != path).collect());
    }
    for middle in modules.keys() {
        let next = reach[middle].clone();
        for reached in reach
            .values_mut()
            .filter(|reached| reached.contains(middle))
        {
            reached.extend(&next);
        }
    }
    let circle = |path: &&Path| -> Vec<String> {
        let others = reach[*path].iter();
        let others = others.filter(|other| reach[**other].contains(*path));
        others.map(|other| other.join("/")).collect()
    };
    // Of circles with the same size, the first.
    let circles = reach.keys().map(circle);
    circles.rev().max_by_key(Vec::len).unwrap_or_default()
}

/// The module whose file defines what a path names.
fn definer<'a>(
    modules: &BTreeMap<&'a Path, Module>,
    named: &[String],
    depth: usize,
) -> Option<&'a Path> {
    let mut prefixes = (0..=named.len()).rev();
    let known = prefixes.find_map(|n| modules.get_key_value(&named[..n].to_vec()));
    let (path, module) = known?;
    let rest = &named[path.len()..];
    let Some(name) = rest.first() else {
        return Some(path);
    };
    let has = |module: &Module| module.items.contains(name);
    if has(module) || depth > 8 {
        return Some(path);
    }
    let has_item = |glob| modules.get(glob).is_some_and(has);
    let import = module.uses.iter().find_map(|(used, from)| match &**used {
        "*" if has_item(from) => Some([from, rest].concat()),
        used if used == name => Some([from, &rest[1..]].concat()),
        _ => None,
    });
    match import {
        Some(import) => definer(modules, &import, depth + 1),
        None => Some(path),
    }
}

/// What one file defines and names.
#[derive(Default)]
struct Module {
    /// Items and inline modules at the top level.
    items: BTreeSet<String>,
    /// Each path that is named.
    named: Vec<Path>,
    /// Each imported name with its path; `*` is a glob.
    uses: Vec<(String, Path)>,
}

impl Module {
    /// Reads the tokens of a file.
    fn read(file: &Path, source: &Source, files: &Files<'_>) -> Self {
        let tokens = source.tokens.iter();
        let tokens = tokens.filter(|token| !token.marks.in_test);
        let texts: Vec<&str> = tokens.map(|token| &*token.text).collect();
        let is_used = |name: &str| texts.iter().filter(|text| **text == name).count() > 1;
        let mut this = Self::default();
        // The file with the inline modules that are open, and the number of open braces around each of those.
        let mut current = file.clone();
        let (mut inline, mut depth) = (Vec::new(), 0);
        let mut at = 0;
        while let [first, rest @ ..] = &texts[at..] {
            if let Some(name) = rest.first().filter(|name| !DEFINITIONS.contains(name))
                && DEFINITIONS.contains(first)
                && depth == 0
            {
                this.items.insert((*name).to_owned());
            }
            let before = &texts[..at];
            at += 1;
            match (*first, rest) {
                ("{", _) => depth += 1,
                ("}", _) => {
                    depth -= 1;
                    if inline.pop_if(|outer| *outer == depth).is_some() {
                        current.pop();
                    }
                }
                ("mod", [name, "{", ..]) => {
                    inline.push(depth);
                    current.push((*name).to_owned());
                }
                ("use", [next, ..]) if *next != "<" => {
                    // The semicolon after a glob is one token with it.
                    let end = rest.iter().position(|text| text.ends_with(';'));
                    let length = end.map_or(rest.len(), |end| end + 1);
                    at += length;
                    let is_reexport = matches!(before, [.., "pub" | ")"]);
                    for (name, path) in imports(&rest[..length]) {
                        let Some(path) = absolute(&path, &current, files) else {
                            continue;
                        };
                        if !is_reexport || is_used(&name) {
                            this.named.push(path.clone());
                        }
                        if inline.is_empty() {
                            this.uses.push((name, path));
                        }
                    }
                }
                (_, ["::", ..]) => {
                    let names = texts[at - 1..].chunks(2);
                    let last = names.take_while(|pair| pair.get(1) == Some(&"::")).count();
                    let path = texts[at - 1..].iter().step_by(2).take(last + 1);
                    let path: Path = path.map(|name| (*name).to_owned()).collect();
                    at += 2 * last;
                    // `pub(in path)` imports nothing.
                    if !matches!(before, [.., "(", "in"]) {
                        this.named.extend(absolute(&path, &current, files));
                    }
                }
                _ => {}
            }
        }
        this
    }
}

/// The path from the root of the crate; none if it belongs to another crate.
fn absolute(path: &[String], current: &Path, files: &Files<'_>) -> Option<Path> {
    let mut absolute = current.clone();
    let child = [current, &path[..1]].concat();
    if !(matches!(&*path[0], "crate" | "self" | "super") || files.contains_key(&child)) {
        return None;
    }
    for name in path {
        match name.as_str() {
            "crate" => absolute.clear(),
            "self" => {}
            "super" => drop(absolute.pop()?),
            _ => absolute.push(name.clone()),
        }
    }
    Some(absolute)
}

/// The imports of a `use` item: each name, and the path that it is imported from.
fn imports(tokens: &[&str]) -> Vec<(String, Path)> {
    let mut imports = Vec::new();
    if let Ok(tree) = syn::parse_str(tokens.join(" ").trim_end_matches(';')) {
        flatten(&tree, &[], &mut imports);
    }
    imports
}

fn flatten(tree: &UseTree, prefix: &[String], imports: &mut Vec<(String, Path)>) {
    let join = |name: &dyn ToString| [prefix, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &join(&path.ident), imports),
        UseTree::Name(name) => {
            let path = join(&name.ident);
            let own = path.iter().rfind(|part| *part != "self").cloned();
            imports.push((own.unwrap_or_default(), path));
        }
        UseTree::Rename(name) => imports.push((name.rename.to_string(), join(&name.ident))),
        UseTree::Glob(_) => imports.push(("*".to_owned(), prefix.to_vec())),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, imports);
            }
        }
    }
}
