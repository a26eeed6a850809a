//! What a person attaches to a conversation: resources, prompts and skills of all servers.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use mcp_client::types::{PromptMessage, Role};
use serde_json::Value;

use super::ModelApi;
use super::block::{Block, Part, shortened};
use super::search::BYTES_PER_TOKEN;
use crate::action_kind::ActionKind;
use crate::error::HostError;
use crate::host::{Host, Mention, resource_name};
use crate::supervise::SupervisedClient;
use crate::text::printable;

/// Maximum number of items in a context. An attached item stays in memory until it is removed.
const MAX_ITEMS: usize = 1_000;
/// Maximum total size of the items in a context, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Number of tokens that an image counts. APIs count 85 to about 1,600, by its size.
const TOKENS_OF_IMAGE: usize = 1_600;
/// The types of images that an API accepts in a message of the user.
const IMAGES: [&str; 6] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/heic",
    "image/heif",
];
/// Number of bytes of the text that replaces media, in addition to their name and type.
const REPLACED_TEXT: usize = 80;
/// Number of bytes of other media that count as one token.
const MEDIA_BYTES_PER_TOKEN: usize = 500;
/// Number of tokens that the JSON of a block needs in addition to its content.
const TOKENS_OF_BLOCK: usize = 12;
/// Number of bytes that a small allocation takes at least.
const ALLOCATION: usize = 32;
/// Maximum number of media of an item that are reported as replaced.
const MAX_REPLACED: usize = 100;

/// What a person has attached to a conversation: resources, messages of prompts, and instructions of skills of all servers of a host.
///
/// Nothing of it is sent to a server. Each item is read once, when it is attached, so that the conversation stays the same. Attach it again
/// for its present content. Resources and skills are between two marks, with the name of the server. The marks have a number that no server
/// knows, so that the text of a server cannot look like the end of its item.
///
/// ```no_run
/// # async fn run(host: mcp_host::Host) -> Result<(), mcp_host::HostError> {
/// use mcp_host::ModelApi;
/// use serde_json::json;
///
/// let text = "What is wrong with @git:file:///src/main.rs?";
/// let mut context = host.context();
/// for mention in host.mentions(text) {
///     context.attach(&mention).await?;
/// }
/// let attached = ModelApi::Anthropic.context(&context, 20_000);
/// for item in &attached.left_out {
///     eprintln!("{} is too long for the model: {} tokens", item.name, item.tokens);
/// }
/// let mut messages = attached.messages;
/// messages.push(json!({ "role": "user", "content": text }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HostContext {
    host: Host,
    /// Computes the numbers in the marks, with a secret key.
    marks: RandomState,
    items: Vec<ContextItem>,
}

/// One item of a [`HostContext`].
#[derive(Clone)]
#[non_exhaustive]
pub struct ContextItem {
    /// A prompt, a resource or a skill.
    pub kind: ActionKind,
    /// The name of the server.
    pub server: String,
    /// The name for a person, as in the lists of the host: [`HostPrompt::name`](crate::HostPrompt::name),
    /// [`HostResource::name`](crate::HostResource::name) or [`HostSkill::name`](crate::HostSkill::name).
    pub name: Arc<str>,
    /// The estimated number of tokens: 12 for each block, one for three bytes of text, 1,600 for an image that an API accepts, and one for
    /// 500 bytes of other media.
    pub tokens: usize,
    messages: Vec<Message>,
    bytes: usize,
    /// The server, even if the host has removed it or has another one of this name.
    source: Option<SupervisedClient>,
}

/// Content with its sender.
#[derive(Debug, Clone)]
struct Message {
    is_of_model: bool,
    block: Block<'static>,
}

/// A context in the format of a model API ([`ModelApi::context`]).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelContext {
    /// Messages to put before the text of the person: first one with all resources and skills, then those of the prompts.
    pub messages: Vec<Value>,
    /// The items that exceeded the budget.
    pub left_out: Vec<LeftOut>,
    /// The kinds of media that the API does not accept, at most 100 for each item. The model gets a text that names the media.
    pub replaced: Vec<ReplacedMedia>,
}

/// An item that exceeded the budget of a [`ModelContext`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The name of the [`ContextItem`].
    pub name: Arc<str>,
    /// The estimated number of tokens of the item.
    pub tokens: usize,
}

/// Media that a model API does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplacedMedia {
    /// The name of the [`ContextItem`].
    pub item: Arc<str>,
    /// The MIME type that the server states, at most 200 characters.
    pub mime_type: String,
}

impl Host {
    /// Creates an empty context for a conversation. It keeps the host open.
    pub fn context(&self) -> HostContext {
        HostContext {
            host: self.clone(),
            marks: RandomState::new(),
            items: Vec::new(),
        }
    }
}

impl HostContext {
    /// Attaches what a person has named in a text ([`Host::mentions`]). Of the text after a prompt, each word is one of its arguments, and
    /// the last argument is the rest of the text. For a prompt without arguments, the text is not used.
    ///
    /// # Errors
    /// As [`attach_prompt`](Self::attach_prompt), [`attach_resource`](Self::attach_resource) and [`attach_skill`](Self::attach_skill).
    pub async fn attach(&mut self, mention: &Mention) -> Result<&ContextItem, HostError> {
        match mention {
            Mention::Prompt { name, rest } => {
                let prompt = self.host.find_prompt(name).map(|(_, prompt)| prompt);
                let arguments = prompt
                    .as_ref()
                    .and_then(|prompt| prompt.arguments.as_deref());
                let arguments = arguments.unwrap_or_default();
                let names = arguments.iter().map(|argument| &*argument.name);
                let arguments: Vec<_> = names.zip(words(rest, arguments.len())).collect();
                self.attach_prompt(name, arguments).await
            }
            Mention::Resource { server, uri, .. } => self.attach_resource(server, uri).await,
            Mention::Skill { server, uri, .. } => self.attach_skill(server, uri).await,
        }
    }

    /// Attaches the messages of a prompt, as [`Host::get_prompt`] returns them. A prompt with the same name is replaced.
    ///
    /// # Errors
    /// As [`Host::get_prompt`], and [`HostError::ContextFull`]. What was attached before stays.
    pub async fn attach_prompt<K: Into<String>, V: Into<String>>(
        &mut self,
        name: &str,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Result<&ContextItem, HostError> {
        let source = self.host.find_prompt(name).map(|(server, _)| server);
        let prompt = self.host.get_prompt(name, arguments).await?;
        let messages = prompt.messages.iter().map(Message::of_prompt).collect();
        self.insert(ContextItem::new(
            ActionKind::Prompt,
            source,
            name.to_owned(),
            messages,
        ))
    }

    /// Attaches a resource, as [`Host::read_resource`] returns it. An earlier state of the resource is replaced.
    ///
    /// # Errors
    /// As [`Host::read_resource`], and [`HostError::ContextFull`]. What was attached before stays.
    pub async fn attach_resource(
        &mut self,
        server: &str,
        uri: &str,
    ) -> Result<&ContextItem, HostError> {
        let source = self.host.server(server);
        let read = self.host.read_resource(server, uri).await?;
        let blocks = read.contents.iter();
        let blocks = blocks.map(|contents| Block::of_contents(contents, Some(uri)).into_owned());
        self.insert_marked(ActionKind::Resource, source, uri, blocks.collect())
    }

    /// Attaches the instructions of a skill, as [`Host::read_skill`] returns them. An earlier state of the skill is replaced.
    ///
    /// # Errors
    /// As [`Host::read_skill`], and [`HostError::ContextFull`]. What was attached before stays.
    pub async fn attach_skill(
        &mut self,
        server: &str,
        uri: &str,
    ) -> Result<&ContextItem, HostError> {
        let source = self.host.server(server);
        let instructions = self.host.read_skill(server, uri).await?;
        let blocks = vec![Block::Text(instructions.into())];
        self.insert_marked(ActionKind::Skill, source, uri, blocks)
    }

    /// Returns what is attached, in the order in which it was attached.
    pub fn items(&self) -> &[ContextItem] {
        &self.items
    }

    /// Removes the item of this kind with this name, and returns whether there was one.
    pub fn remove(&mut self, kind: ActionKind, name: &str) -> bool {
        let before = self.items.len();
        self.items
            .retain(|item| (item.kind, &*item.name) != (kind, name));
        self.items.len() < before
    }

    fn insert_marked(
        &mut self,
        kind: ActionKind,
        source: Option<SupervisedClient>,
        uri: &str,
        mut blocks: Vec<Block<'static>>,
    ) -> Result<&ContextItem, HostError> {
        let name = source.as_ref().map(|source| source.name().to_owned());
        let server = &*name.unwrap_or_default();
        let number = self.marks.hash_one((server, uri, &blocks));
        let (shown, server_name) = (printable(uri), printable(server));
        let what = match kind {
            ActionKind::Skill => "instructions of the skill",
            _ => "resource",
        };
        let begin = format!(
            "[attachment {number:016x}: the {what} {shown:?} of the server {server_name:?}]"
        );
        let end = format!("[end of attachment {number:016x}]");
        blocks.insert(0, Block::Text(begin.into()));
        blocks.push(Block::Text(end.into()));
        let message = |block| Message {
            is_of_model: false,
            block,
        };
        self.insert(ContextItem::new(
            kind,
            source,
            resource_name(server, uri),
            blocks.into_iter().map(message).collect(),
        ))
    }

    fn insert(&mut self, item: ContextItem) -> Result<&ContextItem, HostError> {
        let is_other = |one: &&ContextItem| (one.kind, &one.name) != (item.kind, &item.name);
        let (count, bytes) = self
            .items
            .iter()
            .filter(is_other)
            .fold((1, item.bytes), |(count, bytes), one| {
                (count + 1, bytes + one.bytes)
            });
        if count > MAX_ITEMS || bytes > MAX_BYTES {
            return Err(HostError::ContextFull {
                name: shortened(&item.name),
                max_items: MAX_ITEMS,
                max_bytes: MAX_BYTES,
            });
        }
        self.remove(item.kind, &item.name);
        self.items.push(item);
        Ok(&self.items[count - 1])
    }
}

impl ContextItem {
    fn new(
        kind: ActionKind,
        source: Option<SupervisedClient>,
        name: String,
        messages: Vec<Message>,
    ) -> Self {
        let server = source.as_ref().map(|source| source.name().to_owned());
        let server = server.unwrap_or_default();
        let blocks = || messages.iter().map(|message| &message.block);
        let bytes: usize = blocks().map(bytes).sum();
        Self {
            kind,
            bytes: bytes + size_of::<Self>() + server.len() + name.len(),
            server,
            tokens: blocks().map(tokens).sum(),
            name: name.into(),
            messages,
            source,
        }
    }

    /// Writes the messages of a prompt to `context`, and the content of a resource or skill to `attached`.
    fn write(&self, api: ModelApi, context: &mut ModelContext, attached: &mut Vec<Value>) {
        let mut kinds = HashSet::new();
        let is_same_sender = |one: &Message, next: &Message| one.is_of_model == next.is_of_model;
        for run in self.messages.chunk_by(is_same_sender) {
            let is_of_model = run.iter().any(|message| message.is_of_model);
            let accepted = match is_of_model {
                true => &[],
                false => api.message_media(),
            };
            let mut parts = Vec::new();
            for Message { block, .. } in run {
                let part = block.borrowed().into_part(accepted);
                if let (Block::Media(media), Part::Text(_)) = (block, &part)
                    && kinds.len() < MAX_REPLACED
                    && kinds.insert(shortened(&media.mime_type))
                {
                    context.replaced.push(ReplacedMedia {
                        item: Arc::clone(&self.name),
                        mime_type: shortened(&media.mime_type),
                    });
                }
                add_part(&mut parts, part);
            }
            let content = parts.iter().map(|part| match part {
                Part::Text(text) => api.text_content(text),
                Part::Media(mime_type, data) => api.media_content(mime_type, data),
            });
            match &parts[..] {
                // APIs reject messages without content.
                [] => {}
                [Part::Text(text), ..] if is_of_model => {
                    context.messages.push(api.model_message(text));
                }
                _ if self.kind == ActionKind::Prompt => {
                    let content: Vec<Value> = content.collect();
                    context.messages.push(api.user_message(&content));
                }
                _ => attached.extend(content),
            }
        }
    }
}

impl Message {
    fn of_prompt(message: &PromptMessage) -> Self {
        Self {
            is_of_model: message.role == Role::Assistant,
            block: Block::of(&message.content).into_owned(),
        }
    }
}

impl ModelApi {
    /// Returns a context in this format, with at most `max_tokens` estimated tokens.
    ///
    /// If the items exceed the budget, prompts take precedence over skills, and skills over resources; of the same kind, what was attached
    /// last takes precedence. An item is included whole or left out.
    ///
    /// The servers of the included items count as untrusted sources of the conversation
    /// ([`track_untrusted_results`](crate::HostBuilder::track_untrusted_results)), also after [`Host::begin_conversation`].
    ///
    /// Text, images, PDF files and recordings are passed on if the API accepts their MIME type in a message of the user. A message of
    /// the model, which a prompt can contain, has only text. Other media are named in a text.
    pub fn context(self, context: &HostContext, max_tokens: usize) -> ModelContext {
        let items = &context.items;
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&index| (precedence(items[index].kind), Reverse(index)));
        let (mut is_included, mut rest) = (vec![false; items.len()], max_tokens);
        for index in order {
            if let Some(left) = rest.checked_sub(items[index].tokens) {
                (is_included[index], rest) = (true, left);
            }
        }
        let mut model_context = ModelContext {
            messages: Vec::new(),
            left_out: Vec::new(),
            replaced: Vec::new(),
        };
        let mut attached = Vec::new();
        for (item, is_included) in items.iter().zip(is_included) {
            match is_included {
                true => {
                    // The model receives the text in this conversation, too.
                    if let Some(source) = &item.source {
                        source.mark_untrusted();
                    }
                    item.write(self, &mut model_context, &mut attached);
                }
                false => model_context.left_out.push(LeftOut {
                    name: Arc::clone(&item.name),
                    tokens: item.tokens,
                }),
            }
        }
        if !attached.is_empty() {
            let message = self.user_message(&attached);
            model_context.messages.insert(0, message);
        }
        model_context
    }
}

/// Returns the place of a kind in the order of what is included.
fn precedence(kind: ActionKind) -> u8 {
    match kind {
        ActionKind::Prompt => 0,
        ActionKind::Skill => 1,
        _ => 2,
    }
}

/// Adds a part. Texts that follow each other become one, and texts of white space are left out, because some
/// APIs reject them.
fn add_part<'a>(parts: &mut Vec<Part<'a>>, part: Part<'a>) {
    match (parts.last_mut(), part) {
        (_, Part::Text(text)) if text.trim().is_empty() => {}
        (Some(Part::Text(before)), Part::Text(text)) => {
            before.push('\n');
            before.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}

/// Returns the words of a text, at most `count`. The last one is the rest of the text.
fn words(text: &str, count: usize) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() && words.len() < count {
        let is_last = words.len() + 1 == count;
        let (word, next) = match rest.split_once(char::is_whitespace) {
            Some((word, next)) if !is_last => (word, next.trim_start()),
            _ => (rest, ""),
        };
        words.push(word);
        rest = next;
    }
    words
}

/// Returns the estimated number of tokens of a block, at least of the text that replaces it for an API that does not accept it.
fn tokens(block: &Block<'_>) -> usize {
    let content = match block {
        Block::Text(text) => text.len().div_ceil(BYTES_PER_TOKEN),
        Block::Media(media) => {
            let name = shortened(&media.name).len() + shortened(&media.mime_type).len();
            let replaced = (name + REPLACED_TEXT).div_ceil(BYTES_PER_TOKEN);
            let is_accepted = |image: &str| image == &*media.mime_type;
            let accepted = match IMAGES.iter().any(|image| is_accepted(image)) {
                true => TOKENS_OF_IMAGE,
                false => (media.data.len() / 4 * 3).div_ceil(MEDIA_BYTES_PER_TOKEN),
            };
            match &*media.mime_type {
                other if other.starts_with("image/") && accepted != TOKENS_OF_IMAGE => replaced,
                _ => accepted.max(replaced),
            }
        }
    };
    content + TOKENS_OF_BLOCK
}

/// Returns the memory of a block in bytes.
fn bytes(block: &Block<'_>) -> usize {
    let texts = match block {
        Block::Text(text) => text.len() + ALLOCATION,
        Block::Media(media) => {
            let texts = [&media.mime_type, &media.data, &media.name];
            texts.iter().map(|text| text.len() + ALLOCATION).sum()
        }
    };
    size_of::<Message>() + texts
}

/// Shows the content by its size only.
impl fmt::Debug for ContextItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextItem")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HostContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.items.iter().map(|item| &item.name))
            .finish()
    }
}
