//! The host around the client: answers server requests, and records notifications.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_client::{ChangedList, Client, ClientBuilder, ElicitForm, ElicitUrl, Sample};
use mcp_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestUrlParams, ElicitResult,
    LoggingMessageNotificationParams, SamplingMessageContentBlock,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::arguments;
use crate::report::Fault;

/// Time limit for the arrival of an expected message.
const WAIT: Duration = Duration::from_secs(60);

/// Everything that a server sent, except responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    pub(crate) logs: Vec<LoggingMessageNotificationParams>,
    pub(crate) changed: Vec<ChangedList>,
    pub(crate) forms: Vec<ElicitRequestFormParams>,
    pub(crate) urls: Vec<ElicitRequestUrlParams>,
    pub(crate) urls_done: Vec<String>,
    pub(crate) samples: Vec<CreateMessageRequestParams>,
    pub(crate) progress: usize,
}

/// The user's reaction to the next elicitation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// Fills in every field.
    Fill,
    /// Fills in only required fields without a default; the library adds the defaults.
    Minimum,
    /// Declines.
    Decline,
    /// Cancels.
    Cancel,
}

/// The host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    seen: watch::Sender<Observations>,
    answer: Arc<Mutex<Answer>>,
}

impl Host {
    /// Creates a host whose user fills in forms.
    pub(crate) fn new() -> Self {
        Self {
            seen: watch::Sender::new(Observations::default()),
            answer: Arc::new(Mutex::new(Answer::Fill)),
        }
    }

    /// Sets the user's reaction from now on.
    pub(crate) fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Returns what was recorded so far.
    pub(crate) fn seen(&self) -> Observations {
        self.seen.borrow().clone()
    }

    /// Records progress of a call.
    pub(crate) fn progressed(&self) {
        self.seen.send_modify(|seen| seen.progress += 1);
    }

    /// Waits until the record meets a condition.
    pub(crate) async fn until(
        &self,
        what: &str,
        mut said: impl FnMut(&Observations) -> bool,
    ) -> Result<Observations, Fault> {
        let mut seen = self.seen.subscribe();
        let waiting = seen.wait_for(|seen| said(seen));
        match tokio::time::timeout(WAIT, waiting).await {
            Ok(Ok(seen)) => Ok(seen.clone()),
            Ok(Err(_)) => Err("the host is gone".into()),
            Err(_) => Err(format!("{what} did not arrive within {} s", WAIT.as_secs()).into()),
        }
    }

    /// Creates a client with all handlers of this host.
    pub(crate) fn builder(&self) -> ClientBuilder {
        let (log, changed, done) = (self.clone(), self.clone(), self.clone());
        let (forms, urls, model) = (self.clone(), self.clone(), self.clone());
        Client::builder("interop-client", env!("CARGO_PKG_VERSION"))
            .title("Interop client")
            .task_calls()
            .on_log(move |message| log.seen.send_modify(|seen| seen.logs.push(message)))
            .on_change(move |change| changed.seen.send_modify(|seen| seen.changed.push(change)))
            .on_elicit_url_done(move |id| done.seen.send_modify(|seen| seen.urls_done.push(id)))
            .on_elicit(move |form| {
                let result = forms.fill(&form);
                async move { result }
            })
            .on_elicit_url(move |url| {
                let result = urls.open(&url);
                async move { result }
            })
            .on_sample(move |sample| {
                let reply = model.think(&sample);
                async move { Ok(sample.reply("interop-model", reply)) }
            })
    }

    fn mode(&self) -> Answer {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, form: &ElicitForm) -> ElicitResult {
        let params = form.params.clone();
        let schema = serde_json::to_value(&params.requested_schema).unwrap_or(Value::Null);
        self.seen.send_modify(|seen| seen.forms.push(params));
        match self.mode() {
            Answer::Fill => form.accept(arguments::example(&schema)),
            Answer::Minimum => form.accept(arguments::minimum(&schema)),
            Answer::Decline => form.decline(),
            Answer::Cancel => form.cancel(),
        }
    }

    fn open(&self, url: &ElicitUrl) -> ElicitResult {
        let params = url.params.clone();
        self.seen.send_modify(|seen| seen.urls.push(params));
        match self.mode() {
            Answer::Fill | Answer::Minimum => url.accept(),
            Answer::Decline => url.decline(),
            Answer::Cancel => url.cancel(),
        }
    }

    fn think(&self, sample: &Sample) -> String {
        let params = sample.params.clone();
        let question = params.messages.last().map(|message| {
            let texts = message.content.iter().filter_map(|block| match block {
                SamplingMessageContentBlock::Text(text) => Some(&*text.text),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(" ")
        });
        self.seen.send_modify(|seen| seen.samples.push(params));
        format!("the model heard: {}", question.unwrap_or_default())
    }
}
