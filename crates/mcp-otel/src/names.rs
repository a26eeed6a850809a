//! Limits the number of different names in metrics, because peers can invent names. An attribute of a metric then has a limited
//! number of values.

use std::collections::HashSet;
use std::sync::RwLock;

use mcp_protocol::{read_lock, write_lock};

/// The value of an attribute that replaces unknown names.
pub(crate) const OTHER: &str = "_other";

/// Maximum length of a known name in bytes. Longer names are treated as unknown.
const MAX_LENGTH: usize = 256;
/// Maximum number of different error codes in metrics.
const MAX_CODES: usize = 100;

/// The kind of item that a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Method,
    Tool,
    Prompt,
    ErrorCode,
}

/// Names that may occur in metrics.
#[derive(Debug)]
pub(crate) struct Names {
    max: usize,
    known: RwLock<[HashSet<Box<str>>; 4]>,
}

impl Names {
    /// Creates an empty set for at most `max` names of each kind.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            known: RwLock::default(),
        }
    }

    pub(crate) fn is_known(&self, kind: NameKind, name: &str) -> bool {
        let known = read_lock(&self.known);
        known[kind as usize].contains(name)
    }

    /// Adds a name that the peer cannot have invented. Returns `false` if a limit is reached.
    pub(crate) fn learn(&self, kind: NameKind, name: &str) -> bool {
        if self.is_known(kind, name) {
            return true;
        }
        let max = match kind {
            NameKind::ErrorCode => self.max.min(MAX_CODES),
            _ => self.max,
        };
        let mut known = write_lock(&self.known);
        let names = &mut known[kind as usize];
        if names.len() >= max || name.len() > MAX_LENGTH {
            return names.contains(name);
        }
        names.insert(name.into());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_the_length_of_names_are_limited() {
        let names = Names::new(2);
        assert!(!names.is_known(NameKind::Tool, "a"));
        for name in ["a", "b", "a"] {
            assert!(names.learn(NameKind::Tool, name));
        }
        assert!(!names.learn(NameKind::Tool, "c"));
        assert!(names.is_known(NameKind::Tool, "b"));
        assert!(!names.is_known(NameKind::Tool, "c"));
        assert!(names.learn(NameKind::Prompt, "c"));
        assert!(!names.learn(NameKind::Prompt, &"x".repeat(MAX_LENGTH + 1)));
        let codes = Names::new(1_000);
        let learned =
            (0..1_000).filter(|code: &u32| codes.learn(NameKind::ErrorCode, &code.to_string()));
        assert_eq!(learned.count(), MAX_CODES);
    }
}
