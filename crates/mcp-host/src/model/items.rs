//! Search over the tools, prompts, resources, resource templates and skills of all servers.

use std::borrow::Cow;
use std::collections::HashSet;

use tokio::task::spawn_blocking;

use super::rank::rank;
use crate::host::{Host, HostPrompt, HostResource, HostResourceTemplate, HostSkill, HostTool};

/// An item that [`Host::search`] has found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostItem {
    /// A tool.
    Tool(HostTool),
    /// A prompt.
    Prompt(HostPrompt),
    /// A resource.
    Resource(HostResource),
    /// A resource template.
    ResourceTemplate(HostResourceTemplate),
    /// A skill.
    Skill(HostSkill),
}

impl HostItem {
    /// Returns the name, unique among the items of this kind in the host.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Prompt(prompt) => &prompt.name,
            Self::Resource(resource) => &resource.name,
            Self::ResourceTemplate(template) => &template.name,
            Self::Skill(skill) => &skill.name,
        }
    }

    /// Returns the name of the server; empty for a tool of the host itself.
    pub fn server(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.server,
            Self::Prompt(prompt) => &prompt.server,
            Self::Resource(resource) => &resource.server,
            Self::ResourceTemplate(template) => &template.server,
            Self::Skill(skill) => &skill.server,
        }
    }

    /// Returns the title and the description that the server gives the item. For a resource or a template, also returns the name
    /// from the server, because [`name`](Self::name) contains only the URI.
    fn text(&self) -> Cow<'_, str> {
        let (name, title, description) = match self {
            Self::Tool(HostTool { tool, .. }) => ("", &tool.title, &tool.description),
            Self::Prompt(HostPrompt { prompt, .. }) => ("", &prompt.title, &prompt.description),
            Self::Resource(HostResource { resource, .. }) => {
                (&*resource.name, &resource.title, &resource.description)
            }
            Self::ResourceTemplate(HostResourceTemplate { template, .. }) => {
                (&*template.name, &template.title, &template.description)
            }
            Self::Skill(skill) => return skill.skill.description().into(),
        };
        let parts = [Some(name), title.as_deref(), description.as_deref()];
        let mut parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        let Some(first) = parts.next() else {
            return "".into();
        };
        parts.fold(first.into(), |text, part| format!("{text} {part}").into())
    }
}

impl Host {
    /// Finds the known items of all servers by words in their names, titles and descriptions. Returns at most `max_results`
    /// items, the best match first. Words are compared in lower case and without a plural `s`. Ranking runs on a thread for
    /// blocking work, and takes about 1 ms for 1,000 items.
    pub async fn search(&self, query: &str, max_results: usize) -> Vec<HostItem> {
        let (host, query) = (self.clone(), query.to_owned());
        let found = spawn_blocking(move || host.search_items(&query, max_results)).await;
        // The task fails only if the runtime shuts down.
        found.unwrap_or_default()
    }

    fn search_items(&self, query: &str, max_results: usize) -> Vec<HostItem> {
        let tools = self.tools().into_iter().map(HostItem::Tool);
        let prompts = self.prompts().into_iter().map(HostItem::Prompt);
        let skills = self.skills();
        let files: HashSet<(&str, String)> = skills.iter().flat_map(files_of).collect();
        let mut resources = self.resources();
        // Leaves out the files of skills, because they are read as parts of their skills.
        resources.retain(|one| !files.contains(&(&*one.server, one.resource.uri.clone())));
        drop(files);
        let resources = resources.into_iter().map(HostItem::Resource);
        let templates = self.resource_templates().into_iter();
        let templates = templates.map(HostItem::ResourceTemplate);
        let skills = skills.into_iter().map(HostItem::Skill);
        let items = tools.chain(prompts).chain(resources);
        let items: Vec<HostItem> = items.chain(templates).chain(skills).collect();
        let texts: Vec<Cow<'_, str>> = items.iter().map(HostItem::text).collect();
        let texts = items.iter().zip(&texts);
        let texts = texts.map(|(item, text)| (item.name(), &**text));
        let best = rank(query, texts, max_results).into_iter();
        best.filter_map(|index| items.get(index).cloned()).collect()
    }
}

/// Returns the server and the URI of each file of a skill.
fn files_of(skill: &HostSkill) -> impl Iterator<Item = (&str, String)> {
    let paths = skill.skill.paths();
    paths.filter_map(|path| Some((&*skill.server, skill.skill.file_uri(path).ok()?)))
}
