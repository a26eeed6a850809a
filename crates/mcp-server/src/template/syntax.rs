//! The parsed form of a template.

use std::fmt;

/// A part of a template.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Literal text.
    Literal(String),
    /// An expression in braces.
    Expression {
        operator: Operator,
        variables: Vec<Variable>,
    },
}

/// The operator after the opening brace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    Explode,
    Prefix(usize),
}

/// Returns whether the text starts with `%` and two hexadecimal digits.
pub(super) fn is_triplet(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 2
        && bytes[0] == b'%'
        && bytes[1].is_ascii_hexdigit()
        && bytes[2].is_ascii_hexdigit()
}

/// The error of an invalid template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    at: usize,
    problem: String,
}

impl TemplateError {
    pub(super) fn new(at: usize, problem: impl Into<String>) -> Self {
        Self {
            at,
            problem: problem.into(),
        }
    }

    /// Returns the position in the template, in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid URI template at byte {}: {}",
            self.at, self.problem
        )
    }
}

impl std::error::Error for TemplateError {}
