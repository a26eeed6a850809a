//! `mcp read`, `mcp get` and `mcp complete`.

use data_encoding::BASE64;
use mcp_client::ResourceContents;
use mcp_client::types::{CompletionReference, PromptReference, ResourceTemplateReference};

use crate::args::{Options, Words};
use crate::arguments;
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::sign_in_hint::explained;
use crate::target::Target;

pub(super) async fn read(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, words) = Target::take(words, options)?;
    let [uri] = &words[..] else {
        return Err(Failure::usage("expected the URI of one resource"));
    };
    let connection = Connection::open(&target, options).await?;
    let result = connection.client.read_resource(uri).await;
    let result = explained(&target, options, result).await?;
    connection.close().await;
    if options.json {
        return output::json(&result).map(|()| Code::Success);
    }
    for contents in &result.contents {
        match contents {
            ResourceContents::Text(text) if output::is_terminal() => output::print(&text.text)?,
            ResourceContents::Text(text) => output::write(text.text.as_bytes())?,
            ResourceContents::Blob(blob) if output::is_terminal() => {
                output::print(&output::binary(
                    &blob.uri,
                    blob.mime_type.as_deref(),
                    &blob.blob,
                ))?;
            }
            ResourceContents::Blob(blob) => {
                let bytes = BASE64.decode(blob.blob.as_bytes()).map_err(|error| {
                    Failure::new(
                        Code::Protocol,
                        format!("{}: invalid base64: {error}", blob.uri),
                    )
                })?;
                output::write(&bytes)?;
            }
            _ => output::say("note: contents of an unknown kind were left out; --json shows them"),
        }
    }
    Ok(Code::Success)
}

pub(super) async fn get(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, words) = Target::take(words, options)?;
    let Some((name, words)) = words.split_first() else {
        return Err(Failure::usage(
            "the name of a prompt is missing; write the arguments of the prompt after the name",
        ));
    };
    let given = arguments::of_prompt(words)?;
    let connection = Connection::open(&target, options).await?;
    let result = connection.client.get_prompt(name).arguments(given).await;
    let result = explained(&target, options, result).await?;
    connection.close().await;
    if options.json {
        return output::json(&result).map(|()| Code::Success);
    }
    let messages: Vec<String> = result.messages.iter().map(output::message_text).collect();
    output::print(&messages.join("\n")).map(|()| Code::Success)
}

pub(super) async fn complete(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, words) = Target::take(words, options)?;
    let [reference, argument, known @ ..] = &words[..] else {
        return Err(Failure::usage(
            "expected a prompt or URI template, and argument=start",
        ));
    };
    let reference = match reference.contains("://") || reference.contains('{') {
        true => CompletionReference::Resource(ResourceTemplateReference::new(reference)),
        false => CompletionReference::Prompt(PromptReference::new(reference)),
    };
    let (name, start) = arguments::pair(argument)?;
    let known = arguments::of_prompt(known)?;
    let connection = Connection::open(&target, options).await?;
    let call = connection.client.complete(reference, name, start);
    let result = call.resolved(known).await?;
    connection.close().await;
    if options.json {
        return output::json(&result.completion).map(|()| Code::Success);
    }
    let values = &result.completion.values;
    if !values.is_empty() {
        let lines: Vec<String> = values.iter().map(|value| output::one_line(value)).collect();
        output::print(&lines.join("\n"))?;
    }
    if result.completion.has_more == Some(true) {
        output::say("note: the server has more values than these");
    }
    Ok(Code::Success)
}
