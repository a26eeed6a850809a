//! The names of a server's tools for the model. They are computed once for each list.

use std::sync::{Arc, Mutex};

use mcp_client::types::Tool;
use mcp_protocol::lock;

use super::names::{self, model_name};
use super::starter::{Origin, Server};
use crate::name_index::NameIndex;
use crate::supervise::ItemList;

/// The names of the tools in one list of a server. A tool that the configuration hides has no name.
pub(super) struct ToolNames {
    list: ItemList<Tool>,
    /// The name and the position of each tool, in the order of the list.
    names: Vec<(String, usize)>,
    index: NameIndex,
}

impl ToolNames {
    fn new(server: &str, list: ItemList<Tool>, origin: &Origin) -> Self {
        let is_shown = |tool: &Tool| match origin {
            Origin::Config { config, .. } => config.shows_tool(&tool.name),
            _ => true,
        };
        let tools = list.items.iter().enumerate();
        let shown = tools.filter(|(_, tool)| is_shown(tool));
        let names: Vec<_> = shown
            .map(|(position, tool)| (model_name(server, &tool.name), position))
            .collect();
        let index = NameIndex::new(names.len(), |position| &names[position].0);
        Self { list, names, index }
    }

    /// Returns the tools that the configuration does not hide, each with its name for the model, in the order of the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Tool>)> {
        let names = self.names.iter();
        names.filter_map(|(name, position)| Some((name.as_str(), self.list.items.get(*position)?)))
    }

    /// Returns the tool with this name.
    fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        let found = self.index.find(name, |position| &self.names[position].0)?;
        self.list.items.get(self.names[found].1)
    }
}

/// The names for the last list of the server.
#[derive(Default)]
pub(super) struct KnownNames(Mutex<Option<Arc<ToolNames>>>);

impl Server {
    /// Returns the names of the currently known tools, and whether their list is stale.
    pub(super) fn tool_names(&self) -> (Arc<ToolNames>, bool) {
        let list = self.client.tools();
        let is_stale = list.is_stale;
        let mut known = lock(&self.names.0);
        if let Some(known) = &*known
            && Arc::ptr_eq(&known.list.items, &list.items)
        {
            return (Arc::clone(known), is_stale);
        }
        let names = Arc::new(ToolNames::new(self.client.name(), list, &self.origin));
        *known = Some(Arc::clone(&names));
        (names, is_stale)
    }

    /// Returns the tool that has this name for the model, if the tool belongs to this server.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        // Rejects nearly all names of other servers without computing the names of this server.
        names::may_belong(name, self.client.name())
            .then(|| self.tool_names().0.find(name).cloned())?
    }
}
