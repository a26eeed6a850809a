//! Rejected phrases and type names, and their lists.

use super::syntax::{Source, Token};
use crate::programs::{SHORT, lines_of, program};
use crate::workspace::{File, Result, say};

const PHRASES: &str = include_str!("phrases.txt");
const TYPES: &str = include_str!("types.txt");

/// Keywords that define a type.
const DEFINITIONS: &[&str] = &["struct", "enum", "trait", "type", "union"];

fn list(text: &str) -> impl Iterator<Item = &str> {
    let is_entry =
        |line: &&str| !(line.is_empty() || line.starts_with('#') || line.starts_with("since: "));
    text.lines().filter(is_entry)
}

/// Rejected phrases in a file, and names of reports at the beginning of its lines.
pub(super) fn phrases(file: &File) -> Vec<String> {
    let mut prose = String::new();
    // Where each line begins.
    let mut starts = Vec::new();
    let mut reports = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        starts.push(prose.len());
        let line = line
            .trim_start()
            .trim_start_matches(['/', '!', '>', '*', '-', '#'])
            .trim();
        reports.extend(report(line).map(|report| (number, report)));
        prose += &fn_name_as_words(line).to_lowercase();
        prose.push(' ');
    }
    let line_of = |at: usize| starts.partition_point(|start| *start <= at);
    // In Python and Jinja, this is an operator.
    let is_code = |phrase: &str| {
        phrase.ends_with(" none") && [".py", ".jinja"].iter().any(|end| file.path.ends_with(end))
    };
    let rejected = list(PHRASES).filter(|phrase| !is_code(phrase));
    let found = rejected.flat_map(|phrase| matches(&prose, phrase).map(move |at| (at, phrase)));
    let mut found: Vec<_> = found.map(|(at, phrase)| (line_of(at), phrase)).collect();
    found.extend(reports);
    found.sort_by_key(|(line, _)| *line);
    let violation = |(line, phrase)| format!("{}:{line}: rejected phrase \"{phrase}\"", file.path);
    found.into_iter().map(violation).collect()
}

/// The name of a report that a line begins with, which readers do not have: a word and the number of an entry, then a colon.
fn report(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(':')?;
    let number = name.strip_prefix("Finding ")?;
    let is_number = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    number.chars().all(is_number).then_some(name)
}

/// The line with spaces for the underscores in the name of a function that it defines.
fn fn_name_as_words(line: &str) -> String {
    match line.split_once("fn ") {
        Some((before, rest)) if before.split(' ').all(|word| word.len() < 12) => {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            format!("{before}fn {} {after}", name.replace('_', " "))
        }
        _ => line.to_owned(),
    }
}

/// Where whole words of a text match a phrase.
fn matches<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let places = text.match_indices(phrase).map(|(at, _)| at);
    places.filter(move |at| {
        let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
        !(phrase.starts_with(is_word) && before.ends_with(is_word)
            || phrase.ends_with(is_word) && after.starts_with(is_word))
    })
}

/// Definitions of types with a rejected name.
pub(super) fn type_names(source: &Source) -> Vec<String> {
    let definitions = source.tokens.windows(2).filter(|pair| {
        DEFINITIONS.contains(&pair[0].text.as_str()) && list(TYPES).any(|name| name == pair[1].text)
    });
    let violation = |pair: &[Token]| {
        let (path, line, name) = (&source.file.path, pair[1].line, &pair[1].text);
        format!("{path}:{line}: rejected type name {name}")
    };
    definitions.map(violation).collect()
}

/// Rejected phrases in the subjects of new commits.
pub(super) fn commits() -> Result<Vec<String>> {
    let mut lines = PHRASES.lines();
    let base = lines.find_map(|line| line.strip_prefix("since: "));
    let base = base.ok_or("phrases.txt has no line `since: COMMIT`")?;
    let mut git = program("git", &format!("log {base}..HEAD"));
    let Ok(log) = lines_of(git.arg("--format=%h %s"), SHORT) else {
        say("SKIPPED: commit subjects, because git does not have the history");
        return Ok(Vec::new());
    };
    Ok(log.iter().flat_map(|line| subject(line)).collect())
}

/// Rejected phrases in a line with a commit and its subject.
pub(super) fn subject(line: &str) -> Vec<String> {
    let (commit, subject) = line.split_once(' ').unwrap_or_default();
    phrases(&File::new(commit, subject))
}
