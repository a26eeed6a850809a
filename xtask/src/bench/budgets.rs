//! The budgets of the design, beside what was measured of them.

use super::page::median;
use super::plan::{CALLING, thousands};
use super::run::{Counts, Results, Weight};
use super::who::Who;

/// Why some are not met, in the words of somebody who knows: a line of the list for each, which opens with its name.
pub(super) const NOTES: &str = include_str!("notes.md");

/// One budget.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    unit: Unit,
    parts: Vec<Part>,
}

/// What one budget is about, where it is about several things.
#[derive(Debug)]
struct Part {
    name: &'static str,
    most: f64,
    measured: Option<f64>,
}

/// How figures are shown; what is shown is compared.
#[derive(Clone, Copy, Debug)]
enum Unit {
    /// Whole numbers.
    Count,
    /// Tenths of what the name says.
    Tenth,
    /// Hundredths, against something.
    Times,
}

impl Unit {
    fn rounded(self, number: f64) -> f64 {
        let parts = match self {
            Self::Count => 1.0,
            Self::Tenth => 10.0,
            Self::Times => 100.0,
        };
        (number * parts).round() / parts
    }

    fn shown(self, number: f64) -> String {
        match self {
            Self::Count => thousands(number.round() as u64),
            Self::Tenth => format!("{number:.1}"),
            Self::Times => format!("{number:.2}×"),
        }
    }
}

impl Row {
    fn new<const N: usize>(
        name: &'static str,
        unit: Unit,
        parts: [(&'static str, f64, Option<f64>); N],
    ) -> Self {
        let part = |(name, most, measured)| Part {
            name,
            most,
            measured,
        };
        Self {
            name,
            unit,
            parts: parts.map(part).into(),
        }
    }

    /// Its name, and those of its parts.
    pub(super) fn title(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.name).collect();
        match self.parts.len() {
            1 => self.name.to_owned(),
            _ => format!("{}: {}", self.name, parts.join(" / ")),
        }
    }

    /// The most that is allowed, once if that is the same for all parts.
    pub(super) fn budget(&self) -> String {
        let mut all: Vec<String> = self
            .parts
            .iter()
            .map(|part| self.unit.shown(part.most))
            .collect();
        all.dedup();
        format!("≤ {}", all.join(" / "))
    }

    /// What was measured.
    pub(super) fn measured(&self) -> String {
        let shown = |part: &Part| {
            part.measured
                .map_or("–".to_owned(), |number| self.unit.shown(number))
        };
        self.parts.iter().map(shown).collect::<Vec<_>>().join(" / ")
    }

    /// Whether all parts are within; nothing if one was not measured and the others are.
    pub(super) fn is_met(&self) -> Option<bool> {
        let met = |part: &Part| Some(self.unit.rounded(part.measured?) <= part.most);
        let mut all = Some(true);
        for part in &self.parts {
            match met(part) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all = None,
            }
        }
        all
    }
}

/// All of them, in the order of the design.
pub(super) fn rows(results: &Results) -> Vec<Row> {
    let counts = |path: &str, who: Who| {
        let (_, row) = results
            .counts
            .iter()
            .find(|(known, _)| known.name == path)?;
        row.get(&who)
    };
    let ours = |path: &str, figure: fn(&Counts) -> f64| counts(path, Who::Ours).map(figure);
    let instructions = |path: &str| ours(path, |counts| counts.instructions as f64);
    let heap = |path: &str| ours(path, |counts| counts.heap.allocations);
    let cpu = |wire, ask, inflight| cpu(results, wire, ask, inflight, 0);
    let list = |wire| self::cpu(results, wire, "list:1004", 1, 1_000);
    let weight = |figure: fn(&Weight) -> Option<f64>| figure(results.weights.get(&Who::Ours)?);
    // What the newest revision asks for has to be held by somebody: six more than the floor, as for the older one.
    let modern_heap = counts("http-modern", Who::Floor)
        .map_or(f64::NAN, |counts| counts.heap.allocations.round() + 6.0);
    let many_tools = instructions("stdio-1000-tools").zip(instructions("stdio"));
    vec![
        Row::new(
            "Instructions per call, HTTP 2025-11-25",
            Unit::Count,
            [
                ("sessions", 24_500.0, instructions("http-sessions")),
                ("none", 24_500.0, instructions("http-stateless")),
            ],
        ),
        Row::new(
            "Instructions per call, HTTP 2026-07-28",
            Unit::Count,
            [("", 30_000.0, instructions("http-modern"))],
        ),
        Row::new(
            "Instructions per call, stdio",
            Unit::Count,
            [("", 8_500.0, instructions("stdio"))],
        ),
        Row::new(
            "CPU per call against the floor, HTTP, 8 connections",
            Unit::Times,
            [
                ("sessions", 1.3, cpu("http", "echo:64", CALLING)),
                ("none", 1.3, cpu("http-stateless", "echo:64", CALLING)),
                ("2026-07-28", 1.3, cpu("http-modern", "echo:64", CALLING)),
            ],
        ),
        Row::new(
            "CPU per call against the floor, stdio, 64 calls at a time",
            Unit::Times,
            [("", 2.0, cpu("stdio", "echo:64", 64))],
        ),
        Row::new(
            "CPU per call against the floor, stdio, 1 call at a time",
            Unit::Times,
            [("", 1.25, cpu("stdio", "echo:64", 1))],
        ),
        Row::new(
            "Allocations per call, HTTP 2025-11-25",
            Unit::Tenth,
            [
                ("sessions", 18.0, heap("http-sessions")),
                ("none", 18.0, heap("http-stateless")),
            ],
        ),
        Row::new(
            "Allocations per call, HTTP 2026-07-28 (the floor and 6)",
            Unit::Tenth,
            [("", modern_heap, heap("http-modern"))],
        ),
        Row::new(
            "Allocations per call, stdio",
            Unit::Tenth,
            [
                ("2025-11-25", 5.0, heap("stdio")),
                ("2026-07-28", 5.0, heap("stdio-modern")),
            ],
        ),
        Row::new(
            "The list of 1004 tools, CPU against ready bytes",
            Unit::Times,
            [
                ("HTTP", 1.2, list("http")),
                ("HTTP 2026-07-28", 1.2, list("http-modern")),
                ("stdio", 1.2, list("stdio")),
            ],
        ),
        Row::new(
            "Echo of 64 kB and 1 MB, CPU against the floor",
            Unit::Times,
            [
                ("HTTP, 64 kB", 1.1, cpu("http", "echo:64000", 2)),
                ("1 MB", 1.1, cpu("http", "echo:1000000", 2)),
                ("stdio, 64 kB", 1.1, cpu("stdio", "echo:64000", 2)),
                ("1 MB", 1.1, cpu("stdio", "echo:1000000", 2)),
            ],
        ),
        Row::new(
            "A call beside 1000 tools against one beside none, instructions",
            Unit::Times,
            [("", 1.0, many_tools.map(|(many, none)| many / none))],
        ),
        Row::new(
            "Memory of an idle session, KiB",
            Unit::Tenth,
            [
                ("alone", 4.0, weight(|w| w.memory.session)),
                (
                    "with its stream and connection",
                    13.0,
                    weight(|w| w.memory.stream),
                ),
            ],
        ),
        Row::new(
            "Resident memory at rest, MiB",
            Unit::Tenth,
            [("", 3.6, weight(|w| Some(w.memory.idle as f64 / 1_024.0)))],
        ),
        Row::new(
            "Program, stripped, MB",
            Unit::Tenth,
            [("", 1.6, weight(|w| Some(w.program as f64 / 1e6)))],
        ),
        crates(results),
    ]
}

fn crates(results: &Results) -> Row {
    let part = |(name, count, most): &(&'static str, usize, usize)| Part {
        name,
        most: *most as f64,
        measured: Some(*count as f64),
    };
    Row {
        name: "Crates in the tree",
        unit: Unit::Count,
        parts: results.crates.iter().map(part).collect(),
    }
}

/// CPU per call in those of the floor.
fn cpu(results: &Results, wire: &str, ask: &str, inflight: u32, tools: u32) -> Option<f64> {
    let mut rows = results
        .groups
        .iter()
        .flat_map(|(group, cells)| group.rows.iter().zip(cells));
    let (_, cells) = rows.find(|(row, _)| {
        let needs = &row.needs;
        (needs.wire, &*row.ask, row.inflight, needs.tools) == (wire, ask, inflight, tools)
            && row.beside == 0
            && !needs.nagle
    })?;
    let cpu = |who| median(cells, who, |figures| figures.server_us);
    Some(cpu(Who::Ours)? / cpu(Who::Floor)?)
}

/// What there is to be said of the notes: of each budget that is not met they tell why, and of no other.
pub(super) fn unexplained(rows: &[Row]) -> Vec<String> {
    let mut words = Vec::new();
    for row in rows {
        let noted = NOTES.contains(&format!("- **{}.**", row.name));
        let name = row.name;
        match row.is_met() {
            Some(false) if !noted => {
                words.push(format!("not met, and notes.md does not tell why: {name}"))
            }
            Some(true) if noted => words.push(format!("met, and notes.md tells why not: {name}")),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(parts: [Option<f64>; 2]) -> Row {
        let [a, b] = parts;
        Row::new("a budget", Unit::Times, [("a", 1.3, a), ("b", 1.3, b)])
    }

    #[test]
    fn what_is_shown_is_compared() {
        let met = row([Some(1.304), Some(0.5)]);
        assert_eq!(met.is_met(), Some(true));
        assert_eq!(met.measured(), "1.30× / 0.50×");
        assert_eq!(
            (met.title(), met.budget()),
            ("a budget: a / b".to_owned(), "≤ 1.30×".to_owned())
        );
        assert_eq!(row([Some(1.306), None]).is_met(), Some(false));
        assert_eq!(row([Some(1.0), None]).is_met(), None);
        assert_eq!(row([Some(1.0), None]).measured(), "1.00× / –");
    }

    #[test]
    fn what_is_not_met_has_to_be_explained() {
        assert_eq!(unexplained(&[row([Some(2.0), None])]).len(), 1);
        assert!(unexplained(&[row([Some(1.0), Some(1.0)])]).is_empty());
        assert!(unexplained(&[row([None, None])]).is_empty());
    }

    #[test]
    fn notes_are_about_budgets() {
        let names: Vec<&str> = rows(&Results::default())
            .iter()
            .map(|row| row.name)
            .collect();
        let notes = NOTES.lines().filter_map(|line| line.strip_prefix("- **"));
        for note in notes {
            let name = note.split(".**").next().unwrap_or_default();
            assert!(names.contains(&name), "{name}");
        }
    }
}
