//! Reads files with environment variables: lines of the form `NAME=value`.

use std::collections::BTreeMap;

/// Reads the variables. Ignores lines that begin with `#` and lines without `=`. Removes quotes around a value.
pub(super) fn variables(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let variables = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), unquoted(value.trim()).to_owned()))
    });
    variables.collect()
}

fn unquoted(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_name_and_a_value_are_variables() {
        let text =
            "# KEY=no\nKEY=a=b\r\nexport QUOTED=\"c d\"\nSINGLE = 'e'\n\ntext\nEMPTY=\nHALF=\"f\n";
        let expected = [
            ("EMPTY", ""),
            ("HALF", "\"f"),
            ("KEY", "a=b"),
            ("QUOTED", "c d"),
            ("SINGLE", "e"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(variables(text), BTreeMap::from(expected));
    }
}
