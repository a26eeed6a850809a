//! The facts that the gateway reports about itself: the union of the facts of its servers.

use mcp_jsonrpc::prefix;
use mcp_protocol::ServerFacts;
use mcp_types::{PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability};

use super::state::State;

/// Maximum size of the instructions of one server, in bytes.
const MAX_INSTRUCTIONS: usize = 8 << 10;

impl State {
    /// Returns the union of the capabilities. A server that was never connected counts as a server with tools, prompts and
    /// resources. A session that starts before the server is connected can therefore use it later.
    pub(super) fn facts(&self) -> ServerFacts {
        let mut all = ServerCapabilities::new();
        let tools = ToolsCapability::new().with_list_changed(true);
        let prompts = PromptsCapability::new().with_list_changed(true);
        let resources = ResourcesCapability::new().with_list_changed(true);
        let mut instructions = self.settings().instructions.clone().unwrap_or_default();
        all.tools = Some(tools);
        for mount in self.mounts().iter() {
            let Some(proxy) = mount.proxy() else {
                all.prompts.get_or_insert_with(|| prompts.clone());
                all.resources.get_or_insert_with(|| resources.clone());
                continue;
            };
            let known = proxy.core.shared.known();
            let one = &known.facts.capabilities;
            if one.prompts.is_some() {
                all.prompts.get_or_insert_with(|| prompts.clone());
            }
            if let Some(offered) = &one.resources {
                let merged = all.resources.get_or_insert_with(|| resources.clone());
                if offered.subscribe == Some(true) {
                    merged.subscribe = Some(true);
                }
            }
            if one.completions.is_some() {
                all.completions.get_or_insert_default();
            }
            if one.logging.is_some() {
                all.logging.get_or_insert_default();
            }
            for (merged, offered) in [
                (&mut all.experimental, &one.experimental),
                (&mut all.extensions, &one.extensions),
            ] {
                for (name, settings) in offered.iter().flatten() {
                    let merged = merged.get_or_insert_default();
                    merged
                        .entry(name.clone())
                        .or_insert_with(|| settings.clone());
                }
            }
            if let Some(text) = &known.facts.instructions {
                let separator = if instructions.is_empty() { "" } else { "\n\n" };
                let text = prefix(text, MAX_INSTRUCTIONS);
                instructions += &format!("{separator}## {}\n\n{text}", mount.name);
            }
        }
        let mut facts = ServerFacts::new(self.info.clone(), all);
        facts.instructions = (!instructions.is_empty()).then_some(instructions);
        facts
    }
}
