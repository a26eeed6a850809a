//! Resources, prompts and completion.

use std::collections::BTreeMap;

use mcp_client::{ChangedList, Client};
use mcp_types::{
    CompletionReference, PromptReference, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, ResourceContents, ResourceTemplateReference,
};

use crate::lifecycle::code;
use crate::report::{Fault, Outcome, ensure, same, worked};
use crate::target::Session;

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

/// Expands every template with a value for its only variable, and reads the resource.
pub(crate) async fn templates(session: &Session, value: &str) -> Outcome {
    let templates = session.client.list_resource_templates().await?;
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

/// Subscribes, changes the resource with `provoke`, waits for the notification, and unsubscribes.
pub(crate) async fn subscribe(
    session: &Session,
    uri: &str,
    provoke: impl Future<Output = Result<(), Fault>>,
) -> Outcome {
    let mut updates = session.client.subscribe(uri).await?;
    provoke.await?;
    same("the update", updates.next().await.as_deref(), Some(uri))?;
    updates.unsubscribe().await?;
    worked(format!("{uri} updated"))
}

/// Waits until the server has announced each of these changes.
pub(crate) async fn told(session: &Session, changes: &[ChangedList]) -> Outcome {
    let all =
        |seen: &crate::host::Observations| changes.iter().all(|one| seen.changed.contains(one));
    session.host.until("a changed list", all).await?;
    worked(format!("{changes:?}"))
}

/// Gets every prompt: with arguments from the table, or else with generated ones.
pub(crate) async fn prompts(session: &Session, table: &[(&str, &str)]) -> Outcome {
    let prompts = session.client.list_prompts().await?;
    ensure(!prompts.is_empty(), || "no prompts".to_owned())?;
    for prompt in &prompts {
        let arguments = prompt.arguments.iter().flatten().map(|argument| {
            let known = table.iter().find(|(name, _)| *name == argument.name);
            (&*argument.name, known.map_or("interop", |(_, value)| value))
        });
        let arguments: Vec<(&str, &str)> = arguments.collect();
        let written = session.client.get_prompt(&*prompt.name, arguments).await;
        let written = written.map_err(|error| format!("{}: {error}", prompt.name))?;
        ensure(!written.messages.is_empty(), || {
            format!("{} is empty", prompt.name)
        })?;
    }
    worked(format!("{} prompts", prompts.len()))
}

/// Gets an unknown prompt, which the server must reject; any error code is accepted.
pub(crate) async fn unknown_prompt(session: &Session) -> Outcome {
    let none: [(&str, &str); 0] = [];
    let code = code(session.client.get_prompt("no-such-prompt", none).await)?;
    worked(format!("code {code}"))
}

/// An argument or variable to complete, and a value that the response must contain.
#[derive(Debug)]
pub(crate) struct CompletionRequest<'a> {
    pub(crate) reference: CompletionReference,
    pub(crate) argument: &'a str,
    pub(crate) value: &'a str,
    pub(crate) resolved: &'a [(&'a str, &'a str)],
    pub(crate) expected: &'a [&'a str],
}

/// The argument of a prompt.
pub(crate) fn of_prompt(name: &str) -> CompletionReference {
    PromptReference::new(name).into()
}

/// The variable of a template.
pub(crate) fn of_template(uri: &str) -> CompletionReference {
    ResourceTemplateReference::new(uri).into()
}

/// Requests the completion and checks the values.
pub(crate) async fn complete(session: &Session, completing: CompletionRequest<'_>) -> Outcome {
    let resolved = completing.resolved.iter();
    let resolved: BTreeMap<String, String> = resolved
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let answer = session.client.complete(
        completing.reference,
        completing.argument,
        completing.value,
        resolved,
    );
    let values = answer.await?.completion.values;
    same("the completion", &values, completing.expected)?;
    worked(values.join(", "))
}
