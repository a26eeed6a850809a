//! Shows parts of changed texts.

/// Returns the number of equal characters at the beginning of both texts.
pub(super) fn common_prefix(old: &str, new: &str) -> usize {
    let pairs = old.chars().zip(new.chars());
    pairs.take_while(|(old, new)| old == new).count()
}

/// Returns the part of a text that begins shortly before its first difference from another text.
pub(super) fn excerpt(text: &str, difference: usize) -> String {
    let start = match difference {
        0..40 => 0,
        far => far - 20,
    };
    let mut chars = text.chars().skip(start);
    let part: String = chars.by_ref().take(60).collect();
    let [before, after] =
        [start > 0, chars.next().is_some()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{before}{part}{after}")
}
