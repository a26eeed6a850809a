//! Checks of the responses.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::bench::Fault;
use crate::bench::requests::Workload;

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<Outcome<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Option<Vec<Block<'a>>>,
    tools: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Progress of some call.
    Notification,
    /// The answer to the request with this id.
    Answer(u64),
}

/// The expected responses.
#[derive(Debug)]
pub(super) struct Check {
    asked: Workload,
    text: String,
}

impl Check {
    pub(super) fn new(asked: Workload) -> Self {
        Self {
            asked,
            text: asked.text(),
        }
    }

    /// The number of notifications before a response.
    pub(super) fn notifications(&self) -> usize {
        match self.asked {
            Workload::Steps(count) => count,
            _ => 0,
        }
    }

    /// Checks one message.
    ///
    /// # Errors
    /// The message is not a response, or not the expected one.
    pub(super) fn message(&self, message: &[u8]) -> Result<Found, Fault> {
        let wrong = |what: &str| -> Fault {
            let start = &message[..message.len().min(400)];
            format!("{what}: {}", String::from_utf8_lossy(start)).into()
        };
        let parsed: Message<'_> =
            serde_json::from_slice(message).map_err(|error| wrong(&error.to_string()))?;
        let id = match (parsed.id, parsed.method) {
            (None, Some(_)) => return Ok(Found::Notification),
            (Some(id), None) => id,
            _ => return Err(wrong("neither answer nor notification")),
        };
        let Some(result) = parsed.result.filter(|_| parsed.error.is_none()) else {
            return Err(wrong("the call failed"));
        };
        let fits = match self.asked {
            Workload::List(count) => result.tools.is_some_and(|tools| tools.len() == count),
            _ => {
                let mut content = result.content.unwrap_or_default();
                let last = content.pop();
                let text = last.and_then(|block| block.text);
                !result.is_error && text.is_some_and(|text| text == self.text)
            }
        };
        if fits {
            Ok(Found::Answer(id))
        } else {
            Err(wrong("not what was asked for"))
        }
    }

    /// Checks the body of an HTTP response, which contains one response.
    ///
    /// # Errors
    /// The body contains no response, or not the expected one.
    pub(super) fn body(&self, body: &[u8], is_events: bool, id: u64) -> Result<(), Fault> {
        if !is_events {
            return match self.message(body)? {
                Found::Answer(found) if found == id && self.notifications() == 0 => Ok(()),
                other => Err(format!("{other:?} where an answer to {id} was due").into()),
            };
        }
        let (mut notifications, mut answers) = (0, 0);
        let lines = body.split(|byte| *byte == b'\n');
        for data in lines.filter_map(|line| line.strip_prefix(b"data:")) {
            // The first event of some servers is empty.
            let data = data.trim_ascii();
            if data.is_empty() {
                continue;
            }
            match self.message(data)? {
                Found::Notification => notifications += 1,
                Found::Answer(found) if found == id => answers += 1,
                Found::Answer(other) => {
                    return Err(format!("an answer to {other}, not {id}").into());
                }
            }
        }
        if (notifications, answers) == (self.notifications(), 1) {
            return Ok(());
        }
        Err(format!("{notifications} notifications and {answers} answers").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: u64, text: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    #[test]
    fn only_the_right_answer_passes_the_check() {
        let check = Check::new(Workload::Echo(3));
        assert!(check.body(answer(7, "xxx").as_bytes(), false, 7).is_ok());
        for wrong in [
            answer(7, "xxy"),
            answer(8, "xxx"),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"xxx"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#.to_owned(),
            answer(7, "xxx").replace("\"content\"", "\"isError\":true,\"content\""),
            String::new(),
        ] {
            assert!(check.body(wrong.as_bytes(), false, 7).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_stream_passes_the_check_only_with_all_notifications_and_one_response() {
        let check = Check::new(Workload::Steps(2));
        let note = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n";
        let last = format!("id: 1\ndata: {}\n\n", answer(1, "done"));
        let whole = format!("data:\n\n{note}{note}{last}");
        assert!(check.body(whole.as_bytes(), true, 1).is_ok());
        for wrong in [
            format!("{note}{last}"),
            format!("{note}{note}"),
            format!("{whole}{last}"),
        ] {
            assert!(check.body(wrong.as_bytes(), true, 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_with_the_wrong_number_of_items_fails_the_check() {
        let list = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{},{}]}}"#;
        assert!(Check::new(Workload::List(2)).body(list, false, 1).is_ok());
        assert!(Check::new(Workload::List(3)).body(list, false, 1).is_err());
    }
}
