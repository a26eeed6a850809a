//! Import circles between the files of a crate, and between the folders that stand beside each other.
//!
//! A file imports another file if it names an item of it through `crate::`, `self::`, `super::` or a child module. A
//! re-exported item belongs to the file that defines it; the file that re-exports it imports it only if it also uses it.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::UseTree;

use super::syntax::{Source, is_test};
use crate::workspace::module;

/// The largest circle of files that is allowed.
const FILES: usize = 3;
/// The largest circle of folders that is allowed. A file beside a folder counts as one.
const FOLDERS: usize = 2;

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
    let violations = |(name, files): (&str, Files<'_>)| {
        let imports = imports_of(&files);
        let parents: BTreeSet<&[String]> = imports
            .keys()
            .filter_map(|path| Some(path.split_last()?.1))
            .collect();
        let mut violations = Vec::new();
        for parent in parents {
            let circle = largest(&between_children(&imports, parent));
            let is_folder = |path: &&Path| {
                let mut all = imports.keys();
                all.any(|it| it.len() > path.len() && it.starts_with(path))
            };
            if circle.len() > FOLDERS && circle.iter().any(|path| is_folder(&path)) {
                let arrows = arrows(&imports, &circle).join(", ");
                let head = violation(name, "folders", FOLDERS, &circle);
                violations.push(format!("{head}; {arrows}"));
            }
        }
        let circle = largest(&imports);
        if circle.len() > FILES {
            violations.push(violation(name, "files", FILES, &circle));
        }
        violations
    };
    crates.into_iter().flat_map(violations).collect()
}

fn violation(name: &str, what: &str, limit: usize, circle: &[Path]) -> String {
    let count = circle.len();
    let list: Vec<_> = circle.iter().map(|path| path.join("/")).collect();
    let list = list.join(", ");
    format!("{name}/src:1: {count} {what} import each other, limit {limit}: {list}")
}

/// The imports of files between the folders of a circle.
fn arrows(imports: &Imports, circle: &[Path]) -> Vec<String> {
    let folder = |path: &Path| circle.iter().find(|folder| path.starts_with(folder));
    let mut arrows = Vec::new();
    for (from, imported) in imports {
        let is_other = |to: &&Path| folder(to).is_some_and(|other| Some(other) != folder(from));
        for to in imported.iter().filter(is_other) {
            arrows.extend(folder(from).map(|_| format!("{} -> {}", from.join("/"), to.join("/"))));
        }
    }
    arrows
}

/// The modules that each module imports.
type Imports = BTreeMap<Path, BTreeSet<Path>>;

/// Reads which files import which.
pub(super) fn imports_of(files: &Files<'_>) -> Imports {
    let read = |(path, source): (_, &&_)| (path, Module::read(path, source, files));
    let modules: BTreeMap<&Path, Module> = files.iter().map(read).collect();
    let imported = |path: &Path, module: &Module| {
        let named = module.named.iter();
        let definers = named.filter_map(|named| definer(&modules, named, 0));
        definers.filter(|it| *it != path).cloned().collect()
    };
    let all = modules.iter();
    all.map(|(path, module)| ((*path).clone(), imported(path, module)))
        .collect()
}

/// The imports between the modules of a folder, each with all that is below it. The module of the folder itself is above them.
fn between_children(imports: &Imports, parent: &[String]) -> Imports {
    let child = |path: &Path| {
        let is_below = path.starts_with(parent) && path.len() > parent.len();
        is_below.then(|| path[..=parent.len()].to_vec())
    };
    let mut children = Imports::new();
    for (path, imported) in imports {
        if let Some(from) = child(path) {
            let to = imported.iter().filter_map(child).filter(|to| *to != from);
            children.entry(from.clone()).or_default().extend(to);
        }
    }
    children
}

/// The largest set of modules that import each other, directly or indirectly.
pub(super) fn largest(imports: &Imports) -> Vec<Path> {
    let mut reach = imports.clone();
    for middle in imports.keys() {
        let next = reach[middle].clone();
        for reached in reach
            .values_mut()
            .filter(|reached| reached.contains(middle))
        {
            reached.extend(next.iter().cloned());
        }
    }
    let circle = |path: &Path| -> Vec<Path> {
        let others = reach[path].iter();
        others
            .filter(|other| reach[*other].contains(path))
            .cloned()
            .collect()
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
                    let paths = imports(&rest[..length]).into_iter();
                    let paths = paths
                        .filter_map(|(name, path)| Some((name, absolute(&path, &current, files)?)));
                    for (name, path) in paths {
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
