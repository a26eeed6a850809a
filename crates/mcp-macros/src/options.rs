//! The options in the parentheses of the attributes.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Expr, Ident, LitBool, LitStr, Result, Token};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// Returns the name of the type in `mcp_server` that the attribute builds.
    pub(crate) fn product(self) -> Ident {
        let name = match self {
            Self::Tool => "Tool",
            Self::Prompt => "Prompt",
            Self::Resource => "Resource",
        };
        Ident::new(name, Span::call_site())
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "name",
                "title",
                "description",
                "icon",
                "meta",
                "scope",
                "blocking",
                "read_only",
                "destructive",
                "idempotent",
                "open_world",
                "task",
                "detachable",
                "resumable",
            ],
            Self::Prompt => &["name", "title", "description", "icon", "meta"],
            Self::Resource => &["name", "title", "description", "mime", "icon", "meta"],
        }
    }
}

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) uri: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) icon: Option<Expr>,
    pub(crate) blocking: Option<Span>,
    /// Names of builder methods that are called without a value.
    pub(crate) flags: Vec<Ident>,
    /// Names of builder methods, each with the value that it is called with.
    pub(crate) setters: Vec<(Ident, TokenStream)>,
}

impl Options {
    pub(crate) fn parse(kind: Kind, tokens: TokenStream) -> Result<Self> {
        let mut seen: Vec<Ident> = Vec::new();
        let mut options = Self::default();
        let parser = |input: ParseStream<'_>| {
            if kind == Kind::Resource && input.peek(LitStr) {
                options.uri = Some(input.parse()?);
                comma(input)?;
            }
            while !input.is_empty() {
                let key = input.call(Ident::parse_any)?;
                if !kind.options().iter().any(|known| key == known) {
                    let known = kind.options().join("`, `");
                    return fail(
                        key.span(),
                        format!(
                            "`{key}` is not an option of `#[{}]`: the options are `{known}`",
                            kind.name()
                        ),
                    );
                }
                if seen.contains(&key) {
                    return fail(key.span(), format!("`{key}` is given more than once"));
                }
                seen.push(key.clone());
                options.option(key, input)?;
                comma(input)?;
            }
            Ok(())
        };
        parser.parse2(tokens)?;
        if kind == Kind::Resource && options.uri.is_none() {
            return fail(
                Span::call_site(),
                "a resource needs a URI: write `#[resource(\"scheme://..\")]`",
            );
        }
        Ok(options)
    }

    fn option(&mut self, key: Ident, input: ParseStream<'_>) -> Result<()> {
        match key.to_string().as_str() {
            "name" => self.name = Some(value(&key, input)?),
            "description" => self.description = Some(value(&key, input)?),
            "icon" => self.icon = Some(value(&key, input)?),
            "title" | "mime" | "scope" | "meta" => {
                let value: Expr = value(&key, input)?;
                self.setters.push((key, value.into_token_stream()));
            }
            "task" => {
                let mode = mode(&key, input)?;
                self.setters.push((key, mode));
            }
            "detachable" | "resumable" => {
                if flag(input)? {
                    self.flags.push(key);
                }
            }
            "blocking" => {
                if flag(input)? {
                    self.blocking = Some(key.span());
                }
            }
            _ => {
                let hint = flag(input)?;
                self.setters.push((key, hint.into_token_stream()));
            }
        }
        Ok(())
    }
}

/// Returns an error at `span`.
pub(crate) fn fail<T>(span: Span, problem: impl std::fmt::Display) -> Result<T> {
    Err(syn::Error::new(span, problem))
}

fn value<T: Parse>(key: &Ident, input: ParseStream<'_>) -> Result<T> {
    if !input.peek(Token![=]) {
        let problem = format!("`{key}` needs a value: write `{key} = \"..\"`");
        return fail(key.span(), problem);
    }
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Parses `task`, `task = "optional"` or `task = "required"`.
fn mode(key: &Ident, input: ParseStream<'_>) -> Result<TokenStream> {
    if !input.peek(Token![=]) {
        return Ok(quote!(::mcp_server::TaskMode::Optional));
    }
    let word: LitStr = value(key, input)?;
    match word.value().as_str() {
        "optional" => Ok(quote!(::mcp_server::TaskMode::Optional)),
        "required" => Ok(quote!(::mcp_server::TaskMode::Required)),
        _ => fail(
            word.span(),
            "unknown task mode: use `task = \"optional\"` or `task = \"required\"`",
        ),
    }
}

/// Parses `key` or `key = bool`.
fn flag(input: ParseStream<'_>) -> Result<bool> {
    if !input.peek(Token![=]) {
        return Ok(true);
    }
    input.parse::<Token![=]>()?;
    Ok(input.parse::<LitBool>()?.value)
}

fn comma(input: ParseStream<'_>) -> Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// The options in `#[arg(..)]` on a parameter.
#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) complete: Option<Expr>,
    /// Whether the argument is read from text with `FromStr`.
    pub(crate) parse: bool,
}

impl ArgOptions {
    pub(crate) fn parse(&mut self, kind: Kind, attribute: &syn::Attribute) -> Result<()> {
        if matches!(attribute.meta, syn::Meta::Path(_)) {
            return Ok(());
        }
        attribute.parse_args_with(|input: ParseStream<'_>| {
            while !input.is_empty() {
                let key = input.call(Ident::parse_any)?;
                match key.to_string().as_str() {
                    "default" if input.peek(Token![=]) => {
                        self.default = Some(Some(value(&key, input)?));
                    }
                    "default" => self.default = Some(None),
                    "rename" => self.rename = Some(value(&key, input)?),
                    "complete" if kind != Kind::Tool => {
                        self.complete = Some(value(&key, input)?);
                    }
                    "parse" if kind != Kind::Tool => self.parse = true,
                    "parse" => {
                        return fail(
                            key.span(),
                            "arguments of tools are JSON values, not text: remove `parse`",
                        );
                    }
                    "complete" => {
                        return fail(
                            key.span(),
                            "arguments of tools have no completion: remove `complete`",
                        );
                    }
                    _ => {
                        return fail(
                            key.span(),
                            format!(
                                "`{key}` is not an option of `#[arg]`: the options are \
                             `default`, `rename`, `complete`, `parse`"
                            ),
                        );
                    }
                }
                comma(input)?;
            }
            Ok(())
        })
    }
}
