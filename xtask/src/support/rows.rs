//! The rows of the requirements matrix, `ID<tab>LEVEL<tab>ROLE<tab>title`, one a line, `#` for comments.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::workspace::{File, Result};

/// One statement of the specification.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// `path:line`.
    pub(super) place: String,
    /// The date in the name of the file.
    pub(super) revision: String,
    /// `AREA-NNN`.
    pub(super) id: String,
    /// MUST, SHOULD, MAY and their negations; in lower case where the text has no keyword.
    pub(super) level: String,
    /// The bound side: server, client, both or transport.
    pub(super) role: String,
    /// The statement in a few words of our own.
    pub(super) title: String,
    pub(super) tests: BTreeSet<String>,
    /// Why no test can prove it.
    pub(super) reason: Option<String>,
}

impl Row {
    /// The part of the id before its number.
    pub(super) fn area(&self) -> &str {
        self.id.rsplit_once('-').map_or(&self.id, |(area, _)| area)
    }
}

const LEVELS: &str = "MUST, MUST NOT, SHOULD, SHOULD NOT, MAY, must, should";
const ROLES: &str = "both, client, server, transport";

/// Reads a file named `rows-<revision>.txt`.
pub(super) fn read(file: &File) -> Result<Vec<Row>> {
    let path = &file.path;
    let name = path.rsplit_once("rows-");
    let revision = name.and_then(|(_, name)| name.strip_suffix(".txt"));
    let revision = revision
        .ok_or_else(|| format!("{path}:1: a ledger is named rows-<revision>.txt, rename it"))?;
    let has = |list: &str, value| list.split(", ").any(|known| known == value);
    let mut rows: Vec<Row> = Vec::new();
    for (number, line) in file.entries() {
        let place = format!("{path}:{number}");
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, level, role, title] = cells[..] else {
            return Err(format!(
                "{place}: a row has four cells with tabs between them: id, level, role, title"
            ));
        };
        let problem = if !is_row_id(id) {
            "an id is an area in capitals, a hyphen and three digits"
        } else if rows.iter().any(|other| other.id == id) {
            "the id occurs twice; remove one"
        } else if !has(LEVELS, level) || !has(ROLES, role) {
            "the level or the role is not one the ledger knows"
        } else if !(1..=10).contains(&title.split_whitespace().count()) {
            "a title must have one to ten words"
        } else {
            rows.push(Row {
                place,
                revision: revision.to_owned(),
                id: id.to_owned(),
                level: level.to_owned(),
                role: role.to_owned(),
                title: title.to_owned(),
                tests: BTreeSet::new(),
                reason: None,
            });
            continue;
        };
        return Err(format!("{place}: {id}: {problem}"));
    }
    Ok(rows)
}

/// Whether the text has the form of a row id.
pub(super) fn is_row_id(text: &str) -> bool {
    let Some((area, number)) = text.rsplit_once('-') else {
        return false;
    };
    let is_capital = |c: char| c.is_ascii_uppercase();
    let is_number = number.len() == 3 && number.chars().all(|c| c.is_ascii_digit());
    is_number && area.starts_with(is_capital) && area.chars().all(|c| is_capital(c) || c == '-')
}
