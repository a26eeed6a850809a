//! Cells and rows of tables.

use std::fmt::Write as _;

use crate::bench::measure::Spread;
use crate::bench::plan::thousands;
use crate::bench::subject::{ALL, Subject};

/// The peers, each with the heading of what it costs against this SDK.
pub(super) const PEERS: [(Subject, &str); 2] = [
    (Subject::Rmcp, "rmcp ÷ this SDK"),
    (Subject::Tower, "tower-mcp ÷ this SDK"),
];

/// The reasons for empty cells, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// An empty cell with a link to its reason.
    pub(super) fn empty(&mut self, subject: Subject, why: &str) -> String {
        let note = format!("{}: {why}", subject.name());
        let known = self.0.iter().position(|known| *known == note);
        let number = known.unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        });
        format!("n/a [{}](#why-not)", number + 1)
    }

    /// The section with all reasons.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.0.is_empty() {
            text += "\n## Why not\n\n";
        }
        for (number, note) in self.0.iter().enumerate() {
            // Writing to memory does not fail.
            let _ = writeln!(text, "{}. {note}", number + 1);
        }
        text
    }
}

/// The head of a table with a column for each subject and, with `peers`, one for the ratio of each peer to this SDK.
pub(super) fn head(first: &str, peers: bool) -> String {
    let mut names: Vec<&str> = ALL.iter().map(|subject| subject.name()).collect();
    if peers {
        names.extend(PEERS.map(|(_, heading)| heading));
    }
    table_head(first, &names)
}

/// The head of a table with these columns after the first.
pub(super) fn table_head(first: &str, names: &[&str]) -> String {
    format!(
        "| {first} | {} |\n| --- |{}\n",
        names.join(" | "),
        " --: |".repeat(names.len())
    )
}

/// Three significant digits; large numbers in full.
pub(in crate::bench) fn short(number: f64) -> String {
    match number {
        number if number >= 1_000.0 => thousands(number.round() as u64),
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// The median with the minimum and the maximum.
pub(super) fn spread(spread: Spread) -> String {
    format!(
        "{} ({}–{})",
        short(spread.median),
        short(spread.least),
        short(spread.most)
    )
}

/// The cost as a multiple of the baseline's.
pub(super) fn times(cost: f64, baseline: f64) -> String {
    format!("{}× ", short(cost / baseline))
}

/// The cost of a peer as a multiple of this SDK's. A ratio below 1 is marked with a word, so that it is not overlooked.
pub(super) fn ahead(peer: f64, ours: f64) -> String {
    let ratio = short(peer / ours);
    if peer < ours {
        return format!("{ratio}×, behind");
    }
    format!("**{ratio}×**")
}

/// The value of one subject in a row.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// The value and its text.
    Figure(f64, String),
    /// No value, with the reason.
    Missing(String),
}

/// A row: the value of each subject, and the ratio of each peer to this SDK.
pub(super) fn row(name: &str, notes: &mut Notes, shown: impl Fn(Subject) -> Shown) -> String {
    let ours = match shown(Subject::Ours) {
        Shown::Figure(cost, _) => Some(cost),
        Shown::Missing(_) => None,
    };
    let mut line = format!("| {name} |");
    let mut behind = String::new();
    for subject in ALL {
        let (cell, against) = match shown(subject) {
            Shown::Figure(cost, text) => {
                let against = ours.map_or(String::new(), |ours| ahead(cost, ours));
                (text, against)
            }
            Shown::Missing(why) => {
                let cell = notes.empty(subject, &why);
                (cell.clone(), cell)
            }
        };
        let _ = write!(line, " {cell} |");
        if PEERS.iter().any(|(peer, _)| *peer == subject) {
            let _ = write!(behind, " {against} |");
        }
    }
    line + &behind + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_compared_with_this_sdk_and_each_reason_is_listed_once() {
        let mut notes = Notes::default();
        let shown = |subject| match subject {
            Subject::Baseline => Shown::Figure(10.0, "ten".to_owned()),
            Subject::Ours => Shown::Figure(12.5, "more".to_owned()),
            Subject::Rmcp => Shown::Figure(50.0, "much".to_owned()),
            Subject::Tower => Shown::Missing("it has none".to_owned()),
        };
        let line = row("a", &mut notes, shown);
        let none = "n/a [1](#why-not)";
        assert_eq!(
            line,
            format!("| a | ten | more | much | {none} | **4.00×** | {none} |\n")
        );
        row("b", &mut notes, shown);
        assert_eq!(
            notes.text(),
            "\n## Why not\n\n1. tower-mcp 0.25.0: it has none\n"
        );
        assert_eq!(
            head("", true)
                .lines()
                .next()
                .map(|l| l.matches('|').count()),
            Some(8)
        );
    }

    #[test]
    fn a_cheaper_peer_is_marked() {
        assert_eq!(ahead(5.0, 10.0), "0.50×, behind");
        assert_eq!(ahead(10.0, 10.0), "**1.00×**");
    }
}
