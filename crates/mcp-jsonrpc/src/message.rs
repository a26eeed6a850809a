//! Messages that borrow from the frame from which they were parsed.

use std::borrow::Cow;

use crate::{ErrorObject, ParseError, RequestId, is_member};

/// A message, classified by its members.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC defines these three messages"
)]
pub enum Message<'a> {
    /// A request, which expects a response.
    Request(Request<'a>),
    /// A notification, which has no response.
    Notification(Notification<'a>),
    /// A response.
    Response(Response<'a>),
}

/// A request with its params as raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The id, which the response repeats.
    pub id: RequestId,
    /// The method.
    pub method: Cow<'a, str>,
    /// The JSON text of the params object; `None` if the params are absent or `null`.
    pub params: Option<&'a str>,
    pub(crate) index: MemberIndex<'a>,
}

impl<'a> Request<'a> {
    /// Creates a request.
    pub fn new(id: RequestId, method: impl Into<Cow<'a, str>>, params: Option<&'a str>) -> Self {
        Self {
            id,
            method: method.into(),
            params,
            index: MemberIndex::default(),
        }
    }

    /// Sets the positions of the members of the params, so that the text is not scanned again. The positions must have been found
    /// in the same text.
    pub fn set_positions(&mut self, positions: &MemberPositions) {
        let params = self.params.unwrap_or_default();
        for (key, value) in positions.members.iter().take(positions.count) {
            let value = value.in_text(params).unwrap_or_default();
            self.index.params.push(key, value);
        }
    }

    /// Iterates over the members of the params. Each item is a raw key and the raw text of the value. If [`parse`](crate::parse)
    /// indexed all members, the text is not scanned again.
    pub fn param_members(&self) -> ParamMembers<'_, 'a> {
        let indexed = self.index.params.all();
        ParamMembers {
            rest: match indexed {
                Some(_) => None,
                None => self.params.map(crate::members),
            },
            indexed: indexed.unwrap_or_default().iter(),
        }
    }

    /// Iterates over the members of `_meta` in the params. Each item is a raw key and the raw text of the value. A `_meta` that
    /// is not an object has no members.
    pub fn meta_members(&self) -> ParamMembers<'_, 'a> {
        if let Some(indexed) = self.index.meta.all() {
            return ParamMembers {
                indexed: indexed.iter(),
                rest: None,
            };
        }
        let mut params = self.param_members().filter_map(Result::ok);
        let meta = params.find(|(key, text)| is_member(key, META) && text.starts_with('{'));
        ParamMembers {
            indexed: [].iter(),
            rest: meta.map(|(_, text)| crate::members(text)),
        }
    }
}

/// The member of the params that holds metadata of the message.
pub(crate) const META: &str = "_meta";

/// Iterator returned by [`Request::param_members`] and [`Request::meta_members`].
#[derive(Debug, Clone)]
pub struct ParamMembers<'r, 'a> {
    indexed: std::slice::Iter<'r, (&'a str, &'a str)>,
    rest: Option<crate::Members<'a>>,
}

impl<'a> Iterator for ParamMembers<'_, 'a> {
    type Item = Result<(&'a str, &'a str), ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.rest {
            None => self.indexed.next().map(|member| Ok(*member)),
            Some(rest) => rest.next(),
        }
    }
}

/// The positions of the params members in the text of the params. They are recorded only for the most frequent requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemberPositions {
    members: [(&'static str, Position); 4],
    /// The number of members; 0 if the positions are not known.
    count: usize,
}

impl MemberPositions {
    /// Records the positions of the params members of `request`. Records nothing unless [`parse`](crate::parse) has indexed all
    /// members, and all of them are members of `tools/call`, `prompts/get` or `resources/read`.
    pub fn find(&mut self, request: &Request<'_>) {
        self.clear();
        let (Some(params), Some(members)) = (request.params, request.index.params.all()) else {
            return;
        };
        // Each position must fit into 32 bits. It is sufficient to check the length of the whole text.
        if u32::try_from(params.len()).is_err() {
            return;
        }
        for ((key, value), member) in members.iter().zip(&mut self.members) {
            // The keys are constants, so that no positions of keys have to be stored and checked.
            let key = match *key {
                "name" => "name",
                "arguments" => "arguments",
                "_meta" => META,
                "uri" => "uri",
                _ => return,
            };
            *member = (key, Position::of(value, params));
        }
        self.count = members.len();
    }

    /// Removes the positions. Call it when the text changes.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// The position of a part within a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Position {
    start: u32,
    len: u32,
}

impl Position {
    /// Returns the position of `part`, which must be a slice of `text`. `text` must be shorter than 4 GiB.
    fn of(part: &str, text: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        Self {
            start: start as u32,
            len: part.len() as u32,
        }
    }

    fn in_text(self, text: &str) -> Option<&str> {
        let start = self.start as usize;
        text.get(start..start + self.len as usize)
    }
}

/// The members of the params and of `_meta` that the parser found when it parsed the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MemberIndex<'a> {
    /// In practice, no request of the protocol has more than four params.
    pub(crate) params: IndexedMembers<'a, 4>,
    pub(crate) meta: IndexedMembers<'a, 4>,
}

/// An index of the members of an object. It is complete if the object has at most `ROOM` members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct IndexedMembers<'a, const ROOM: usize> {
    members: [(&'a str, &'a str); ROOM],
    count: usize,
}

impl<const ROOM: usize> Default for IndexedMembers<'_, ROOM> {
    fn default() -> Self {
        Self {
            members: [("", ""); ROOM],
            count: 0,
        }
    }
}

impl<'a, const ROOM: usize> IndexedMembers<'a, ROOM> {
    #[inline]
    pub(crate) fn push(&mut self, key: &'a str, value: &'a str) {
        if let Some(slot) = self.members.get_mut(self.count) {
            *slot = (key, value);
        }
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Marks the index as incomplete.
    pub(crate) fn invalidate(&mut self) {
        self.count = ROOM + 1;
    }

    /// Returns all members, if the index is complete and not empty.
    fn all(&self) -> Option<&[(&'a str, &'a str)]> {
        self.members
            .get(..self.count)
            .filter(|members| !members.is_empty())
    }
}

/// A notification with its params as raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The JSON text of the params object; `None` if the params are absent or `null`.
    pub params: Option<&'a str>,
}

impl<'a> Notification<'a> {
    /// Creates a notification.
    pub fn new(method: impl Into<Cow<'a, str>>, params: Option<&'a str>) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }
}

/// A response with its result as raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response<'a> {
    /// The id of the request; `None` if the peer could not read it.
    pub id: Option<RequestId>,
    /// The JSON text of the result, or the error.
    pub outcome: Result<&'a str, ErrorObject>,
}

impl<'a> Response<'a> {
    /// Creates a response.
    pub fn new(id: Option<RequestId>, outcome: Result<&'a str, ErrorObject>) -> Self {
        Self { id, outcome }
    }
}
