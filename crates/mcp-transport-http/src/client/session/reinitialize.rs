//! A new session in the place of one the server has forgotten.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management), point 4.

use std::sync::Arc;

use crate::client::call::failure::Failure;
use crate::client::call::pending::attempt;
use crate::client::call::resume::Resume;
use crate::client::outbox::deliver::{Undelivered, deliver};
use crate::client::session::current::Facts;
use crate::client::session::initialize;
use crate::client::state::Core;
use crate::client::wire::service::quoted;
use mcp_jsonrpc::{RawJson, write_notification};
use mcp_protocol::{CallError, Closed};
use mcp_types::{InitializeResult, method};
use tokio::time::{sleep, timeout};

/// Opens a new session each time the server has forgotten the current one. Runs until the
/// connection ends.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        core.session.lost().await;
        let limit = core.options.renewal_timeout;
        let problem = match timeout(limit, keep_trying(&core)).await {
            Ok(Ok(facts)) => {
                core.session.open(facts);
                core.start_listening();
                continue;
            }
            Ok(Err(problem)) => problem,
            Err(_) => format!(
                "it took longer than {} s, the limit of ClientOptions::with_renewal_timeout",
                limit.as_secs_f64()
            ),
        };
        return core.close(Closed::protocol(format!(
            "{} forgot the session, and no new one can be opened: {problem}",
            core.wire.endpoint
        )));
    }
}

/// Why a try to open a session failed.
enum Problem {
    /// The next try may succeed.
    Passing(String),
    Final(String),
}

async fn keep_trying(core: &Arc<Core>) -> Result<Arc<Facts>, String> {
    let mut resume = Resume::of_connection(&core.options.reconnect);
    loop {
        let problem = match begin(core).await {
            Ok(facts) => return Ok(facts),
            Err(Problem::Final(problem)) => return Err(problem),
            Err(Problem::Passing(problem)) => problem,
        };
        let Some(wait) = resume.next_wait() else {
            return Err(problem);
        };
        tracing::debug!(problem, ?wait, "no new session yet");
        sleep(wait).await;
    }
}

/// Opens a session as the first one was, and restores what the server was to remember.
async fn begin(core: &Arc<Core>) -> Result<Arc<Facts>, Problem> {
    let Some(params) = core.session.opening() else {
        return Err(Problem::Final(
            "it was never opened by this client".to_owned(),
        ));
    };
    let (answer, facts) = initialize::open(core, Some(&params))
        .await
        .map_err(problem)?;
    let result = answer.map_err(|error| {
        let said = quoted(&error.to_string());
        Problem::Final(format!("it refused initialize: {said}"))
    })?;
    core.session.begin(&facts);
    agrees(core, &result)?;

    let mut message = Vec::new();
    write_notification(&mut message, method::NOTIFICATIONS_INITIALIZED, None);
    match deliver(core, &facts, message.into()).await {
        Ok(()) => {}
        Err(Undelivered::Failed(error)) => return Err(Problem::Passing(error.to_string())),
        Err(Undelivered::SessionLost) => return Err(forgotten_again()),
    }
    for (method, params) in core.session.record.requests() {
        match attempt(core, &facts, method, Some(&params)).await {
            Ok(Ok(_)) => {}
            Err(Failure::SessionLost { .. }) => return Err(forgotten_again()),
            Ok(Err(error)) => {
                let error = quoted(&error.to_string());
                tracing::warn!(method, error, "not restored in the new session");
            }
            Err(failure) => tracing::warn!(method, ?failure, "not restored in the new session"),
        }
    }
    Ok(facts)
}

fn forgotten_again() -> Problem {
    Problem::Passing("the server forgot the new session too".to_owned())
}

/// Checks that the new session speaks the revision of the old one: everything that was decided
/// since depends on it.
fn agrees(core: &Core, result: &RawJson) -> Result<(), Problem> {
    let result: InitializeResult = result
        .decode()
        .map_err(|error| Problem::Final(format!("the answer does not fit: {error}")))?;
    let agreed = result.protocol_version;
    match core.session.revision() {
        Some(revision) if revision != agreed => Err(Problem::Final(format!(
            "the server now speaks revision {} instead of {revision}; connect again",
            quoted(&agreed)
        ))),
        _ => Ok(()),
    }
}

fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::SessionLost { .. } => forgotten_again(),
        Failure::Unreached(error) | Failure::Lost(error) | Failure::NotNow(_, error) => {
            Problem::Passing(error.to_string())
        }
        // Calls that fail now make room.
        Failure::Final(error @ CallError::Busy { .. }) => Problem::Passing(error.to_string()),
        Failure::Final(error) => Problem::Final(error.to_string()),
    }
}
