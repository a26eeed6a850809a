//! Mutations behind switches: one build contains all of them, and the environment of a run selects one.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprUnary, ImplItemConst, ImplItemFn};
use syn::{ItemConst, ItemFn, ItemMod, ItemStatic, Pat, PatGuard};

use super::Mutant;
use crate::workspace::{At as _, Result};

/// The environment variable with the number of the active mutation.
pub(super) const VARIABLE: &str = "XTASK_MUTANT";
/// The environment variable with the path of a file to which a run appends the numbers of the mutations that it reaches.
pub(super) const REACHED: &str = "XTASK_MUTANTS_REACHED";

/// The code of the switch; `$VARIABLE` and `$REACHED` are replaced by the names of the variables.
const SWITCH: &str = r#"
#[allow(warnings)]
fn xtask_mutant(number: usize) -> bool {
    use ::std::{collections::BTreeSet, env, fs::File, io::Write, sync::Mutex, sync::OnceLock};
    static ON: OnceLock<usize> = OnceLock::new();
    static REACHED: OnceLock<Option<Mutex<(File, BTreeSet<usize>)>>> = OnceLock::new();
    let reached = REACHED.get_or_init(|| {
        let path = env::var_os("$REACHED")?;
        let file = File::options().create(true).append(true).open(path).ok()?;
        Some(Mutex::new((file, BTreeSet::new())))
    });
    if let Some(Ok(mut reached)) = reached.as_ref().map(Mutex::lock) {
        if reached.1.insert(number) {
            let _ = reached.0.write_all(format!("{number}\n").as_bytes());
        }
    }
    let on = || env::var("$VARIABLE").ok()?.parse().ok();
    *ON.get_or_init(|| on().unwrap_or(usize::MAX)) == number
}
"#;

/// A replacement in a source text.
struct Edit {
    /// Empty for an insertion.
    range: Range<usize>,
    text: String,
}

/// Returns the source with each mutation behind a switch, and the numbers of the mutations for which that was possible. The lines of
/// the source keep their numbers.
pub(super) fn switched(source: &str, mutants: &[(usize, &Mutant)]) -> Result<(String, Vec<usize>)> {
    let file = syn::parse_file(source).at("syn")?;
    let mut places = Places::default();
    places.visit_file(&file);
    let mut edits: Vec<Edit> = Vec::new();
    let mut numbers = Vec::new();
    for (number, mutant) in mutants {
        let start = offset(source, (mutant.span.start.line, mutant.span.start.column));
        let Some(edit) = places.edit(source, start, *number, mutant) else {
            continue;
        };
        let overlaps = |other: &Edit| {
            let (a, b) = (&edit.range, &other.range);
            a == b || (a.start < b.end && b.start < a.end)
        };
        if !edits.iter().any(overlaps) {
            edits.push(edit);
            numbers.push(*number);
        }
    }
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
    let mut text = source.to_owned();
    for Edit { range, text: new } in edits {
        text.replace_range(range, &new);
    }
    text.push_str(
        &SWITCH
            .replace("$REACHED", REACHED)
            .replace("$VARIABLE", VARIABLE),
    );
    Ok((text, numbers))
}

/// Returns the offset of a line and a column, both of which count from one.
fn offset(source: &str, (line, column): (usize, usize)) -> usize {
    let before: usize = source
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let rest = source.get(before..).unwrap_or_default();
    let characters: usize = rest.chars().take(column - 1).map(char::len_utf8).sum();
    before + characters
}

/// The places in a source where mutations are supported.
#[derive(Default)]
struct Places {
    /// The operator, both operands, and the whole expression.
    binary: Vec<[Range<usize>; 4]>,
    /// The operand, and the whole expression, which begins with the operator.
    unary: Vec<[Range<usize>; 2]>,
    /// The pattern of an arm, and its guard if it has one.
    arms: Vec<(Range<usize>, Option<Range<usize>>)>,
    bodies: Vec<Range<usize>>,
}

impl Places {
    fn edit(&self, source: &str, start: usize, number: usize, mutant: &Mutant) -> Option<Edit> {
        let on = format!("xtask_mutant({number})");
        // The mutated copy is one line, so that the lines below keep their numbers.
        let line = |range: &Range<usize>| {
            let text = &source[range.clone()];
            (!text.contains("//")).then(|| text.replace('\n', " "))
        };
        let choose = |range: &Range<usize>, mutated: String| Edit {
            range: range.clone(),
            text: format!(
                "(if {on} {{ {mutated} }} else {{ {} }})",
                &source[range.clone()]
            ),
        };
        let new = &mutant.replacement;
        match &*mutant.genre {
            "BinaryOperator" => {
                let [_, left, right, all] =
                    self.binary.iter().find(|[op, ..]| op.start == start)?;
                Some(choose(
                    all,
                    format!("{} {new} {}", line(left)?, line(right)?),
                ))
            }
            "UnaryOperator" => {
                let [operand, all] = self.unary.iter().find(|[_, all]| all.start == start)?;
                Some(choose(all, line(operand)?))
            }
            "MatchArmGuard" => {
                let guards = self.arms.iter().filter_map(|(_, guard)| guard.as_ref());
                let guard = guards.into_iter().find(|guard| guard.start == start)?;
                Some(choose(guard, new.clone()))
            }
            "MatchArm" => {
                let (pattern, guard) = self
                    .arms
                    .iter()
                    .find(|(pattern, _)| pattern.start == start)?;
                let (range, text) = match guard {
                    Some(guard) => (
                        guard.clone(),
                        format!("(!{on}) && ({})", &source[guard.clone()]),
                    ),
                    None => (pattern.end..pattern.end, format!(" if !{on}")),
                };
                Some(Edit { range, text })
            }
            "FnValue" => {
                let body = self.bodies.iter().filter(|body| body.contains(&start));
                let body = body.min_by_key(|body| body.len())?;
                let text = format!(" if {on} {{ return {}; }}", new.replace('\n', " "));
                Some(Edit {
                    range: body.start + 1..body.start + 1,
                    text,
                })
            }
            _ => None,
        }
    }

    fn function(&mut self, attributes: &[Attribute], is_const: bool, block: &Block) -> bool {
        let is_switchable = !is_const && !attributes.iter().any(|it| it.path().is_ident("cfg"));
        if is_switchable {
            self.bodies.push(block.span().byte_range());
        }
        is_switchable
    }
}

fn is_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary {
            left,
            op: BinOp::And(_),
            right,
            ..
        }) => is_let(left) || is_let(right),
        _ => false,
    }
}

impl<'a> Visit<'a> for Places {
    // A constant cannot read the environment, and an inline module does not see the switch.
    fn visit_item_const(&mut self, _: &'a ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'a ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'a ItemStatic) {}
    fn visit_item_mod(&mut self, _: &'a ItemMod) {}

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if self.function(&item.attrs, item.sig.constness.is_some(), &item.block) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if self.function(&item.attrs, item.sig.constness.is_some(), &item.block) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
        if !(is_let(&binary.left) || is_let(&binary.right)) {
            let spans = [
                binary.op.span(),
                binary.left.span(),
                binary.right.span(),
                binary.span(),
            ];
            self.binary.push(spans.map(|span: Span| span.byte_range()));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a ExprUnary) {
        let spans = [unary.expr.span(), unary.span()];
        self.unary.push(spans.map(|span| span.byte_range()));
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'a Arm) {
        let (pattern, guard) = match &arm.pat {
            Pat::Guard(PatGuard { pat, guard, .. }) => (&**pat, Some(&**guard)),
            pattern => (pattern, None),
        };
        if !guard.is_some_and(is_let) {
            let guard = guard.map(|guard| guard.span().byte_range());
            self.arms.push((pattern.span().byte_range(), guard));
        }
        visit::visit_arm(self, arm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::{Position, Range};

    #[test]
    fn each_kind_of_mutation_is_behind_its_number_and_lines_stay() {
        let source = "const N: u8 = 1 + 1;\nfn f(a: u8) -> bool {\n    match a {\n        0 => !true,\n        n if n\n            > 3 =>                       false,\n        _ => a == N,\n    }\n}\n";
        let mutant = |genre: &str, replacement: &str, (line, column)| Mutant {
            name: String::new(),
            file: String::new(),
            genre: genre.to_owned(),
            replacement: replacement.to_owned(),
            span: Range {
                start: Position { line, column },
                end: Position { line, column },
            },
        };
        let mutants = [
            mutant("BinaryOperator", "-", (1, 17)),
            mutant("FnValue", "true", (3, 5)),
            mutant("MatchArm", "", (4, 9)),
            mutant("UnaryOperator", "", (4, 14)),
            mutant("BinaryOperator", ">=", (6, 13)),
            mutant("MatchArmGuard", "true", (5, 14)),
            mutant("BinaryOperator", "!=", (7, 16)),
        ];
        let numbered: Vec<_> = mutants.iter().enumerate().collect();
        let (text, numbers) = switched(source, &numbered).unwrap();
        // Mutations of constants are left out, and so is a second mutation of the same place.
        assert_eq!(numbers, [1, 2, 3, 4, 6]);
        for (line, part) in [
            (1, "if xtask_mutant(1) { return true; }"),
            (
                3,
                "0 if !xtask_mutant(2) => (if xtask_mutant(3) { true } else { !true })",
            ),
            (4, "(if xtask_mutant(4) { n >= 3 } else { n"),
            (6, "(if xtask_mutant(6) { a != N } else { a == N })"),
        ] {
            let found = text.lines().nth(line).unwrap();
            assert!(found.contains(part), "{found}");
        }
    }
}
