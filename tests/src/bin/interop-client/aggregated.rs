//! Prompts, resources and completion of a server of another project, through one host that also has our server.

use std::collections::BTreeSet;

use mcp_host::{Host, ResourceChange, ServerState};
use mcp_types::{ReadResourceResult, ResourceContents};
use serde_json::Value;

use crate::hosted::{entry, host};
use crate::profile::{Call, Profile};
use crate::report::{Fault, Outcome, absent, ensure, row, same, says, worked};
use crate::target::Target;

/// The names of the two servers in the host.
const PEER: &str = "peer";
const OURS: &str = "ours";

/// One run, with one host.
struct Run<'a> {
    target: &'a Target,
    profile: &'a Profile,
    host: Host,
}

/// Reports every feature.
pub(crate) async fn run(target: &Target, profile: &Profile) -> Result<(), Fault> {
    let mut everything = std::env::current_exe()?;
    everything.set_file_name(format!("everything-server{}", std::env::consts::EXE_SUFFIX));
    let everything = everything.to_string_lossy();
    let ours = entry(&[&*everything, "--stdio"])?;
    let servers = [(PEER, target.entry()?), (OURS, ours)];
    let host = host(target.plain(), servers).await?;
    let run = Run {
        target,
        profile,
        host,
    };
    row("beside", run.beside()).await;
    row("host-prompts", run.prompts()).await;
    row("host-resources", run.resources()).await;
    row("host-templates", run.templates()).await;
    row("host-completion", run.completion()).await;
    row("host-subscription", run.subscription()).await;
    row("ended", run.ended()).await;
    Ok(())
}

impl Run<'_> {
    /// Both servers are ready, the peer with the revision of the section.
    async fn beside(&self) -> Outcome {
        for name in [PEER, OURS] {
            let state = self.host.server(name).ok_or("no server")?.state();
            ensure(state == ServerState::Ready, || {
                format!("{name} is {state:?}")
            })?;
        }
        let peer = self.host.server(PEER).ok_or("no server")?;
        let revision = peer.client().await?.revision();
        let expected = self.target.revision.is_stateless();
        same("a stateless revision", revision.is_stateless(), expected)?;
        let tools = self.host.tools();
        let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
        same("the number of names", names.len(), tools.len())?;
        worked(format!("{} tools of both", tools.len()))
    }

    /// Gets every prompt of the peer by its name in the host, which no prompt of our server has.
    async fn prompts(&self) -> Outcome {
        let all = self.host.prompts();
        let names: BTreeSet<&str> = all.iter().map(|prompt| &*prompt.name).collect();
        same("the number of names", names.len(), all.len())?;
        ensure(all.iter().any(|prompt| prompt.server == OURS), || {
            "the prompts of our server are missing".to_owned()
        })?;
        let mut count = 0;
        for prompt in all.iter().filter(|prompt| prompt.server == PEER) {
            let known = self.profile.prompts.as_ref();
            let value = |name: &str| known.and_then(|known| known.arguments.get(name));
            let arguments = prompt.prompt.arguments.iter().flatten().map(|argument| {
                let text = value(&argument.name).map_or("interop", |value| value);
                (argument.name.clone(), text.to_owned())
            });
            let written = self.host.get_prompt(&prompt.name, arguments).await?;
            ensure(!written.messages.is_empty(), || {
                format!("{} is empty", prompt.name)
            })?;
            count += 1;
        }
        match (count, &self.profile.prompts) {
            (0, None) => absent("the host lists no prompts of the server"),
            (0, Some(_)) => Err("the host lists no prompts of the server".into()),
            _ => worked(format!("{count} prompts")),
        }
    }

    /// Reads every resource of the peer.
    async fn resources(&self) -> Outcome {
        let all = self.host.resources();
        let of_peer = all.iter().filter(|resource| resource.server == PEER);
        let uris: Vec<&str> = of_peer.map(|entry| &*entry.resource.uri).collect();
        let Some(known) = &self.profile.resources else {
            same("resources", uris, Vec::<&str>::new())?;
            return absent("the host lists no resources of the server");
        };
        ensure(uris.contains(&&*known.listed), || {
            format!("{} is not among the {} resources", known.listed, uris.len())
        })?;
        for uri in &uris {
            self.read(uri).await?;
        }
        worked(format!("{} read", uris.len()))
    }

    async fn read(&self, uri: &str) -> Result<ReadResourceResult, Fault> {
        let result = self.host.read_resource(PEER, uri).await?;
        let first = result.contents.first().ok_or("no contents")?;
        same("the URI", first.uri(), Some(uri))?;
        let is_empty = match first {
            ResourceContents::Text(text) => text.text.is_empty(),
            ResourceContents::Blob(blob) => blob.blob.is_empty(),
            other => return Err(format!("unknown contents {other:?}").into()),
        };
        ensure(!is_empty, || format!("{uri} is empty"))?;
        Ok(result)
    }

    /// Reads a resource of every template of the peer.
    async fn templates(&self) -> Outcome {
        let all = self.host.resource_templates();
        let of_peer = all.iter().filter(|template| template.server == PEER);
        let uris: Vec<&str> = of_peer.map(|entry| &*entry.template.uri_template).collect();
        let known = self.profile.resources.as_ref();
        let Some(value) = known.and_then(|known| known.template_value.as_deref()) else {
            same("templates", uris, Vec::<&str>::new())?;
            return absent("the host lists no templates of the server");
        };
        ensure(!uris.is_empty(), || "no templates".to_owned())?;
        for template in &uris {
            let (before, rest) = template.split_once('{').ok_or("no variable")?;
            let (_, after) = rest.split_once('}').ok_or("no end of the variable")?;
            self.read(&format!("{before}{value}{after}")).await?;
        }
        worked(format!("{} templates read", uris.len()))
    }

    async fn completion(&self) -> Outcome {
        let in_context = self.profile.completion_in_context.iter();
        let known: Vec<_> = self.profile.completions.iter().chain(in_context).collect();
        let mut seen = Vec::new();
        for completion in &known {
            let resolved = completion.resolved.clone().into_iter();
            let context: Vec<(String, String)> = resolved.collect();
            let (argument, value) = (&completion.argument, &completion.value);
            let reference = completion.reference();
            let result = self
                .host
                .complete(PEER, reference, argument, value, &context);
            let values = result.await?.completion.values;
            same("the completion", &values, &completion.expected)?;
            seen.extend(values);
        }
        if known.is_empty() {
            let peer = self.host.server(PEER).ok_or("no server")?;
            let declared = peer.client().await?.capabilities().completions.is_some();
            same("the capability completions", declared, false)?;
            return absent("capability \"completions\" was not declared");
        }
        worked(seen.join(", "))
    }

    /// Subscribes and changes the resource, then restarts the server and changes the resource again.
    async fn subscription(&self) -> Outcome {
        let Some(subscription) = &self.profile.subscription else {
            let resources = self.host.resources();
            let count = resources
                .iter()
                .filter(|entry| entry.server == PEER)
                .count();
            same("resources", count, 0)?;
            return absent("the host lists no resources of the server");
        };
        if self.tool(&subscription.calls[0]).is_none() {
            let tool = &subscription.calls[0].tool;
            return absent(format!("there is no tool {tool}"));
        }
        let uri = &*subscription.uri;
        let mut updates = self.host.subscribe(PEER, uri).await?;
        let updated = Some(ResourceChange::Updated(uri.to_owned()));
        self.call_all(&subscription.calls).await?;
        same("the update", updates.next().await, updated.clone())?;
        self.host.server(PEER).ok_or("no server")?.restart();
        // An update of the first process can arrive before its end.
        loop {
            match updates.next().await {
                Some(ResourceChange::Reconnected) => break,
                again => same("the update", again, updated.clone())?,
            }
        }
        self.host.settled().await;
        self.call_all(&subscription.calls).await?;
        same("the update", updates.next().await, updated)?;
        worked(format!("{uri} updated before and after a restart"))
    }

    /// The name of the tool in the host.
    fn tool(&self, call: &Call) -> Option<String> {
        let tools = self.host.tools();
        let mut of_peer = tools.iter().filter(|tool| tool.server == PEER);
        of_peer
            .find(|tool| tool.tool.name == call.tool)
            .map(|tool| tool.name.clone())
    }

    async fn call_all(&self, calls: &[Call]) -> Result<(), Fault> {
        for call in calls {
            let name = self.tool(call).ok_or("the tool is missing")?;
            let arguments = Value::Object(call.arguments.clone());
            let result = self.host.call_tool(&name, arguments).await?;
            says("the result", &serde_json::to_string(&result)?, &call.says)?;
        }
        Ok(())
    }

    async fn ended(&self) -> Outcome {
        self.host.close().await;
        for name in [PEER, OURS] {
            let state = self.host.server(name).map(|server| server.state());
            ensure(state != Some(ServerState::Ready), || {
                format!("{name} is ready")
            })?;
        }
        worked("both servers have ended")
    }
}
