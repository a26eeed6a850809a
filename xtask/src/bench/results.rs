//! Everything that a run measures, as the tables of the page.

use serde::Serialize;

use super::subject::{ALL, Subject};
use super::workloads::Workload;

/// A measured value and its text on the page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) text: String,
}

impl Figure {
    pub(super) fn new(value: f64, text: String) -> Self {
        Self { value, text }
    }
}

/// The values of one row, of each subject in the order of [`ALL`], or the reason why it has none.
pub(super) type Each<T> = [Result<T, String>; ALL.len()];

/// The figures of one row.
pub(super) type Cells = Each<Figure>;

/// A table of the page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figures {
    /// The heading of the section, and that of the first column.
    pub(super) section: String,
    pub(super) unit: &'static str,
    /// Whether the values are costs, which are compared.
    pub(super) are_costs: bool,
    pub(super) rows: Vec<(Workload, Cells)>,
}

impl Figures {
    /// A table of costs.
    pub(super) fn costs<T>(
        section: &str,
        unit: &'static str,
        rows: &[(Workload, Each<T>)],
        figure: impl Fn(&T) -> Figure,
    ) -> Self {
        let cell = |cell: &Result<T, String>| cell.as_ref().map(&figure).map_err(Clone::clone);
        let row = |(row, cells): &(Workload, Each<T>)| (row.clone(), cells.each_ref().map(cell));
        Self {
            section: section.to_owned(),
            unit,
            are_costs: true,
            rows: rows.iter().map(row).collect(),
        }
    }
}

/// All measured values.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) machine: String,
    /// In the order of the page.
    pub(super) tables: Vec<Figures>,
    /// Uses of the SDK, with the number of crates and its limit.
    pub(super) crates: Vec<(&'static str, usize, usize)>,
}

/// The heading of the first column of the tables that plots and budgets compare with the baseline.
pub(super) const CPU: &str = "CPU per call, µs";

impl Results {
    /// The rows with CPU times in a section.
    pub(super) fn cpu(&self, section: &str) -> &[(Workload, Cells)] {
        let mut tables = self.tables.iter();
        let table = tables.find(|table| table.section == section && table.unit == CPU);
        table.map_or(&[], |table| &table.rows)
    }
}

/// The value of a subject, if it has one.
pub(super) fn value(cells: &Cells, subject: Subject) -> Option<f64> {
    let figure = cells[subject as usize].as_ref().ok()?;
    Some(figure.value)
}

/// Median, minimum and maximum of values; zero if there are none.
pub(super) fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
        return [0.0; 3];
    };
    // The same element twice if the number of values is odd.
    let [low, high] = [(sorted.len() - 1) / 2, sorted.len() / 2];
    [f64::midpoint(sorted[low], sorted[high]), *min, *max]
}

/// A number with this many digits after the point.
pub(super) fn number(number: f64, decimals: usize) -> String {
    match decimals {
        0 => thousands(number),
        _ => format!("{number:.decimals$}"),
    }
}

/// A whole number, with narrow spaces between the thousands.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits; large numbers in full.
pub(super) fn short(number: f64) -> String {
    match number {
        1_000.0.. => thousands(number),
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::workloads::Workloads;
    use super::*;

    /// Results in which everything costs 10 on the baseline, 20 on this SDK and 40 on rmcp; tower-mcp has no figures.
    pub(in crate::bench) fn example() -> Results {
        let costs = [Ok(10.0), Ok(20.0), Ok(40.0), Err("it has none".to_owned())];
        let table = |section: &str, unit, rows: Vec<Workload>| {
            let rows: Vec<_> = rows.into_iter().map(|row| (row, costs.clone())).collect();
            Figures::costs(section, unit, &rows, |cost| {
                Figure::new(*cost, short(*cost))
            })
        };
        let workloads = Workloads::load();
        let weights = workloads.weights.iter();
        let weights = weights.map(|weight| Workload::named(&weight.name));
        let mut tables = vec![
            table("Counts", "instructions per call", workloads.gates.clone()),
            table("Counts", "allocations per call (bytes)", workloads.gates),
            table("Weights", "", weights.collect()),
        ];
        let groups = workloads.groups.into_iter();
        tables.extend(groups.map(|group| table(&group.title, CPU, group.rows)));
        Results {
            machine: "an example".to_owned(),
            tables,
            crates: vec![("types", 13, 15)],
        }
    }

    #[test]
    fn the_median_of_values_is_computed() {
        assert_eq!(spread([3.0, 1.0, 2.0].into_iter()), [2.0, 1.0, 3.0]);
        assert_eq!(spread([1.0, 2.0].into_iter()), [1.5, 1.0, 2.0]);
        assert_eq!(spread(std::iter::empty()), [0.0; 3]);
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(thousands(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!([999.4, 99.94, 0.5].map(short), ["999", "99.9", "0.50"]);
    }
}
