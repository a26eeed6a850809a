//! Tests of the names and limits of the catalog.

use super::*;

fn catalog(transform: Transform) -> Catalog {
    Catalog::new("git".into(), transform)
}

/// Comparisons of URIs with the templates of a server must not keep the gateway busy.
#[test]
fn templates_with_too_many_expressions_are_left_out() {
    let with = |expressions: usize| format!("n://{}", "{a}z".repeat(expressions));
    let (few, many) = (with(32), with(33));
    assert_eq!(usable_templates([&*many, &few].into_iter()), [&*few]);
    let long = format!("n://{}/{{a}}", "x".repeat(1_000));
    let used = usable_templates(std::iter::repeat_n(&*long, 1_000));
    let bytes: usize = used.iter().map(String::len).sum();
    assert!(bytes <= MAX_TEMPLATE_BYTES && bytes > MAX_TEMPLATE_BYTES / 2);
}

#[test]
fn gateway_names_are_converted_back_to_the_names_of_tools() {
    let catalog = catalog(Transform::new());
    let long = "x".repeat(100);
    for name in ["status", "a.b", "fs__read", "_x", &long, "x_01234567", ""] {
        let exposed = catalog.record_tool(name, false).unwrap();
        assert!(
            exposed.len() <= 64 && exposed.starts_with("git__"),
            "{exposed}"
        );
        assert_eq!(catalog.tool(&exposed).as_deref(), Some(name), "{exposed}");
    }
    assert_eq!(
        catalog.tool("git__never_listed").as_deref(),
        Some("never_listed")
    );
    for unknown in ["git__a.b", "git_status", "fs__status", "git__y_01234567"] {
        assert_eq!(catalog.tool(unknown), None, "{unknown}");
    }
}

#[test]
fn only_tools_that_a_transform_shows_can_be_called() {
    let transform = Transform::new().rename("status", "state").hide("push");
    let catalog = catalog(transform);
    assert_eq!(catalog.record_tool("push", false), None);
    assert_eq!(
        catalog.record_tool("state", false),
        None,
        "the new name is taken"
    );
    assert_eq!(
        catalog.record_tool("status", false).as_deref(),
        Some("git__state")
    );
    assert_eq!(catalog.tool("git__state").as_deref(), Some("status"));
    assert_eq!(catalog.tool("git__status"), None);
    assert_eq!(catalog.tool("git__push"), None);
}

#[test]
fn with_read_only_tools_without_the_read_only_hint_are_hidden() {
    let catalog = catalog(Transform::new().read_only());
    assert_eq!(catalog.tool("git__log"), None);
    assert!(catalog.record_tool("log", true).is_some());
    assert_eq!(catalog.tool("git__log").as_deref(), Some("log"));
    assert_eq!(catalog.record_tool("log", false), None);
    assert_eq!(catalog.tool("git__log"), None);
}

#[test]
fn each_setting_of_a_transform_keeps_the_earlier_settings() {
    let transform = Transform::new()
        .rename("a", "b")
        .describe("a", "text")
        .fix_argument("a", "x", 1)
        .hide("c")
        .read_only()
        .show_only(["a".to_owned(), "c".to_owned(), "d".to_owned()]);
    let catalog = catalog(transform);
    catalog.record_arguments("a", r#"{"properties":{"x":{}}}"#);
    let exposed = |name, is_read_only| catalog.record_tool(name, is_read_only);
    assert_eq!(exposed("a", true).as_deref(), Some("git__b"));
    assert_eq!(exposed("d", true).as_deref(), Some("git__d"));
    assert_eq!(
        exposed("d", false),
        None,
        "it does not say that it only reads"
    );
    assert_eq!(exposed("c", true), None, "it is hidden");
    assert_eq!(
        exposed("e", true),
        None,
        "it is not one of those that are shown"
    );
    let transform = catalog.transform();
    let text = transform.tool_text(r#"{"name":"a"}"#, "a", "git__b");
    assert!(text.contains("\"text\""), "{text}");
    let arguments = transform.arguments("a", Some("{}"));
    assert_eq!(arguments.as_deref(), Some(r#"{"x":1}"#));
}

#[test]
fn the_number_of_stored_names_is_limited() {
    let mut names = Names::default();
    for number in 0..MAX_ITEMS {
        names.add(&number.to_string(), "name");
    }
    assert_eq!(names.by_exposed.len(), MAX_ITEMS);
    names.add("0", "other");
    assert_eq!(names.by_exposed.len(), MAX_ITEMS, "a known name");
    names.add("more", "name");
    assert_eq!(names.by_exposed.len(), 1, "others are learned again");

    let mut names = Names::default();
    names.add("a", &"x".repeat(MAX_BYTES - 4));
    names.add("b", "cc");
    assert_eq!((names.by_exposed.len(), names.bytes), (2, MAX_BYTES));
    names.add("c", "");
    assert_eq!((names.by_exposed.len(), names.bytes), (1, 1));
    names.add("a", &"x".repeat(MAX_BYTES));
    assert_eq!((names.by_exposed.len(), names.bytes), (0, 0));
}

#[test]
fn listed_prompts_are_limited() {
    let catalog = catalog(Transform::new());
    let (longest, longer) = (longest(), longest() + "x");
    for name in [&longest, &longer] {
        catalog.record_prompt(name);
    }
    assert!(catalog.lists_prompt(&longest) && !catalog.lists_prompt(&longer));
    for number in 1..=MAX_ITEMS {
        catalog.record_prompt(&number.to_string());
    }
    let last = MAX_ITEMS - 1;
    assert!(catalog.lists_prompt(&last.to_string()));
    assert!(!catalog.lists_prompt(&MAX_ITEMS.to_string()));
}

#[test]
fn the_number_of_read_only_tools_is_limited() {
    let catalog = catalog(Transform::new().read_only());
    assert!(catalog.record_tool(&longest(), true).is_some());
    assert_eq!(catalog.record_tool(&(longest() + "x"), true), None);
    for number in 1..MAX_ITEMS {
        assert!(catalog.record_tool(&number.to_string(), true).is_some());
    }
    assert_eq!(catalog.record_tool("more", true), None);
}

/// Returns a name of a certain length: a list of such names reaches the limit of the number of names and the limit of their total
/// size at the same time.
fn longest() -> String {
    "x".repeat(MAX_BYTES / MAX_ITEMS)
}

#[test]
fn the_first_items_of_a_list_within_the_limits_are_used() {
    let count = |names: &[String]| within_limits(names, |name| name).count();
    assert_eq!(count(&vec![String::new(); MAX_ITEMS]), MAX_ITEMS);
    assert_eq!(count(&vec![String::new(); MAX_ITEMS + 1]), MAX_ITEMS);
    let half = "x".repeat(MAX_BYTES / 2);
    assert_eq!(count(&[half.clone(), half.clone(), String::new()]), 3);
    assert_eq!(count(&[half.clone(), half + "x", String::new()]), 1);
}

#[test]
fn the_first_templates_within_the_limits_are_used() {
    let count =
        |template: &str, number| usable_templates(std::iter::repeat_n(template, number)).len();
    assert_eq!(count("n://{a}", MAX_TEMPLATES + 1), MAX_TEMPLATES);
    let bytes = MAX_TEMPLATE_BYTES / 256;
    let template = format!("n://{}/{{a}}", "x".repeat(bytes - "n:///{a}".len()));
    assert_eq!(count(&template, 257), 256);
    assert_eq!(count(&format!("{template}x"), 257), 255);
}

#[test]
fn a_scheme_is_known_if_a_listed_resource_or_template_has_it() {
    let catalog = catalog(Transform::new());
    assert!(!catalog.has_scheme("file"));
    lock(&catalog.items)
        .resources
        .insert("file:///a".to_owned());
    lock(&catalog.items).templates.push("db://{a}".to_owned());
    for (scheme, expected) in [("file", true), ("DB", true), ("fil", false), ("", false)] {
        assert_eq!(catalog.has_scheme(scheme), expected, "{scheme:?}");
    }
}

#[test]
fn a_tool_without_a_fixed_argument_in_its_schema_is_not_offered() {
    for (schema, is_offered) in [
        (r#"{"properties":{"limit":{}}}"#, true),
        (r#"{"properties":{"limt":{}}}"#, false),
        (r#"{"properties":{},"additionalProperties":true}"#, true),
        (r#"{"properties":{}}"#, false),
    ] {
        let catalog = catalog(Transform::new().fix_argument("log", "limit", 5));
        // Until its schema is known, the tool is not offered.
        assert_eq!(catalog.tool("git__log"), None);
        catalog.record_arguments("log", schema);
        assert_eq!(
            catalog.record_tool("log", false).is_some(),
            is_offered,
            "{schema}"
        );
        assert_eq!(catalog.tool("git__log").is_some(), is_offered, "{schema}");
        catalog.set_transform(Transform::new());
        assert!(catalog.tool("git__log").is_some());
    }
}

/// A server can list the same tool with fewer arguments for clients with other capabilities. Previously, the last list decided
/// which tools all clients could call.
#[test]
fn a_tool_is_offered_only_if_it_meets_the_settings_in_every_list_of_its_server() {
    let catalog = catalog(Transform::new().fix_argument("log", "limit", 5).read_only());
    let lists = |schema: &str, is_read_only| {
        catalog.record_arguments("log", schema);
        catalog.record_tool("log", is_read_only).is_some()
    };
    let complete = r#"{"properties":{"limit":{},"of":{}}}"#;
    assert!(lists(complete, true));
    assert!(!lists(r#"{"properties":{"of":{}}}"#, true));
    assert!(!lists(complete, true));
    catalog.learn_tools(&[]);
    assert!(lists(complete, true));
    assert!(!lists(complete, false));
    assert!(!lists(complete, true));
    assert_eq!(catalog.tool("git__log"), None);
}

/// A server with sessions can list resources that only one session can use.
#[test]
fn resources_that_were_listed_for_clients_are_known() {
    let catalog = catalog(Transform::new());
    catalog.record_uri("job://1");
    assert!(catalog.was_listed("job://1") && !catalog.was_listed("job://2"));
    for number in 0..2 * MAX_ITEMS {
        catalog.record_uri(&format!("s{number}:a"));
    }
    assert!(!catalog.was_listed("job://1"));
    catalog.record_uri("job://1");
    assert!(catalog.was_listed("job://1"));
    let long = "x".repeat(MAX_BYTES / MAX_ITEMS + 1);
    catalog.record_uri(&long);
    assert!(!catalog.was_listed(&long));
}

#[test]
fn items_listed_with_the_account_of_a_user_do_not_affect_other_users() {
    let of_own = |name: &str| {
        let catalog = catalog(Transform::new().read_only()).with_accounts(true);
        catalog.record_tool(name, true);
        catalog.record_prompt("plan");
        catalog
    };
    let catalog = of_own("status");
    let exposed = "git__status".to_owned();
    // The list of a user marks the tool as one that writes.
    assert_eq!(catalog.tool_of_client("status", false, None), None);
    assert_eq!(catalog.tool(&exposed), Some("status".to_owned()));
    assert_eq!(catalog.tool_of_client("status", true, None), Some(exposed));
    // A tool that only a user lists is not known to be read-only, and its name is not recorded.
    for name in ["mine", "get note"] {
        assert_eq!(catalog.tool_of_client(name, true, None), None);
        assert_eq!(catalog.tool(&model_name("git", name)), None);
    }
    assert_eq!(
        catalog.prompt_of_client("secret").as_deref(),
        Some("git__secret")
    );
    assert_eq!(catalog.prompt_of_client("secret plan"), None);
    assert!(catalog.lists_prompt("plan") && !catalog.lists_prompt("secret"));
    catalog.record_uri("notes://secret");
    assert!(!catalog.was_listed("notes://secret"));
}
