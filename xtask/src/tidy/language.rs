//! Rejected phrases and type names, and their lists.

use std::path::Path;
use std::process::Command;

use super::tokens::Token;
use super::violation::Violation;
use crate::files::File;
use crate::steps::say;

const PHRASES: &str = include_str!("phrases.txt");
const TYPES: &str = include_str!("types.txt");

/// Keywords that define a type.
const DEFINITIONS: &[&str] = &["struct", "enum", "trait", "type", "union"];

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !(line.is_empty() || line.starts_with('#') || line.starts_with("since: ")))
}

/// Rejected phrases in a Rust or Markdown file.
pub(super) fn phrases(file: &File) -> Vec<Violation> {
    let mut prose = String::new();
    // Where each line begins.
    let mut starts = Vec::new();
    for line in file.text.lines() {
        starts.push(prose.len());
        let line = line
            .trim_start()
            .trim_start_matches(['/', '!', '>', '*', '-']);
        prose += &fn_name_as_words(line.trim()).to_lowercase();
        prose.push(' ');
    }
    let line_of = |at: usize| starts.partition_point(|start| *start <= at);
    let mut violations: Vec<Violation> = list(PHRASES)
        .flat_map(|phrase| found(&prose, phrase).map(move |at| (at, phrase)))
        .map(|(at, phrase)| {
            Violation::new(
                &file.path,
                line_of(at),
                format!("rejected phrase \"{phrase}\""),
            )
        })
        .collect();
    violations.sort_by_key(|violation| violation.line);
    violations
}

/// The line with spaces for the underscores in the name of a function that it defines.
fn fn_name_as_words(line: &str) -> String {
    match line.split_once("fn ") {
        Some((before, rest)) if before.split(' ').all(|word| word.len() < 12) => {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            format!("{before}fn {} {after}", name.replace('_', " "))
        }
        _ => line.to_owned(),
    }
}

/// Where whole words of a text match a phrase.
fn found<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).filter_map(move |(at, _)| {
        let starts = !phrase.starts_with(is_word) || !text[..at].ends_with(is_word);
        let ends = !phrase.ends_with(is_word) || !text[at + phrase.len()..].starts_with(is_word);
        (starts && ends).then_some(at)
    })
}

/// Definitions of types with a rejected name.
pub(super) fn type_names(file: &File, tokens: &[Token]) -> Vec<Violation> {
    let definitions = tokens.windows(2).filter(|pair| {
        DEFINITIONS.contains(&pair[0].text.as_str()) && list(TYPES).any(|name| name == pair[1].text)
    });
    definitions
        .map(|pair| {
            Violation::new(
                &file.path,
                pair[1].line,
                format!("rejected type name {}", pair[1].text),
            )
        })
        .collect()
}

/// Rejected phrases in the subjects of new commits.
pub(super) fn commits(root: &Path) -> Result<Vec<Violation>, String> {
    let base = PHRASES
        .lines()
        .find_map(|line| line.strip_prefix("since: "));
    let range = format!(
        "{}..HEAD",
        base.ok_or("phrases.txt has no line `since: COMMIT`")?
    );
    let output = Command::new("git")
        .args(["log", "--format=%h %s", &range])
        .current_dir(root)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(subjects(&String::from_utf8_lossy(&output.stdout)))
        }
        _ => {
            say("SKIPPED: commit subjects, because git does not have the history");
            Ok(Vec::new())
        }
    }
}

fn subjects(log: &str) -> Vec<Violation> {
    let lines = log.lines().filter_map(|line| line.split_once(' '));
    let wrong = lines.flat_map(|(commit, subject)| {
        let subject = subject.to_lowercase();
        let phrases = list(PHRASES).filter(move |phrase| found(&subject, phrase).next().is_some());
        phrases.map(move |phrase| {
            Violation::new(
                commit,
                0,
                format!("rejected phrase \"{phrase}\" in the commit subject"),
            )
        })
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        phrases(&File::new("a.rs", text))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn phrases_are_found_across_lines_and_in_function_names() {
        let phrase = ["no", "body"].concat();
        let text =
            format!("/// Heard\n/// of {phrase}_else.\nfn it_{phrase}_x() {{ a.is_none() }}\n");
        assert_eq!(
            lines(&text),
            [
                format!("a.rs:1: rejected phrase \"{}\"", ["heard", "of"].join(" ")),
                format!("a.rs:3: rejected phrase \"{phrase}\"")
            ]
        );
    }

    #[test]
    fn a_definition_with_a_rejected_name_is_found() {
        let text = "struct Seat;\nuse a::Seat;\nimpl Seats for Seat {}\n";
        let found = type_names(&File::new("a.rs", text), &tokens::of(text).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "a.rs:1: rejected type name Seat");
    }

    #[test]
    fn commit_subjects_are_plain_english() {
        let phrase = ["who", "ever"].concat();
        let log = format!("abc fix: answer {phrase} comes\ndef fix: answer the client\n");
        let found = subjects(&log);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("abc: rejected phrase"));
    }
}
