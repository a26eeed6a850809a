//! Numbers with units, in documentation and in code.

use std::collections::BTreeMap;

use syn::{BinOp, Expr, Lit};

/// A value. Durations are in nanoseconds, sizes in bytes.
pub(super) type Quantity = u128;

/// Reads the number at the beginning of a text, with its unit. Returns the text of the number and the value.
pub(super) fn parse(text: &str) -> Option<(&str, Quantity)> {
    let is_digit = |c: char| c.is_ascii_digit() || c == ',' || c == '.';
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let number = text[..end].trim_end_matches([',', '.']);
    let value: f64 = number.replace(',', "").parse().ok()?;
    let rest = text[number.len()..].strip_prefix(' ').unwrap_or("");
    let end = rest
        .find(|c: char| !(c.is_alphabetic() || c == '%'))
        .unwrap_or(rest.len());
    let factor = match &rest[..end] {
        "ms" => 1e6,
        "s" | "second" | "seconds" => 1e9,
        "min" | "minutes" => 6e10,
        "h" | "hours" => 3.6e12,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small"
            )]
            return Some((number, value as u128));
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small"
    )]
    let value = (value * factor).round() as u128;
    Some((&text[..number.len() + 1 + end], value))
}

/// Writes a value with its unit.
pub(super) fn show(value: Quantity, is_duration: bool, is_size: bool) -> String {
    let units: &[(Quantity, &str)] = match (is_duration, is_size) {
        (true, _) => &[
            (3_600_000_000_000, " h"),
            (60_000_000_000, " min"),
            (1_000_000_000, " s"),
            (1_000_000, " ms"),
        ],
        (false, true) => &[(1 << 30, " GiB"), (1 << 20, " MiB"), (1 << 10, " KiB")],
        (false, false) => &[],
    };
    let unit = units
        .iter()
        .find(|(size, _)| value >= *size && value.is_multiple_of(*size));
    let (size, name) = unit.copied().unwrap_or((1, ""));
    let digits = (value / size).to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + name
}

/// The constants of a crate.
pub(super) type Constants = BTreeMap<String, Expr>;

/// Computes the value of an expression.
pub(super) fn evaluate(expr: &Expr, constants: &Constants) -> Option<Quantity> {
    evaluate_within(expr, constants, MAX_DEPTH)
}

/// Constants of other modules can have the same name, so that a constant can seem to contain itself.
const MAX_DEPTH: u32 = 32;

fn evaluate_within(expr: &Expr, constants: &Constants, depth: u32) -> Option<Quantity> {
    let depth = depth.checked_sub(1)?;
    let value = |expr: &Expr| evaluate_within(expr, constants, depth);
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Paren(inner) => value(&inner.expr),
        Expr::Cast(inner) => value(&inner.expr),
        Expr::Binary(binary) => {
            let (left, right) = (value(&binary.left)?, value(&binary.right)?);
            match binary.op {
                BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Div(_) => left.checked_div(right),
                _ => None,
            }
        }
        Expr::Path(path) => {
            let name = path.path.segments.last()?.ident.to_string();
            let constant = constants.get(&name)?;
            value(constant)
        }
        Expr::Call(call) => {
            let argument = call.args.first().and_then(value)?;
            let Expr::Path(function) = &*call.func else {
                return None;
            };
            let factor = match function.path.segments.last()?.ident.to_string().as_str() {
                "from_secs" => 1_000_000_000,
                "from_millis" => 1_000_000,
                "from_mins" => 60_000_000_000,
                // `Some`, `AtomicU64::new` and others contain the value.
                _ => 1,
            };
            argument.checked_mul(factor)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        for (text, shown, value) in [
            ("4 MiB. A larger", "4 MiB", 4 << 20),
            ("1,024; minimum", "1,024", 1_024),
            ("0.25 s.", "0.25 s", 250_000_000),
            ("10 min", "10 min", 600_000_000_000),
            ("16 of", "16", 16),
        ] {
            assert_eq!(parse(text), Some((shown, value)), "{text}");
        }
        assert_eq!(parse("all"), None);
    }

    #[test]
    fn values_are_shown_with_units() {
        assert_eq!(show(4 << 20, false, true), "4 MiB");
        assert_eq!(show(10_000, false, false), "10,000");
        assert_eq!(show(90_000_000_000, true, false), "90 s");
    }

    #[test]
    fn expressions_have_values() {
        let constants = Constants::from([("A".to_owned(), syn::parse_str("2 * 3").unwrap())]);
        for (text, value) in [
            ("A << 10", Some(6_144)),
            ("Some(Duration::from_secs(super::A))", Some(6_000_000_000)),
            ("other()", None),
            ("B", None),
        ] {
            let expr = syn::parse_str(text).unwrap();
            assert_eq!(evaluate(&expr, &constants), value, "{text}");
        }
    }
}
