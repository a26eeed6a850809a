//! Reads skills of a supervised server.

use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;
use mcp_skills::{Error, Manifest, RemoteSkills, SkillEntry};
use url::Url;

use super::SupervisedClient;
use crate::error::HostError;
use crate::supervise::{Item, ItemList};

impl SupervisedClient {
    /// Returns the currently known skills, without waiting. A server without the
    /// [extension](https://modelcontextprotocol.io/seps/2640-skills-extension) has no skills.
    pub fn skills(&self) -> ItemList<SkillEntry> {
        self.0.published.lists.skills.borrow().clone()
    }

    /// Reads the instructions of a listed skill, and verifies them with the digest in the list. Waits for the server in the same
    /// way as [`client`](Self::client). If the connection ends, the request is repeated once on a new connection.
    ///
    /// The instructions are text from the server. Mark them as untrusted text for the model.
    ///
    /// # Errors
    /// The errors of [`client`](Self::client). [`HostError::UnknownSkill`] if no listed skill has this URI, [`HostError::Denied`]
    /// if a rule of the policy or the user denies the request, [`HostError::Skill`] if the content differs from the list or
    /// cannot be verified, and [`HostError::Call`] for all other failures.
    pub async fn read_skill(&self, uri: &str) -> Result<String, HostError> {
        let opened = self.fetch_of_skill(uri, None, |skills, entry| async move {
            let skill = skills?.open(SkillEntry::clone(&entry)).await?;
            Ok(skill.instructions().to_owned())
        });
        opened.await
    }

    /// Reads a file of a listed skill, in the same way as [`read_skill`](Self::read_skill). `path` is one of
    /// [`SkillEntry::paths`]. An approval of the skill is valid for all its files.
    ///
    /// # Errors
    /// The errors of [`read_skill`](Self::read_skill), and [`HostError::Skill`] if the skill has no file with this path.
    pub async fn read_skill_file(&self, uri: &str, path: &str) -> Result<Vec<u8>, HostError> {
        let read = self.fetch_of_skill(uri, Some(path), |skills, entry| {
            let path = path.to_owned();
            async move { skills?.read_file(&entry, &path).await }
        });
        read.await
    }

    async fn fetch_of_skill<T, F>(
        &self,
        uri: &str,
        path: Option<&str>,
        read: impl Fn(Result<RemoteSkills, Error>, Arc<SkillEntry>) -> F,
    ) -> Result<T, HostError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        // The content is compared with the list that the server has now.
        self.wait_for_lists().await?;
        let list = self.skills();
        let server = || self.name().to_owned();
        let Some(entry) = list.items.iter().find(|entry| entry.uri == uri) else {
            return Err(HostError::UnknownSkill {
                server: server(),
                uri: uri.to_owned(),
                is_listed: !list.is_stale,
            });
        };
        // Checks the path before a person is asked.
        let is_file = path.map_or(Ok(()), |path| entry.file_uri(path).map(drop));
        is_file.map_err(|error| HostError::Skill {
            server: server(),
            uri: uri.to_owned(),
            source: Box::new(error.into()),
        })?;
        let item = Item::Skill { entry, path };
        let fetched = self.fetch(&item, |client, timeouts| {
            let skills = RemoteSkills::new(&client);
            let skills = skills.map(|skills| match timeouts {
                Some(timeouts) => skills.timeouts(timeouts),
                None => skills,
            });
            read(skills, Arc::clone(entry))
        });
        fetched.await
    }
}

/// Returns whether a URI has the scheme `skill`, which the files of skills usually have.
pub(crate) fn has_skill_scheme(uri: &str) -> bool {
    spelled_alike(uri.trim_start()).starts_with("skill:")
}

/// Returns whether a URI is the URI of a skill's file. A dynamic skill does not list its files, so every URI in its folder
/// counts.
pub(crate) fn is_of_skill(skill: &SkillEntry, uri: &str) -> bool {
    let (entry, uri) = (spelled_alike(&skill.uri), spelled_alike(uri));
    let folder = entry.strip_suffix("skill.md").unwrap_or(&entry);
    let path = uri.strip_prefix(folder);
    let is_dynamic = matches!(skill.resources, Manifest::Dynamic);
    path.is_some_and(|path| is_dynamic || skill.paths().any(|known| spelled_alike(known) == path))
}

/// Returns a URI, or a part of it, in the form that it shares with its other spellings: without escapes, dots and upper case.
fn spelled_alike(uri: &str) -> String {
    let parsed = Url::parse(uri);
    let uri = parsed.as_ref().map_or(uri, Url::as_str);
    let mut plain = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let [byte, next @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => HEXLOWER_PERMISSIVE.decode(&[*high, *low]).ok(),
            _ => None,
        };
        match escaped {
            Some(bytes) => {
                plain.extend(bytes);
                rest = &rest[3..];
            }
            None => {
                plain.push(*byte);
                rest = next;
            }
        }
    }
    String::from_utf8_lossy(&plain).to_lowercase()
}
