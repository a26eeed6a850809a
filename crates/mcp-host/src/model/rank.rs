//! Ranks tools with Okapi BM25 over their names and descriptions. For the same tools and query, the order is always the same.

use std::collections::HashSet;

/// Maximum number of different terms of a query.
const MAX_QUERY_TERMS: usize = 32;
/// Maximum size of the part of a description that is searched, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// Maximum size of the part of a term that is compared, in bytes.
const MAX_TERM_BYTES: usize = 64;
/// Weight of a term in a name, relative to a term in a description.
const NAME_WEIGHT: u32 = 3;

/// Saturation of the term frequency: `k1` of BM25, with its usual value.
const SATURATION: f64 = 1.2;
/// Influence of the length of a text: `b` of BM25, with its usual value.
const LENGTH_INFLUENCE: f64 = 0.75;

/// A tool whose text has terms of the query.
struct Match {
    index: usize,
    /// Number of terms of the tool, each multiplied by its weight.
    length: u32,
    /// For each term of the query, how often the tool has it, multiplied by the weight.
    counts: Vec<u32>,
}

/// Returns the indexes of the best matches, best first. Tools with the same score keep their order. The texts of a tool are its
/// name and its description.
pub fn rank<'a>(
    query: &str,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
    max_results: usize,
) -> Vec<usize> {
    let mut known = HashSet::new();
    let mut query_terms = Vec::new();
    each_term(query, |term| {
        if query_terms.len() < MAX_QUERY_TERMS && known.insert(term.to_owned()) {
            query_terms.push(term.to_owned());
        }
    });
    let mut matches = Vec::new();
    let (mut tool_count, mut total_length) = (0_u32, 0_u64);
    let mut tools_with = vec![0_u32; query_terms.len()];
    for (index, (name, description)) in tools.enumerate() {
        let mut found = Match {
            index,
            length: 0,
            counts: vec![0; query_terms.len()],
        };
        for (text, weight) in [(name, NAME_WEIGHT), (description, 1)] {
            each_term(text, |term| {
                found.length += weight;
                if let Some(at) = query_terms.iter().position(|known| known == term) {
                    found.counts[at] += weight;
                }
            });
        }
        tool_count = tool_count.saturating_add(1);
        total_length += u64::from(found.length);
        for (count, tools) in found.counts.iter().zip(&mut tools_with) {
            *tools += u32::from(*count > 0);
        }
        if found.counts.iter().any(|count| *count > 0) {
            matches.push(found);
        }
    }
    let mean_length = total_length as f64 / f64::from(tool_count.max(1));
    let score = |found: &Match| -> f64 {
        let length = f64::from(found.length) / mean_length;
        let damping = SATURATION * (1.0 - LENGTH_INFLUENCE + LENGTH_INFLUENCE * length);
        let terms = found.counts.iter().zip(&tools_with);
        terms
            .map(|(&count, &tools)| {
                let (count, tools) = (f64::from(count), f64::from(tools));
                let rarity = (1.0 + (f64::from(tool_count) - tools + 0.5) / (tools + 0.5)).ln();
                rarity * count * (SATURATION + 1.0) / (count + damping)
            })
            .sum()
    };
    let mut scored: Vec<(f64, usize)> = matches
        .iter()
        .map(|found| (score(found), found.index))
        .collect();
    scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
    scored.truncate(max_results);
    scored.into_iter().map(|(_, index)| index).collect()
}

/// Calls a function with each term of a text: letters and digits in lower case, without a plural `s`. `readFile` and
/// `read_file` have the terms `read` and `file`.
fn each_term(text: &str, mut receive: impl FnMut(&str)) {
    let mut term = String::new();
    let mut end = |term: &mut String| {
        if term.len() > 3 && term.ends_with('s') && !term.ends_with("ss") {
            term.pop();
        }
        if !term.is_empty() {
            receive(term);
            term.clear();
        }
    };
    let mut was_lower = false;
    for (at, c) in text.char_indices() {
        if at >= MAX_TEXT_BYTES {
            break;
        }
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            end(&mut term);
        }
        if c.is_alphanumeric() && term.len() < MAX_TERM_BYTES {
            term.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    end(&mut term);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_words_in_lower_case() {
        let mut terms = Vec::new();
        each_term("readFile read_files HTTPGet x2y — Größe class", |term| {
            terms.push(term.to_owned());
        });
        assert_eq!(
            terms,
            [
                "read", "file", "read", "file", "httpget", "x2y", "größe", "class"
            ]
        );
        let long = "a".repeat(10_000);
        each_term(&long, |term| assert_eq!(term.len(), MAX_TERM_BYTES));
    }

    #[test]
    fn rare_terms_and_names_count_more() {
        let tools = [
            ("git__log", "Shows commits of a repository"),
            ("files__read_file", "Reads a file of a repository"),
            ("files__search", "Finds a file by its name in a repository"),
            ("time__now", "Returns the time"),
        ];
        let best = |query: &str| rank(query, tools.iter().copied(), 3);
        assert_eq!(best("read files"), [1, 2]);
        assert_eq!(best("repository commits")[0], 0);
        assert_eq!(best("current TIME"), [3]);
        assert!(best("weather").is_empty() && best("").is_empty());
        assert_eq!(best("repository").len(), 3);
    }

    #[test]
    fn tools_with_equal_scores_keep_their_order_and_repeated_terms_add_little() {
        let stuffed = "mail ".repeat(1_000);
        let tools = [
            ("a__send", "Sends mail"),
            ("b__send", "Sends mail"),
            ("c__x", &*stuffed),
        ];
        assert_eq!(rank("send mail", tools.into_iter(), 10), [0, 1, 2]);
        let query = (0..1_000)
            .map(|number| format!("t{number} "))
            .collect::<String>();
        assert!(rank(&(query + "mail"), tools.into_iter(), 10).is_empty());
    }
}
