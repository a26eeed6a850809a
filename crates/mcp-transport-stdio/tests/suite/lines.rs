//! The line splitter against a naive one, and with an endless line.

use mcp_transport_stdio::{FramedLine, Lines};
use proptest::prelude::*;

/// An owned copy of what [`Lines`] returns.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Got {
    Frame(Vec<u8>),
    /// With the start of the line; the naive splitter returns the whole line.
    TooLong(Vec<u8>),
}

impl Got {
    /// Returns whether this is the expected line, with at least the head that every chunking
    /// guarantees.
    fn is(&self, naive: &Self, limit: usize) -> bool {
        match (self, naive) {
            (Self::TooLong(head), Self::TooLong(line)) => {
                let least = line.len().min(limit + 1).min(HEAD);
                (least..=HEAD).contains(&head.len()) && line.starts_with(head)
            }
            _ => self == naive,
        }
    }
}

/// The part that is kept of a line that is too long.
const HEAD: usize = 256;

fn same(got: &[Got], naive: &[Got], limit: usize) -> bool {
    got.len() == naive.len() && got.iter().zip(naive).all(|(got, line)| got.is(line, limit))
}

/// Splits the whole input at once.
fn naive(input: &[u8], limit: usize) -> Vec<Got> {
    let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    if lines.last() == Some(&&b""[..]) {
        lines.pop();
    }
    lines
        .into_iter()
        .map(|line| (line, line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|(_, line)| line.len() > limit || !line.iter().all(u8::is_ascii_whitespace))
        .map(|(whole, line)| match line.len() > limit {
            true => Got::TooLong(whole.to_vec()),
            false => Got::Frame(line.to_vec()),
        })
        .collect()
}

fn owned(line: FramedLine<'_>) -> Got {
    match line {
        FramedLine::Frame(bytes) => Got::Frame(bytes.to_vec()),
        FramedLine::TooLong { head, .. } => Got::TooLong(head.to_vec()),
        other => panic!("{other:?} is unexpected"),
    }
}

fn drain(lines: &mut Lines, got: &mut Vec<Got>) {
    while let Some(line) = lines.next_line() {
        got.push(owned(line));
    }
}

fn framed(input: &[u8], limit: usize, chunk: usize) -> Vec<Got> {
    let mut lines = Lines::new(limit);
    let mut got = Vec::new();
    for part in input.chunks(chunk.max(1)) {
        lines.feed(part);
        drain(&mut lines, &mut got);
    }
    got.extend(lines.finish().map(owned));
    got
}

#[test]
fn a_stream_is_split_into_the_same_lines_for_every_chunking() {
    let input = b"{}\r\n\n \r\n\xff\xfe\rx\r\r\n12345\r\n123456\r\n123456\n1234567\r\n\r\n12345\r";
    let expected = naive(input, 5);
    assert_eq!(
        expected
            .iter()
            .filter(|got| matches!(got, Got::TooLong(_)))
            .count(),
        3
    );
    for chunk in 1..=input.len() {
        let got = framed(input, 5, chunk);
        assert!(same(&got, &expected, 5), "{got:?} in chunks of {chunk}");
    }
    for at in 0..=input.len() {
        let mut lines = Lines::new(5);
        let mut got = Vec::new();
        for part in [&input[..at], &input[at..]] {
            lines.feed(part);
            drain(&mut lines, &mut got);
        }
        got.extend(lines.finish().map(owned));
        assert!(same(&got, &expected, 5), "{got:?} split at {at}");
    }
}

proptest! {
    #[test]
    fn lines_are_split_as_by_a_simple_splitter(
        input in proptest::collection::vec(
            prop_oneof![3 => Just(b'\n'), 2 => Just(b'\r'), 2 => Just(b' '), 6 => any::<u8>()],
            0..300,
        ),
        limit in 0_usize..20,
        chunk in 1_usize..40,
    ) {
        let (got, expected) = (framed(&input, limit, chunk), naive(&input, limit));
        prop_assert!(same(&got, &expected, limit), "{:?}, not {:?}", got, expected);
    }

    /// Lines around the sizes at which the buffer grows, shrinks and is compacted.
    #[test]
    fn lines_of_the_size_of_the_buffer_are_split_as_by_a_simple_splitter(
        sizes in proptest::collection::vec(
            prop_oneof![0_usize..200, 65_000_usize..66_000, 100_000_usize..300_000],
            1..12,
        ),
        chunk in prop_oneof![1_000_usize..2_000, 60_000_usize..70_000, Just(1 << 20)],
        limit in prop_oneof![Just(65_536_usize), Just(200_000), Just(1 << 20)],
    ) {
        let mut input = Vec::new();
        for (index, size) in sizes.iter().enumerate() {
            input.extend(std::iter::repeat_n(b'a' + (index % 26) as u8, *size));
            input.push(b'\n');
        }
        prop_assert!(same(&framed(&input, limit, chunk), &naive(&input, limit), limit));
    }
}

/// Threat T09: an endless line.
// Programs whose runtime writes a byte order mark lost their first message.
#[test]
fn a_byte_order_mark_before_the_first_line_is_skipped() {
    let frame = |text: &str| Got::Frame(text.as_bytes().to_vec());
    for chunk in [1, 2, 64] {
        let got = framed("\u{feff}{}\r\n\u{feff}[]".as_bytes(), 64, chunk);
        assert_eq!(got, [frame("{}"), frame("\u{feff}[]")]);
        assert_eq!(framed("\u{feff}{}".as_bytes(), 64, chunk), [frame("{}")]);
        assert_eq!(framed("\u{feff}\n{}".as_bytes(), 64, chunk), [frame("{}")]);
    }
}

#[test]
fn a_gibibyte_without_a_newline_takes_no_memory() {
    const LIMIT: usize = 4 << 20;
    let mut lines = Lines::new(LIMIT);
    let chunk = vec![b'x'; 64 << 10];
    let (mut most, mut told) = (0, 0);
    for _ in 0..(1 << 30) / chunk.len() {
        lines.feed(&chunk);
        while let Some(line) = lines.next_line() {
            assert!(
                matches!(line, FramedLine::TooLong { limit: LIMIT, head, .. } if head == [b'x'; 256])
            );
            told += 1;
        }
        most = most.max(lines.capacity());
    }
    assert_eq!(told, 1);
    assert!(most <= LIMIT + (1 << 20), "{most} bytes");
    assert!(
        lines.capacity() <= 1 << 20,
        "the rest fits in a small buffer"
    );
    lines.feed(b"\n{\"a\":1}\n");
    assert_eq!(lines.next_line(), Some(FramedLine::Frame(b"{\"a\":1}")));
}

#[test]
fn a_large_buffer_is_freed_after_use() {
    let frame = |lines: &mut Lines, length: usize| {
        let mut line = vec![b'x'; length];
        line.push(b'\n');
        lines.feed(&line);
        assert!(
            matches!(lines.next_line(), Some(FramedLine::Frame(frame)) if frame.len() == length)
        );
        assert_eq!(lines.next_line(), None);
    };
    let mut lines = Lines::new(4 << 20);
    frame(&mut lines, 3 << 20);
    assert!(lines.capacity() > 3 << 20);
    // Before the next read: hundreds of idle connections must not keep such buffers.
    lines.space();
    assert!(lines.capacity() <= 64 << 10);
    // The rest of the next line may never arrive.
    for start in [&b" "[..], &[b'x'; 40 << 10]] {
        let line = [&vec![b'x'; 3 << 20], &b"\n"[..], start].concat();
        lines.feed(&line);
        assert!(lines.next_line().is_some() && lines.next_line().is_none());
        lines.space();
        assert!(lines.capacity() <= 64 << 10);
        lines.feed(b"y\n");
        let next = [start, b"y"].concat();
        assert_eq!(lines.next_line(), Some(FramedLine::Frame(&next)));
    }
    // A smaller buffer is kept for lines of the same length.
    frame(&mut lines, 100 << 10);
    lines.space();
    assert!(lines.capacity() > 100 << 10);
    for _ in 0..20 {
        frame(&mut lines, 2);
    }
    lines.space();
    assert!(lines.capacity() <= 64 << 10);
}
