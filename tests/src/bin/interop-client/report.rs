//! One JSON line per feature: what works, what the peer does not have, what failed.
//!
//! `interop-auth` and the programs of `tests/peers` include this file.

use std::fmt::{Debug, Display, Formatter};
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

/// How long one feature may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

/// Why a feature failed.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What was observed of a feature that works, or why it failed.
pub(crate) type Outcome = Result<String, Fault>;

/// The evidence that the peer does not have a feature. It is reported apart from failures.
#[derive(Debug)]
struct Absent(String);

impl Display for Absent {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// The feature works, and this was observed.
pub(crate) fn worked(observed: impl Into<String>) -> Outcome {
    Ok(observed.into())
}

/// The peer does not have the feature, and this is the evidence.
pub(crate) fn absent(evidence: impl Into<String>) -> Outcome {
    Err(Absent(evidence.into()).into())
}

/// Fails with the problem unless the condition holds.
pub(crate) fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(problem().into()) }
}

/// Fails unless both are the same.
#[expect(
    clippy::needless_pass_by_value,
    reason = "both sides are passed in the same way"
)]
pub(crate) fn same<T: PartialEq<U> + Debug, U: Debug>(
    what: &str,
    got: T,
    expected: U,
) -> Result<(), Fault> {
    let equal = got == expected;
    ensure(equal, || format!("{what} is {got:?}, not {expected:?}"))
}

/// Fails unless the text contains the fragment.
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
        Ok(observed) => ("ok", observed),
        Err(fault) if fault.is::<Absent>() => ("absent", fault.to_string()),
        Err(fault) => ("failed", fault.to_string()),
    };
    let line = json!({ "feature": feature, "outcome": outcome, "detail": detail });
    // If stdout is closed, there is no way to report it.
    let _ = writeln!(std::io::stdout(), "{line}");
}
