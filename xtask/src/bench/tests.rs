//! The tables, numbers and pictures of an example, and the texts that the benchmark reads.

use std::collections::BTreeSet;

use super::gate::{Entries, Entry};
use super::measure::reason;
use super::results::{CPU, Figures, spread};
use super::valgrind::{BRIEF, allocations, instructions, span};
use super::workloads::{Workload, Workloads};
use super::*;

/// Results in which everything costs 10 on the baseline, 20 on this SDK and 40 on rmcp; tower-mcp has no figures.
fn example() -> Results {
    let costs = [Ok(10.0), Ok(20.0), Ok(40.0), Err("it has none".to_owned())];
    let table = |section: &str, unit, rows: Vec<Workload>| {
        let rows: Vec<_> = rows.into_iter().map(|row| (row, costs.clone())).collect();
        Figures::costs(section, unit, &rows, |cost| [*cost, 1.5, 2_000.0])
    };
    let workloads = Workloads::load();
    let weights = workloads.weights.iter();
    let weights = weights.map(|weight| Workload::new(&weight.name, ""));
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
fn the_page_and_its_pictures_have_every_row() {
    let mut results = example();
    let rates = ["100\u{202f}000", "50\u{202f}000", "25\u{202f}000", "n/a"];
    for (picture, labels) in [
        (plots::cost(&results), ["1.00×", "2.00×", "4.00×", "n/a"]),
        (plots::scaling(&results), rates),
    ] {
        let picture = picture.unwrap();
        for label in labels {
            let line = format!("\n{label}\n");
            assert!(picture.contains(&line), "{label} in {picture}");
        }
    }
    // A peer that is cheaper in one row.
    for (row, cells) in results.tables.iter_mut().flat_map(|table| &mut table.rows) {
        if row.name == "10 kB" {
            cells[Subject::Rmcp as usize].as_mut().unwrap()[0] = 5.0;
        }
    }
    let budgets = budgets::budgets(&results).unwrap();
    for budget in &budgets {
        assert!(budget.measured.is_some(), "no figure {:?}", budget.figure);
    }
    let page = page(&results, &budgets).unwrap();
    for line in [
        "| 64 kB | 10.0 (1.50–2\u{202f}000) | 2.00× 20.0 (1.50–2\u{202f}000) | 4.00× 40.0 (1.50–2\u{202f}000) | n/a [^1] | **2.00×** | n/a [^1] |",
        "| 10 kB | 10.0 (1.50–2\u{202f}000) | 2.00× 20.0 (1.50–2\u{202f}000) | 0.50× 5.00 (1.50–2\u{202f}000) | n/a [^1] | 0.25×, behind | n/a [^1] |",
        "| stdio | 10.0 (2) | 2.00× 20.0 (2) | 4.00× 40.0 (2) | n/a [^1] | **2.00×** | n/a [^1] |",
        "| program, stripped, MB | 10 | 20 | 40 | n/a [^1] | **2.00×** | n/a [^1] |",
        "| Crates in the tree, types | ≤ 15 | 13 | yes |",
        "## Many tools",
        "[^1]: tower-mcp 0.25.0: it has none",
    ] {
        let is_present = page.lines().any(|found| found == line);
        assert!(is_present, "{line}\nnot in\n{page}");
    }
}

/// The figures of the page are those of a run; its text is that of the sources.
#[test]
fn the_text_of_the_stored_page_is_that_of_the_template() {
    let page = workspace::load(root(), "docs/benchmarks.md").unwrap().text;
    let template = include_str!("page.md.jinja");
    let (introduction, _) = template.split_once("{{ machine }}").unwrap();
    let budgets: Vec<Budget> =
        workspace::tables("budgets.toml", include_str!("budgets.toml")).unwrap();
    let reasons = budgets.iter().filter_map(|budget| {
        let why = budget.why.as_ref()?.trim().replace('\n', "\n  ");
        Some(format!("\n- **{}.** {why}\n", budget.name))
    });
    for text in reasons.chain([introduction.to_owned()]) {
        assert!(
            page.contains(&text),
            "docs/benchmarks.md does not have this text; write it there too, or run `cargo xtask bench`:\n{text}"
        );
    }
}

#[test]
fn rounded_values_are_compared_and_exactly_the_missed_budgets_need_an_explanation() {
    for (value, why, is_met, has_problem) in [
        (Some(1.304), None, Some(true), false),
        (Some(1.306), None, Some(false), true),
        (Some(2.0), Some("a reason"), Some(false), false),
        (Some(1.0), Some("a reason"), Some(true), true),
        (None, None, None, false),
    ] {
        let mut budget = Budget {
            decimals: 2,
            max: 1.3,
            why: why.map(str::to_owned),
            ..Budget::default()
        };
        if let Some(value) = value {
            budget.measure(value);
        }
        assert_eq!(budget.is_met, is_met, "{value:?}");
        assert_eq!(budget.problem().is_some(), has_problem, "{value:?}");
    }
}

#[test]
fn counts_that_differ_or_exceed_a_budget_are_problems() {
    let entry = |instructions, budget, ratio| Entry {
        instructions,
        baseline: 5_000,
        budget,
        ratio,
        ..Entry::default()
    };
    for (now, part) in [
        (10_201, "more than the 10000"),
        (10_200, ""),
        (9_800, ""),
        (9_700, "less than the 10000"),
    ] {
        let (now, before) = (entry(now, None, None), entry(10_000, None, None));
        let problems = gate::changes("stdio", &now, &before).join("\n");
        assert_eq!(problems.is_empty(), part.is_empty(), "{problems}");
        assert!(problems.contains(part), "{problems}");
    }
    for (count, ratio, max) in [
        (8_500, None, None),
        (9_000, None, Some("8500")),
        (8_000, Some(1.2), Some("6000")),
    ] {
        let problems = gate::excesses("stdio", &entry(count, Some(8_500), ratio));
        let expected = max
            .map(|max| format!("stdio: {count} instructions per call exceed the budget of {max}"));
        assert_eq!(problems, Vec::from_iter(expected));
    }
}

#[test]
fn names_are_different_gates_are_recorded_and_runs_end_with_a_whole_batch() {
    let text = workspace::load(root(), gate::FILE).unwrap().text;
    let entries: Entries = toml::from_str(&text).unwrap();
    assert!(toml::from_str::<Entry>("budgte = 1\n").is_err());
    let workloads = Workloads::load();
    for gate in &workloads.gates {
        assert!(entries[&gate.name].instructions > 0, "{}", gate.name);
        for calls in [span(gate), BRIEF].as_flattened() {
            assert_eq!(calls % gate.calls, 0, "{}", gate.name);
        }
    }
    let lists = workloads.groups.into_iter().map(|group| group.rows);
    for rows in lists.chain([workloads.clients, workloads.gates]) {
        let names: BTreeSet<_> = rows.iter().map(|row| &row.name).collect();
        assert_eq!(names.len(), rows.len(), "{names:?}");
    }
}

#[test]
fn servers_are_started_in_their_best_form_or_not_at_all() {
    for (subject, wire, ask, flags) in [
        (
            Subject::Rmcp,
            "http-modern",
            "echo:64",
            Some(" --stateless"),
        ),
        (Subject::Tower, "http-modern", "steps:10", Some(" --events")),
        (Subject::Tower, "http-stateless", "echo:64", None),
        (Subject::Ours, "http", "steps:10", Some("")),
    ] {
        let mut workload = Workload::new("", wire);
        (workload.tools, workload.ask) = (5, ask.to_owned());
        let expected = flags.map(|flags| format!("--http 127.0.0.1:0{flags} --tools 5"));
        assert_eq!(subject.args(&workload).ok(), expected);
    }
    let stdio = Subject::Ours.args(&Workload::new("", "stdio"));
    assert_eq!(stdio.unwrap(), "--stdio --tools 0");
}

#[test]
fn numbers_and_reasons_are_found_in_the_output_of_programs_and_summarized() {
    assert_eq!(spread([3.0, 1.0, 2.0].into_iter()), [2.0, 1.0, 3.0]);
    assert_eq!(spread([1.0, 2.0].into_iter()), [1.5, 1.0, 2.0]);
    assert_eq!(spread(std::iter::empty()), [0.0; 3]);
    let part = "events: Ir\nsummary: 1\nfn=(1) main\n3 40\n\ntotals: 5\n";
    assert_eq!(instructions(&part.repeat(2)), Some([10, 0]));
    assert_eq!(instructions("events: Ir\n"), None);
    assert_eq!(instructions("totals: many\n"), None);
    let log = "==7== HEAP SUMMARY:\n==7==     in use at exit: 9 bytes in 1 blocks\n==7==   total heap usage: 3,456 allocs, 3,400 frees, 1,345,678 bytes allocated\n";
    assert_eq!(allocations(log), Some([3_456, 1_345_678]));
    assert_eq!(allocations("==7== HEAP SUMMARY:\n"), None);
    let line = "test a ... allocations of http-modern: 17.01";
    let expected = ("http-modern".to_owned(), 17.01);
    assert_eq!(gate::counted(line), Some(expected));
    assert_eq!(gate::counted("test result: ok"), None);
    let why = "/a/b/bench-load ended with 1\nError: \"406: not | acceptable\"\n\n";
    assert_eq!(reason(why), "406: not   acceptable");
    assert_eq!(reason("it has none"), "it has none");
}
