//! The entry of a skill: its URI, frontmatter, and files with digests.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use mcp_types::JsonObject;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{MAX_BYTES, MAX_FILES, SkillError, SkillErrorKind};

/// Maximum size of the URI of a skill, in bytes.
const MAX_URI_BYTES: usize = 2 << 10;
/// Maximum number of characters of a description, as in Agent Skills.
const MAX_DESCRIPTION: usize = 1_024;
/// Maximum number of paths that an error message contains.
const MAX_SHOWN_PATHS: usize = 5;

/// The name of the file with the instructions.
pub(crate) const INSTRUCTIONS: &str = "SKILL.md";

/// A skill as a server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillEntry {
    /// The URI of the `SKILL.md`.
    pub uri: String,
    /// The frontmatter of the `SKILL.md`, as JSON.
    pub frontmatter: JsonObject,
    /// The files of the skill.
    pub resources: Manifest,
}

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manifest {
    /// The skill has these files. The list includes the `SKILL.md`.
    Files(Vec<FileEntry>),
    /// The server generates the files of the skill, so they have no digests. In JSON: `"dynamic"`.
    Dynamic,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileEntry {
    /// The URI of the file.
    pub uri: String,
    /// The SHA-256 hash of the content, as `sha256:` and 64 lowercase hexadecimal digits.
    pub digest: String,
    /// The length of the content, in bytes.
    pub size: u64,
}

const DYNAMIC: &str = "dynamic";

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(serializer),
            Self::Dynamic => DYNAMIC.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == DYNAMIC => Ok(Self::Dynamic),
            list @ Value::Array(_) => {
                let files = serde_json::from_value(list).map_err(D::Error::custom)?;
                Ok(Self::Files(files))
            }
            _ => Err(D::Error::custom("expected a list of files or \"dynamic\"")),
        }
    }
}

impl FileEntry {
    /// Creates the entry of a file with this content.
    pub fn of(uri: impl Into<String>, content: &[u8]) -> Self {
        Self {
            uri: uri.into(),
            digest: digest(content),
            size: content.len() as u64,
        }
    }
}

/// Returns the digest of `content`, in the format of [`FileEntry::digest`].
pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(content)))
}

impl SkillEntry {
    /// Returns the name of the skill.
    pub fn name(&self) -> &str {
        let name = self.frontmatter.get("name").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// Returns the description of the skill.
    pub fn description(&self) -> &str {
        let description = self.frontmatter.get("description");
        description.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a digest of the URI, the frontmatter and the list of files. A host stores this digest with the user's approval,
    /// and asks the user again if the digest differs. Returns `None` for a dynamic skill, because an approval cannot be bound to
    /// its content.
    pub fn fingerprint(&self) -> Option<String> {
        let Manifest::Files(files) = &self.resources else {
            return None;
        };
        let mut files: Vec<&FileEntry> = files.iter().collect();
        files.sort_by(|a, b| a.uri.cmp(&b.uri));
        let content = serde_json::json!([self.uri, self.frontmatter, files]);
        Some(digest(content.to_string().as_bytes()))
    }

    /// Returns the URI of the folder of the skill, without a slash at its end.
    pub(crate) fn folder(&self) -> &str {
        let folder = self.uri.strip_suffix(INSTRUCTIONS).unwrap_or(&self.uri);
        folder.trim_end_matches('/')
    }

    /// Returns the entry of a file.
    pub(crate) fn file(&self, uri: &str) -> Option<&FileEntry> {
        match &self.resources {
            Manifest::Files(files) => files.iter().find(|file| file.uri == uri),
            Manifest::Dynamic => None,
        }
    }

    /// Returns the paths of the files, relative to the folder of the `SKILL.md`. The paths are spelled as in the URIs of the
    /// files, for example with percent-encoded characters. A dynamic skill has no paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let files = match &self.resources {
            Manifest::Files(files) => &files[..],
            Manifest::Dynamic => &[],
        };
        let folder = self.folder();
        let paths = files.iter().map(move |file| file.uri.strip_prefix(folder));
        paths.filter_map(|path| path?.strip_prefix('/'))
    }

    /// Returns the URI of a file. `path` has the form of [`paths`](Self::paths).
    ///
    /// # Errors
    /// The skill has no file with this path. For a dynamic skill, every plain path is accepted.
    pub fn file_uri(&self, path: &str) -> Result<String, SkillError> {
        let is_file = match &self.resources {
            Manifest::Files(_) => self.paths().any(|known| known == path),
            Manifest::Dynamic => is_plain_path(path),
        };
        if is_file {
            return Ok(format!("{}/{path}", self.folder()));
        }
        let path: String = path.chars().take(80).collect();
        let known: Vec<&str> = self.paths().take(MAX_SHOWN_PATHS).collect();
        let problem = match known.is_empty() {
            true => format!("{path:?} is not a path inside the skill"),
            false => format!(
                "the file {path:?} is not in the entry of the skill; use one of its paths, such as {}",
                known.join(", ")
            ),
        };
        Err(SkillError::new(
            SkillErrorKind::Unlisted,
            &self.uri,
            problem,
        ))
    }

    /// Checks that an entry follows the rules of the specification.
    ///
    /// # Errors
    /// The first problem that was found.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), SkillError> {
        self.check_uri()?;
        let refuse = |kind, problem: String| Err(SkillError::new(kind, &self.uri, problem));
        let (name, path) = (self.name(), self.folder());
        check_name(name)
            .map_err(|problem| SkillError::new(SkillErrorKind::Name, &self.uri, problem))?;
        if !self.uri.ends_with("/SKILL.md") || path.rsplit('/').next() != Some(name) {
            let problem =
                format!("the URI does not end with {name}/SKILL.md, as the name {name:?} requires");
            return refuse(SkillErrorKind::Name, problem);
        }
        let length = self.description().chars().count();
        if self.description().trim().is_empty() || length > MAX_DESCRIPTION {
            let problem =
                format!("the description has {length} characters; write 1 to {MAX_DESCRIPTION}");
            return refuse(SkillErrorKind::Frontmatter, problem);
        }
        self.check_files()
    }

    /// Checks the URI of a skill. No part of it may look like the URI of another skill.
    fn check_uri(&self) -> Result<(), SkillError> {
        let start: String = self.uri.chars().take(80).collect();
        let refuse = |problem: String| Err(SkillError::new(SkillErrorKind::Entry, start, problem));
        if self.uri.len() > MAX_URI_BYTES {
            return refuse(format!("its URI has more than {MAX_URI_BYTES} bytes"));
        }
        let path = self.uri.split_once("://").map(|(_, path)| path);
        let is_unclear = |c: char| c.is_whitespace() || c.is_control();
        if self.uri.contains(is_unclear) || !path.is_some_and(is_plain_path) {
            return refuse(
                "its URI must have `://`, no spaces, `?`, `#`, backslashes or `%2f`, and no segment that is empty, `.` or `..`"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn check_files(&self) -> Result<(), SkillError> {
        let refuse = |kind, problem: String| Err(SkillError::new(kind, &self.uri, problem));
        let Manifest::Files(files) = &self.resources else {
            return Ok(());
        };
        check_size(files.iter().map(|file| file.size))
            .map_err(|problem| SkillError::new(SkillErrorKind::TooLarge, &self.uri, problem))?;
        let mut uris = BTreeSet::new();
        for file in files {
            let inside = file
                .uri
                .strip_prefix(self.folder())
                .and_then(|rest| rest.strip_prefix('/'));
            if !inside.is_some_and(is_plain_path) {
                return refuse(
                    SkillErrorKind::Entry,
                    format!("the file {} is outside the skill folder", file.uri),
                );
            }
            if !uris.insert(&file.uri) {
                return refuse(
                    SkillErrorKind::Entry,
                    format!("the file {} is listed twice", file.uri),
                );
            }
            let hex = file.digest.strip_prefix("sha256:").unwrap_or_default();
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if hex.len() != 64 || !hex.chars().all(is_hex) {
                let problem = format!(
                    "the digest of {} is not `sha256:` and 64 lowercase hexadecimal digits",
                    file.uri
                );
                return refuse(SkillErrorKind::Entry, problem);
            }
        }
        if !uris.contains(&self.uri) {
            return refuse(
                SkillErrorKind::Entry,
                "the list of files lacks the SKILL.md".to_owned(),
            );
        }
        Ok(())
    }
}

/// Returns whether each segment of a path in a URI is a plain name. A plain name is not empty, not `.` or `..`, and has no
/// delimiters.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        !matches!(&*segment, "" | "." | "..")
            && !segment.contains("%2f")
            && !segment.contains(['?', '#', '\\'])
    };
    path.split('/').all(is_plain)
}

/// Checks the name of a skill. It must have 1 to 64 lowercase letters, digits and hyphens. A hyphen must not be at the beginning,
/// at the end or next to another hyphen.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_sound = (1..=64).contains(&name.len())
        && name.chars().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    match is_sound {
        true => Ok(()),
        false => Err(format!(
            "the name {:?} is invalid: use 1 to 64 lowercase letters, digits and hyphens; no hyphen at the start or end, and no two in a row",
            name.chars().take(80).collect::<String>()
        )),
    }
}

/// Checks the number and the total size of the files.
pub(crate) fn check_size(sizes: impl Iterator<Item = u64>) -> Result<(), String> {
    let (mut files, mut bytes) = (0, 0_u64);
    for size in sizes {
        files += 1;
        bytes = bytes.saturating_add(size);
    }
    if files > MAX_FILES {
        return Err(format!(
            "the skill has {files} files; the limit is {MAX_FILES}"
        ));
    }
    match bytes > MAX_BYTES {
        true => Err(format!(
            "the files have {bytes} bytes in total; the limit is {MAX_BYTES}"
        )),
        false => Ok(()),
    }
}
