//! The JSON scanner. It checks the grammar strictly, and counts containers and values.

use crate::{Limits, ParseError, ParseErrorKind, TreeSize, member_name};

/// The beginning of the member names to which serde_json gives a special meaning.
const RESERVED: &str = "$serde_json::private::";

/// A cursor over JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub(crate) at: usize,
    depth: usize,
    containers: usize,
    nodes: usize,
    members: usize,
    empty_containers: usize,
    limits: Limits,
}

/// A scanned string: the text between its quotation marks, and whether it contains escapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) raw: &'a str,
    pub(crate) escaped: bool,
}

type Scan<T> = Result<T, ParseError>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, limits: &Limits) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            containers: 0,
            nodes: 0,
            members: 0,
            empty_containers: 0,
            limits: *limits,
        }
    }

    pub(crate) fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Returns the whole text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the length of the whole text, and the numbers of values that the scanner has counted so far.
    pub(crate) fn size(&self) -> TreeSize {
        TreeSize {
            bytes: self.bytes.len(),
            nodes: self.nodes,
            containers: self.containers,
            empty_containers: self.empty_containers,
            members: self.members,
        }
    }

    /// Moves the cursor to `at`, which must be inside the outermost object or array.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at;
        self.depth = 1;
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    // Out of line, so that the callers stay small.
    #[cold]
    #[inline(never)]
    pub(crate) fn syntax(&self, message: &'static str) -> ParseError {
        ParseError::new(ParseErrorKind::Syntax, self.at, message)
    }

    #[cold]
    #[inline(never)]
    fn limit(&self, name: &str, limit: usize) -> ParseError {
        ParseError::new(
            ParseErrorKind::Limit,
            self.at,
            format!("message exceeds the limit of {limit} {name}"),
        )
    }

    /// Checks that only white space follows the cursor.
    pub(crate) fn end(&mut self) -> Scan<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.syntax("unexpected text after the JSON value")),
        }
    }

    pub(crate) fn expect(&mut self, byte: u8, message: &'static str) -> Scan<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.syntax(message))
        }
    }

    #[inline]
    fn node(&mut self) -> Scan<()> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(self.limit("JSON values", self.limits.nodes));
        }
        Ok(())
    }

    /// Enters the array or object whose opening byte is at the cursor.
    pub(crate) fn open(&mut self) -> Scan<()> {
        let depth = self.limits.depth.min(Limits::MAX_DEPTH);
        if self.depth >= depth {
            return Err(self.limit("nested levels", depth));
        }
        if self.containers >= self.limits.containers {
            return Err(self.limit("arrays and objects", self.limits.containers));
        }
        self.node()?;
        self.depth += 1;
        self.containers += 1;
        self.at += 1;
        Ok(())
    }

    /// Leaves the array or object, and skips its closing byte.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// Skips one value and returns its text.
    pub(crate) fn value(&mut self) -> Scan<&'a str> {
        let start = self.at;
        self.skip()?;
        Ok(self.slice(start))
    }

    fn skip(&mut self) -> Scan<()> {
        match self.peek() {
            Some(b'{') => {
                self.open()?;
                while self.member(b'}')?.is_some() {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.open()?;
                while self.element()? {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'"') => {
                self.node()?;
                self.at += 1;
                if self.skip_plain() == Some(b'"') {
                    self.at += 1;
                    return Ok(());
                }
                self.skip_escaped().map(drop)
            }
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.syntax("expected a JSON value")),
        }
    }

    /// Within an object: returns the next key and moves the cursor to its value. Returns `None` at the end of the object.
    #[inline]
    pub(crate) fn member(&mut self, end: u8) -> Scan<Option<Text<'a>>> {
        if !self.separate(end)? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.syntax("expected a quoted object key"));
        }
        let key = self.string()?;
        if key.escaped || key.raw.starts_with('$') {
            self.check_name(key.raw)?;
        }
        self.members += 1;
        self.space();
        self.expect(b':', "expected ':' after an object key")?;
        self.space();
        Ok(Some(key))
    }

    /// Rejects special names of members: serde_json would decode the string value of such a member as JSON, without any limit.
    #[inline(never)]
    fn check_name(&self, raw: &str) -> Scan<()> {
        match member_name(raw).starts_with(RESERVED) {
            true => Err(ParseError::new(
                ParseErrorKind::Limit,
                self.at,
                format!("member names that begin with {RESERVED:?} are reserved"),
            )),
            false => Ok(()),
        }
    }

    /// Within an array: moves the cursor to the next element. Returns `false` at the end of the array.
    pub(crate) fn element(&mut self) -> Scan<bool> {
        self.separate(b']')
    }

    /// Handles the comma before an item. If the byte before the cursor is an opening bracket, the container has just been
    /// entered, and no comma is expected. This works because no value ends with an opening bracket.
    #[inline]
    fn separate(&mut self, end: u8) -> Scan<bool> {
        let opened = matches!(self.bytes.get(self.at.wrapping_sub(1)), Some(b'{' | b'['));
        self.space();
        match self.peek() {
            Some(byte) if byte == end => {
                self.empty_containers += usize::from(opened);
                self.close();
                Ok(false)
            }
            Some(b',') if !opened => {
                self.at += 1;
                self.space();
                if self.peek() == Some(end) {
                    return Err(self.syntax("trailing comma"));
                }
                Ok(true)
            }
            Some(_) if opened => Ok(true),
            _ => Err(self.syntax("expected ',' or the end of the container")),
        }
    }

    fn word(&mut self, word: &'static str) -> Scan<()> {
        self.node()?;
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax("expected a JSON value"))
        }
    }

    fn digits(&mut self) -> Scan<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.syntax("expected a digit"));
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scan<()> {
        self.node()?;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if let Some(b'0'..=b'9') = self.peek() {
                return Err(self.syntax("a number may not start with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Skips the string whose opening quote is at the cursor.
    #[inline]
    pub(crate) fn string(&mut self) -> Scan<Text<'a>> {
        self.at += 1;
        let start = self.at;
        let escaped = match self.skip_plain() {
            Some(b'"') => {
                self.at += 1;
                false
            }
            _ => self.skip_escaped()?,
        };
        let raw = self.text.get(start..self.at - 1).unwrap_or_default();
        Ok(Text { raw, escaped })
    }

    /// Skips the rest of a string and its closing quote. Returns whether the rest contains escapes.
    #[inline(never)]
    fn skip_escaped(&mut self) -> Scan<bool> {
        let mut escaped = false;
        loop {
            match self.skip_plain() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.syntax("control character in a string")),
                None => return Err(self.syntax("unterminated string")),
            }
        }
    }

    /// Skips bytes that have no special meaning in a string, and returns the next byte.
    #[inline]
    fn skip_plain(&mut self) -> Option<u8> {
        self.at += plain_prefix(self.bytes.get(self.at..).unwrap_or_default());
        self.peek()
    }

    fn escape(&mut self) -> Scan<()> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                match self.hex()? {
                    0xD800..=0xDBFF => {
                        if !self.bytes[self.at..].starts_with(b"\\u") {
                            return Err(self.syntax("lone surrogate in a string"));
                        }
                        self.at += 2;
                        match self.hex()? {
                            0xDC00..=0xDFFF => Ok(()),
                            _ => Err(self.syntax("lone surrogate in a string")),
                        }
                    }
                    0xDC00..=0xDFFF => Err(self.syntax("lone surrogate in a string")),
                    _ => Ok(()),
                }
            }
            _ => Err(self.syntax("unknown escape in a string")),
        }
    }

    fn hex(&mut self) -> Scan<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self
                .peek()
                .and_then(|byte| char::from(byte).to_digit(16))
                .ok_or_else(|| self.syntax("expected four hex digits"))?;
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }
}

/// Returns the number of leading bytes that are not a quote, a backslash or a control character.
#[inline]
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    match bytes.split_first_chunk() {
        Some((first, _)) if special_bytes(*first) != 0 => {
            special_bytes(*first).trailing_zeros() as usize / 8
        }
        _ => long_plain_prefix(bytes),
    }
}

/// Like [`plain_prefix`], for a long text. Checks blocks of 32 bytes with code that compilers vectorize, then chunks of eight
/// bytes, then single bytes.
#[inline(never)]
fn long_plain_prefix(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        if has_special_byte(block) {
            break;
        }
        rest = tail;
    }
    while let Some((chunk, tail)) = rest.split_first_chunk() {
        let found = special_bytes(*chunk);
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = tail;
    }
    let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1F);
    bytes.len() - rest.len() + rest.iter().take_while(plain).count()
}

/// Returns whether a byte is a quote, a backslash or a control character. The code has no branches, so that compilers vectorize
/// it.
#[inline]
fn has_special_byte(block: &[u8; 32]) -> bool {
    let mut any = 0;
    for byte in block {
        any |= u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < 0x20);
    }
    any != 0
}

/// Returns a number in which the high bit is set for each byte that is a quote, a backslash or a control character. Only the
/// lowest set bit is reliable, because borrows can set higher bits.
#[inline]
fn special_bytes(chunk: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let below = |limit: u64, v: u64| v.wrapping_sub(ONES * limit) & !v & HIGH;
    let v = u64::from_le_bytes(chunk);
    let quote = below(1, v ^ (ONES * u64::from(b'"')));
    let slash = below(1, v ^ (ONES * u64::from(b'\\')));
    quote | slash | below(0x20, v)
}
