//! The items that a person attaches to a conversation: resources, prompts and skills of all servers.

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
/// Number of tokens for which an image counts. Depending on the size of the image, APIs count 85 to about 1,600 tokens.
const TOKENS_OF_IMAGE: usize = 1_600;
/// The types of images that at least one model API accepts in a user message.
const IMAGES: [&str; 6] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/heic",
    "image/heif",
];
/// Number of bytes of the text that replaces media, without the name and the type of the media.
const REPLACED_TEXT: usize = 80;
/// Number of bytes that count as one token, for media that are not images.
const MEDIA_BYTES_PER_TOKEN: usize = 500;
/// Number of tokens that the JSON of a block needs in addition to its content.
const TOKENS_OF_BLOCK: usize = 12;
/// Minimum number of bytes that an allocation takes.
const ALLOCATION: usize = 32;
/// Maximum number of MIME types of an item that are reported as replaced.
const MAX_REPLACED: usize = 100;

/// The items that a person has attached to a conversation: resources, messages of prompts, and instructions of skills. The items
/// can be from all servers of a host.
///
/// No item is sent to a server. An item is read once, when it is attached, so that the conversation stays the same. To get its
/// current content, attach it again. Two marks enclose each resource and each skill, and the first mark names the server. The
/// marks contain a number that no server knows. Text from a server therefore cannot imitate the end of its item.
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
    /// The kind of item: a prompt, a resource or a skill.
    pub kind: ActionKind,
    /// The name of the server.
    pub server: String,
    /// The name for a person, as in the lists of the host: [`HostPrompt::name`](crate::HostPrompt::name),
    /// [`HostResource::name`](crate::HostResource::name) or [`HostSkill::name`](crate::HostSkill::name).
    pub name: Arc<str>,
    /// The estimated number of tokens: 12 for each block, 1 for each 3 bytes of text, 1,600 for an image that an API accepts, and
    /// 1 for each 500 bytes of other media.
    pub tokens: usize,
    messages: Vec<Message>,
    bytes: usize,
    /// The server from which the item was read. It is kept even if the host removes the server or replaces it with another server
    /// of the same name.
    source: Option<SupervisedClient>,
}

/// A content block, and whether the model or the user has sent it.
#[derive(Debug, Clone)]
struct Message {
    is_of_model: bool,
    block: Block<'static>,
}

/// A context in the format of a model API ([`ModelApi::context`]).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelContext {
    /// The messages to put before the text of the person. The first message contains all resources and skills, and the messages
    /// of the prompts follow.
    pub messages: Vec<Value>,
    /// The items that exceeded the budget.
    pub left_out: Vec<LeftOut>,
    /// The media that were replaced with a text, because the API does not accept them. Each MIME type of an item is
    /// reported once, and at most 100 types of an item are reported.
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
    /// The MIME type from the server, cut to at most 200 characters.
    pub mime_type: String,
}

impl Host {
    /// Creates an empty context for a conversation. The context is a handle that keeps the host open.
    pub fn context(&self) -> HostContext {
        HostContext {
            host: self.clone(),
            marks: RandomState::new(),
            items: Vec::new(),
        }
    }
}

impl HostContext {
    /// Attaches the item that a person has named in a text ([`Host::mentions`]). For a prompt, the words after its name become
    /// its arguments, one word for each argument. The last argument is all remaining text. If the prompt has no arguments, the
    /// text after its name is not used.
    ///
    /// # Errors
    /// The errors of [`attach_prompt`](Self::attach_prompt), [`attach_resource`](Self::attach_resource) and
    /// [`attach_skill`](Self::attach_skill).
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

    /// Attaches the messages of a prompt, as [`Host::get_prompt`] returns them. Replaces an attached prompt with the same name.
    ///
    /// # Errors
    /// The errors of [`Host::get_prompt`], and [`HostError::ContextFull`]. The attached items are then unchanged.
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

    /// Attaches a resource, as [`Host::read_resource`] returns it. If the resource is already attached, replaces its content.
    ///
    /// # Errors
    /// The errors of [`Host::read_resource`], and [`HostError::ContextFull`]. The attached items are then unchanged.
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

    /// Attaches the instructions of a skill, as [`Host::read_skill`] returns them. If the skill is already attached, replaces its
    /// instructions.
    ///
    /// # Errors
    /// The errors of [`Host::read_skill`], and [`HostError::ContextFull`]. The attached items are then unchanged.
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

    /// Returns the attached items, in the order in which they were attached.
    pub fn items(&self) -> &[ContextItem] {
        &self.items
    }

    /// Removes the item of this kind with this name. Returns whether there was such an item.
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
    /// Returns a context in this format. The included items have at most `max_tokens` estimated tokens in total.
    ///
    /// An item is included as a whole, or left out. If the items exceed the budget, prompts take precedence over skills, and
    /// skills take precedence over resources. Among items of the same kind, the items that were attached last take precedence.
    ///
    /// The servers of the included items count as untrusted sources of the conversation
    /// ([`track_untrusted_results`](crate::HostBuilder::track_untrusted_results)), even after [`Host::begin_conversation`].
    ///
    /// Text, images, PDF files and recordings are passed on if the API accepts their MIME type in a user message. Other media
    /// become a text that names the media. Prompts can also contain messages of the model. Such a message has only text.
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
                    // The model receives the text in the current conversation. The item may be from an earlier conversation.
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

/// Returns the precedence of a kind of items: items with a lower number are included first.
fn precedence(kind: ActionKind) -> u8 {
    match kind {
        ActionKind::Prompt => 0,
        ActionKind::Skill => 1,
        _ => 2,
    }
}

/// Adds a part. Joins a text with the text before it. Leaves out a text that is only white space, because some APIs reject such
/// texts.
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

/// Splits a text into words, at most `count`. The last element is all remaining text.
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

/// Returns the estimated number of tokens of a block. If an API does not accept the block, a text replaces it. The estimate is
/// therefore never less than the estimate for this text.
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

/// Returns the size of a block in memory, in bytes.
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

/// Omits the content, and shows its estimated number of tokens instead.
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
