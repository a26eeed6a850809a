//! Import circles between the files of a crate.
//!
//! A file imports another file if it names an item of it through `crate::`, `self::`, `super::` or a child module. A
//! re-exported item belongs to the file that defines it; the file that re-exports it imports it only if it also uses it.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Item, UseTree, Visibility};

use super::syntax::{Source, is_cfg_test, is_test, tokens};

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

/// The module of a file, whose path is relative to the folder of its crate's sources.
pub(super) fn module(inner: &str) -> Path {
    let path = inner.trim_end_matches(".rs").split('/');
    let mut path: Path = path.map(str::to_owned).collect();
    path.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    path
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

/// The largest set of files that import each other, directly or indirectly.
pub(super) fn largest(files: &Files<'_>) -> Vec<String> {
    let read = |(path, source): (_, &&_)| (path, Reader::read(path, source, files));
    let modules: BTreeMap<&Path, Module> = files.iter().map(read).collect();
    let mut reach: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for (path, module) in &modules {
        let targets = module.named.iter();
        let targets = targets.filter_map(|named| definer(&modules, named, 0));
        reach.insert(path, targets.filter(|target| target != path).collect());
    }
    loop {
        let before = reach.clone();
        for reached in reach.values_mut() {
            let next: Vec<_> = reached.iter().flat_map(|next| &before[*next]).collect();
            reached.extend(next);
        }
        if reach == before {
            break;
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
    if module.items.contains(name) || depth > 8 {
        return Some(path);
    }
    let has_item = |glob| {
        modules
            .get(glob)
            .is_some_and(|module| module.items.contains(name))
    };
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

/// Reads one file.
struct Reader<'a> {
    files: &'a Files<'a>,
    file: &'a Path,
    source: &'a Source,
    /// The file, or the inline module that is being read.
    current: Path,
    module: Module,
}

impl<'a> Reader<'a> {
    fn read(file: &'a Path, source: &'a Source, files: &'a Files<'_>) -> Module {
        let mut reader = Self {
            files,
            file,
            source,
            current: file.clone(),
            module: Module::default(),
        };
        reader.visit_file(&source.syntax);
        reader.module
    }

    /// Notes a path outside of imports.
    fn name(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.module.named.extend(self.absolute(path));
        }
    }

    /// Whether the file uses a name that it imports.
    fn uses(&self, name: &str) -> bool {
        let tokens = self.source.tokens.iter();
        let same = tokens.filter(|token| token.text == name && !token.marks.in_test);
        same.count() > 1
    }

    /// The path from the root of the crate; none if it belongs to another crate.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let mut absolute = self.current.clone();
        let child = [&absolute, &path[..1]].concat();
        if !(matches!(&*path[0], "crate" | "self" | "super") || self.files.contains_key(&child)) {
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
}

impl Visit<'_> for Reader<'_> {
    fn visit_item(&mut self, item: &Item) {
        let Some(trees) = outside_of_tests(item) else {
            return;
        };
        if self.current == *self.file {
            let is_definition = |text: &String| DEFINITIONS.contains(&text.as_str());
            let mut pairs = trees.windows(2);
            let pair = pairs.find(|pair| is_definition(&pair[0]) && !is_definition(&pair[1]));
            self.module.items.extend(pair.map(|pair| pair[1].clone()));
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if outside_of_tests(function).is_some() {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        self.current.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.current.pop();
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        let mut imports = Vec::new();
        flatten(&item.tree, &[], &mut imports);
        for (name, path) in imports {
            let Some(path) = self.absolute(&path) else {
                continue;
            };
            if self.current == *self.file {
                self.module.uses.push((name.clone(), path.clone()));
            }
            if matches!(item.vis, Visibility::Inherited) || self.uses(&name) {
                self.module.named.push(path);
            }
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter();
        let names = names.map(|segment| segment.ident.to_string());
        self.name(&Vec::from_iter(names));
        for segment in &path.segments {
            self.visit_path_arguments(&segment.arguments);
        }
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.visit_path(&call.path);
        // The paths in quoted code belong to the code that is generated.
        if call.path.is_ident("quote") || call.path.is_ident("quote_spanned") {
            return;
        }
        let arguments = Punctuated::<Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(arguments) {
            return arguments
                .iter()
                .for_each(|argument| self.visit_expr(argument));
        }
        let tokens = tokens(call.tokens.clone());
        for path in tokens.chunk_by(|left, right| left.text == "::" || right.text == "::") {
            let names = path.iter().step_by(2).map(|token| token.text.clone());
            self.name(&Vec::from_iter(names));
        }
    }

    /// `pub(in path)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &syn::VisRestricted) {}
}

/// The outermost tokens of an item; none if only tests compile it.
fn outside_of_tests(item: &impl ToTokens) -> Option<Vec<String>> {
    let trees = item.to_token_stream().into_iter();
    let text = |tree: TokenTree| match tree {
        TokenTree::Group(group) => group.stream().to_string(),
        other => other.to_string(),
    };
    let texts: Vec<String> = trees.map(text).collect();
    let is_test = texts
        .windows(2)
        .any(|pair| pair[0] == "#" && is_cfg_test(&pair[1]));
    (!is_test).then_some(texts)
}

/// The imports of a `use` item: each name, and the path that it is imported from.
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
