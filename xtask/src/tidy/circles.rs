//! Import circles between the files of a crate.
//!
//! A file imports another file if it names an item of it through `crate::`, `self::`, `super::` or a child module. A
//! re-exported item belongs to the file that defines it; the file that re-exports it imports it only if it also uses it.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Token, UseTree, Visibility};

use super::allowances::Places;
use super::syntax::{Source, is_test, tokens};
use crate::steps::say;

/// The largest circle that needs no allowance.
pub(super) const LIMIT: usize = 3;

/// The segments of a path, or of the path of a module, from the root of its crate.
type Path = Vec<String>;

/// The largest set of files of each crate that import each other, directly or indirectly.
pub(super) fn largest(sources: &[Source]) -> Places {
    let mut crates: BTreeMap<&str, BTreeMap<Path, &syn::File>> = BTreeMap::new();
    for Source { file, syntax, .. } in sources {
        let Some((name, inner)) = file.path.split_once("/src/") else {
            continue;
        };
        // Programs under `bin/` are crates of their own, folders under `tests/` have other workspaces.
        let is_apart = inner.starts_with("bin/") || name.starts_with("tests/");
        if !(is_apart || is_test(&file.path)) {
            let files = crates.entry(name).or_default();
            files.insert(module(inner), syntax);
        }
    }
    let circle = |(name, files): (&str, BTreeMap<Path, &syn::File>)| {
        let circle = Crate::read(&files).largest_circle();
        if circle.len() > LIMIT {
            let (count, list) = (circle.len(), circle.join(", "));
            say(&format!(
                "circle of imports in {name}, {count} files: {list}"
            ));
        }
        (name.to_owned(), circle)
    };
    crates.into_iter().map(circle).collect()
}

/// The module of a file, whose path is relative to the folder of its crate's sources.
fn module(inner: &str) -> Path {
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

struct Crate<'a>(BTreeMap<&'a Path, Module>);

impl<'a> Crate<'a> {
    fn read(files: &'a BTreeMap<Path, &syn::File>) -> Self {
        let read = |(path, file): (&'a Path, &&syn::File)| (path, Reader::read(path, file, files));
        Self(files.iter().map(read).collect())
    }

    fn largest_circle(&self) -> Vec<String> {
        let imports = |(path, module): (&&'a Path, &Module)| {
            let targets = module.named.iter();
            let targets = targets.filter_map(|named| self.definer(named, 0));
            (*path, targets.filter(|target| target != path).collect())
        };
        let mut reach: BTreeMap<&Path, BTreeSet<&Path>> = self.0.iter().map(imports).collect();
        loop {
            let further = |(path, reached): (&&'a Path, &BTreeSet<&'a Path>)| {
                let next = reached.iter().flat_map(|next| &reach[*next]);
                (*path, reached.iter().chain(next).copied().collect())
            };
            let grown = reach.iter().map(further).collect();
            if reach == grown {
                break;
            }
            reach = grown;
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
    fn definer(&self, named: &[String], depth: usize) -> Option<&'a Path> {
        let known = (0..=named.len())
            .rev()
            .find_map(|n| self.0.get_key_value(&named[..n].to_vec()));
        let (path, module) = known?;
        let rest = &named[path.len()..];
        let Some(name) = rest.first() else {
            return Some(path);
        };
        if module.items.contains(name) || depth > 8 {
            return Some(path);
        }
        if let Some((_, used)) = module.uses.iter().find(|(used, _)| used == name) {
            return self.definer(&[used, &rest[1..]].concat(), depth + 1);
        }
        let has_item = |glob: &Path| {
            let module = self.0.get(glob);
            module.is_some_and(|module| module.items.contains(name))
        };
        let mut globs = module.uses.iter().filter(|(used, _)| used == "*");
        match globs.find(|(_, glob)| has_item(glob)) {
            Some((_, glob)) => self.definer(glob, depth + 1),
            None => Some(path),
        }
    }
}

/// Reads one file.
struct Reader<'a> {
    files: &'a BTreeMap<Path, &'a syn::File>,
    file: &'a Path,
    /// The file, or the inline module that is being read.
    current: Path,
    module: Module,
    /// Re-exported names with their paths.
    reexports: Vec<(String, Path)>,
    /// All names outside of imports.
    words: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn read(path: &'a Path, file: &syn::File, files: &'a BTreeMap<Path, &syn::File>) -> Module {
        let mut reader = Self {
            files,
            file: path,
            current: path.clone(),
            module: Module::default(),
            reexports: Vec::new(),
            words: BTreeSet::new(),
        };
        reader.visit_file(file);
        let used = reader.reexports.into_iter();
        let used = used.filter(|(name, _)| reader.words.contains(name));
        reader.module.named.extend(used.map(|(_, path)| path));
        reader.module
    }

    /// Notes a path outside of imports.
    fn name(&mut self, path: Path) {
        match self.absolute(&path) {
            Some(absolute) if path.len() > 1 => self.module.named.push(absolute),
            _ => self.words.extend(path),
        }
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
        let (name, attributes) = name_and_attributes(item);
        if has_cfg_test(attributes) {
            return;
        }
        if self.current == *self.file {
            self.module.items.extend(name.map(Ident::to_string));
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if !has_cfg_test(&function.attrs) {
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
            match item.vis {
                Visibility::Inherited => self.module.named.push(path),
                _ => self.reexports.push((name, path)),
            }
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter();
        self.name(names.map(|segment| segment.ident.to_string()).collect());
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
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(arguments) {
            return arguments
                .iter()
                .for_each(|argument| self.visit_expr(argument));
        }
        let tokens = tokens(call.tokens.clone());
        for path in tokens.chunk_by(|left, right| left.text == "::" || right.text == "::") {
            let names = path.iter().step_by(2);
            self.name(names.map(|token| token.text.clone()).collect());
        }
    }

    fn visit_ident(&mut self, name: &Ident) {
        self.words.insert(name.to_string());
    }

    /// `pub(in path)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &syn::VisRestricted) {}
}

fn name_and_attributes(item: &Item) -> (Option<&Ident>, &[Attribute]) {
    match item {
        Item::Const(item) => (Some(&item.ident), &item.attrs),
        Item::Enum(item) => (Some(&item.ident), &item.attrs),
        Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
        Item::Impl(item) => (None, &item.attrs),
        Item::Macro(item) => (item.ident.as_ref(), &item.attrs),
        Item::Mod(item) => {
            let is_inline = item.content.is_some();
            (Some(&item.ident).filter(|_| is_inline), &item.attrs)
        }
        Item::Static(item) => (Some(&item.ident), &item.attrs),
        Item::Struct(item) => (Some(&item.ident), &item.attrs),
        Item::Trait(item) => (Some(&item.ident), &item.attrs),
        Item::Type(item) => (Some(&item.ident), &item.attrs),
        Item::Use(item) => (None, &item.attrs),
        _ => (None, &[]),
    }
}

/// Whether the attributes contain `#[cfg(test)]`.
fn has_cfg_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let argument = attribute.parse_args::<Ident>();
        attribute.path().is_ident("cfg") && argument.is_ok_and(|name| name == "test")
    })
}

/// The imports of a `use` item: each name, and the path that it is imported from.
fn flatten(tree: &UseTree, prefix: &[String], imports: &mut Vec<(String, Path)>) {
    let join = |name: &Ident| [prefix, &[name.to_string()]].concat();
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
