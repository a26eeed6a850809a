//! The rows of one revision: `ID<tab>LEVEL<tab>ROLE<tab>title`, one a line, `#` for comments.

use crate::files::File;

/// One statement of the specification.
#[derive(Debug)]
pub(super) struct Row {
    /// `AREA-NNN`.
    pub(super) id: String,
    /// MUST, SHOULD, MAY and their negations; in lower case where the text asks without the keyword.
    pub(super) level: String,
    /// Whom it binds: server, client, both or transport.
    pub(super) role: String,
    /// What it asks, in a few words of our own.
    pub(super) title: String,
}

impl Row {
    /// The part of the id before its number.
    pub(super) fn area(&self) -> &str {
        area(&self.id)
    }
}

/// The part of an id before its number.
pub(super) fn area(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(area, _)| area)
}

/// All rows of one revision, in order.
#[derive(Debug)]
pub(super) struct Ledger {
    /// A date.
    pub(super) revision: String,
    /// In the order of the file.
    pub(super) rows: Vec<Row>,
}

const LEVELS: [&str; 7] = [
    "MUST",
    "MUST NOT",
    "SHOULD",
    "SHOULD NOT",
    "MAY",
    "must",
    "should",
];
const ROLES: [&str; 4] = ["both", "client", "server", "transport"];

impl Ledger {
    /// Reads a file named `rows-<revision>.txt`.
    pub(super) fn parse(file: &File) -> Result<Self, String> {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let revision = name
            .strip_prefix("rows-")
            .and_then(|name| name.strip_suffix(".txt"));
        let revision = revision.ok_or_else(|| {
            format!(
                "{}:1: a ledger is named rows-<revision>.txt, rename it",
                file.path
            )
        })?;
        let mut rows: Vec<Row> = Vec::new();
        for (number, line) in file.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let row = parse(line).map_err(|what| format!("{}:{number}: {what}", file.path))?;
            if rows.iter().any(|other| other.id == row.id) {
                return Err(format!(
                    "{}:{number}: {} is there twice, remove one",
                    file.path, row.id
                ));
            }
            rows.push(row);
        }
        Ok(Self {
            revision: revision.to_owned(),
            rows,
        })
    }
}

fn parse(line: &str) -> Result<Row, &'static str> {
    let mut cells = line.split('\t');
    let (Some(id), Some(level), Some(role), Some(title), None) = (
        cells.next(),
        cells.next(),
        cells.next(),
        cells.next(),
        cells.next(),
    ) else {
        return Err("a row has four cells with tabs between them: id, level, role, title");
    };
    if !is_id(id) {
        return Err("an id is an area in capitals, a hyphen and three digits");
    }
    if !LEVELS.contains(&level) || !ROLES.contains(&role) {
        return Err("the level or the role is not one the ledger knows");
    }
    let words = title.split_whitespace().count();
    if words == 0 || words > 10 {
        return Err("a title has one to ten words");
    }
    Ok(Row {
        id: id.to_owned(),
        level: level.to_owned(),
        role: role.to_owned(),
        title: title.to_owned(),
    })
}

/// Whether this is the shape of a row id.
pub(super) fn is_id(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(area, number)| {
        number.len() == 3
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && area.starts_with(|first: char| first.is_ascii_uppercase())
            && area
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_may_have_no_keyword() {
        let file = |text| File::new("tests/ledger/rows-2026-07-28.txt", text);
        let ledger = Ledger::parse(&file(
            "A-001\tmust\tboth\tone\nA-002\tshould\tclient\ttwo\n",
        ))
        .unwrap();
        let levels = ledger.rows.iter().map(|row| row.level.as_str());
        assert!(levels.eq(["must", "should"]));
        assert!(Ledger::parse(&file("A-001\tmay\tboth\tone\n")).is_err());
    }

    #[test]
    fn rows_are_read_and_faults_named_by_line() {
        let file = |text| File::new("tests/ledger/rows-2025-11-25.txt", text);
        let ledger =
            Ledger::parse(&file("# rows\nM-TOOL-001\tMUST NOT\tclient\ta title\n")).unwrap();
        assert_eq!(ledger.revision, "2025-11-25");
        assert_eq!(ledger.rows[0].area(), "M-TOOL");
        for wrong in [
            "TOOL-1\tMUST\tboth\tt\n",
            "TOOL-001\tMIGHT\tboth\tt\n",
            "TOOL-001\tMUST\tboth\t\n",
            "TOOL-001 MUST both t\n",
            "A-001\tMUST\tboth\tt\nA-001\tMUST\tboth\tt\n",
        ] {
            let error = Ledger::parse(&file(wrong)).unwrap_err();
            assert!(
                error.starts_with("tests/ledger/rows-2025-11-25.txt:"),
                "{error}"
            );
        }
        assert!(Ledger::parse(&File::new("tests/ledger/notes.txt", "")).is_err());
    }
}
