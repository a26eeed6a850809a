//! Messages that borrow from the frame they were parsed from.

use std::borrow::Cow;

use crate::{ErrorObject, ParseError, RequestId};

/// A message, told apart by its members.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC allows no other message")]
#[expect(
    clippy::large_enum_variant,
    reason = "what was noted of a request lives on the stack, for as long as it is served"
)]
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
    pub fn param_members(&self) -> ParamMembers<'_, 'a> {
        let noted = self.seen.params.all();
        ParamMembers {
            rest: match noted {
                Some(_) => None,
                None => self.params.map(crate::members),
            },
            noted: noted.unwrap_or_default().iter(),
        }
    }

    /// The same for the members of `_meta`, which stands in the params. One that is no object has
    /// none.
    pub fn meta_members(&self) -> ParamMembers<'_, 'a> {
        if let Some(noted) = self.seen.meta.all() {
            return ParamMembers {
                noted: noted.iter(),
                rest: None,
            };
        }
        let mut params = self.param_members().filter_map(Result::ok);
        let meta = params.find(|(key, text)| *key == META && text.starts_with('{'));
        ParamMembers {
            noted: [].iter(),
            rest: meta.map(|(_, text)| crate::members(text)),
        }
    }
}

/// Where the params say something of the message itself.
pub(crate) const META: &str = "_meta";

/// The iterator of [`Request::param_members`] and [`Request::meta_members`].
#[derive(Debug, Clone)]
pub struct ParamMembers<'r, 'a> {
    noted: std::slice::Iter<'r, (&'a str, &'a str)>,
    rest: Option<crate::Members<'a>>,
}

impl<'a> Iterator for ParamMembers<'_, 'a> {
    type Item = Result<(&'a str, &'a str), ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.rest {
            None => self.noted.next().map(|member| Ok(*member)),
            Some(rest) => rest.next(),
        }
    }
}

/// What was noted in passing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Seen<'a> {
    /// As many members as the params of any request of the protocol have in practice.
    pub(crate) params: Noted<'a, 4>,
    pub(crate) meta: Noted<'a, 4>,
}

/// The first members of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noted<'a, const ROOM: usize> {
    members: [(&'a str, &'a str); ROOM],
    count: usize,
}

impl<const ROOM: usize> Default for Noted<'_, ROOM> {
    fn default() -> Self {
        Self {
            members: [("", ""); ROOM],
            count: 0,
        }
    }
}

impl<'a, const ROOM: usize> Noted<'a, ROOM> {
    #[inline]
    pub(crate) fn note(&mut self, key: &'a str, value: &'a str) {
        if let Some(slot) = self.members.get_mut(self.count) {
            *slot = (key, value);
        }
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// There is more than was noted.
    pub(crate) fn spoil(&mut self) {
        self.count = ROOM + 1;
    }

    /// All members, if all were noted.
    fn all(&self) -> Option<&[(&'a str, &'a str)]> {
        self.members.get(..self.count).filter(|it| !it.is_empty())
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
