//! Prompts, resources, resource templates and skills of all servers.

use std::sync::Arc;

use mcp_client::types::{
    CompleteResult, CompletionReference, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate,
};

use mcp_skills::SkillEntry;

use super::names::{may_belong, prompt_name, resource_name};
use super::{Host, most_similar};
use crate::error::HostError;
use crate::supervise::{ItemList, ResourceSubscription, SupervisedClient};

/// A prompt of one of the servers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostPrompt {
    /// The name for a person, unique in the host: `mcp__server__prompt`. To use the prompt as a command, a person types `/`
    /// before the name ([`Host::mentions`]).
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The prompt as the server describes it.
    pub prompt: Arc<Prompt>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

/// A resource of one of the servers. Several servers can have resources with the same URI.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostResource {
    /// The name for a person, unique in the host: `server:uri`. In a text, a person types `@` before the name
    /// ([`Host::mentions`]).
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The resource as the server describes it.
    pub resource: Arc<Resource>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

/// A resource template of one of the servers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostResourceTemplate {
    /// The name for a person, unique in the host: `server:uriTemplate`.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The template as the server describes it.
    pub template: Arc<ResourceTemplate>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

/// A skill of one of the servers: instructions for a model, and the files to which the instructions refer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostSkill {
    /// The name for a person, unique among the skills of the host: `server:uri`. In a text, a person types `@` before the name
    /// ([`Host::mentions`]).
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The skill as the server describes it.
    pub skill: Arc<SkillEntry>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

impl Host {
    /// Returns the currently known prompts of all servers, without waiting. If several prompts have the same name in the host,
    /// returns only the first.
    pub fn prompts(&self) -> Vec<HostPrompt> {
        let list = self.items(SupervisedClient::prompts, |server, prompt, is_stale| {
            HostPrompt {
                name: prompt_name(server, &prompt.name),
                server: server.to_owned(),
                prompt,
                is_stale,
            }
        });
        without_repetitions(list, |prompt| &prompt.name)
    }

    /// Returns the currently known resources of all servers, without waiting. A server can have other resources, which a template
    /// describes or a tool returns.
    pub fn resources(&self) -> Vec<HostResource> {
        let list = self.items(SupervisedClient::resources, |server, resource, is_stale| {
            HostResource {
                name: resource_name(server, &resource.uri),
                server: server.to_owned(),
                resource,
                is_stale,
            }
        });
        without_repetitions(list, |resource| &resource.name)
    }

    /// Returns the currently known resource templates of all servers, without waiting.
    pub fn resource_templates(&self) -> Vec<HostResourceTemplate> {
        let list = self.items(
            SupervisedClient::resource_templates,
            |server, template, is_stale| HostResourceTemplate {
                name: resource_name(server, &template.uri_template),
                server: server.to_owned(),
                template,
                is_stale,
            },
        );
        without_repetitions(list, |template| &template.name)
    }

    /// Returns the currently known skills of all servers, without waiting.
    pub fn skills(&self) -> Vec<HostSkill> {
        let list = self.items(SupervisedClient::skills, |server, skill, is_stale| {
            HostSkill {
                name: resource_name(server, &skill.uri),
                server: server.to_owned(),
                skill,
                is_stale,
            }
        });
        without_repetitions(list, |skill| &skill.name)
    }

    fn items<T, U>(
        &self,
        list: impl Fn(&SupervisedClient) -> ItemList<T>,
        item: impl Fn(&str, Arc<T>, bool) -> U,
    ) -> Vec<U> {
        let mut items = Vec::new();
        for (name, server) in &*self.0.read() {
            let list = list(&server.client);
            let of_server = list.items.iter().cloned();
            items.extend(of_server.map(|one| item(name, one, list.is_stale)));
        }
        items
    }

    /// Returns the messages of the prompt with this [name](HostPrompt::name), in the same way as
    /// [`SupervisedClient::get_prompt`].
    ///
    /// # Errors
    /// [`HostError::UnknownPrompt`] if no prompt has this name, and the errors of [`SupervisedClient::get_prompt`].
    pub async fn get_prompt<K: Into<String>, V: Into<String>>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Result<GetPromptResult, HostError> {
        let Some((server, prompt)) = self.find_prompt(name) else {
            let rest = name.strip_prefix("mcp__").unwrap_or(name);
            if let Some(error) = self.unavailable(rest) {
                return Err(error);
            }
            let prompts = self.prompts();
            let names = prompts.iter().map(|prompt| prompt.name.as_str());
            return Err(HostError::UnknownPrompt {
                name: name.to_owned(),
                similar: most_similar(name, names),
            });
        };
        let arguments = arguments.into_iter();
        let arguments: Vec<_> = arguments.map(|(k, v)| (k.into(), v.into())).collect();
        server.get_prompt(&prompt.name, &arguments).await
    }

    /// Returns the prompt with this name, and its server.
    pub(crate) fn find_prompt(&self, name: &str) -> Option<(SupervisedClient, Arc<Prompt>)> {
        let rest = name.strip_prefix("mcp__")?;
        self.0.read().iter().find_map(|(server_name, server)| {
            if !may_belong(rest, server_name) {
                return None;
            }
            let list = server.client.prompts();
            let mut prompts = list.items.iter();
            let prompt = prompts.find(|one| prompt_name(server_name, &one.name) == name)?;
            Some((server.client.clone(), Arc::clone(prompt)))
        })
    }

    /// Reads a resource of a server, in the same way as [`SupervisedClient::read_resource`]. The list of resources need not
    /// contain the URI.
    ///
    /// # Errors
    /// [`HostError::UnknownServer`] if no server has this name, and the errors of [`SupervisedClient::read_resource`].
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ReadResourceResult, HostError> {
        self.known_server(server)?.read_resource(uri).await
    }

    /// Reads the instructions of a server's skill, in the same way as [`SupervisedClient::read_skill`].
    ///
    /// # Errors
    /// [`HostError::UnknownServer`] if no server has this name, and the errors of [`SupervisedClient::read_skill`].
    pub async fn read_skill(&self, server: &str, uri: &str) -> Result<String, HostError> {
        self.known_server(server)?.read_skill(uri).await
    }

    /// Reads a file of a server's skill, in the same way as [`SupervisedClient::read_skill_file`].
    ///
    /// # Errors
    /// [`HostError::UnknownServer`] if no server has this name, and the errors of [`SupervisedClient::read_skill_file`].
    pub async fn read_skill_file(
        &self,
        server: &str,
        uri: &str,
        path: &str,
    ) -> Result<Vec<u8>, HostError> {
        self.known_server(server)?.read_skill_file(uri, path).await
    }

    /// Returns values for an argument of a prompt or a variable of a resource template, in the same way as
    /// [`SupervisedClient::complete`].
    ///
    /// # Errors
    /// [`HostError::UnknownServer`] if no server has this name, and the errors of [`SupervisedClient::complete`].
    pub async fn complete(
        &self,
        server: &str,
        reference: impl Into<CompletionReference>,
        argument: &str,
        value: &str,
        resolved: &[(String, String)],
    ) -> Result<CompleteResult, HostError> {
        let server = self.known_server(server)?;
        server.complete(reference, argument, value, resolved).await
    }

    /// Watches a resource of a server. The subscription survives restarts of the server.
    ///
    /// # Errors
    /// [`HostError::UnknownServer`] if no server has this name, and the errors of [`SupervisedClient::subscribe`].
    pub async fn subscribe(
        &self,
        server: &str,
        uri: impl Into<String>,
    ) -> Result<ResourceSubscription, HostError> {
        self.known_server(server)?.subscribe(uri).await
    }

    fn known_server(&self, name: &str) -> Result<SupervisedClient, HostError> {
        let unknown = || HostError::UnknownServer {
            name: name.to_owned(),
        };
        self.server(name).ok_or_else(unknown)
    }
}

/// Leaves out each item that has the same name as an earlier item.
fn without_repetitions<T>(mut items: Vec<T>, name: impl Fn(&T) -> &String) -> Vec<T> {
    let mut names = std::collections::HashSet::new();
    let is_first: Vec<bool> = items
        .iter()
        .map(|item| names.insert(name(item).clone()))
        .collect();
    let mut is_first = is_first.into_iter();
    items.retain(|_| is_first.next().unwrap_or_default());
    items
}
