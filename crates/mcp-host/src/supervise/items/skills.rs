//! Skills of a supervised server.

use mcp_skills::{Error, RemoteSkills, SkillEntry};

use super::SupervisedClient;
use crate::error::HostError;
use crate::supervise::{Item, ItemList};

impl SupervisedClient {
    /// Returns the skills that are known now, without waiting. A server without the
    /// [extension](https://modelcontextprotocol.io/seps/2640-skills-extension) has none.
    pub fn skills(&self) -> ItemList<SkillEntry> {
        self.0.published.lists.skills.borrow().clone()
    }

    /// Reads the instructions of a listed skill, after waiting for the server as [`client`](Self::client) does. They are verified with the
    /// digest in the list. If the connection ends, the request is repeated once on a new connection.
    ///
    /// The instructions are text of the server. Mark them as such for the model.
    ///
    /// # Errors
    /// As [`client`](Self::client). [`HostError::UnknownSkill`] if no listed skill has this URI, [`HostError::Denied`] if a rule of the
    /// policy or the user denies it, [`HostError::Skill`] if the content differs from the list or cannot be verified, and
    /// [`HostError::Call`] for all other failures.
    pub async fn read_skill(&self, uri: &str) -> Result<String, HostError> {
        let opened = self.fetch_of_skill(uri, None, async |skills, entry| {
            let skill = skills.open(SkillEntry::clone(entry)).await?;
            Ok(skill.instructions().to_owned())
        });
        opened.await
    }

    /// Reads a file of a listed skill, as [`read_skill`](Self::read_skill). The path is relative to the folder of the `SKILL.md`. An approval
    /// of the skill covers all its files.
    ///
    /// # Errors
    /// As [`read_skill`](Self::read_skill). [`HostError::Skill`] if the skill has no such file.
    pub async fn read_skill_file(&self, uri: &str, path: &str) -> Result<Vec<u8>, HostError> {
        let read = self.fetch_of_skill(uri, Some(path), async |skills, entry| {
            skills.read_file(entry, path).await
        });
        read.await
    }

    async fn fetch_of_skill<T>(
        &self,
        uri: &str,
        path: Option<&str>,
        read: impl AsyncFn(&RemoteSkills, &SkillEntry) -> Result<T, Error>,
    ) -> Result<T, HostError> {
        // The content is compared with the list that the server has now.
        self.wait_for_lists().await?;
        let list = self.skills();
        let Some(entry) = list.items.iter().find(|entry| entry.uri == uri) else {
            return Err(HostError::UnknownSkill {
                server: self.name().to_owned(),
                uri: uri.to_owned(),
            });
        };
        let item = Item::Skill { entry, path };
        let fetched = self.fetch(&item, async |client, timeouts| {
            let read = async {
                let mut skills = RemoteSkills::new(client)?;
                if let Some(timeouts) = timeouts {
                    skills = skills.timeouts(timeouts);
                }
                read(&skills, entry).await
            };
            match read.await {
                Err(Error::Client(error)) => Err(error),
                other => Ok(other),
            }
        });
        fetched.await?.map_err(|source| HostError::Skill {
            server: self.name().to_owned(),
            uri: uri.to_owned(),
            source: Box::new(source),
        })
    }
}
