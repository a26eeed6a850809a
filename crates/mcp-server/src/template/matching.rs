//! Matches a URI against a template.
//!
//! The template is a sequence of [`MatchStep`]s. A table contains, for each step and each position in the URI, how well the
//! remaining steps match the rest of the URI. The table is filled from the end, with one pass over the URI for each step. Then it
//! is read from the start. There is no backtracking, so the time is bounded for every template and URI.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::encoding::{canonical, climbs, decode, has_parent_segment};
use super::syntax::{Modifier, Operator, Part};

/// Maximum length of a URI, in bytes.
const BYTES: usize = 8 * 1024;
/// The character that marks the query parameters that are named in the template. No URI contains this character.
const PARAMETER: char = '\n';

#[derive(Debug, Clone)]
pub(super) struct Matcher {
    steps: Vec<MatchStep>,
    /// Names of the query parameters in the template, in order.
    query: Vec<String>,
}

#[derive(Debug, Clone)]
enum MatchStep {
    Literal(String),
    /// All steps between this step and the step with this index are optional. Matching may continue at the index.
    Maybe(usize),
    /// A parameter that is present. It may have no value.
    Named {
        name: String,
        text: String,
    },
    Value {
        name: String,
        class: Class,
    },
}

/// The characters that a value may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// One or more characters within one path segment.
    Segment,
    /// The value of a path parameter.
    Parameter,
    /// The value of a query parameter.
    Query,
    /// One or more characters, none of them `#`.
    Fragment,
    /// One or more characters of any kind.
    Reserved,
}

impl Class {
    fn of(operator: Operator) -> Self {
        match operator {
            Operator::Simple | Operator::Label | Operator::Path => Self::Segment,
            Operator::Parameter => Self::Parameter,
            Operator::Query | Operator::Continuation => Self::Query,
            Operator::Fragment => Self::Fragment,
            Operator::Reserved => Self::Reserved,
        }
    }

    fn admits(self, byte: u8) -> bool {
        match self {
            _ if byte == PARAMETER as u8 => false,
            Self::Segment => !b"/?#".contains(&byte),
            Self::Parameter => !b"/?#;".contains(&byte),
            Self::Query => !b"&#".contains(&byte),
            Self::Fragment => byte != b'#',
            Self::Reserved => true,
        }
    }

    fn may_be_empty(self) -> bool {
        matches!(self, Self::Parameter | Self::Query)
    }

    /// Returns whether a value may contain a slash, encoded or not.
    fn may_contain_slash(self) -> bool {
        matches!(self, Self::Query | Self::Fragment | Self::Reserved)
    }
}

impl Matcher {
    pub(super) fn of(parts: &[Part]) -> Option<Self> {
        let mut matcher = Self {
            steps: Vec::new(),
            query: Vec::new(),
        };
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text) => {
                    let text = match at {
                        0 => canonical(text)?,
                        // The added colon keeps `canonical` from finding a scheme: this text is not at the start.
                        _ => canonical(&format!(":{text}"))?.split_off(1),
                    };
                    matcher.steps.push(MatchStep::Literal(text));
                }
                Part::Expression {
                    operator,
                    variables,
                } => {
                    if variables.iter().any(|v| v.modifier != Modifier::None) {
                        return None;
                    }
                    let names = variables.iter().map(|variable| &*variable.name);
                    if operator.is_named() {
                        matcher.named(*operator, names);
                    } else {
                        matcher.unnamed(*operator, names);
                    }
                }
            }
        }
        Some(matcher)
    }

    fn named<'n>(&mut self, operator: Operator, names: impl Iterator<Item = &'n str>) {
        for name in names {
            let text = match operator {
                Operator::Parameter => format!(";{name}"),
                _ => {
                    self.query.push(name.to_owned());
                    format!("{PARAMETER}{name}")
                }
            };
            let next = self.steps.len() + 5;
            let name = || name.to_owned();
            let class = Class::of(operator);
            self.steps.extend([
                MatchStep::Maybe(next),
                MatchStep::Named { name: name(), text },
                MatchStep::Maybe(next),
                MatchStep::Literal("=".to_owned()),
                MatchStep::Value {
                    name: name(),
                    class,
                },
            ]);
        }
    }

    fn unnamed<'n>(&mut self, operator: Operator, names: impl Iterator<Item = &'n str>) {
        let mut maybes = Vec::new();
        let mut start = operator.first();
        for (index, name) in names.enumerate() {
            // Without a leading character, as in `{x}` and `{+x}`, the first value is required.
            if index > 0 || !start.is_empty() {
                maybes.push(self.steps.len());
                self.steps.push(MatchStep::Maybe(0));
                self.steps.push(MatchStep::Literal(start.to_owned()));
            }
            start = operator.separator();
            self.steps.push(MatchStep::Value {
                name: name.to_owned(),
                class: Class::of(operator),
            });
        }
        let end = self.steps.len();
        for maybe in maybes {
            self.steps[maybe] = MatchStep::Maybe(end);
        }
    }

    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > BYTES || has_parent_segment(uri) {
            return None;
        }
        let uri = canonical(uri)?;
        let uri = self.mark_parameters(&uri);
        match self.steps.first() {
            // Most templates do not match most URIs: compare the literal start first.
            Some(MatchStep::Literal(text)) if !uri.starts_with(text.as_str()) => return None,
            _ => {}
        }
        let table = Table::fill(&self.steps, uri.as_bytes());
        self.read(&table, &uri)
    }

    /// Moves the query parameters that are named in the template to the end of the query. The moved parameters are in the order
    /// of the template, and each of them is marked with [`PARAMETER`]. Other parameters stay in place.
    fn mark_parameters<'u>(&self, uri: &'u str) -> Cow<'u, str> {
        let (rest, fragment) = uri.split_at(uri.find('#').unwrap_or(uri.len()));
        let Some((path, query)) = rest.split_once('?') else {
            return Cow::Borrowed(uri);
        };
        if self.query.is_empty() {
            return Cow::Borrowed(uri);
        }
        let mut named = vec![Vec::new(); self.query.len()];
        let mut marked = path.to_owned();
        let mut start = '?';
        for parameter in query.split('&') {
            let name = parameter.split('=').next().unwrap_or_default();
            match self.query.iter().position(|known| known == name) {
                Some(place) => named[place].push(parameter),
                None => {
                    marked.push(start);
                    marked.push_str(parameter);
                    start = '&';
                }
            }
        }
        for parameter in named.into_iter().flatten() {
            marked.push(PARAMETER);
            marked.push_str(parameter);
        }
        marked.push_str(fragment);
        Cow::Owned(marked)
    }

    fn read(&self, table: &Table, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        let mut absent = Vec::new();
        let (mut step, mut at) = (0, 0);
        while let Some(current) = self.steps.get(step) {
            let score = table.at(step, at);
            if score == 0 {
                return None;
            }
            let mut next = step + 1;
            match current {
                MatchStep::Literal(text) => at += text.len(),
                MatchStep::Maybe(end) => {
                    let present = table.at(step + 1, at);
                    if present == 0 || present + 1 < score {
                        next = *end;
                        match (self.steps[..step].last(), &self.steps[step + 1]) {
                            (Some(MatchStep::Named { name, .. }), _) => {
                                bind(&mut found, name, String::new())?;
                            }
                            (_, MatchStep::Named { .. }) => {}
                            _ => absent.extend(&self.steps[step..next]),
                        }
                    }
                }
                MatchStep::Named { text, .. } => at += text.len(),
                MatchStep::Value { name, class } => {
                    let end = table.end(step, at, *class, uri.as_bytes());
                    let before = uri[..at].trim_end_matches(PARAMETER);
                    let value = decode(&uri[at..end])?;
                    if !is_safe(&value, *class, before) {
                        return None;
                    }
                    at = end;
                    bind(&mut found, name, value)?;
                }
            }
            step = next;
        }
        // A variable that has a value at one place cannot be absent at another place.
        let is_absent = |step: &&MatchStep| match step {
            MatchStep::Value { name, .. } => !found.contains_key(name),
            _ => true,
        };
        (at == uri.len() && absent.iter().all(is_absent)).then_some(found)
    }
}

/// Binds a variable; repeated occurrences must have the same value.
fn bind(found: &mut BTreeMap<String, String>, name: &str, value: String) -> Option<()> {
    match found.insert(name.to_owned(), value) {
        Some(other) if found.get(name) != Some(&other) => None,
        _ => Some(()),
    }
}

/// For each step and each position in the URI: how well the remaining steps match the rest of the URI. 0 means no match;
/// otherwise the number is 1 plus the number of optional parts that are present.
struct Table {
    cells: Vec<u8>,
    width: usize,
}

impl Table {
    fn at(&self, step: usize, place: usize) -> u8 {
        self.cells[step * self.width + place]
    }

    fn fill(steps: &[MatchStep], uri: &[u8]) -> Self {
        let width = uri.len() + 1;
        let mut table = Self {
            cells: vec![0; width * (steps.len() + 1)],
            width,
        };
        table.cells[steps.len() * width + uri.len()] = 1;
        for (index, step) in steps.iter().enumerate().rev() {
            // The best score of the next step at a position where a value that starts here can end.
            let mut best = 0;
            for at in (0..width).rev() {
                if is_inside_character(uri, at) {
                    continue;
                }
                let after = table.at(index + 1, at);
                let cell = match step {
                    MatchStep::Literal(text) | MatchStep::Named { text, .. } => {
                        match uri[at..].starts_with(text.as_bytes()) {
                            true => table.at(index + 1, at + text.len()),
                            false => 0,
                        }
                    }
                    MatchStep::Maybe(end) => {
                        let present = if after > 0 {
                            after.saturating_add(1)
                        } else {
                            0
                        };
                        present.max(table.at(*end, at))
                    }
                    // The bytes of an encoded character belong to the same classes.
                    MatchStep::Value { class, .. } => {
                        let goes_on = uri.get(at).is_some_and(|&byte| class.admits(byte));
                        let further = if goes_on { best } else { 0 };
                        best = further.max(after);
                        if class.may_be_empty() { best } else { further }
                    }
                };
                table.cells[index * width + at] = cell;
            }
        }
        table
    }

    /// Returns the last position at which a value that starts at `start` can end without making the match of the rest worse.
    fn end(&self, step: usize, start: usize, class: Class, uri: &[u8]) -> usize {
        let score = self.at(step, start);
        let run = uri[start..].iter().take_while(|&&byte| class.admits(byte));
        let longest = start + run.count();
        let shortest = start + usize::from(!class.may_be_empty());
        let fits = |end: &usize| self.at(step + 1, *end) == score;
        (shortest..=longest).rev().find(fits).unwrap_or(start)
    }
}

/// Returns whether a position in a normalized URI is inside the encoding of a character, where a value cannot end. Such a
/// position is after the first byte of `%XX`, or before the encoding of a byte that continues a character in UTF-8.
fn is_inside_character(uri: &[u8], at: usize) -> bool {
    uri[at.saturating_sub(2)..at].contains(&b'%')
        || matches!(uri[at..], [b'%', b'8' | b'9' | b'A' | b'B', ..])
}

/// Returns whether a decoded value is safe for a handler.
fn is_safe(value: &str, class: Class, before: &str) -> bool {
    // The value must also be safe if it is decoded once more.
    let twice = decode(value);
    [Some(value), twice.as_deref()]
        .into_iter()
        .flatten()
        .all(|text| {
            let has_slash = text.contains(['/', '\\']);
            !text.contains('\0')
                && !climbs(text)
                && (class.may_contain_slash() || !has_slash)
                && (class != Class::Reserved || !is_absolute_path(text, before))
        })
}

/// Returns whether a value after the text `before` is an absolute path. For example, `root.join("/etc")` leaves the folder
/// `root`.
fn is_absolute_path(path: &str, before: &str) -> bool {
    let slashes = path.chars().take_while(|&c| c == '/' || c == '\\').count();
    let most = usize::from(!before.ends_with('/') || before.ends_with("://"));
    slashes > most
}
