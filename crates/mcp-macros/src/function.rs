//! The annotated function: its parameters, and checks of its signature.

use syn::ext::IdentExt;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, ItemFn, Pat, PatType, PathArguments, Receiver,
    Result, ReturnType, Type, TypeParamBound,
};

use crate::options::{ArgOptions, Kind};
use crate::text;

/// Maximum number of parameters of a handler. All arguments together count as one parameter.
const PARAMETERS: usize = 8;
/// The names of extractor types that need no `#[extract]`. They are compared with the last segment of a path.
const EXTRACTORS: [&str; 6] = ["Args", "Ask", "Auth", "Ctx", "Server", "State"];
/// The names of types that cannot be read from text.
const NOT_TEXT: [&str; 7] = [
    "BTreeMap",
    "BTreeSet",
    "HashMap",
    "HashSet",
    "JsonObject",
    "Value",
    "Vec",
];
pub(crate) struct Function {
    /// The function to emit, without the attributes that only this macro understands.
    pub(crate) item: ItemFn,
    pub(crate) container: Container,
    pub(crate) params: Vec<Param>,
    pub(crate) is_async: bool,
}

/// Where the annotated function is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// In a module or another function.
    Module,
    /// In an `impl` block that has `#[tools]`, `#[prompts]` or `#[resources]`.
    Impl,
}

pub(crate) enum Param {
    Argument(Box<Argument>),
    Extractor(Box<Type>),
}

pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The name of the argument in the protocol.
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The doc comments, and the attributes of serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) options: ArgOptions,
}

impl Function {
    /// Reads the parameters and checks the signature. Returns the function even if there are errors, because
    /// further compile errors would follow if the macro did not emit the function.
    pub(crate) fn parse(kind: Kind, container: Container, mut item: ItemFn) -> (Self, Result<()>) {
        let mut problems = Errors(shape(kind, container, &item).err());
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
            container,
            params,
            is_async,
        };
        if let Err(error) = function.check_combination() {
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

    /// Checks that the parameters can be combined.
    fn check_combination(&self) -> Result<()> {
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
                        "`Args` takes all arguments: move `{}` into its type, or remove `Args`",
                        argument.ident
                    ),
                ));
            }
            extractors.push(&argument.ty);
        }
        match extractors.get(PARAMETERS) {
            Some(ty) => Err(Error::new_spanned(
                ty,
                format!(
                    "a handler has at most {PARAMETERS} parameters; all arguments together \
                 count as one"
                ),
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

/// Checks the signature.
fn shape(kind: Kind, container: Container, item: &ItemFn) -> Result<()> {
    let sig = &item.sig;
    let attribute = kind.name();
    match (container, sig.receiver()) {
        (Container::Module, Some(receiver)) => {
            return Err(Error::new_spanned(
                receiver,
                format!(
                    "for {attribute}s that are methods, place `#[{attribute}s]` on the `impl` block"
                ),
            ));
        }
        (Container::Impl, Some(receiver)) if !is_shared(receiver) => {
            return Err(Error::new_spanned(
                receiver,
                "calls run concurrently and share the value: take `&self`",
            ));
        }
        (Container::Impl, None) => {
            return Err(Error::new_spanned(
                &sig.ident,
                format!(
                    "a {attribute} in this `impl` block takes `&self`; move a function without `&self` out of \
                     the block"
                ),
            ));
        }
        _ => {}
    }
    if !sig.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &sig.generics,
            format!(
                "a {attribute} function cannot be generic, because it has one schema: use \
             concrete types"
            ),
        ));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new_spanned(
            abi,
            format!("`#[{attribute}]` must be placed on a Rust function, without `extern`"),
        ));
    }
    if let Some(variadic) = &sig.variadic {
        return Err(Error::new_spanned(variadic, "a handler cannot be variadic"));
    }
    if matches!(sig.safety, syn::Safety::Unsafe(_)) {
        return Err(Error::new_spanned(
            &sig.safety,
            "a handler cannot be unsafe: its arguments come from clients",
        ));
    }
    Ok(())
}

/// Returns whether the receiver is `&self`.
fn is_shared(receiver: &Receiver) -> bool {
    matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None))
}

fn param(kind: Kind, typed: &mut PatType) -> Result<Param> {
    let mut extract = false;
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
        } else if path.is_ident("cfg") {
            return Err(Error::new_spanned(
                attribute,
                "`#[cfg]` cannot be placed on a parameter: write two functions, each with its `#[cfg]`",
            ));
        } else if path.is_ident("doc") {
            attributes.push(text::without_stars(attribute));
        } else if ["serde", "schemars"].iter().any(|name| path.is_ident(name)) {
            attributes.push(attribute);
        } else {
            kept.push(attribute);
        }
    }
    typed.attrs = kept;
    match has_options {
        Some(options) if extract => {
            return Err(Error::new_spanned(
                options,
                "a parameter is either an argument or an extractor: remove `#[arg]` or `#[extract]`",
            ));
        }
        None if extract || is_named(&typed.ty, &EXTRACTORS) => {
            return Ok(Param::Extractor(typed.ty.clone()));
        }
        _ => {}
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
            "an argument needs a name: write `name: Type`, or put `#[extract]` before an extractor",
        )),
    }
}

fn check_type(kind: Kind, ty: &Type) -> Result<()> {
    match ungrouped(ty) {
        Type::Reference(reference) => {
            let owned = match &*reference.elem {
                Type::Path(path) if path.path.is_ident("str") => "`String`",
                Type::Slice(_) => "a `Vec`",
                _ => "the type without `&`",
            };
            Err(Error::new_spanned(
                ty,
                format!("an argument must be an owned type: use {owned}"),
            ))
        }
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "an argument needs one schema: use a concrete type",
        )),
        _ if kind != Kind::Tool && is_named(inside_option(ty), &NOT_TEXT) => {
            let what = match kind {
                Kind::Prompt => "arguments of prompts must be",
                _ => "variables of a URI must be",
            };
            Err(Error::new_spanned(
                ty,
                format!(
                    "{what} text: use `String`, a number, a fieldless enum, an `Option` of these, \
                     or `#[arg(parse)]` with a type that implements `FromStr`"
                ),
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the type without parentheses, and without the invisible group that the macro fragment `$t:ty` adds.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        ty => ty,
    }
}

fn is_named(ty: &Type, names: &[&str]) -> bool {
    match ungrouped(ty) {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| names.iter().any(|name| last.ident == name)),
        _ => false,
    }
}

pub(crate) fn inside_option(ty: &Type) -> &Type {
    if is_named(ty, &["Option"])
        && let Some(inner) = parameter(ty)
    {
        return inner;
    }
    ty
}

/// Returns the first type parameter, such as `T` of `Option<T>`.
fn parameter(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ungrouped(ty) else {
        return None;
    };
    match &path.path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the return type is `impl Future`, or a boxed future such as `async_trait` generates.
fn returns_future(output: &ReturnType) -> bool {
    let ReturnType::Type(_, ty) = output else {
        return false;
    };
    let boxed = || {
        let boxed = parameter(ty).filter(|_| is_named(ty, &["Pin"]))?;
        parameter(boxed).filter(|_| is_named(boxed, &["Box"]))
    };
    let bounds = match (ungrouped(ty), boxed().map(ungrouped)) {
        (Type::ImplTrait(future), _) => &future.bounds,
        (_, Some(Type::TraitObject(future))) => &future.bounds,
        _ => return is_named(ty, &["BoxFuture"]),
    };
    bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|last| last.ident == "Future")
        }
        _ => false,
    })
}
