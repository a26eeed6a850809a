//! Completion of prompt arguments and template variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_types::Completion;

use crate::Ctx;

/// Maximum number of values in a response, by the specification.
const MAX_VALUES: usize = 100;

/// A request for the completion of an argument.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The current text of the argument.
    pub value: String,
    /// The arguments that were resolved before.
    pub arguments: BTreeMap<String, String>,
    /// The request.
    pub ctx: Ctx,
}

impl CompletionRequest {
    pub(crate) fn new(value: String, arguments: BTreeMap<String, String>, ctx: Ctx) -> Self {
        Self {
            value,
            arguments,
            ctx,
        }
    }
}

/// Suggestions, best first. At most 100 are sent, with the total number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Completions {
    /// The suggestions.
    pub values: Vec<String>,
    /// The total number of suggestions, if it is known and greater.
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

type Completer = Arc<dyn Fn(CompletionRequest) -> Completions + Send + Sync>;

/// The completers of a prompt or template, by argument.
#[derive(Default, Clone)]
pub(crate) struct Completers(BTreeMap<String, Completer>);

impl Completers {
    pub(crate) fn add<R: Into<Completions>>(
        &mut self,
        argument: String,
        complete: impl Fn(CompletionRequest) -> R + Send + Sync + 'static,
    ) {
        let complete = move |completing| complete(completing).into();
        self.0.insert(argument, Arc::new(complete));
    }

    pub(crate) fn add_list<T: Into<String>>(
        &mut self,
        argument: String,
        values: impl IntoIterator<Item = T>,
    ) {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        self.add(argument, move |completing| rank(&values, &completing.value));
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Completes an argument; without a completer there are no suggestions.
    pub(crate) fn run(&self, argument: &str, completing: CompletionRequest) -> Completions {
        self.0
            .get(argument)
            .map(|complete| complete(completing))
            .unwrap_or_default()
    }
}

/// Returns the case-insensitive matches: first the values that start with the text, then those that
/// contain it.
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
    fn prefixes_come_before_other_matches() {
        let values = ["plain python", "Python", "rust"].map(str::to_owned);
        assert_eq!(rank(&values, "py"), ["Python", "plain python"]);
        assert_eq!(rank(&values, "").len(), 3);
        assert!(rank(&values, "zig").is_empty());
    }

    // proves: COMP-005, COMP-006, COMP-007, M-COMP-004
    #[test]
    fn at_most_a_hundred_values_are_sent() {
        let many: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let completion = Completion::from(Completions::from(many));
        assert_eq!(completion.values.len(), 100);
        assert_eq!(completion.total, Some(500));
        assert_eq!(completion.has_more, Some(true));
        let few = Completion::from(Completions::from(vec!["a".to_owned()]));
        assert_eq!(few.has_more, Some(false));
    }
}
