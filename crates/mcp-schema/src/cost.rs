//! Estimates the work that a schema can cause for a value, before the work is done.
//!
//! If two levels of `allOf` each name the next level twice, the last level is checked four times. With twenty-four such levels,
//! the last level is checked sixteen million times. A recursive schema with two overlapping alternatives doubles the work with
//! each level of the *value*. The full engine does not limit this work, so this module estimates it. For each depth of a value,
//! [`Cost::of`] counts how many schemas can apply to one part at this depth. [`Cost::admit`] multiplies this number by the size
//! of the value.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::graph::{Graph, Id, Kinds, Part};
use super::{SchemaError, Violation};

/// Maximum number of steps for the root of a value, without its parts.
const FAN_OUT: u64 = 100_000;
/// Maximum number of steps for a whole value. So many steps take less than a second.
const STEPS: u64 = 10_000_000;
/// Number of levels of a value for which steps are counted. A deeper level costs as much as the last counted level.
const LEVELS: usize = 64;
/// Maximum length of a chain of schemas in which each schema applies the next schema to the same value.
const CHAIN: usize = 64;
/// Maximum product of the chain length and the number of levels of the value. The limit protects the stack, because the engines
/// recurse.
const STACK: usize = 2_048;
/// Maximum number of steps for computing the estimate itself.
const ESTIMATE: usize = 500_000;
/// Bytes of text that count as one part of a value.
const TEXT: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Cost {
    /// Maximum number of steps for one part of a value, by the depth of the part.
    steps: Vec<u64>,
    /// The length of the longest chain of schemas.
    chain: usize,
}

impl Cost {
    pub(super) fn of(graph: &Graph) -> Result<Self, SchemaError> {
        let mut flat = Flat {
            graph,
            known: HashMap::new(),
            work: 0,
        };
        let chain = flat.flatten(0, 0)?;
        let levels = Levels::of(&mut flat)?;
        let steps = levels.run();
        if steps[0] > FAN_OUT {
            return Err(SchemaError::new(format!(
                "checking even the value {{}} takes more than {FAN_OUT} steps, because \"allOf\", \
                 \"anyOf\", \"oneOf\" and \"$ref\" apply some schemas many times; refer to each schema fewer times"
            )));
        }
        Ok(Self { steps, chain })
    }

    /// Returns the maximum number of steps for this value, or an error if this number is too large.
    pub(super) fn admit(&self, value: &Value) -> Result<u64, Violation> {
        let mut size = Size::default();
        size.add(value, 0);
        let worst = self.steps[size.depth.min(self.steps.len() - 1)];
        let steps = worst.saturating_mul(size.parts as u64);
        if steps > STEPS || (size.depth + 1).saturating_mul(self.chain) > STACK {
            return Err(Violation::here(format!(
                "a value of this size ({} levels deep) takes too long to check against this \
                 schema: send a smaller or flatter value",
                size.depth
            )));
        }
        Ok(steps)
    }
}

#[derive(Default)]
struct Size {
    parts: usize,
    depth: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) {
        self.parts += 1;
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.parts += text.len() / TEXT,
            Value::Array(items) => items.iter().for_each(|item| self.add(item, depth + 1)),
            Value::Object(members) => {
                for (name, member) in members {
                    self.parts += name.len() / TEXT;
                    self.add(member, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// How many times each schema is applied to the same value.
type Times = BTreeMap<Id, u64>;

struct Flat<'g> {
    graph: &'g Graph,
    /// For each schema, the schemas that it applies to the same value, and the length of the longest chain of these schemas. The
    /// entry is `None` while it is being computed.
    known: HashMap<Id, Option<(Times, usize)>>,
    work: usize,
}

impl Flat<'_> {
    /// Computes the entry of the schema `id` in `known`: all schemas that it applies to the same value. Returns the length of the
    /// longest chain of schemas.
    fn flatten(&mut self, id: Id, above: usize) -> Result<usize, SchemaError> {
        match self.known.get(&id) {
            Some(Some((_, chain))) => return Ok(*chain),
            Some(None) => {
                return Err(SchemaError::new(
                    "a \"$ref\" leads back to itself without descending into the value, so the \
                     check would not end: remove the cycle",
                ));
            }
            None => {}
        }
        within_chain(above)?;
        self.known.insert(id, None);
        let node = &self.graph.nodes[id];
        let mut times = Times::from([(id, 1)]);
        let mut chain = 0;
        for &next in &node.same {
            chain = chain.max(self.flatten(next, above + 1)?);
            let Some(Some((below, _))) = self.known.get(&next) else {
                continue;
            };
            for (&id, &n) in below {
                let n = n.saturating_mul(1 + u64::from(node.twice));
                add(&mut times, id, n);
            }
            self.work += below.len();
        }
        self.known.insert(id, Some((times, chain + 1)));
        self.within_estimate()?;
        within_chain(chain + 1)?;
        Ok(chain + 1)
    }

    fn times(&self, id: Id) -> impl Iterator<Item = (Id, u64)> {
        let known = self.known.get(&id).and_then(Option::as_ref);
        let times = known.into_iter().flat_map(|(times, _)| times);
        times.map(|(&id, &n)| (id, n))
    }

    fn within_estimate(&self) -> Result<(), SchemaError> {
        if self.work <= ESTIMATE {
            return Ok(());
        }
        Err(SchemaError::new(
            "the schema is too complex to estimate the cost of a check: refer to each schema fewer \
             times",
        ))
    }
}

fn within_chain(chain: usize) -> Result<(), SchemaError> {
    if chain <= CHAIN {
        return Ok(());
    }
    Err(SchemaError::new(format!(
        "a chain in which each schema refers to the next has more than {CHAIN} schemas: shorten the chain"
    )))
}

/// The schemas that apply to a part of a value, each with the number of times that it is applied.
type Descent = Vec<(usize, u64)>;

/// The root schema, which comes first, and the schemas that apply to parts of the value.
#[derive(Default)]
struct Levels {
    weights: Vec<u64>,
    ways: Vec<Vec<Descent>>,
}

impl Levels {
    fn of(flat: &mut Flat<'_>) -> Result<Self, SchemaError> {
        let mut levels = Self::default();
        let mut places = HashMap::from([(0, 0)]);
        let mut queue = vec![0];
        while let Some(&id) = queue.get(levels.ways.len()) {
            flat.flatten(id, 0)?;
            let weight = flat.times(id).fold(0u64, |sum, (id, n)| {
                sum.saturating_add(n.saturating_mul(flat.graph.nodes[id].weight))
            });
            levels.weights.push(weight);
            let mut ways = Vec::new();
            for way in ways_down(flat, id)? {
                let place = |id| {
                    *places.entry(id).or_insert_with(|| {
                        queue.push(id);
                        queue.len() - 1
                    })
                };
                let (ids, times): (Vec<Id>, Vec<u64>) = way.into_iter().unzip();
                ways.push(ids.into_iter().map(place).zip(times).collect());
            }
            levels.ways.push(ways);
        }
        Ok(levels)
    }

    /// Returns the maximum number of steps for one part of a value, by the depth of the part. The numbers
    /// do not decrease with the depth.
    fn run(&self) -> Vec<u64> {
        let mut most = vec![self.weights[0]];
        let mut level = self.weights.clone();
        for _ in 0..LEVELS {
            let worst = |ways: &Vec<Descent>| ways.iter().map(|way| sum(way, &level)).max();
            let next: Vec<u64> = self
                .ways
                .iter()
                .map(|ways| worst(ways).unwrap_or(0))
                .collect();
            if next == level {
                break;
            }
            most.push(next[0].max(most[most.len() - 1]));
            level = next;
        }
        most
    }
}

fn sum(way: &Descent, level: &[u64]) -> u64 {
    way.iter().fold(0u64, |sum, &(place, n)| {
        sum.saturating_add(n.saturating_mul(level[place]))
    })
}

/// A schema for a named part of the value, for example for a property.
struct Named {
    child: Id,
    n: u64,
    /// The schema that the other properties or items get, for example from `additionalProperties`.
    instead: Option<Id>,
}

/// Returns how often the schema `id` applies each schema to parts of a value, directly or through the schemas that `id`
/// applies to the same value.
/// There is one entry for unnamed properties, one for unnamed items, and one for each named part.
fn ways_down(flat: &mut Flat<'_>, id: Id) -> Result<Vec<Times>, SchemaError> {
    let mut unnamed: Kinds<Times> = Kinds::default();
    let mut named: BTreeMap<&Part, Vec<Named>> = BTreeMap::new();
    let graph = flat.graph;
    for (id, n) in flat.times(id) {
        let node = &graph.nodes[id];
        for &child in node.others.object.iter().chain(&node.any.object) {
            add(&mut unnamed.object, child, n);
        }
        for &child in node.others.array.iter().chain(&node.any.array) {
            add(&mut unnamed.array, child, n);
        }
        for (part, &child) in &node.named {
            let instead = match part {
                Part::Property(_) => node.others.object,
                Part::Item(_) => node.others.array,
            };
            let met = named.entry(part).or_default();
            met.push(Named { child, n, instead });
        }
    }
    let mut ways = Vec::new();
    for (part, met) in named {
        let mut way = match part {
            Part::Property(_) => unnamed.object.clone(),
            Part::Item(_) => unnamed.array.clone(),
        };
        for Named { child, n, instead } in met {
            // A named part is not checked by the schema for the other parts.
            if let Some(times) = instead.and_then(|other| way.get_mut(&other)) {
                *times -= n.min(*times);
            }
            add(&mut way, child, n);
        }
        flat.work += way.len();
        flat.within_estimate()?;
        ways.push(way);
    }
    ways.extend([unnamed.object, unnamed.array]);
    Ok(ways)
}

fn add(times: &mut Times, id: Id, n: u64) {
    let entry = times.entry(id).or_default();
    *entry = entry.saturating_add(n);
}
