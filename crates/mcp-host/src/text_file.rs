//! Reads text files that a person has written.

use std::fs;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

const BOM: char = '\u{feff}';

/// Reads a text that a person has written: UTF-8, or UTF-16 with a byte order mark. The returned text does not contain the mark.
///
/// # Errors
/// The source cannot be read, has more than `max_bytes` bytes, or is in another encoding.
pub fn read_text(source: impl Read, max_bytes: u64) -> Result<String> {
    let mut bytes = Vec::new();
    source
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("the text is larger than {max_bytes} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    let text = match &bytes[..] {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    };
    let text = text.ok_or_else(|| {
        let message =
            "the text is neither UTF-8 nor UTF-16 with a byte order mark; save it as UTF-8";
        Error::new(ErrorKind::InvalidData, message)
    })?;
    Ok(without_mark(&text).to_owned())
}

/// Reads a text file whose path is from another file. Does not open devices and pipes, because reading them can block or have
/// side effects.
///
/// # Errors
/// The errors of [`read_text`], or the path does not lead to a regular file.
pub(crate) fn read_file(path: &Path, max_bytes: u64) -> Result<String> {
    let is_file = fs::metadata(path)?.is_file();
    let file = is_file.then(|| fs::File::open(path)).transpose()?;
    // Another program may have replaced the file meanwhile.
    match file.filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file())) {
        Some(file) => read_text(file, max_bytes),
        None => Err(Error::other("it is not a regular file")),
    }
}

/// Returns the text without a byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else {
        return None;
    };
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_utf_16_texts_are_read() {
        let text = "{\"é\": 1}";
        let le = text.encode_utf16().flat_map(u16::to_le_bytes);
        let be = text.encode_utf16().flat_map(u16::to_be_bytes);
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [0xff, 0xfe].into_iter().chain(le).collect(),
            [0xfe, 0xff].into_iter().chain(be).collect(),
        ] {
            assert_eq!(read_text(&bytes[..], 100).unwrap(), text, "{bytes:?}");
        }
        for bytes in [&b"\xff\xfe\x00"[..], b"\xff\xfe\x00\xd8", b"caf\xe9"] {
            let error = read_text(bytes, 100).unwrap_err();
            assert!(error.to_string().contains("UTF-8"), "{error}");
        }
    }

    #[test]
    fn a_text_has_a_maximum_size() {
        assert_eq!(read_text(&b"1234"[..], 4).unwrap(), "1234");
        let error = read_text(&b"12345"[..], 4).unwrap_err();
        assert!(error.to_string().contains("4 bytes"), "{error}");
    }
}
