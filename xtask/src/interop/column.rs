//! The outcome of each feature with one peer.

use serde::Deserialize;

use super::peers::{FILE, Peer};
use crate::table::{Footnotes, Table};

/// The feature whose cells have a revision instead of "yes".
const AUTO: &str = "auto";

/// A line of a driver.
#[derive(Debug, Deserialize)]
struct Report {
    feature: String,
    outcome: String,
    detail: String,
}

/// The outcome of one feature.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    /// The text of the page.
    Works(String),
    /// The peer does not have the feature, for this reason.
    Absent(String),
    /// How the feature failed.
    Fails(String),
}

/// A column of the tables.
#[derive(Debug)]
pub(super) struct Column {
    peer: Peer,
    /// One for each feature of the peer; `None` is not reported.
    cells: Vec<Option<Cell>>,
    faults: Vec<String>,
}

impl Column {
    pub(super) fn new(peer: &Peer) -> Self {
        Self {
            peer: peer.clone(),
            cells: vec![None; peer.features.len()],
            faults: Vec::new(),
        }
    }

    /// Records one line of the driver and returns the line for the terminal.
    pub(super) fn record(&mut self, line: &str) -> String {
        let peer = &self.peer.name;
        let Ok(report) = serde_json::from_str::<Report>(line) else {
            return format!("{peer:24} {line}");
        };
        let Report {
            feature,
            outcome,
            detail,
        } = &report;
        let features = &self.peer.features;
        let shown: String = detail.replace('\n', " ").chars().take(90).collect();
        let shown = format!("{peer:24} {feature:22} {outcome:7} {shown}");
        let Some(index) = features.iter().position(|([name, _], _)| name == feature) else {
            self.fault(format!("reports {feature}, which is not a row"));
            return shown;
        };
        let cell = match (&**outcome, &features[index].1) {
            ("ok", None) if feature == AUTO => match revision(detail) {
                Some(revision) => Cell::Works(revision.to_owned()),
                None => Cell::Fails(format!(
                    "the detail does not begin with a revision: {detail}"
                )),
            },
            ("ok", None) => Cell::Works("yes".to_owned()),
            ("absent", Some(reason)) => Cell::Absent(reason.clone()),
            ("ok", Some(_)) => Cell::Fails(format!("is listed as absent, but works: {detail}")),
            ("absent", None) => {
                Cell::Fails(format!("is missing without a reason in {FILE}: {detail}"))
            }
            _ => Cell::Fails(detail.clone()),
        };
        // A feature that has failed once stays failed.
        if !matches!(self.cells[index], Some(Cell::Fails(_))) {
            self.cells[index] = Some(cell);
        }
        shown
    }

    /// Records a failure of the driver itself.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// All failures, one line each.
    pub(super) fn failures(&self) -> Vec<String> {
        let cells = self.peer.features.iter().zip(&self.cells);
        let failed = cells.filter_map(|(([feature, _], _), cell)| match cell {
            Some(Cell::Fails(detail)) => Some(format!("{feature}: {detail}")),
            None => Some(format!("{feature}: nothing was reported")),
            _ => None,
        });
        let all = self.faults.iter().cloned().chain(failed);
        all.map(|failure| format!("{}: {failure}", self.peer.name))
            .collect()
    }
}

/// The revision that a detail begins with.
fn revision(detail: &str) -> Option<&str> {
    let word = detail.split([' ', ',']).next()?;
    let is_date = word.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (word.len() == 10 && is_date).then_some(word)
}

/// A table for each section, and the reasons for empty cells.
pub(super) fn tables(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut notes = Footnotes::default();
    for section in columns.chunk_by(|a, b| a.peer.section.title == b.peer.section.title) {
        let peer = &section[0].peer;
        let names = section.iter().map(|column| &*column.peer.name);
        let mut table = Table::new(["Feature"].into_iter().chain(names));
        for (index, ([_, title], _)) in peer.features.iter().enumerate() {
            let cells = section.iter().map(|column| match &column.cells[index] {
                Some(Cell::Works(text)) => text.clone(),
                Some(Cell::Absent(reason)) => notes.cell(reason),
                Some(Cell::Fails(_)) | None => "FAILED".to_owned(),
            });
            table.row([title.clone()].into_iter().chain(cells));
        }
        text += &format!("## {}\n\n{}\n", peer.section.title, table.markdown());
    }
    text + &notes.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::peers::all;
    use crate::workspace::root;

    fn column(name: &str) -> Column {
        let peers = all(root()).unwrap();
        Column::new(peers.iter().find(|peer| peer.name == name).unwrap())
    }

    fn line(feature: &str, outcome: &str) -> String {
        let detail = if feature == AUTO { "2026-07-28" } else { "so" };
        format!(r#"{{"feature":"{feature}","outcome":"{outcome}","detail":"{detail}"}}"#)
    }

    fn cell(name: &str, feature: &str, outcomes: &[&str]) -> Option<Cell> {
        let mut column = column(name);
        for outcome in outcomes {
            column.record(&line(feature, outcome));
        }
        let mut features = column.peer.features.iter();
        let index = features.position(|([name, _], _)| name == feature);
        column.cells[index.unwrap()].clone()
    }

    #[test]
    fn a_feature_works_only_if_its_driver_reports_it_and_it_is_not_listed_as_absent() {
        let works = Some(Cell::Works("yes".to_owned()));
        assert_eq!(cell("everything", "ping", &["ok"]), works);
        assert_eq!(cell("everything", "ping", &[]), None);
        for (name, feature, outcomes) in [
            ("everything", "ping", &["failed"][..]),
            ("everything", "ping", &["fine"]),
            ("everything", "ping", &["absent"]),
            ("memory", "prompts", &["ok"]),
            ("everything", "ping", &["failed", "ok"]),
        ] {
            let cell = cell(name, feature, outcomes);
            assert!(
                matches!(cell, Some(Cell::Fails(_))),
                "{feature} {outcomes:?}"
            );
        }
    }

    #[test]
    fn a_connection_that_finds_its_revision_says_which() {
        let page = |detail: &str| {
            let mut column = column("python-server");
            column.record(&format!(
                r#"{{"feature":"auto","outcome":"ok","detail":"{detail}"}}"#
            ));
            tables(&[column])
        };
        let row = "| Where `Auto` arrives | 2026-07-28 |";
        assert!(page("2026-07-28").contains(row));
        assert!(page("2026-07-28, after -32601").contains(row));
        for detail in ["", "yes", "2026-07-2", "2026-07-285", "a026-07-28"] {
            assert!(page(detail).contains("| FAILED |"), "{detail}");
        }
    }

    #[test]
    fn an_absent_feature_has_a_footnote() {
        let mut column = column("memory");
        column.record(&line("prompts", "absent"));
        column.record(&line("logging", "absent"));
        let page = tables(&[column]);
        for line in [
            "| Every prompt written | n/a [^1] |",
            "| Log level and messages | n/a [^1] |",
            "\n[^1]: The server does not declare prompts",
        ] {
            assert!(page.contains(line), "{line} not in {page}");
        }
    }

    #[test]
    fn missing_and_unknown_reports_and_faults_are_failures() {
        let mut column = column("memory");
        assert_eq!(column.failures().len(), column.peer.features.len());
        for ([feature, _], reason) in column.peer.features.clone() {
            let outcome = if reason.is_some() { "absent" } else { "ok" };
            column.record(&line(&feature, outcome));
        }
        assert_eq!(column.failures(), [""; 0]);
        column.record(&line("teleport", "ok"));
        column.fault("died".to_owned());
        assert_eq!(
            column.failures(),
            [
                "memory: reports teleport, which is not a row",
                "memory: died"
            ]
        );
    }
}
