//! Compares the decoder with a simple second decoder and with a writer, and tests the decoder's limits.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{Decoder, Event, TooLong};

const LIMIT: usize = 1 << 16;

/// An event that owns its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Owned {
    id: Option<Vec<u8>>,
    name: Vec<u8>,
    data: Vec<u8>,
    retry: Option<u64>,
}

impl Decoder {
    /// Returns the next event in `input`.
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<Event<'_>>, TooLong> {
        Ok(self.advance(input)?.then(|| self.event()))
    }
}

/// Writes an event in the same way as a server.
fn write(out: &mut Vec<u8>, id: Option<&str>, name: Option<&str>, data: &[u8]) {
    for (field, value) in [("event", name), ("id", id)] {
        if let Some(value) = value {
            out.extend_from_slice(format!("{field}: {value}\n").as_bytes());
        }
    }
    for line in breaks_as_lf(data).split(|byte| *byte == b'\n') {
        out.extend_from_slice(&[b"data: ", line, b"\n"].concat());
    }
    out.push(b'\n');
}

/// Decodes all events from bytes that arrive in these chunks.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Owned>, TooLong> {
    let mut decoder = Decoder::new(LIMIT, 256);
    let mut events = Vec::new();
    for mut chunk in chunks {
        while let Some(event) = decoder.next(&mut chunk)? {
            events.push(Owned {
                id: event.id.map(<[u8]>::to_vec),
                name: event.name.to_vec(),
                data: event.data.to_vec(),
                retry: event.retry.map(|wait| wait.as_millis().try_into().unwrap()),
            });
        }
        assert!(chunk.is_empty());
    }
    Ok(events)
}

fn one(bytes: &[u8]) -> Vec<Owned> {
    decode([bytes]).unwrap()
}

fn message(data: &[u8]) -> Owned {
    Owned {
        data: data.to_vec(),
        ..Owned::default()
    }
}

/// Decodes events with the algorithm of the standard. Works on the whole stream at once.
fn naive(bytes: &[u8]) -> Vec<Owned> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut text = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => {}
            b'\r' => text.push(b'\n'),
            byte => text.push(*byte),
        }
    }
    let mut events = Vec::new();
    let mut event = Owned::default();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut rest: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    rest.pop(); // no line ends here
    for line in rest {
        if line.is_empty() {
            event.data = lines.join(&b'\n');
            if event.id.is_some() || event.retry.is_some() || !lines.is_empty() {
                events.push(event);
            }
            event = Owned::default();
            lines.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => lines.push(value.to_vec()),
            // A longer name is cut, because it is unknown.
            b"event" => event.name = value[..value.len().min(65)].to_vec(),
            b"id" if !value.contains(&0) => event.id = Some(value.to_vec()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let number = std::str::from_utf8(value).unwrap().parse();
                event.retry = number.ok().or(event.retry);
            }
            _ => {}
        }
    }
    events
}

/// Splits bytes into chunks at these positions.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|at| at % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut start = 0;
    for at in places {
        chunks.push(&bytes[start..at]);
        start = at;
    }
    chunks.push(&bytes[start..]);
    chunks
}

/// Generates parts of streams, including edge cases of the format.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        &b"data"[..],
        b"data:",
        b"data: ",
        b"data: {}",
        b"id",
        b"id:",
        b"id: a\0b",
        b"id: 7",
        b"event: ping",
        b"retry: 15",
        b"retry: 1x",
        b"retry:",
        b"unknown: x",
        b":",
        b": comment",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xEF\xBB\xBF",
        b"\xEF\xBB",
        b" ",
    ]);
    prop_oneof![8 => known.prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..4)]
}

proptest! {
    #[test]
    fn any_stream_in_any_chunks_decodes_like_the_standard(
        pieces in vec(piece(), 0..40),
        places in vec(any::<usize>(), 0..12),
    ) {
        let bytes = pieces.concat();
        prop_assert_eq!(decode(cut(&bytes, &places)).unwrap(), naive(&bytes));
    }

    #[test]
    fn written_events_decode_in_any_chunks(
        events in vec((option::of("[!-~é]{0,20}"), option::of("[a-z]{1,8}"), vec(any::<u8>(), 0..60)), 0..8),
        places in vec(any::<usize>(), 0..12),
    ) {
        let mut bytes = Vec::new();
        for (id, name, data) in &events {
            bytes.extend_from_slice(b": keep-alive\n\n");
            write(&mut bytes, id.as_deref(), name.as_deref(), data);
        }
        let expected: Vec<Owned> = events.into_iter().map(|(id, name, data)| Owned {
            id: id.map(String::into_bytes),
            name: name.unwrap_or_default().into_bytes(),
            data: breaks_as_lf(&data),
            retry: None,
        }).collect();
        prop_assert_eq!(decode(cut(&bytes, &places)).unwrap(), expected);
    }
}

fn breaks_as_lf(data: &[u8]) -> Vec<u8> {
    let text: String = data.iter().map(|byte| char::from(*byte)).collect();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

#[test]
fn a_line_end_is_recognised_wherever_the_chunks_are_cut() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["data: a", "data: b", "id: 1", ""].join(end) + end;
        for at in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            let events = decode([head, tail]).unwrap();
            assert_eq!(events.len(), 1, "{end:?} cut at {at}");
            assert_eq!(events[0].data, b"a\nb");
            assert_eq!(events[0].id.as_deref(), Some(&b"1"[..]));
        }
    }
}

#[test]
fn only_one_space_after_the_colon_is_removed() {
    assert_eq!(one(b"data:  a \n\n"), [message(b" a ")]);
    assert_eq!(one(b"data:a:b\n\n"), [message(b"a:b")]);
}

#[test]
fn a_byte_order_mark_is_skipped_once() {
    assert_eq!(one(b"\xEF\xBB\xBFdata: a\n\n"), [message(b"a")]);
    assert_eq!(one(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n"), []);
    assert_eq!(one(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n"), [message(b"a")]);
}

#[test]
fn comments_and_unknown_fields_are_not_events() {
    assert_eq!(one(b":\n\n: hello\n\nfoo: bar\n\nevent: ping\n\n"), []);
}

// proves: HTTP-018
#[test]
fn an_event_without_data_is_not_a_message_but_sets_the_id() {
    let mut bytes = b"id: s/1\ndata:\n\nretry: 1500\n\n".to_vec();
    write(&mut bytes, None, Some("ping"), b"{}");
    write(&mut bytes, None, Some("message"), b"{}");
    let mut decoder = Decoder::new(LIMIT, 256);
    let mut input = &*bytes;

    let event = decoder.next(&mut input).unwrap().unwrap();
    assert_eq!((event.id, event.is_message()), (Some(&b"s/1"[..]), false));
    let event = decoder.next(&mut input).unwrap().unwrap();
    assert_eq!(event.retry, Some(Duration::from_millis(1_500)));
    assert!(!event.is_message());
    assert!(!decoder.next(&mut input).unwrap().unwrap().is_message());
    assert!(decoder.next(&mut input).unwrap().unwrap().is_message());
    assert_eq!(decoder.next(&mut input).unwrap(), None);
    assert_eq!(decoder.retry(), Some(Duration::from_millis(1_500)));
}

#[test]
fn an_empty_event_id_differs_from_a_missing_event_id() {
    let events = one(b"id\ndata: a\n\ndata: b\n\n");
    assert_eq!(events[0].id.as_deref(), Some(&b""[..]));
    assert_eq!(events[1].id, None);
}

#[test]
fn the_retry_field_of_an_incomplete_event_is_used() {
    let mut decoder = Decoder::new(LIMIT, 256);
    let mut input = &b"id: 9\nretry: 20\n"[..];
    assert_eq!(decoder.next(&mut input).unwrap(), None);
    assert_eq!(decoder.retry(), Some(Duration::from_millis(20)));
}

#[test]
fn an_event_of_the_maximum_size_is_accepted_and_a_larger_event_is_rejected() {
    for limit in [0, 1, 7, 600] {
        let data = vec![b'x'; limit];
        let fits = [b"data: ", &*data, b"\n\n"].concat();
        let mut decoder = Decoder::new(limit, 4);
        let event = decoder.next(&mut &*fits).unwrap().unwrap();
        assert_eq!(event.data, data);

        let over = [b"data: ", &*data, b"y"].concat();
        let error = Decoder::new(limit, 4).next(&mut &*over).unwrap_err();
        let TooLong::Data { limit: said, head } = error else {
            panic!("{error}")
        };
        assert_eq!(said, limit);
        assert!(over[6..].starts_with(&head) && head.len() <= 512);
    }
}

#[test]
fn empty_data_lines_count_towards_the_limit() {
    let mut decoder = Decoder::new(10, 4);
    let bytes = b"data\n".repeat(12);
    assert!(decoder.next(&mut &*bytes).is_err());
    // One byte at a time.
    let mut decoder = Decoder::new(10, 4);
    let mut bytes = bytes.chunks(1);
    assert!(bytes.any(|mut byte| decoder.next(&mut byte).is_err()));
}

#[test]
fn an_id_over_the_limit_is_an_error() {
    let mut decoder = Decoder::new(LIMIT, 4);
    assert!(decoder.next(&mut &b"id: 1234\ndata: a\n\n"[..]).is_ok());
    let error = decoder.next(&mut &b"id: 12345"[..]).unwrap_err();
    assert_eq!(error, TooLong::Id { limit: 4 });
}

#[test]
fn comments_and_unknown_fields_of_any_length_are_not_kept() {
    let mut decoder = Decoder::new(8, 4);
    for start in [&b":"[..], b"unknown: ", b"u"] {
        assert_eq!(decoder.next(&mut &*start).unwrap(), None);
        for _ in 0..1_000 {
            assert_eq!(decoder.next(&mut &[b'x'; 100][..]).unwrap(), None);
        }
        assert_eq!(decoder.next(&mut &b"\n"[..]).unwrap(), None);
    }
    let event = decoder.next(&mut &b"data: ok\n\n"[..]).unwrap().unwrap();
    assert_eq!(event.data, b"ok");
}
