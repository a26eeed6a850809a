//! Reads the skills of a server, for a client.

mod error;
mod requests;

use std::collections::HashSet;

use data_encoding::BASE64;
use mcp_client::{Client, ResourceContents, Timeouts};
use mcp_jsonrpc::TreeSize;
use mcp_types::JsonObject;
use mcp_types::method::Request;
use serde_json::Value;

use crate::entry::{INSTRUCTIONS, digest};
use crate::{
    EXTENSION, MAX_INSTRUCTIONS, Manifest, SkillEntry, SkillError, SkillErrorKind, frontmatter,
};
pub use error::Error;
use requests::{GetSkill, ListSkills, Uri};

/// Maximum number of pages that a client reads of a list.
const MAX_PAGES: usize = 1_000;

/// Maximum number of skills that a client reads from a server.
const MAX_SKILLS: usize = 10_000;

/// Default of [`RemoteSkills::max_list_bytes`]: 128 MiB.
const MAX_LIST_BYTES: usize = 128 << 20;

/// The skills of one server.
///
/// A skill is a set of instructions that the server has written for a model. Before a model reads a skill, show its name,
/// description and server to the user. Store the user's decision with [`SkillEntry::fingerprint`]. Two servers can have skills
/// with the same URI, so identify a skill by its server and its URI. A file is read only when the program requests it, and is
/// never executed.
#[derive(Debug, Clone)]
pub struct RemoteSkills {
    client: Client,
    accepts_dynamic: bool,
    max_list_bytes: usize,
    timeouts: Option<Timeouts>,
}

/// The skills that a server has listed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillList {
    /// The entries that follow the specification.
    pub skills: Vec<SkillEntry>,
    /// The malformed entries, each with its problem.
    pub rejected: Vec<RejectedSkill>,
}

/// An entry that cannot be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RejectedSkill {
    /// The entry, as the server sent it.
    pub entry: Value,
    /// The problem of the entry.
    pub error: SkillError,
}

impl RemoteSkills {
    /// Creates access to the skills of a server.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the server does not declare the extension.
    pub fn new(client: &Client) -> Result<Self, Error> {
        let declared = client.capabilities().extensions.as_ref();
        match declared.is_some_and(|declared| declared.contains_key(EXTENSION)) {
            true => Ok(Self {
                client: client.clone(),
                accepts_dynamic: false,
                max_list_bytes: MAX_LIST_BYTES,
                timeouts: None,
            }),
            false => Err(Error::Unsupported),
        }
    }

    /// Accepts skills without digests. The server can change their content with each read. Default: such a skill is rejected when
    /// it is opened.
    pub fn accept_dynamic(mut self) -> Self {
        self.accepts_dynamic = true;
        self
    }

    /// Sets the maximum memory for the entries in [`list`](Self::list), in bytes. The memory is estimated. Default: 128 MiB.
    pub fn max_list_bytes(mut self, bytes: usize) -> Self {
        self.max_list_bytes = bytes;
        self
    }

    /// Sets the timeouts of each request. Default: the timeouts of the client.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    async fn request<R: Request + 'static>(&self, params: &R::Params) -> Result<R::Result, Error> {
        let call = self.client.request::<R>(params);
        Ok(match self.timeouts {
            Some(timeouts) => call.timeouts(timeouts).await?,
            None => call.await?,
        })
    }

    /// Lists all skills. Only entries are transferred, no files.
    ///
    /// # Errors
    /// The server rejects the request, or returns more than 10,000 skills, more than 1,000 pages, or entries that need more
    /// [memory](Self::max_list_bytes) than allowed. A malformed entry is not an error; it is in [`SkillList::rejected`].
    pub async fn list(&self) -> Result<SkillList, Error> {
        let mut list = SkillList {
            skills: Vec::new(),
            rejected: Vec::new(),
        };
        let (mut cursor, mut entries, mut bytes) = (None, 0, 0);
        let mut seen = HashSet::new();
        for _ in 0..MAX_PAGES {
            let page = self
                .request::<ListSkills>(&requests::Page { cursor })
                .await?;
            entries += page.skills.len();
            bytes += page
                .skills
                .iter()
                .map(|entry| TreeSize::of(entry.get()).heap_bytes())
                .sum::<usize>();
            if entries > MAX_SKILLS || bytes > self.max_list_bytes {
                return Err(self.too_many());
            }
            for entry in page.skills {
                let entry = serde_json::from_str(entry.get()).unwrap_or_default();
                match read_entry(entry) {
                    Ok(skill) => list.skills.push(skill),
                    Err(rejected) => list.rejected.push(rejected),
                }
            }
            match page.next_cursor {
                // A cursor that is repeated leads to no new page.
                Some(next) if !next.is_empty() && seen.insert(next.clone()) => cursor = Some(next),
                _ => return Ok(list),
            }
        }
        Err(self.too_many())
    }

    fn too_many(&self) -> Error {
        Error::TooMany {
            limit: MAX_SKILLS,
            max_bytes: self.max_list_bytes,
        }
    }

    /// Returns the entry of one skill. The skill need not be in the list of the server.
    ///
    /// # Errors
    /// The server does not have the skill, or its entry is malformed.
    pub async fn get(&self, uri: impl Into<String>) -> Result<SkillEntry, Error> {
        let uri = Uri { uri: uri.into() };
        let found = self.request::<GetSkill>(&uri).await?;
        let entry = read_entry(found.skill).map_err(|rejected| rejected.error)?;
        match entry.uri == uri.uri {
            true => Ok(entry),
            false => {
                let problem = format!("the server answered with another skill: {}", entry.uri);
                Err(SkillError::new(SkillErrorKind::Entry, uri.uri, problem).into())
            }
        }
    }

    /// Reads the `SKILL.md` of an entry and verifies it.
    ///
    /// # Errors
    /// The content differs from the entry in size, digest or frontmatter, the content is longer than 1 MiB, or the skill is
    /// dynamic and the client does not accept dynamic skills.
    pub async fn open(&self, entry: SkillEntry) -> Result<RemoteSkill, Error> {
        self.accept(&entry)?;
        if entry
            .file(&entry.uri)
            .is_some_and(|file| file.size > MAX_INSTRUCTIONS)
        {
            let problem = format!("its {INSTRUCTIONS} is longer than {MAX_INSTRUCTIONS} bytes");
            return Err(SkillError::new(SkillErrorKind::TooLarge, &entry.uri, problem).into());
        }
        let content = self.read(&entry, &entry.uri).await?;
        let refuse = |kind, problem: String| SkillError::new(kind, &entry.uri, problem);
        if content.len() as u64 > MAX_INSTRUCTIONS {
            let problem = format!("its {INSTRUCTIONS} is longer than {MAX_INSTRUCTIONS} bytes");
            return Err(refuse(SkillErrorKind::TooLarge, problem).into());
        }
        let text = String::from_utf8(content).map_err(|_| {
            refuse(
                SkillErrorKind::Frontmatter,
                format!("its {INSTRUCTIONS} is not UTF-8"),
            )
        })?;
        let (found, body) = frontmatter::split(&text)
            .map_err(|problem| refuse(SkillErrorKind::Frontmatter, problem))?;
        if let Some(field) = difference(&found, &entry.frontmatter) {
            let problem = format!("the field {field:?} of its frontmatter differs from the entry");
            return Err(refuse(SkillErrorKind::Mismatch, problem).into());
        }
        let instructions = body.to_owned();
        let skills = self.clone();
        Ok(RemoteSkill {
            skills,
            entry,
            instructions,
        })
    }

    /// Reads a file of a skill and verifies it. `path` is relative to the folder of the `SKILL.md`, in the spelling of the URI.
    ///
    /// # Errors
    /// The entry of the skill does not contain the file, the size or digest of the file differs from the entry, or the skill is
    /// dynamic and the client does not accept dynamic skills.
    pub async fn read_file(&self, entry: &SkillEntry, path: &str) -> Result<Vec<u8>, Error> {
        self.accept(entry)?;
        let uri = entry.file_uri(path)?;
        self.read(entry, &uri).await
    }

    /// Checks an entry, and checks that its content can be verified.
    fn accept(&self, entry: &SkillEntry) -> Result<(), SkillError> {
        entry.check()?;
        if entry.resources == Manifest::Dynamic && !self.accepts_dynamic {
            let problem = "the server generates its files, so they cannot be verified; see RemoteSkills::accept_dynamic";
            return Err(SkillError::new(
                SkillErrorKind::Dynamic,
                &entry.uri,
                problem,
            ));
        }
        Ok(())
    }

    /// Reads and verifies a file of a skill, from the server of the skill.
    async fn read(&self, entry: &SkillEntry, uri: &str) -> Result<Vec<u8>, Error> {
        let listed = entry.file(uri);
        if listed.is_none() && entry.resources != Manifest::Dynamic {
            let problem = format!("the file {uri} is not in the entry of the skill");
            return Err(SkillError::new(SkillErrorKind::Unlisted, &entry.uri, problem).into());
        }
        let call = self.client.read_resource(uri).fresh();
        let result = match self.timeouts {
            Some(timeouts) => call.timeouts(timeouts).await?,
            None => call.await?,
        };
        let mismatch =
            |problem: String| Error::from(SkillError::new(SkillErrorKind::Mismatch, uri, problem));
        let contents = result.contents.into_iter().find(|contents| match contents {
            ResourceContents::Text(text) => text.uri == uri,
            ResourceContents::Blob(blob) => blob.uri == uri,
            _ => false,
        });
        let content = match contents {
            Some(ResourceContents::Text(text)) => text.text.into_bytes(),
            Some(ResourceContents::Blob(blob)) => {
                BASE64.decode(blob.blob.as_bytes()).map_err(|error| {
                    mismatch(format!("the base64 of the content is not valid: {error}"))
                })?
            }
            _ => {
                return Err(mismatch(
                    "the server sent no content for this URI".to_owned(),
                ));
            }
        };
        let Some(listed) = listed else {
            return Ok(content);
        };
        if content.len() as u64 != listed.size {
            return Err(mismatch(format!(
                "the content has {} bytes, but the entry says {}",
                content.len(),
                listed.size
            )));
        }
        match digest(&content) == listed.digest {
            true => Ok(content),
            false => Err(mismatch(
                "the digest of the content differs from the entry; get the entry again".to_owned(),
            )),
        }
    }
}

/// A skill whose instructions have been read and verified.
#[derive(Debug, Clone)]
pub struct RemoteSkill {
    skills: RemoteSkills,
    entry: SkillEntry,
    instructions: String,
}

impl RemoteSkill {
    /// Returns the entry.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// Returns the text of the `SKILL.md` after the frontmatter. The text is from the server. Mark it as untrusted text for the
    /// model.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Reads a file of the skill and verifies it, in the same way as [`RemoteSkills::read_file`].
    ///
    /// # Errors
    /// The errors of [`RemoteSkills::read_file`].
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.skills.read_file(&self.entry, path).await
    }
}

fn read_entry(entry: Value) -> Result<SkillEntry, RejectedSkill> {
    let uri = entry["uri"].as_str().unwrap_or("without URI").to_owned();
    let decoded = serde_json::from_value::<SkillEntry>(entry.clone())
        .map_err(|error| SkillError::new(SkillErrorKind::Entry, uri, error.to_string()));
    let checked = decoded.and_then(|skill| skill.check().map(|()| skill));
    checked.map_err(|error| RejectedSkill { entry, error })
}

/// Returns the name of the first field that differs between the two objects; `None` if they are equal. An absent field is equal
/// to `null`. Numbers are compared by value, because another implementation can spell them differently. Reads each value once,
/// because a server can send deeply nested values.
fn difference<'a>(found: &'a JsonObject, entry: &'a JsonObject) -> Option<&'a str> {
    let differs =
        |name: &str, value: &Value| !is_same(value, entry.get(name).unwrap_or(&Value::Null));
    let mut of_found = found.iter().filter(|(name, value)| differs(name, value));
    let mut of_entry = entry
        .iter()
        .filter(|(name, value)| !value.is_null() && !found.contains_key(*name));
    let (name, _) = of_found.next().or_else(|| of_entry.next())?;
    Some(name)
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64() == b.as_f64() && a.as_f64().is_some()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => difference(a, b).is_none(),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> JsonObject {
        match value {
            Value::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn fields_are_compared_by_value_and_null_is_absent() {
        let found = object(json!({ "a": 1, "b": [1.0, { "c": null }], "d": null }));
        let same = object(json!({ "b": [1, {}], "a": 1.0, "e": null }));
        assert_eq!(difference(&found, &same), None);
        for (other, field) in [
            (json!({ "a": 2, "b": [1, {}] }), "a"),
            (json!({ "a": 1, "b": [1, { "c": 1 }] }), "b"),
            (json!({ "a": 1, "b": [1, {}], "f": 0 }), "f"),
            (json!({ "b": [1, {}] }), "a"),
        ] {
            assert_eq!(difference(&found, &object(other)), Some(field));
        }
    }

    /// Previously, the time for a comparison doubled with each level.
    #[test]
    fn deep_fields_are_compared_in_one_pass() {
        let mut value = json!(1);
        for _ in 0..60 {
            value = json!({ "a": value });
        }
        let deep = object(value);
        assert_eq!(difference(&deep, &deep.clone()), None);
    }
}
