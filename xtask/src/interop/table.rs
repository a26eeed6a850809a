//! The outcome of each feature with each peer, and its tables.

use std::fmt::Write as _;

use serde::Deserialize;

use super::absent::reason;
use super::peers::Peer;
use super::rows::{AUTO, Section};

/// A line of a driver.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    pub(super) feature: String,
    pub(super) outcome: String,
    pub(super) detail: String,
}

/// The outcome of one feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// No driver has reported it.
    Silent,
    Works,
    /// The connection negotiates this revision.
    Arrives(String),
    /// The peer does not have it, for this reason.
    Absent(&'static str),
    /// How it failed.
    Fails(String),
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    peer: &'static Peer,
    /// One for each feature of the peer's section.
    cells: Vec<Cell>,
    faults: Vec<String>,
}

impl Column {
    pub(super) fn new(peer: &'static Peer) -> Self {
        Self {
            peer,
            cells: vec![Cell::Silent; peer.section.features().len()],
            faults: Vec::new(),
        }
    }

    /// Takes in one line of the driver; gives what to tell of it.
    pub(super) fn take(&mut self, line: &str) -> String {
        let peer = self.peer.name;
        let report: Report = match serde_json::from_str(line) {
            Ok(report) => report,
            Err(_) => return format!("{peer:24} {line}"),
        };
        let Report {
            feature,
            outcome,
            detail,
        } = &report;
        let cell = match (&**outcome, reason(self.peer, feature)) {
            ("ok", None) if feature == AUTO => match revision(detail) {
                Some(revision) => Cell::Arrives(revision.to_owned()),
                None => Cell::Fails(format!(
                    "the detail does not begin with a revision: {detail}"
                )),
            },
            ("ok", None) => Cell::Works,
            ("absent", Some(reason)) => Cell::Absent(reason),
            ("ok", Some(_)) => Cell::Fails(format!("is listed as absent, but works: {detail}")),
            ("absent", None) => Cell::Fails(format!(
                "is missing without a reason in absent.rs: {detail}"
            )),
            _ => Cell::Fails(detail.clone()),
        };
        let features = self.peer.section.features();
        match features.iter().position(|(name, _)| name == feature) {
            Some(index) => match &self.cells[index] {
                // What has failed once stays failed.
                Cell::Fails(_) => {}
                _ => self.cells[index] = cell,
            },
            None => self.fault(format!("reports {feature}, which is not a row")),
        }
        let detail: String = detail.replace('\n', " ").chars().take(90).collect();
        format!("{peer:24} {feature:22} {outcome:7} {detail}")
    }

    /// The driver itself failed.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Everything that is wrong, one line each.
    pub(super) fn failures(&self) -> Vec<String> {
        let peer = self.peer.name;
        let features = self.peer.section.features();
        let cells = features.iter().zip(&self.cells);
        let failed = cells.filter_map(|((feature, _), cell)| match cell {
            Cell::Fails(detail) => Some(format!("{peer}: {feature}: {detail}")),
            Cell::Silent => Some(format!("{peer}: {feature}: nothing was reported")),
            _ => None,
        });
        let faults = self.faults.iter().map(|fault| format!("{peer}: {fault}"));
        faults.chain(failed).collect()
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

/// The columns of one section as a table, for a terminal or a page: a head, then a line per feature. Cells refer to
/// the reasons by number.
fn table(
    section: Section,
    columns: &[Column],
    reasons: &mut Vec<&'static str>,
) -> Vec<Vec<String>> {
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|column| column.peer.section == section)
        .collect();
    if columns.is_empty() {
        return Vec::new();
    }
    let head = std::iter::once("Feature").chain(columns.iter().map(|column| column.peer.name));
    let mut lines = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for (index, (_, title)) in section.features().into_iter().enumerate() {
        let mut line = vec![title.to_owned()];
        for column in &columns {
            line.push(match &column.cells[index] {
                Cell::Works => "yes".to_owned(),
                Cell::Arrives(revision) => revision.clone(),
                Cell::Silent | Cell::Fails(_) => "FAILED".to_owned(),
                Cell::Absent(reason) => {
                    let known = reasons.iter().position(|known| known == reason);
                    let number = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("n/a [^{}]", number + 1)
                }
            });
        }
        lines.push(line);
    }
    lines
}

/// For a terminal: columns padded with blanks.
pub(super) fn plain(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut reasons = Vec::new();
    for section in Section::ALL {
        let lines = table(section, columns, &mut reasons);
        let width = |index: usize| lines.iter().map(|line| line[index].len()).max();
        for line in &lines {
            for (index, cell) in line.iter().enumerate() {
                // Writing to a string cannot fail, here and below.
                let _ = write!(text, "{cell:width$}  ", width = width(index).unwrap_or(0));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        if !lines.is_empty() {
            text.push('\n');
        }
    }
    footnotes(&mut text, &reasons);
    text
}

/// For a page: the same in Markdown, with their titles.
pub(super) fn markdown(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut reasons = Vec::new();
    for section in Section::ALL {
        let lines = table(section, columns, &mut reasons);
        for (number, line) in lines.iter().enumerate() {
            if number == 0 {
                let _ = writeln!(text, "## {}\n", section.title());
            }
            let _ = writeln!(text, "| {} |", line.join(" | "));
            if number == 0 {
                let _ = writeln!(text, "|{}", " --- |".repeat(line.len()));
            }
        }
        if !lines.is_empty() {
            text.push('\n');
        }
    }
    footnotes(&mut text, &reasons);
    text
}

fn footnotes(text: &mut String, reasons: &[&str]) {
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "[^{}]: {reason}", number + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::peers::PEERS;

    fn peer(name: &str) -> &'static Peer {
        PEERS.iter().find(|peer| peer.name == name).unwrap()
    }

    fn line(feature: &str, outcome: &str) -> String {
        let detail = if feature == AUTO { "2026-07-28" } else { "so" };
        format!(r#"{{"feature":"{feature}","outcome":"{outcome}","detail":"{detail}"}}"#)
    }

    fn cell(name: &str, feature: &str, outcomes: &[&str]) -> Cell {
        let mut column = Column::new(peer(name));
        for outcome in outcomes {
            column.take(&line(feature, outcome));
        }
        let features = column.peer.section.features();
        let index = features.iter().position(|(name, _)| *name == feature);
        column.cells[index.unwrap()].clone()
    }

    #[test]
    fn a_feature_works_only_if_its_driver_reports_it_and_it_is_not_listed_as_absent() {
        assert_eq!(cell("everything", "ping", &["ok"]), Cell::Works);
        assert_eq!(cell("everything", "ping", &[]), Cell::Silent);
        for (name, feature, outcome) in [
            ("everything", "ping", "failed"),
            ("everything", "ping", "fine"),
            ("everything", "ping", "absent"),
            ("memory", "prompts", "ok"),
        ] {
            let cell = cell(name, feature, &[outcome]);
            assert!(matches!(cell, Cell::Fails(_)), "{feature} {outcome}");
        }
        let cell = cell("everything", "ping", &["failed", "ok"]);
        assert!(matches!(cell, Cell::Fails(_)));
    }

    #[test]
    fn a_connection_that_finds_its_revision_says_which() {
        let said = |detail: &str| {
            let mut column = Column::new(peer("python-server"));
            let line = format!(r#"{{"feature":"auto","outcome":"ok","detail":"{detail}"}}"#);
            column.take(&line);
            markdown(&[column])
        };
        let row = "| Where `Auto` arrives | 2026-07-28 |";
        assert!(said("2026-07-28").contains(row));
        assert!(said("2026-07-28, after -32601").contains(row));
        for detail in ["", "yes", "2026-07-2", "2026-07-285", "a026-07-28"] {
            assert!(said(detail).contains("| FAILED |"), "{detail}");
        }
    }

    #[test]
    fn what_is_absent_for_a_reason_is_a_footnote() {
        let mut column = Column::new(peer("memory"));
        column.take(&line("prompts", "absent"));
        column.take(&line("logging", "absent"));
        let page = markdown(&[column]);
        assert!(
            page.contains("| Every prompt written | n/a [^1] |"),
            "{page}"
        );
        assert!(
            page.contains("| Log level and messages | n/a [^1] |"),
            "{page}"
        );
        assert!(
            page.contains("\n[^1]: The server does not declare prompts"),
            "{page}"
        );
    }

    #[test]
    fn silence_strangers_and_faults_are_failures() {
        let mut column = Column::new(peer("memory"));
        for (feature, _) in peer("memory").section.features() {
            let absent = reason(peer("memory"), feature).is_some();
            column.take(&line(feature, if absent { "absent" } else { "ok" }));
        }
        assert_eq!(column.failures(), [""; 0]);
        column.take(&line("teleport", "ok"));
        column.fault("died".to_owned());
        assert_eq!(
            column.failures(),
            [
                "memory: reports teleport, which is not a row",
                "memory: died"
            ]
        );
        assert_eq!(
            Column::new(peer("memory")).failures().len(),
            peer("memory").section.features().len()
        );
    }
}
