//! Tables in Markdown.

/// A head and rows of cells.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right_aligned: bool,
}

impl Table {
    /// A table with these columns. The first column is aligned to the left and the others to the right.
    pub(crate) fn of_numbers<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self {
            right_aligned: true,
            ..Self::new(head)
        }
    }

    /// A table with these columns.
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self::default();
        table.row(head);
        table
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table in Markdown. Vertical bars in cells are escaped.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            for cell in row {
                text += &format!("| {} ", cell.replace('|', "\\|"));
            }
            text += "|\n";
            if number == 0 {
                let align = if self.right_aligned {
                    " --: |"
                } else {
                    " --- |"
                };
                text += "| --- |";
                text += &align.repeat(row.len().saturating_sub(1));
                text.push('\n');
            }
        }
        text
    }
}

/// Reasons for empty cells, as numbered footnotes.
#[derive(Debug, Default)]
pub(crate) struct Footnotes(Vec<String>);

impl Footnotes {
    /// An empty cell that refers to its reason.
    pub(crate) fn cell(&mut self, reason: &str) -> String {
        let known = self.0.iter().position(|known| known == reason);
        let index = known.unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!("n/a [^{}]", index + 1)
    }

    /// All reasons, for the end of the page.
    pub(crate) fn text(&self) -> String {
        let numbered = self.0.iter().enumerate();
        numbered
            .map(|(index, reason)| format!("[^{}]: {reason}\n", index + 1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_in_cells_are_escaped() {
        let mut table = Table::of_numbers(["name", "µs"]);
        table.row(["a|b", "10.5"]);
        assert_eq!(
            table.markdown(),
            "| name | µs |\n| --- | --: |\n| a\\|b | 10.5 |\n"
        );
    }

    #[test]
    fn each_reason_is_listed_once() {
        let mut notes = Footnotes::default();
        let cells = ["none", "other", "none"].map(|reason| notes.cell(reason));
        assert_eq!(cells, ["n/a [^1]", "n/a [^2]", "n/a [^1]"]);
        assert_eq!(notes.text(), "[^1]: none\n[^2]: other\n");
    }
}
