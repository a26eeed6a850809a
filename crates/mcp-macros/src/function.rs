//! The function that carries the attribute: what it asks of its caller.

use syn::ext::IdentExt;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, ItemFn, Pat, PatType, PathArguments, Result,
    ReturnType, Type, TypeParamBound,
};

use crate::options::{ArgOptions, Kind};

/// Most parameters of a handler, the arguments counted once.
const PARAMETERS: usize = 8;
/// Types that are no arguments, by the last part of their path.
const EXTRACTORS: [&str; 5] = ["Args", "Ask", "Auth", "Ctx", "State"];
/// Types that are never read from text.
const NOT_TEXT: [&str; 22] = [
    "BTreeMap",
    "BTreeSet",
    "HashMap",
    "HashSet",
    "Value",
    "Vec",
    "bool",
    "f32",
    "f64",
    "i128",
    "i16",
    "i32",
    "i64",
    "i8",
    "isize",
    "u128",
    "u16",
    "u32",
    "u64",
    "u8",
    "usize",
    "JsonObject",
];

pub(crate) struct Function {
    /// What is emitted: the function without the attributes that only mean something here.
    pub(crate) item: ItemFn,
    pub(crate) params: Vec<Param>,
    pub(crate) is_async: bool,
}

pub(crate) enum Param {
    Argument(Box<Argument>),
    Extractor(Box<Type>),
}

pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The name on the wire.
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Doc comments and the attributes of serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) options: ArgOptions,
}

impl Function {
    /// Takes the function apart. The errors come with it: what can be emitted should be, so that
    /// they are the only ones that are reported.
    pub(crate) fn parse(kind: Kind, mut item: ItemFn) -> (Self, Result<()>) {
        let mut problems = Errors(shape(kind, &item).err());
        let mut params = Vec::new();
        for input in &mut item.sig.inputs {
            if let FnArg::Typed(typed) = input {
                match param(kind, typed) {
                    Ok(param) => params.push(param),
                    Err(error) => problems.add(error),
                }
            }
        }
        let is_async = item.sig.asyncness.is_some() || returns_future(&item.sig.output);
        let function = Self {
            item,
            params,
            is_async,
        };
        if let Err(error) = function.check_together() {
            problems.add(error);
        }
        (function, problems.0.map_or(Ok(()), Err))
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.params.iter().filter_map(|param| match param {
            Param::Argument(argument) => Some(&**argument),
            Param::Extractor(_) => None,
        })
    }

    /// What the parameters may not be together.
    fn check_together(&self) -> Result<()> {
        let extractors = self.params.iter().filter_map(|param| match param {
            Param::Extractor(ty) => Some(&**ty),
            Param::Argument(_) => None,
        });
        let mut extractors: Vec<&Type> = extractors.collect();
        if let Some(argument) = self.arguments().next() {
            if let Some(args) = extractors.iter().find(|ty| is_named(ty, &["Args"])) {
                return Err(Error::new_spanned(
                    args,
                    format!(
                        "`Args` takes all arguments: move `{}` into it, or leave it out",
                        argument.ident
                    ),
                ));
            }
            extractors.push(&argument.ty);
        }
        match extractors.get(PARAMETERS) {
            Some(ty) => Err(Error::new_spanned(
                ty,
                format!("a handler takes at most {PARAMETERS} parameters, arguments counted once"),
            )),
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(known) => known.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// What the signature may not have.
fn shape(kind: Kind, item: &ItemFn) -> Result<()> {
    let sig = &item.sig;
    let attribute = kind.name();
    if let Some(receiver) = sig.receiver() {
        return Err(Error::new_spanned(
            receiver,
            format!(
                "`#[{attribute}]` goes on a free function: take what `self` holds as \
                 `State(name): State<Type>`"
            ),
        ));
    }
    if !sig.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &sig.generics,
            format!("a {attribute} has one schema, so its function is not generic: name the types"),
        ));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new_spanned(
            abi,
            format!("`#[{attribute}]` goes on a Rust function"),
        ));
    }
    if let Some(variadic) = &sig.variadic {
        return Err(Error::new_spanned(variadic, "parameters are counted"));
    }
    if matches!(sig.safety, syn::Safety::Unsafe(_)) {
        return Err(Error::new_spanned(
            &sig.safety,
            "arguments come from outside, so nobody could keep the promises of an unsafe function",
        ));
    }
    Ok(())
}

fn param(kind: Kind, typed: &mut PatType) -> Result<Param> {
    let mut extract = is_named(&typed.ty, &EXTRACTORS);
    let mut options = ArgOptions::default();
    let mut has_options = None;
    let mut attributes = Vec::new();
    let mut kept = Vec::new();
    for attribute in typed.attrs.drain(..) {
        let path = attribute.path();
        if path.is_ident("extract") {
            extract = true;
        } else if path.is_ident("arg") {
            options.parse(kind, &attribute)?;
            has_options = Some(attribute);
        } else if ["doc", "serde", "schemars"]
            .iter()
            .any(|name| path.is_ident(name))
        {
            attributes.push(attribute);
        } else {
            kept.push(attribute);
        }
    }
    typed.attrs = kept;
    if extract {
        return match has_options {
            None => Ok(Param::Extractor(typed.ty.clone())),
            Some(options) => Err(Error::new_spanned(options, "this parameter is no argument")),
        };
    }
    let ident = name_of(typed)?;
    check_type(kind, &typed.ty)?;
    let name = match &options.rename {
        Some(name) => name.value(),
        None => ident.unraw().to_string(),
    };
    Ok(Param::Argument(Box::new(Argument {
        ident,
        name,
        ty: (*typed.ty).clone(),
        attributes,
        options,
    })))
}

fn name_of(typed: &PatType) -> Result<Ident> {
    match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Ok(pat.ident.clone()),
        _ => Err(Error::new_spanned(
            &typed.pat,
            "an argument has a name: write `name: Type`, or `#[extract]` before a parameter that \
             is no argument",
        )),
    }
}

fn check_type(kind: Kind, ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => {
            let owned = match &*reference.elem {
                Type::Path(path) if path.path.is_ident("str") => "`String`",
                Type::Slice(_) => "a `Vec`",
                _ => "the type without `&`",
            };
            Err(Error::new_spanned(
                ty,
                format!("an argument is owned by the call: use {owned}"),
            ))
        }
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "an argument has one schema: name its type",
        )),
        _ if kind != Kind::Tool && is_named(inside_option(ty), &NOT_TEXT) => {
            let what = match kind {
                Kind::Prompt => "arguments of prompts are",
                _ => "variables of a URI are",
            };
            Err(Error::new_spanned(
                ty,
                format!("{what} text: use `String`, `Option<String>` or a fieldless enum"),
            ))
        }
        _ => Ok(()),
    }
}

fn is_named(ty: &Type, names: &[&str]) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| names.iter().any(|name| last.ident == name)),
        _ => false,
    }
}

fn inside_option(ty: &Type) -> &Type {
    if is_named(ty, &["Option"])
        && let Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.first()
    {
        return inner;
    }
    ty
}

fn returns_future(output: &ReturnType) -> bool {
    let ReturnType::Type(_, ty) = output else {
        return false;
    };
    let Type::ImplTrait(future) = &**ty else {
        return false;
    };
    future.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|last| last.ident == "Future")
        }
        _ => false,
    })
}
