//! Errors of skills.

use std::fmt;

/// The kind of a problem with a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillErrorKind {
    /// The name of the skill, or the last segment of its path, does not follow the rules of Agent Skills.
    Name,
    /// `SKILL.md` is missing, or its frontmatter cannot be read or lacks a required field.
    Frontmatter,
    /// The skill has too many files, or its files are too large.
    TooLarge,
    /// A file cannot be read from the disk, or is a symbolic link.
    File,
    /// The entry that the server has sent is malformed: its URIs, digests or sizes.
    Entry,
    /// The content of a file differs from its entry in digest, size or frontmatter.
    Mismatch,
    /// The file is not in the entry of the skill.
    Unlisted,
    /// The skill has no digests, and the client does not accept such skills.
    Dynamic,
}

/// An error of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillError {
    kind: SkillErrorKind,
    /// The URI or path of the skill or file with the error.
    item: String,
    problem: String,
}

impl SkillError {
    pub(crate) fn new(
        kind: SkillErrorKind,
        item: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        let (item, problem) = (item.into(), problem.into());
        Self {
            kind,
            item,
            problem,
        }
    }

    /// Returns the kind of the problem.
    pub fn kind(&self) -> SkillErrorKind {
        self.kind
    }

    /// Returns the URI or path of the skill or file with the error.
    pub fn item(&self) -> &str {
        &self.item
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.problem)
    }
}

impl std::error::Error for SkillError {}
