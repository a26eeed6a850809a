//! One JSON line per feature: what worked, what the peer does not have, what failed.

use std::fmt::Debug;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

/// How long one feature may take.
const LIMIT: Duration = Duration::from_secs(90);

pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What was seen, or why it failed.
pub(crate) type Outcome = Result<String, Fault>;

/// Shown instead of a failure where the peer does not have the feature.
#[derive(Debug)]
struct Absent(String);

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// The peer does not have it, and this shows it.
pub(crate) fn absent(evidence: &str) -> Outcome {
    Err(Absent(evidence.to_owned()).into())
}

/// Fails with the problem unless the condition holds.
pub(crate) fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(problem().into()) }
}

/// Fails unless both are the same.
pub(crate) fn same<T: PartialEq<U> + Debug, U: Debug>(
    what: &str,
    got: T,
    expected: U,
) -> Result<(), Fault> {
    let equal = got == expected;
    ensure(equal, || format!("{what} is {got:?}, not {expected:?}"))
}

/// Awaits one feature and prints its line.
pub(crate) async fn row(feature: &str, work: impl Future<Output = Outcome>) {
    let outcome = tokio::time::timeout(LIMIT, work)
        .await
        .unwrap_or_else(|_| Err(format!("nothing after {} s", LIMIT.as_secs()).into()));
    let (outcome, detail) = match outcome {
        Ok(seen) => ("ok", seen),
        Err(fault) if fault.is::<Absent>() => ("absent", fault.to_string()),
        Err(fault) => ("failed", fault.to_string()),
    };
    let line = json!({ "feature": feature, "outcome": outcome, "detail": detail });
    // If stdout is closed, there is no way to report it.
    let _ = writeln!(std::io::stdout(), "{line}");
}
