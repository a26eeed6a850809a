//! One JSON line per feature: what worked, what the peer does not have, what failed.

use std::fmt::Debug;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

/// How long one feature may take, on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(90);

/// Why a feature failed.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What became of a feature that did not fail.
pub(crate) enum Finding {
    /// It works; what was seen.
    Worked(String),
    /// The peer does not have it; what shows that.
    Absent(String),
}

/// What became of a feature.
pub(crate) type Outcome = Result<Finding, Fault>;

/// It works, and this was seen.
pub(crate) fn worked(seen: impl Into<String>) -> Outcome {
    Ok(Finding::Worked(seen.into()))
}

/// The peer does not have it, and this shows it.
pub(crate) fn absent(evidence: impl Into<String>) -> Outcome {
    Ok(Finding::Absent(evidence.into()))
}

/// Fails with the problem unless the condition holds.
pub(crate) fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(problem().into()) }
}

/// Fails unless both are the same.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is compared reads the same on both sides"
)]
pub(crate) fn same<T: PartialEq<U> + Debug, U: Debug>(
    what: &str,
    got: T,
    expected: U,
) -> Result<(), Fault> {
    let equal = got == expected;
    ensure(equal, || format!("{what} is {got:?}, not {expected:?}"))
}

/// Fails unless the text holds the fragment.
pub(crate) fn says(what: &str, text: &str, fragment: &str) -> Result<(), Fault> {
    ensure(text.contains(fragment), || {
        let start: String = text.chars().take(400).collect();
        format!("{what} does not say {fragment:?}: {start:?}")
    })
}

/// Awaits one feature and prints its line.
pub(crate) async fn row(feature: &str, work: impl Future<Output = Outcome>) {
    let outcome = tokio::time::timeout(LIMIT, work)
        .await
        .unwrap_or_else(|_| Err(format!("nothing after {} s", LIMIT.as_secs()).into()));
    let (outcome, detail) = match outcome {
        Ok(Finding::Worked(seen)) => ("ok", seen),
        Ok(Finding::Absent(evidence)) => ("absent", evidence),
        Err(fault) => ("failed", fault.to_string()),
    };
    let line = json!({ "feature": feature, "outcome": outcome, "detail": detail });
    // If stdout is closed, there is no way to report it.
    let _ = writeln!(std::io::stdout(), "{line}");
}
