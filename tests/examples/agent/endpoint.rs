//! An API in the format of OpenAI Chat Completions.

use std::error::Error;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_client::types::{Role, SamplingMessageContentBlock};
use mcp_client::{CreateMessageResult, ErrorObject};
use mcp_host::SamplingRequest;
use serde_json::{Value, json};

/// Time limit of one response.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 16 << 20;

/// Any failure of the program.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

pub(crate) struct Endpoint {
    client: Client<HttpsConnector<HttpConnector>, Full<bytes::Bytes>>,
    url: http::Uri,
    model: String,
    key: Option<String>,
}

impl Endpoint {
    pub(crate) fn new(url: &str, model: String, key: Option<String>) -> Result<Self, Failure> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(mcp_transport_http::ClientTls::new().config()?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url: format!("{}/chat/completions", url.trim_end_matches('/')).parse()?,
            model,
            key,
        })
    }

    /// Returns the response to these messages, without streaming.
    pub(crate) async fn complete(
        &self,
        messages: &[Value],
        tools: &Value,
    ) -> Result<Value, Failure> {
        let mut body = json!({ "model": self.model, "messages": messages });
        if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
            body["tools"] = tools.clone();
        }
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::from(body.to_string()))?;
        let (status, body) = tokio::time::timeout(TIMEOUT, async {
            let response = self.client.request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_RESPONSE)
                .collect()
                .await?;
            Ok::<_, Failure>((status, body.to_bytes()))
        })
        .await
        .map_err(|_| format!("{} did not answer within {TIMEOUT:?}", self.url))??;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&body);
            return Err(format!("{} answered {status}: {text:.500}", self.url).into());
        }
        Ok(serde_json::from_slice(&body)?)
    }

    /// Answers the sampling request of a server.
    pub(crate) async fn sample(
        &self,
        request: &SamplingRequest,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let params = &request.sample.params;
        let mut messages = Vec::new();
        if let Some(prompt) = &params.system_prompt {
            messages.push(json!({ "role": "system", "content": prompt }));
        }
        for message in &params.messages {
            let text = message.content.iter().filter_map(|block| match block {
                SamplingMessageContentBlock::Text(text) => Some(&*text.text),
                _ => None,
            });
            let role = match message.role {
                Role::Assistant => "assistant",
                _ => "user",
            };
            let text = text.collect::<Vec<_>>().join("\n");
            messages.push(json!({ "role": role, "content": text }));
        }
        let response = self.complete(&messages, &Value::Null).await;
        let response = response.map_err(|error| ErrorObject::internal(error.to_string()))?;
        let text = response["choices"][0]["message"]["content"].as_str();
        Ok(request.sample.reply(&self.model, text.unwrap_or_default()))
    }
}
