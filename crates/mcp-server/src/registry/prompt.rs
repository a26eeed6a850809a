//! Prompts.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::Session;
use mcp_types::{Icon, Meta, PromptArgument};

use crate::handler::output::ForPrompt;
use crate::handler::{Erased, Handler, erase};
use crate::registry::completion::{Completers, CompletionRequest, Completions};
use crate::registry::icons;
use crate::registry::tool::Visible;
use crate::{RegistrationError, Spec};

/// A prompt: its definition and the handler that creates its messages.
///
/// Arguments are text: the fields of the `Args<T>` type are `String` or `Option<String>`.
pub struct Prompt<S = ()> {
    definition: mcp_types::Prompt,
    bind: Box<dyn FnOnce(S) -> Erased<ForPrompt> + Send>,
    completers: Completers,
    visible: Option<Visible>,
    problem: Option<String>,
}

impl<S: Send + Sync + 'static> Prompt<S> {
    /// Creates a prompt from a function whose parameters are extractors.
    pub fn new<M>(name: impl Into<String>, handler: impl Handler<ForPrompt, S, M>) -> Self {
        let mut spec = Spec::default();
        describe::<S, M, _>(&handler, &mut spec);
        let mut definition = mcp_types::Prompt::new(name);
        let arguments = spec.prompt_arguments();
        definition.arguments = (!arguments.is_empty()).then_some(arguments);
        Self {
            definition,
            bind: Box::new(move |state| erase(handler, state, false)),
            completers: Completers::default(),
            visible: None,
            problem: spec.problem,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Replaces the arguments that were derived from the types of the handler.
    #[must_use]
    pub fn arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
        self.definition.arguments = Some(arguments);
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.definition.meta = Some(meta);
        self
    }

    /// Sets the completer of an argument.
    #[must_use]
    pub fn complete<R: Into<Completions>>(
        mut self,
        argument: impl Into<String>,
        complete: impl Fn(CompletionRequest) -> R + Send + Sync + 'static,
    ) -> Self {
        self.completers.add(argument.into(), complete);
        self
    }

    /// Completes an argument from a fixed list, best matches first.
    #[must_use]
    pub fn complete_from<T: Into<String>>(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.completers.add_list(argument.into(), values);
        self
    }

    /// Makes the prompt visible only in sessions for which `visible` returns `true`.
    #[must_use]
    pub fn visible_if(
        mut self,
        visible: impl Fn(&Session) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible = Some(Arc::new(visible));
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
        if let Err(problem) = icons::check(self.definition.icons.iter().flatten()) {
            return fail(problem);
        }
        let arguments = self.definition.arguments.iter().flatten();
        let known: Vec<&str> = arguments.map(|argument| &*argument.name).collect();
        if let Some(unknown) = self.completers.names().find(|name| !known.contains(name)) {
            return fail(format!(
                "completion for {unknown:?}, which is not an argument of the prompt"
            ));
        }
        Ok(PromptEntry {
            run: (self.bind)(state),
            definition: self.definition,
            completers: self.completers,
            visible: self.visible,
        })
    }
}

fn describe<S, M, H: Handler<ForPrompt, S, M>>(_: &H, spec: &mut Spec) {
    H::describe(spec);
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
    pub(crate) completers: Completers,
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
            Some(unknown) => {
                let unknown: String = unknown.chars().take(64).collect();
                Err(format!("the prompt has no argument {unknown:?}"))
            }
            None => Ok(()),
        }
    }
}
