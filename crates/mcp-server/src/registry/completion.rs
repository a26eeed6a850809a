//! Completion of prompt arguments and template variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_jsonrpc::decode;
use mcp_protocol::{Outcome, Payload, Rules, downgrade};
use mcp_types::{CompleteResult, Completion};
use serde::Deserialize;

use crate::handler::output::{Finish, IntoOutput, Kind, Plain, seal};
use crate::handler::{Erased, Handler, erase};
use crate::{Call, Extraction, FromCall, HandlerError};

/// Maximum number of values in a response, by the specification.
const MAX_VALUES: usize = 100;

/// A request for suggestions for one argument of a prompt or one variable of a URI template. This type is an extractor for
/// completers, see [`Prompt::complete`](crate::Prompt::complete).
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The text that the user has typed so far.
    pub value: String,
    /// The other arguments that already have a value.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

impl<S> FromCall<S> for CompletionRequest {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        match decode(call.arguments) {
            Ok(request) => Extraction::Ready(request),
            Err(error) => Extraction::End(HandlerError::from_decode(&error)),
        }
    }
}

/// A marker type for handlers that complete arguments.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForCompletion;

seal!(ForCompletion, FinishCompletion);

impl Kind for ForCompletion {
    type Output = Completions;
    type Finish = FinishCompletion;
}

/// The last step of a completion.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishCompletion {
    pub(crate) rules: &'static Rules,
}

impl Finish<Completions> for FinishCompletion {
    fn finish(self, output: Result<Completions, HandlerError>) -> Outcome {
        let own =
            |error: HandlerError| downgrade::handler_error(error.into_logged_error(), self.rules);
        let completions = output.map_err(own)?;
        Ok(Payload::of(CompleteResult::new(completions.into())))
    }
}

impl<T: Into<Completions>> IntoOutput<ForCompletion, Plain> for T {
    fn into_output(self) -> Result<Completions, HandlerError> {
        Ok(self.into())
    }
}

/// Suggestions of a completer, best first. The client receives the first 100 suggestions and the total number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Completions {
    /// The suggestions.
    pub values: Vec<String>,
    /// The total number of suggestions, if it is greater than the length of `values`. Default: `None`, which means
    /// the length of `values`.
    pub total: Option<u64>,
}

impl From<Vec<String>> for Completions {
    fn from(values: Vec<String>) -> Self {
        Self {
            values,
            total: None,
        }
    }
}

impl From<Completions> for Completion {
    fn from(completions: Completions) -> Self {
        let found = completions.values.len();
        let total = completions.total.unwrap_or(found as u64).max(found as u64);
        let mut values = completions.values;
        values.truncate(MAX_VALUES);
        let more = total > values.len() as u64;
        let mut completion = Self::new(values);
        completion.total = Some(total);
        completion.has_more = Some(more);
        completion
    }
}

/// A function that binds the state of the server to a completer.
type Bind<S> = Box<dyn FnOnce(S) -> Erased<ForCompletion> + Send>;

/// The completers of a prompt or template, by argument.
pub(crate) struct Completers<S>(BTreeMap<String, Bind<S>>);

/// Completers that have the state of the server.
pub(crate) type BoundCompleters = BTreeMap<String, Erased<ForCompletion>>;

impl<S> Default for Completers<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Send + Sync + 'static> Completers<S> {
    pub(crate) fn add<M>(&mut self, argument: String, complete: impl Handler<ForCompletion, S, M>) {
        let bind = move |state| erase(complete, state, false);
        self.0.insert(argument, Box::new(bind));
    }

    pub(crate) fn add_list<T: Into<String>>(
        &mut self,
        argument: String,
        values: impl IntoIterator<Item = T>,
    ) {
        let values: Arc<[String]> = values.into_iter().map(Into::into).collect();
        self.add(argument, move |request: CompletionRequest| {
            rank(&values, &request.value)
        });
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Gives the completers the state of the server.
    pub(crate) fn bind(self, state: &S) -> BoundCompleters
    where
        S: Clone,
    {
        let bound = self.0.into_iter();
        bound
            .map(|(name, bind)| (name, bind(state.clone())))
            .collect()
    }

    /// Binds the completers to `state`. A server with another state type can then use the completers.
    pub(crate) fn with_state<T>(self, state: &S) -> Completers<T>
    where
        S: Clone,
    {
        let bound = self.0.into_iter().map(|(name, bind)| {
            let state = state.clone();
            let bind: Bind<T> = Box::new(move |_| bind(state));
            (name, bind)
        });
        Completers(bound.collect())
    }
}

/// Returns the values that match the text `typed`, without regard to case: first the values that start with the text, then the
/// values that contain the text.
fn rank(values: &[String], typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut found: Vec<(bool, &String)> = values
        .iter()
        .filter_map(|value| {
            let lower = value.to_lowercase();
            lower
                .contains(&typed)
                .then(|| (!lower.starts_with(&typed), value))
        })
        .collect();
    found.sort_by_key(|(late, _)| *late);
    found.into_iter().map(|(_, value)| value.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: COMP-012, M-COMP-007
    #[test]
    fn values_that_start_with_the_text_come_before_other_matches() {
        let values = ["plain python", "Python", "rust"].map(str::to_owned);
        assert_eq!(rank(&values, "py"), ["Python", "plain python"]);
        assert_eq!(rank(&values, "").len(), 3);
        assert!(rank(&values, "zig").is_empty());
    }

    // proves: COMP-005, COMP-006, COMP-007, M-COMP-004
    #[test]
    fn at_most_a_hundred_suggestions_are_sent() {
        let many: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let completion = Completion::from(Completions::from(many));
        assert_eq!(completion.values.len(), 100);
        assert_eq!(completion.total, Some(500));
        assert_eq!(completion.has_more, Some(true));
        let few = Completion::from(Completions::from(vec!["a".to_owned()]));
        assert_eq!(few.has_more, Some(false));
    }
}
