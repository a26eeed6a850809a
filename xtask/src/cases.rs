//! Files that rules are tested with: blocks of a text file.

/// The blocks of a file with cases: what follows `==`, and the lines below it.
pub(crate) fn cases(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let blocks = file.split("\n== ").skip(1);
    blocks.map(|block| block.trim_end().split_once('\n').unwrap())
}

/// Checks what is found in a file at `path`. `//~ ` ends a line that breaks a rule, and the beginning of the message follows.
pub(crate) fn check(path: &str, text: &str, find: impl FnOnce(&str) -> Vec<String>) {
    let (mut code, mut expected) = (String::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let (line, message) = line.split_once("//~ ").unwrap_or((line, ""));
        code += &format!("{}\n", line.trim_end_matches(' '));
        if !message.is_empty() {
            expected.push(format!("{path}:{number}: {message}"));
        }
    }
    let found = find(&code);
    assert_eq!(found.len(), expected.len(), "{text}\n{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(&expected), "{found}, not {expected}");
    }
}
