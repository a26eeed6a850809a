//! Markdown pages, rendered from templates that lie beside the code that has their values.

use std::sync::{Arc, Mutex, PoisonError};

use crate::workspace::Result;
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

/// Renders a template with the members of `values`. Bars in values are escaped, because most values are cells of tables; the
/// filter `safe` prevents it. The filters `short` and `number` write numbers.
///
/// A template can call `note(reason)`, an empty cell that refers to a footnote with the reason, and `notes()`, all reasons.
pub(crate) fn render(template: &str, values: impl Serialize) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("markdown"));
    environment.set_formatter(|out, _, value| {
        let text = value.to_string();
        let text = match value.is_safe() {
            true => text,
            false => text.replace('|', "\\|"),
        };
        out.write_str(&text).map_err(Into::into)
    });
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&reasons);
    environment.add_function("note", move |reason: String| {
        let mut reasons = reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let known = reasons.iter().position(|known| *known == reason);
        let index = known.unwrap_or(reasons.len());
        if known.is_none() {
            reasons.push(reason);
        }
        format!("n/a [^{}]", index + 1)
    });
    environment.add_function("notes", move || {
        all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    });
    environment.add_filter("short", short);
    environment.add_filter("number", number);
    let page = environment.render_str(template, values);
    page.map_err(|error| format!("{error:#}"))
}

/// A number with this many digits after the point.
fn number(number: f64, decimals: usize) -> String {
    match decimals {
        0 => thousands(number),
        _ => format!("{number:.decimals$}"),
    }
}

/// A whole number, with narrow spaces between the thousands.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits; large numbers in full.
pub(crate) fn short(number: f64) -> String {
    match number {
        1_000.0.. => thousands(number),
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_in_values_are_escaped_and_each_reason_is_listed_once() {
        let template = "{% for reason in reasons %}
| {{ reason }} | {{ note(reason) }} |
{% endfor %}
{% for reason in notes() %}
[^{{ loop.index }}]: {{ reason|safe }}
{% endfor %}
";
        let values = minijinja::context!(reasons => ["a|b", "other", "a|b"]);
        assert_eq!(
            render(template, values).unwrap(),
            "| a\\|b | n/a [^1] |\n| other | n/a [^2] |\n| a\\|b | n/a [^1] |\n[^1]: a|b\n[^2]: other\n"
        );
        assert!(render("{{ missing.member }}", ()).is_err());
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(thousands(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!([999.4, 99.94, 0.5].map(short), ["999", "99.9", "0.50"]);
    }
}
