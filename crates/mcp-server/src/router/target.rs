//! The params of requests that name a tool, prompt or resource.

use std::borrow::Cow;

use mcp_jsonrpc::{ErrorCode, ErrorObject, Request, read_string};

use crate::round_trip::RoundTrip;

/// The params of such a request, read in one pass without allocation.
pub(super) struct Target<'a> {
    pub(super) name: Cow<'a, str>,
    arguments: Option<&'a str>,
    pub(super) meta: Option<&'a str>,
    pub(super) round_trip: RoundTrip<'a>,
    #[cfg(feature = "tasks")]
    pub(super) task: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub(super) fn read(request: &Request<'a>, key: &str) -> Result<Self, ErrorObject> {
        let invalid = |what: String| ErrorObject::invalid_params(format!("invalid params: {what}"));
        let (mut name, mut arguments, mut meta) = (None, None, None);
        #[cfg(feature = "tasks")]
        let mut task = None;
        let mut round_trip = RoundTrip::default();
        for member in request.param_members() {
            let (member, value) = member.map_err(|error| invalid(error.to_string()))?;
            let slot = match member {
                "arguments" => &mut arguments,
                "_meta" => &mut meta,
                "inputResponses" => &mut round_trip.responses,
                "requestState" => &mut round_trip.state,
                #[cfg(feature = "tasks")]
                "task" => &mut task,
                _ if member == key => &mut name,
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(invalid(format!("duplicate member {member:?}")));
            }
        }
        let Some(name) = name else {
            return Err(invalid(format!("member {key:?} is missing")));
        };
        let name =
            read_string(name).ok_or_else(|| invalid(format!("/{key}: expected a string")))?;
        Ok(Self {
            name,
            arguments,
            meta,
            round_trip,
            #[cfg(feature = "tasks")]
            task,
        })
    }

    /// Returns the text of the arguments object; `{}` if absent.
    pub(super) fn arguments(&self) -> Result<&'a str, ErrorObject> {
        match self.arguments {
            None | Some("null") => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(_) => Err(ErrorObject::new(
                ErrorCode::INVALID_PARAMS,
                "invalid params: /arguments: expected an object",
            )),
        }
    }
}
