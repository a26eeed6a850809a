//! Finds numbers in JSON text that a 64-bit number cannot represent exactly.

use serde_json::Value;

/// Checks that this program can represent each number in a JSON text exactly.
///
/// # Errors
/// A number cannot be represented exactly. The error names the first such number.
pub(crate) fn check_numbers(text: &str) -> Result<(), String> {
    match inexact(text) {
        None => Ok(()),
        Some(number) => Err(format!(
            "the number {number} would change, because this program stores numbers in 64 bits: use fewer digits \
             or, where text is allowed, a string"
        )),
    }
}

/// Returns the first number of a JSON text that changes when it is decoded. Such a number is an integer of more than 64 bits, has
/// more digits than `f64` can represent, or is too small for `f64`.
fn inexact(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = rest.iter().take_while(is_of_number).count();
                let number = text.get(at..at + length).unwrap_or_default();
                if !is_exact(number) {
                    return Some(number);
                }
                length
            }
            _ => 1,
        };
    }
    None
}

/// Returns the length of the string at the beginning of valid JSON text, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

fn is_exact(number: &str) -> bool {
    let decoded = serde_json::from_str::<Value>(number);
    let written = decoded.map(|value| value.to_string());
    written.is_ok_and(|written| {
        let exact = decimal(number);
        exact.is_some() && exact == decimal(&written)
    })
}

/// A decimal number: whether it is negative, its digits without zeros at both ends, and the exponent of its last digit.
type Decimal = (bool, String, i64);

fn decimal(number: &str) -> Option<Decimal> {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let (digits, exponent) = match number.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = significant.trim_start_matches('0').to_owned();
    Some((is_negative, digits, exponent.checked_add(zeros)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_change_when_they_are_decoded_are_found() {
        for number in [
            "0",
            "-0",
            "1",
            "1.0",
            "1e2",
            "1E+2",
            "100.0",
            "0.1",
            "1.5e-7",
            "-12.50",
            "1e308",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            "1.7976931348623157e308",
            "5e-324",
            "0e5",
            "1e22",
        ] {
            assert_eq!(inexact(number), None, "{number}");
        }
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "0.10000000000000001",
            "9007199254740993.0",
            "1e-400",
            "1e400",
            "0e99999999999999999999",
        ] {
            let text = format!(r#"{{"a\"1e999":["1e-400 \\",{number},1e-500]}}"#);
            assert_eq!(inexact(&text), Some(number), "{number}");
        }
    }
}
