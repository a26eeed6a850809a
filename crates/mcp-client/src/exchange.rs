//! From a request to its result: over one request and its answer, or over as many as it takes.

use mcp_jsonrpc::{ErrorCode, RawJson};
use mcp_protocol::{Answer, Call, Deadline, Extras, Timeouts, gate};
use mcp_types::{JsonObject, method, v2026_07_28};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::Error;
use crate::cache::Found;
use crate::call::Options;
use crate::client::Shared;
use crate::envelope::Envelope;
use crate::progress::Entry;
use crate::rounds::{Interim, Kind, Retry, pace};
use crate::tasks;

/// What is asked for, and how.
pub(crate) struct Ask {
    method: &'static str,
    params: Option<Value>,
    pub(crate) options: Options,
    /// Headers that repeat arguments.
    pub(crate) headers: Vec<(String, String)>,
    /// Whether questions are answered, and the call goes on, or are the result.
    pub(crate) once: bool,
    /// Whether the result is that of a request that goes on as a task.
    pub(crate) created: bool,
    /// Where progress goes that comes after such a result.
    pub(crate) progress: Option<Entry>,
}

impl Ask {
    pub(crate) fn new(method: &'static str, params: Option<Value>) -> Self {
        Self {
            method,
            params,
            options: Options::default(),
            headers: Vec::new(),
            once: false,
            created: false,
            progress: None,
        }
    }

    pub(crate) fn param(&self, name: &str) -> Option<&Value> {
        self.params.as_ref()?.get(name)
    }

    pub(crate) fn set_param(&mut self, name: &str, value: Value) {
        if let Some(Value::Object(params)) = &mut self.params {
            params.insert(name.to_owned(), value);
        }
    }
}

impl Shared {
    /// Whether calls may become tasks by themselves.
    pub(crate) fn has_tasks(&self) -> bool {
        let envelope = self.agreed.envelope.as_ref();
        envelope.is_some_and(Envelope::has_tasks)
    }

    /// Fails if the server does not offer the method.
    pub(crate) fn offers(&self, method: &'static str) -> Result<(), Error> {
        let offered = match tasks::offered(self, method) {
            Some(offered) => offered,
            None => gate::server_offers(method, &self.agreed.capabilities, self.rules()),
        };
        offered.map_err(|missing| Error::Unsupported { method, missing })
    }

    /// Fails if the revision does not have the method any more.
    fn has(&self, method: &'static str) -> Result<(), Error> {
        if !self.rules().stateless || !is_gone(method) || tasks::is_of_extension(method) {
            return Ok(());
        }
        let (what, revision) = (method, self.rules().name);
        let missing = gate::Unsupported::Revision { what, revision };
        Err(Error::Unsupported { method, missing })
    }
}

/// Whether revisions with a handshake have the method, and others do not. That of an extension is
/// in neither list.
fn is_gone(method: &str) -> bool {
    mcp_types::request_direction(method).is_some()
        && v2026_07_28::request_direction(method).is_none()
}

/// Asks, waits no longer than allowed, and gives the raw result.
pub(crate) async fn run(shared: &Shared, ask: &mut Ask) -> Result<RawJson, Error> {
    shared.has(ask.method)?;
    shared.offers(ask.method)?;
    let timeouts = ask.options.timeouts.unwrap_or(shared.timeouts);
    match &shared.agreed.envelope {
        Some(envelope) => modern(shared, envelope, ask, timeouts).await,
        None => legacy(shared, ask, timeouts).await,
    }
}

/// One request of a session.
async fn legacy(shared: &Shared, ask: &mut Ask, timeouts: Timeouts) -> Result<RawJson, Error> {
    let method = ask.method;
    let callback = ask.options.on_progress.take();
    let entry = reports_progress(method).then(|| shared.progress.open(callback));
    if let (Some(entry), Some(Value::Object(params))) = (&entry, &mut ask.params) {
        let meta = params
            .entry("_meta")
            .or_insert_with(|| Value::Object(JsonObject::new()));
        if let (Value::Object(meta), Ok(token)) = (meta, serde_json::to_value(entry.token())) {
            meta.insert("progressToken".to_owned(), token);
        }
    }
    let params = ask.params.as_ref().map(|it| it.to_string().into_bytes());
    let call = shared.link.request(method, params);
    let mut deadline = timeouts.start(Instant::now().into_std());
    let answer = wait(method, call, entry.as_ref(), &mut deadline).await?;
    let result = answer.map_err(Error::Rejected)?;
    // A server that does not do what it is asked for answers as it always does.
    let asked = ask.params.as_ref().is_some_and(|it| !it["task"].is_null());
    ask.created = asked && tasks::nested(&result).is_some();
    ask.progress = entry.filter(|_| ask.created);
    Ok(result)
}

/// As many requests as there are rounds of questions, and one more. None, if the result is known.
async fn modern(
    shared: &Shared,
    envelope: &Envelope,
    ask: &mut Ask,
    timeouts: Timeouts,
) -> Result<RawJson, Error> {
    let method = ask.method;
    let params = match ask.params.take() {
        Some(Value::Object(params)) => params,
        _ => JsonObject::new(),
    };
    let fresh = ask.options.fresh;
    let mut slot = match shared.cache.find(method, &params, fresh, Instant::now()) {
        Found::Fresh(result) => return Ok(result),
        Found::Missing(slot) => Some(slot),
        Found::Never => None,
    };
    let cap = Instant::now() + timeouts.total;
    let mut deadline = timeouts.start(Instant::now().into_std());
    let mut retry = Retry::default();
    let mut rounds = 0;
    let mut stalled = 0;
    loop {
        let mut entry =
            reports_progress(method).then(|| shared.progress.open(ask.options.on_progress.take()));
        let token = entry.as_ref().map(Entry::token);
        let mut sent = envelope.open(&params, token.as_ref());
        retry.write(&mut sent);
        sent.push(b'}');
        let extras = Extras::of_headers(ask.headers.clone());
        let call = shared.link.request_with(method, Some(sent), extras);
        let answer = wait(method, call, entry.as_ref(), &mut deadline).await?;
        ask.options.on_progress = entry.as_mut().and_then(Entry::callback);
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                if doubts_tools(method, error.code) {
                    shared.cache.forget(&[method::TOOLS_LIST]);
                }
                ask.params = Some(Value::Object(params));
                return Err(Error::Rejected(error));
            }
        };
        match Kind::of(method, &result)? {
            Kind::Complete => {
                if let (Some(slot), 0) = (slot.take(), rounds) {
                    shared.cache.keep(slot, &result, Instant::now());
                }
                return Ok(result);
            }
            // Nobody said that the client knows these.
            Kind::Task if !shared.has_tasks() => {
                let kind = "task".to_owned();
                return Err(Error::UnknownResult { method, kind });
            }
            Kind::Task => {
                ask.created = true;
                return Ok(result);
            }
            Kind::InputRequired if ask.once => return Ok(result),
            Kind::InputRequired if rounds == shared.rounds => {
                return Err(Error::Rounds {
                    method,
                    limit: rounds,
                });
            }
            Kind::InputRequired => rounds += 1,
        }
        let interim = Interim::read(method, &result)?;
        stalled = if interim.has_questions() {
            0
        } else {
            stalled + 1
        };
        // A user may take time that the server may not; the cap is on both.
        let answered = timeout_at(cap, async {
            tokio::time::sleep(pace(stalled)).await;
            interim.answered(&shared.inbound).await
        });
        retry = answered.await.map_err(|_| Error::Timeout {
            method,
            setting: "total",
            after: timeouts.total,
        })??;
        deadline.progress(Instant::now().into_std());
    }
}

/// Waits for an answer as long as it is allowed to take.
async fn wait(
    method: &'static str,
    call: Call,
    entry: Option<&Entry>,
    deadline: &mut Deadline,
) -> Result<Answer, Error> {
    tokio::pin!(call);
    loop {
        if let Ok(answer) = timeout_at(Instant::from_std(deadline.at()), &mut call).await {
            return Ok(answer?);
        }
        if let Some(last) = entry.and_then(Entry::last) {
            deadline.progress(last.into_std());
        }
        if let Some((setting, after)) = deadline.expired(Instant::now().into_std()) {
            return Err(Error::Timeout {
                method,
                setting,
                after,
            });
        }
    }
}

/// Whether a server may have something to report while it works on this.
fn reports_progress(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}

/// Whether a refusal hints that the tools are not what they were.
fn doubts_tools(method: &str, code: ErrorCode) -> bool {
    method == method::TOOLS_CALL
        && matches!(
            code,
            ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND | ErrorCode::HEADER_MISMATCH
        )
}
