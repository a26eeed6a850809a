//! Everything that a run measures, as the tables of the page.

use serde::Serialize;

use super::subject::{ALL, Subject};
use super::workloads::Workload;
use crate::workspace::Result;

/// The values of one row, of each subject in the order of [`ALL`], or the reason why it has none.
pub(super) type Each<T> = [Result<T>; ALL.len()];

/// The values of one row, which the template writes as the unit of the table requires. Only the first value is compared.
pub(super) type Cells = Each<[f64; 3]>;

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
    /// A table of costs; `values` returns those of a cell, followed by zeros.
    pub(super) fn costs<T>(
        section: &str,
        unit: &'static str,
        rows: &[(Workload, Each<T>)],
        values: impl Fn(&T) -> [f64; 3],
    ) -> Self {
        let cell = |cell: &Result<T>| cell.as_ref().map(&values).map_err(String::clone);
        let row = |(row, cells): &(Workload, Each<T>)| (row.clone(), cells.each_ref().map(cell));
        Self {
            section: section.to_owned(),
            unit,
            are_costs: true,
            rows: rows.iter().map(row).collect(),
        }
    }
}

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
    pub(super) fn cpu(&self, section: &str) -> &[(Workload, Cells)] {
        let mut tables = self.tables.iter();
        let table = tables.find(|table| table.section == section && table.unit == CPU);
        table.map_or(&[], |table| &table.rows)
    }
}

pub(super) fn value(cells: &Cells, subject: Subject) -> Option<f64> {
    cells[subject as usize]
        .as_ref()
        .ok()
        .map(|values| values[0])
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
