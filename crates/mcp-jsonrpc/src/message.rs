//! Messages that borrow from the frame they were parsed from.

use std::borrow::Cow;

use crate::{ErrorObject, Limits, ParseError, RequestId};

/// One frame: a message, or a batch of them (2025-03-26 only).
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC allows no other frame")]
pub enum Frame<'a> {
    /// A single message.
    Single(Message<'a>),
    /// An array of messages; its members are parsed one by one on iteration.
    Batch(Batch<'a>),
}

/// A message, told apart by its members.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC allows no other message")]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Is one.
    Response(Response<'a>),
}

/// A request, its params still raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// Names the request in the answer.
    pub id: RequestId,
    /// What is asked for.
    pub method: Cow<'a, str>,
    /// The text of the params object; absent and `null` are the same.
    pub params: Option<&'a str>,
    pub(crate) seen: Seen<'a>,
}

impl<'a> Request<'a> {
    /// A request from its parts.
    pub fn new(id: RequestId, method: impl Into<Cow<'a, str>>, params: Option<&'a str>) -> Self {
        Self {
            id,
            method: method.into(),
            params,
            seen: Seen::default(),
        }
    }

    /// The members of the params, key and raw text, without a second look at the text where
    /// [`parse`](crate::parse) has taken note of them.
    pub fn param_members(&self) -> ParamMembers<'a> {
        ParamMembers {
            seen: self.seen,
            at: 0,
            rest: match self.seen.is_complete() {
                true => None,
                false => self.params.map(crate::members),
            },
        }
    }
}

/// The iterator of [`Request::param_members`].
#[derive(Debug, Clone)]
pub struct ParamMembers<'a> {
    seen: Seen<'a>,
    at: usize,
    rest: Option<crate::Members<'a>>,
}

impl<'a> Iterator for ParamMembers<'a> {
    type Item = Result<(&'a str, &'a str), ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(rest) = &mut self.rest {
            return rest.next();
        }
        let member = self.seen.members.get(..self.seen.count)?.get(self.at)?;
        self.at += 1;
        Some(Ok(*member))
    }
}

/// The first members of the params, noted in passing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Seen<'a> {
    members: [(&'a str, &'a str); Seen::ROOM],
    count: usize,
}

impl<'a> Seen<'a> {
    /// As many members as the params of any request of the protocol have in practice.
    const ROOM: usize = 4;

    pub(crate) fn note(&mut self, key: &'a str, value: &'a str) {
        if let Some(slot) = self.members.get_mut(self.count) {
            *slot = (key, value);
        }
        self.count += 1;
    }

    /// Whether all members were noted.
    fn is_complete(&self) -> bool {
        (1..=Self::ROOM).contains(&self.count)
    }
}

/// A notification, its params still raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// What happened.
    pub method: Cow<'a, str>,
    /// The text of the params object; absent and `null` are the same.
    pub params: Option<&'a str>,
}

impl<'a> Notification<'a> {
    /// A notification from its parts.
    pub fn new(method: impl Into<Cow<'a, str>>, params: Option<&'a str>) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }
}

/// An answer, its result still raw text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response<'a> {
    /// The request it answers; absent where the peer could not read one.
    pub id: Option<RequestId>,
    /// The text of the result, or what the peer refused.
    pub outcome: Result<&'a str, ErrorObject>,
}

impl<'a> Response<'a> {
    /// An answer from its parts.
    pub fn new(id: Option<RequestId>, outcome: Result<&'a str, ErrorObject>) -> Self {
        Self { id, outcome }
    }
}

/// A batch whose text was checked; iterating parses the members.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<'a> {
    pub(crate) members: Vec<&'a str>,
    pub(crate) limits: Limits,
}

impl<'a> Batch<'a> {
    /// How many members it has; never zero.
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is refused")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The members in order. A broken member is an error of its own and spoils no other.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message<'a>, ParseError>> + '_ {
        self.members
            .iter()
            .map(|text| crate::parse::message(text, &self.limits))
    }
}
