//! Prompts.

use std::fmt;

use mcp_jsonrpc::quote;
use mcp_protocol::middleware::SharedMiddleware;
use mcp_types::{PromptArgument, method};

use crate::handler::layered::layered;
use crate::handler::output::ForPrompt;
use crate::handler::text::Spelling;
use crate::handler::{Erased, Handler, erase_text};
use crate::registry::completion::{BoundCompleters, Completers};
use crate::registry::definition::{
    Visible, check_icons, completion_setters, describe, shared_setters,
};
use crate::{RegistrationError, Spec};

/// A prompt: its definition and the handler that creates its messages.
///
/// Arguments are text. If the schema of a field of `T` in `Args<T>` is a number or a boolean, the text is converted.
pub struct Prompt<S = ()> {
    definition: mcp_types::Prompt,
    bind: Box<dyn FnOnce(S) -> Erased<ForPrompt> + Send>,
    completers: Completers<S>,
    visible: Option<Visible>,
    layers: Vec<SharedMiddleware>,
    problem: Option<String>,
}

impl<S: Clone + Send + Sync + 'static> Prompt<S> {
    /// Creates a prompt from a function whose parameters are extractors.
    pub fn new<M>(name: impl Into<String>, handler: impl Handler<ForPrompt, S, M>) -> Self {
        let mut spec = Spec::default();
        describe::<ForPrompt, S, M, _>(&handler, &mut spec);
        let mut definition = mcp_types::Prompt::new(name);
        let arguments = spec.prompt_arguments();
        definition.arguments = (!arguments.is_empty()).then_some(arguments);
        Self {
            definition,
            bind: Box::new(move |state| erase_text(handler, Spelling::Any, state)),
            completers: Completers::default(),
            visible: None,
            layers: Vec::new(),
            problem: spec.problem,
        }
    }

    shared_setters!();
    completion_setters!();

    /// Replaces the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Binds the handler to `state`, so that the prompt can be added to a server with another state type.
    #[must_use]
    pub fn with_state<T>(self, state: S) -> Prompt<T> {
        let bind = self.bind;
        Prompt {
            completers: self.completers.with_state(&state),
            bind: Box::new(move |_| bind(state)),
            definition: self.definition,
            visible: self.visible,
            layers: self.layers,
            problem: self.problem,
        }
    }

    /// Replaces the arguments that were derived from the types of the handler.
    #[must_use]
    pub fn arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
        self.definition.arguments = Some(arguments);
        self
    }

    /// Returns the definition for the latest revision.
    pub fn definition(&self) -> &mcp_types::Prompt {
        &self.definition
    }

    pub(crate) fn register(self, state: S) -> Result<PromptEntry, RegistrationError> {
        let name = &self.definition.name;
        let fail = |what: String| Err(RegistrationError::new(format!("prompt {name:?}: {what}")));
        if name.is_empty() {
            return fail("a prompt needs a name".to_owned());
        }
        if let Some(problem) = self.problem {
            return fail(problem);
        }
        if let Err(problem) = check_icons(self.definition.icons.iter().flatten()) {
            return fail(problem);
        }
        let arguments = self.definition.arguments.iter().flatten();
        let known: Vec<&str> = arguments.map(|argument| &*argument.name).collect();
        if let Some(unknown) = self.completers.names().find(|name| !known.contains(name)) {
            return fail(format!(
                "completion for {unknown:?}, which is not an argument of the prompt"
            ));
        }
        let name = name.clone();
        Ok(PromptEntry {
            completers: self.completers.bind(&state),
            run: layered::<ForPrompt>(
                self.layers,
                (self.bind)(state),
                method::PROMPTS_GET,
                move |_| ("name", name.clone()),
            ),
            definition: self.definition,
            visible: self.visible,
        })
    }
}

impl<S> fmt::Debug for Prompt<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) definition: mcp_types::Prompt,
    pub(crate) run: Erased<ForPrompt>,
    pub(crate) completers: BoundCompleters,
    pub(crate) visible: Option<Visible>,
}

impl PromptEntry {
    /// Checks that required arguments are present and no argument is unknown.
    pub(crate) fn check(&self, arguments: &str) -> Result<(), String> {
        let given: std::collections::BTreeMap<String, String> =
            mcp_jsonrpc::decode(arguments).map_err(|error| error.to_string())?;
        let known = self.definition.arguments.as_deref().unwrap_or_default();
        for argument in known {
            if argument.required == Some(true) && !given.contains_key(&argument.name) {
                return Err(format!("argument {:?} is required", argument.name));
            }
        }
        match given
            .keys()
            .find(|name| !known.iter().any(|a| a.name == **name))
        {
            Some(unknown) => Err(format!("the prompt has no argument {}", quote(unknown, 64))),
            None => Ok(()),
        }
    }
}
