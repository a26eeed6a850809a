//! Finds an item of a list by its name without reading the whole list.

/// The positions of the items, in the order of their names.
#[derive(Debug)]
pub(crate) struct NameIndex(Vec<usize>);

impl NameIndex {
    /// Creates the index of a list with this number of items. `name` returns the name of the item at a position.
    pub(crate) fn new<'a>(length: usize, name: impl Fn(usize) -> &'a str) -> Self {
        let mut positions: Vec<_> = (0..length).collect();
        // The sort is stable, so `find` returns the first of several items with the same name.
        positions.sort_by_key(|position| name(*position));
        Self(positions)
    }

    /// Returns the position of the first item with this name. `name` must be the function that was passed to [`new`](Self::new).
    pub(crate) fn find<'a>(&self, wanted: &str, name: impl Fn(usize) -> &'a str) -> Option<usize> {
        let first = self.0.partition_point(|position| name(*position) < wanted);
        let position = *self.0.get(first)?;
        (name(position) == wanted).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_item_with_a_name_is_found() {
        let names = ["c", "a", "b", "a", ""];
        let name = |position: usize| names[position];
        let index = NameIndex::new(names.len(), name);
        for (wanted, expected) in [
            ("a", Some(1)),
            ("b", Some(2)),
            ("c", Some(0)),
            ("", Some(4)),
            ("aa", None),
            ("d", None),
        ] {
            assert_eq!(index.find(wanted, name), expected, "{wanted:?}");
        }
        assert_eq!(NameIndex::new(0, |_| "").find("", |_| ""), None);
    }
}
