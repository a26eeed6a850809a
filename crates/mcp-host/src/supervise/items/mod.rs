//! Requests prompts, resources, skills and completions from a supervised server.

mod skills;
pub(super) mod subscription;

use std::sync::Arc;
use std::time::Instant;

use mcp_client::types::{
    CompleteResult, Completion, CompletionReference, GetPromptResult, Prompt, ReadResourceResult,
    Resource, ResourceTemplate,
};
use mcp_client::{Client, Error, Timeouts};
use mcp_skills::RemoteSkills;
use skills::{has_skill_scheme, is_of_skill};
use tokio::time::timeout;

use super::SupervisedClient;
use super::catalog::ItemList;
use super::permission::Item;
use crate::error::HostError;

/// The reason why an item was not returned.
pub(super) enum FetchError {
    Client(Box<Error>),
    /// The content of a skill cannot be used.
    Skill(Box<mcp_skills::Error>),
}

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        Self::Client(Box::new(error))
    }
}

impl From<mcp_skills::Error> for FetchError {
    fn from(error: mcp_skills::Error) -> Self {
        match error {
            mcp_skills::Error::Client(error) => error.into(),
            error => Self::Skill(Box::new(error)),
        }
    }
}

impl SupervisedClient {
    /// Returns the currently known prompts, without waiting.
    pub fn prompts(&self) -> ItemList<Prompt> {
        self.0.published.lists.prompts.borrow().clone()
    }

    /// Returns the currently known resources, without waiting. A server can have other resources, which a template describes or a
    /// tool returns.
    pub fn resources(&self) -> ItemList<Resource> {
        self.0.published.lists.resources.borrow().clone()
    }

    /// Returns the currently known resource templates, without waiting.
    pub fn resource_templates(&self) -> ItemList<ResourceTemplate> {
        self.0.published.lists.templates.borrow().clone()
    }

    /// Completes when each list was requested once on the current connection, or when there is no connection.
    pub(crate) async fn listed_once(&self) {
        let mut pending = self.0.published.lists.pending.subscribe();
        tokio::select! {
            _ = pending.wait_for(|pending| *pending == 0) => {}
            _ = self.wait_for(|state| !state.is_connected()) => {}
        }
    }

    /// Waits for the server in the same way as [`client`](Self::client), and then until each list was requested once. The same
    /// time limit applies to the second wait.
    async fn wait_for_lists(&self) -> Result<(), HostError> {
        self.client().await?;
        // If a list is not returned in time, the last known list is used.
        let _ = timeout(self.0.wait_timeout, self.listed_once()).await;
        Ok(())
    }

    /// Returns the messages of a prompt. Waits for the server in the same way as [`client`](Self::client). If the connection
    /// ends, the request is repeated once on a new connection.
    ///
    /// # Errors
    /// The errors of [`client`](Self::client). [`HostError::Denied`] if a rule of the policy or the user denies the request, and
    /// [`HostError::Call`] for all other failures.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<GetPromptResult, HostError> {
        if self.0.permission.is_some() {
            // An approval is for the definition that the server has now.
            self.wait_for_lists().await?;
        }
        let prompts = self.prompts();
        let prompt = prompts.items.iter().find(|prompt| prompt.name == name);
        let item = Item::Prompt {
            name,
            prompt: prompt.map(Arc::as_ref),
            arguments,
        };
        let fetched = self.fetch(&item, |client, timeouts| {
            let call = client.get_prompt(name).arguments(arguments.iter().cloned());
            match timeouts {
                Some(timeouts) => call.timeouts(timeouts).into_future(),
                None => call.into_future(),
            }
        });
        fetched.await
    }

    /// Reads a resource. Waits for the server in the same way as [`client`](Self::client). If the connection ends, the request is
    /// repeated once on a new connection.
    ///
    /// # Errors
    /// The errors of [`get_prompt`](Self::get_prompt).
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, HostError> {
        let item = self.resource_item(uri).await?;
        let fetched = self.fetch(&item, |client, timeouts| {
            let call = client.read_resource(uri);
            match timeouts {
                Some(timeouts) => call.timeouts(timeouts).into_future(),
                None => call.into_future(),
            }
        });
        fetched.await
    }

    /// Returns the description of the resource with this URI, for the permission check. Other rules apply to the files of skills,
    /// so the method first waits for the skills of the server. A file of a skill may have any URI. A URI with the scheme `skill`
    /// always counts as a file of a skill, because the list of skills may have failed.
    pub(super) async fn resource_item<'a>(&self, uri: &'a str) -> Result<Item<'a>, HostError> {
        let has_skills =
            self.0.permission.is_some() && RemoteSkills::new(&self.client().await?).is_ok();
        if has_skills {
            self.wait_for_lists().await?;
        }
        let listed = self.resources();
        let skills = self.skills();
        Ok(Item::Resource {
            uri,
            is_listed: listed.items.iter().any(|resource| resource.uri == uri),
            is_of_skill: has_skills && has_skill_scheme(uri)
                || skills.items.iter().any(|skill| is_of_skill(skill, uri)),
        })
    }

    /// Returns possible values for an argument of a prompt or a variable of a resource template. `value` is the beginning that
    /// the user has typed. `resolved` has the values of the other arguments. If the server does not support completions, returns
    /// no values.
    ///
    /// # Errors
    /// The errors of [`get_prompt`](Self::get_prompt). The user is not asked, but rules that deny prompts or resources apply.
    pub async fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: &str,
        value: &str,
        resolved: &[(String, String)],
    ) -> Result<CompleteResult, HostError> {
        let reference = reference.into();
        let item = Item::Completion {
            reference: &reference,
        };
        let completed = self.fetch(&item, |client, timeouts| {
            let call = client.complete(reference.clone(), argument, value);
            let call = call.resolved(resolved.iter().cloned());
            let call = match timeouts {
                Some(timeouts) => call.timeouts(timeouts).into_future(),
                None => call.into_future(),
            };
            async move {
                match call.await {
                    Err(Error::Unsupported { .. }) => {
                        Ok(CompleteResult::new(Completion::new(Vec::new())))
                    }
                    completed => completed,
                }
            }
        });
        completed.await
    }

    /// Sends a request without side effects, and repeats it once if the connection ends.
    pub(super) async fn fetch<T, E, F>(
        &self,
        item: &Item<'_>,
        send: impl Fn(Client, Option<Timeouts>) -> F,
    ) -> Result<T, HostError>
    where
        E: Into<FetchError>,
        F: Future<Output = Result<T, E>>,
    {
        let (mut is_repeated, mut is_permitted) = (false, false);
        loop {
            let (client, mut connection) = self.connected().await?;
            if let Some(permission) = self.0.permission.as_ref().filter(|_| !is_permitted) {
                let permitted = permission.fetch(item).await;
                permitted.map_err(|reason| HostError::Denied {
                    server: self.name().to_owned(),
                    kind: item.kind(),
                    name: item.name().to_owned(),
                    reason,
                })?;
                is_permitted = true;
            }
            let started = Instant::now();
            let running = self.0.calls.start();
            let fetched = send(client, self.timeouts()).await;
            drop(running);
            if let Some(permission) = &self.0.permission {
                permission.fetched(item, started, fetched.is_ok());
            }
            let error = match fetched {
                Ok(fetched) => return Ok(fetched),
                Err(error) => error.into(),
            };
            match error {
                FetchError::Client(source) if is_repeated || !source.is_closed() => {
                    return Err(self.failed(item.kind(), item.name(), source));
                }
                FetchError::Client(_) => {}
                FetchError::Skill(source) => {
                    let (server, uri) = (self.name().to_owned(), item.name().to_owned());
                    return Err(HostError::Skill {
                        server,
                        uri,
                        source,
                    });
                }
            }
            is_repeated = true;
            // Waits until the supervisor has noticed the end of the connection, so that the request is not sent over it again.
            let _ = timeout(self.0.wait_timeout, connection.changed()).await;
        }
    }
}
