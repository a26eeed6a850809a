//! The lists of the protocol, and their limits.

use mcp_types::method;

use super::super::access::ItemKind;
use super::super::mount::MountedServer;
use crate::catalog::UriSource;

/// Maximum size of the items of a merged list, in bytes of JSON. The same limit applies to the pages of one server in the list.
pub(super) const MAX_LIST_BYTES: usize = 8 << 20;
/// Maximum number of items of a merged list.
pub(super) const MAX_ITEMS: usize = 10_000;

/// A method that lists items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::gateway) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(in crate::gateway) fn of(name: &str) -> Option<Self> {
        Some(match name {
            method::TOOLS_LIST => Self::Tools,
            method::PROMPTS_LIST => Self::Prompts,
            method::RESOURCES_LIST => Self::Resources,
            method::RESOURCES_TEMPLATES_LIST => Self::Templates,
            _ => return None,
        })
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::Templates => method::RESOURCES_TEMPLATES_LIST,
        }
    }

    /// Returns the name of the result's member that contains the items, and the name of the member that identifies an item.
    pub(super) fn members(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "name"),
            Self::Prompts => ("prompts", "name"),
            Self::Resources => ("resources", "uri"),
            Self::Templates => ("resourceTemplates", "uriTemplate"),
        }
    }

    pub(super) fn item_kind(self) -> ItemKind {
        match self {
            Self::Tools => ItemKind::Tool,
            Self::Prompts => ItemKind::Prompt,
            Self::Resources | Self::Templates => ItemKind::Resource,
        }
    }

    pub(super) fn source(self) -> UriSource {
        match self {
            Self::Templates => UriSource::Template,
            _ => UriSource::List,
        }
    }

    /// Returns whether the server has items of this kind.
    pub(super) fn is_offered(self, mount: &MountedServer) -> bool {
        let Some(proxy) = mount.proxy() else {
            return true;
        };
        let known = proxy.core.shared.known();
        let capabilities = &known.facts.capabilities;
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
        }
    }
}
