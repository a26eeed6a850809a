//! Resources, prompts and completion.

use std::collections::BTreeMap;

use mcp_client::Client;
use mcp_types::{
    ListResourceTemplatesRequest, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, ResourceContents,
};

use crate::lifecycle::{code, undeclared};
use crate::profile::{Completion, Subscription};
use crate::report::{Fault, Outcome, absent, ensure, same, worked};
use crate::target::Session;
use crate::tools::call;

/// Lists the resources, which must include this one.
pub(crate) async fn list(session: &Session, uri: &str) -> Outcome {
    let resources = session.client.list_resources().await?;
    ensure(resources.iter().any(|resource| resource.uri == uri), || {
        format!("{uri} is not among the {} resources", resources.len())
    })?;
    worked(format!("{} resources", resources.len()))
}

/// Reads every listed resource.
pub(crate) async fn read_all(session: &Session) -> Outcome {
    let resources = session.client.list_resources().await?;
    for resource in &resources {
        read(&session.client, &resource.uri).await?;
    }
    worked(format!("{} read", resources.len()))
}

/// Reads a resource that must have contents under its own URI.
pub(crate) async fn read(client: &Client, uri: &str) -> Result<ReadResourceResult, Fault> {
    let params = ReadResourceRequestParams::new(uri);
    let result = client.request::<ReadResourceRequest>(&params).await;
    let result = result.map_err(|error| format!("{uri}: {error}"))?;
    let first = result.contents.first().ok_or("no contents")?;
    same("the URI", first.uri(), Some(uri))?;
    match first {
        ResourceContents::Text(text) => ensure(!text.text.is_empty(), || "no text".to_owned())?,
        ResourceContents::Blob(blob) => ensure(!blob.blob.is_empty(), || "no bytes".to_owned())?,
        other => return Err(format!("unknown contents {other:?}").into()),
    }
    Ok(result)
}

/// Expands every template with a value for its only variable, and reads the resource. Without a value there
/// must be no templates.
pub(crate) async fn templates(session: &Session, value: Option<&str>) -> Outcome {
    if session
        .client
        .require::<ListResourceTemplatesRequest>()
        .is_err()
    {
        return undeclared::<ListResourceTemplatesRequest>(session).await;
    }
    let templates = session.client.list_resource_templates().await?;
    let Some(value) = value else {
        same("templates", templates.len(), 0)?;
        return absent("the list of templates is empty");
    };
    ensure(!templates.is_empty(), || "no templates".to_owned())?;
    for template in &templates {
        let (before, rest) = template.uri_template.split_once('{').ok_or("no variable")?;
        let (_, after) = rest.split_once('}').ok_or("no end of the variable")?;
        read(&session.client, &format!("{before}{value}{after}")).await?;
    }
    worked(format!("{} templates read", templates.len()))
}

/// Reads an unknown resource, which the server must reject.
pub(crate) async fn unknown(session: &Session, uri: &str) -> Outcome {
    let params = ReadResourceRequestParams::new(uri);
    let code = code(session.client.request::<ReadResourceRequest>(&params).await)?;
    ensure([-32602, -32002].contains(&code), || format!("code {code}"))?;
    worked(format!("code {code}"))
}

/// Subscribes, changes the resource, waits for the notification, and unsubscribes.
pub(crate) async fn subscribe(session: &Session, subscription: &Subscription) -> Outcome {
    let uri = &*subscription.uri;
    let mut updates = session.client.subscribe(uri).await?;
    for change in &subscription.calls {
        call(session, change).await?;
    }
    same("the update", updates.next().await.as_deref(), Some(uri))?;
    updates.unsubscribe().await?;
    worked(format!("{uri} updated"))
}

/// Waits until the server has announced each of these changes; the first `before` announcements do not count.
pub(crate) async fn told(session: &Session, before: usize, changes: &[String]) -> Outcome {
    let all = |seen: &crate::host::Observations| {
        let told = seen.changed.iter().skip(before);
        let told: Vec<String> = told
            .map(|list| format!("{list:?}").to_lowercase())
            .collect();
        changes.iter().all(|one| told.contains(one))
    };
    session.host.until("a changed list", all).await?;
    worked(format!("{changes:?}"))
}

/// Gets every prompt: with known arguments, or else with generated ones.
pub(crate) async fn prompts(session: &Session, known: &BTreeMap<String, String>) -> Outcome {
    let prompts = session.client.list_prompts().await?;
    ensure(!prompts.is_empty(), || "no prompts".to_owned())?;
    for prompt in &prompts {
        let arguments = prompt.arguments.iter().flatten().map(|argument| {
            let value = known.get(&argument.name);
            (&*argument.name, value.map_or("interop", |value| value))
        });
        let arguments: Vec<(&str, &str)> = arguments.collect();
        let written = session
            .client
            .get_prompt(&*prompt.name)
            .arguments(arguments)
            .await;
        let written = written.map_err(|error| format!("{}: {error}", prompt.name))?;
        ensure(!written.messages.is_empty(), || {
            format!("{} is empty", prompt.name)
        })?;
    }
    worked(format!("{} prompts", prompts.len()))
}

/// Gets an unknown prompt, which the server must reject; any error code is accepted.
pub(crate) async fn unknown_prompt(session: &Session) -> Outcome {
    let code = code(session.client.get_prompt("no-such-prompt").await)?;
    worked(format!("code {code}"))
}

/// Requests the completions and checks the values.
pub(crate) async fn complete(session: &Session, completions: &[Completion]) -> Outcome {
    let mut seen = Vec::new();
    for completion in completions {
        let values = session
            .client
            .complete(
                completion.reference(),
                &*completion.argument,
                &*completion.value,
            )
            .resolved(completion.resolved.clone());
        let values = values.await?.completion.values;
        same("the completion", &values, &completion.expected)?;
        seen.extend(values);
    }
    worked(seen.join(", "))
}
