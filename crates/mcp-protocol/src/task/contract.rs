//! Tests of the rules of [`TaskStore`].

use std::fmt::Debug;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson};
use serde_json::json;

use super::{Task, TaskCall, TaskLease, TaskOutcome, TaskStore, TaskStoreError, Timestamp};
use crate::{Principal, Revision};

/// Tests all rules of [`TaskStore`]. Each call of `fresh` must create an empty store that can hold 20 tasks.
///
/// # Errors
/// The store violates a rule. The text describes the rule.
pub async fn check<S: TaskStore>(fresh: impl Fn() -> S) -> Result<(), String> {
    created_tasks_are_found(&fresh()).await?;
    put_compares_the_version(&fresh()).await?;
    ended_tasks_do_not_change(&fresh()).await?;
    lists_contain_one_owner_in_order(&fresh()).await?;
    unfinished_tasks_are_found(&fresh()).await?;
    expired_tasks_are_removed(&fresh()).await
}

const START: Timestamp = Timestamp::from_millis(1_000_000);

fn task(id: &str, owner: Option<&str>) -> Task {
    let arguments = RawJson::copy(r#"{"n": 1}"#);
    let call = TaskCall::new("any", "target", arguments, Revision::LATEST);
    let ttl = Some(Duration::from_secs(60));
    let mut task = Task::new(id, owner.map(Principal::new), call, START, ttl);
    task.lease = Some(TaskLease::new(
        "worker",
        START.after(Duration::from_secs(5)),
    ));
    task
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers construct the values for the comparison"
)]
fn same<T: PartialEq + Debug>(what: &str, is: T, should: T) -> Result<(), String> {
    if is == should {
        return Ok(());
    }
    Err(format!("{what}: {is:?} instead of {should:?}"))
}

fn failed(what: &str) -> impl Fn(TaskStoreError) -> String {
    move |error| format!("{what}: {error}")
}

fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(Task::id).collect()
}

async fn created_tasks_are_found(store: &impl TaskStore) -> Result<(), String> {
    let what = "a task that was created";
    same(
        "a task that was not created",
        store.get("a").await.map_err(failed(what))?,
        None,
    )?;
    let made = task("a", Some("ann"));
    store.create(made.clone()).await.map_err(failed(what))?;
    same(
        what,
        store.get("a").await.map_err(failed(what))?,
        Some(made.clone()),
    )?;
    let again = store.create(task("a", Some("bob"))).await;
    same(
        "a create with a known id",
        again,
        Err(TaskStoreError::Conflict),
    )?;
    same(
        "the stored task after a rejected create",
        store.get("a").await.map_err(failed(what))?,
        Some(made),
    )?;
    same(
        "a removal",
        store.remove("a").await.map_err(failed(what))?,
        true,
    )?;
    same(
        "a second removal",
        store.remove("a").await.map_err(failed(what))?,
        false,
    )?;
    same(
        "a task that was removed",
        store.get("a").await.map_err(failed(what))?,
        None,
    )
}

async fn put_compares_the_version(store: &impl TaskStore) -> Result<(), String> {
    let what = "a change";
    let mut one = task("a", None);
    same(
        "a change of a task that does not exist",
        store.put(one.clone()).await.map(drop),
        Err(TaskStoreError::Conflict),
    )?;
    store.create(one.clone()).await.map_err(failed(what))?;
    let mut other = one.clone();
    one.set_message("one", START)
        .map_err(|error| error.to_string())?;
    let kept = store.put(one.clone()).await.map_err(failed(what))?;
    same(
        "the task that put returns",
        &kept,
        &one.clone().next_version(),
    )?;
    same(
        what,
        store.get("a").await.map_err(failed(what))?,
        Some(kept.clone()),
    )?;
    other
        .set_message("other", START)
        .map_err(|error| error.to_string())?;
    same(
        "a change of a task whose version is out of date",
        store.put(other).await.map(drop),
        Err(TaskStoreError::Conflict),
    )?;
    same(
        "the stored task after a conflict",
        store.get("a").await.map_err(failed(what))?,
        Some(kept.clone()),
    )?;
    let mut next = kept;
    let questions = json!({"k": {"method": "any"}});
    let questions = questions.as_object().cloned().unwrap_or_default();
    next.require_input(questions, START)
        .map_err(|error| error.to_string())?;
    let kept = store.put(next.clone()).await.map_err(failed(what))?;
    same(
        "a change that has the next version number",
        kept,
        next.next_version(),
    )
}

async fn ended_tasks_do_not_change(store: &impl TaskStore) -> Result<(), String> {
    let what = "an end";
    let error = TaskOutcome::Error(ErrorObject::internal("broke").with_data(json!([1])));
    let result = TaskOutcome::of_result(RawJson::copy(r#"{"content":[ ]}"#));
    for (id, outcome) in [("a", error), ("b", result)] {
        let mut task = task(id, None);
        store.create(task.clone()).await.map_err(failed(what))?;
        task.end(outcome, START)
            .map_err(|error| error.to_string())?;
        let kept = store.put(task).await.map_err(failed(what))?;
        same(
            what,
            store.get(id).await.map_err(failed(what))?,
            Some(kept.clone()),
        )?;
        same(
            "a change after the end",
            store.put(kept.clone()).await.map(drop),
            Err(TaskStoreError::Conflict),
        )?;
        same(
            "the stored task after the end",
            store.get(id).await.map_err(failed(what))?,
            Some(kept),
        )?;
    }
    Ok(())
}

async fn lists_contain_one_owner_in_order(store: &impl TaskStore) -> Result<(), String> {
    let what = "a list";
    for (id, owner) in [
        ("d", Some("ann")),
        ("b", Some("ann")),
        ("c", Some("bob")),
        ("a", None),
        ("e", Some("ann")),
    ] {
        store.create(task(id, owner)).await.map_err(failed(what))?;
    }
    let ann = Principal::new("ann");
    let all = store
        .list(Some(&ann), None, 9)
        .await
        .map_err(failed(what))?;
    same(what, ids(&all), vec!["b", "d", "e"])?;
    let page = store
        .list(Some(&ann), None, 2)
        .await
        .map_err(failed(what))?;
    same("the first page", ids(&page), vec!["b", "d"])?;
    let page = store
        .list(Some(&ann), Some("d"), 2)
        .await
        .map_err(failed(what))?;
    same("the last page", ids(&page), vec!["e"])?;
    let page = store
        .list(Some(&ann), Some("c"), 1)
        .await
        .map_err(failed(what))?;
    same(
        "a page after an id that is not on the list",
        ids(&page),
        vec!["d"],
    )?;
    let ownerless = store.list(None, None, 9).await.map_err(failed(what))?;
    same("tasks without an owner", ids(&ownerless), vec!["a"])?;
    let eve = Principal::new("eve");
    let none = store
        .list(Some(&eve), None, 9)
        .await
        .map_err(failed(what))?;
    same("tasks of an unknown owner", ids(&none), Vec::new())
}

async fn unfinished_tasks_are_found(store: &impl TaskStore) -> Result<(), String> {
    let what = "the unfinished tasks";
    for (id, owner) in [("c", Some("ann")), ("a", None), ("b", None)] {
        let mut made = task(id, owner);
        store.create(made.clone()).await.map_err(failed(what))?;
        if id == "b" {
            made.cancel(START).map_err(|error| error.to_string())?;
            store.put(made).await.map_err(failed(what))?;
        }
    }
    let all = store.unfinished(None, 9).await.map_err(failed(what))?;
    same(what, ids(&all), vec!["a", "c"])?;
    let one = store.unfinished(None, 1).await.map_err(failed(what))?;
    same("the first page", ids(&one), vec!["a"])?;
    let rest = store.unfinished(Some("a"), 9).await.map_err(failed(what))?;
    same("the last page", ids(&rest), vec!["c"])
}

async fn expired_tasks_are_removed(store: &impl TaskStore) -> Result<(), String> {
    let what = "a sweep";
    let call = TaskCall::clone(task("", None).call());
    for (id, ttl) in [("a", Some(60)), ("b", Some(120)), ("c", None)] {
        let task = Task::new(id, None, call.clone(), START, ttl.map(Duration::from_secs));
        store.create(task).await.map_err(failed(what))?;
    }
    let at = |seconds| START.after(Duration::from_secs(seconds));
    same(
        "a sweep before the time",
        store.sweep(at(59)).await.map_err(failed(what))?,
        0,
    )?;
    same(what, store.sweep(at(60)).await.map_err(failed(what))?, 1)?;
    same(
        "a sweep of all tasks that can expire",
        store.sweep(Timestamp::MAX).await.map_err(failed(what))?,
        1,
    )?;
    let left = store.list(None, None, 9).await.map_err(failed(what))?;
    same("the tasks that never expire", ids(&left), vec!["c"])
}
