//! Introspection requests to an issuer.

use data_encoding::BASE64;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::Secret;
use crate::error::{Error, ErrorKind, quoted};
use crate::server::issuer::{Issuer, check};
use crate::server::strict::parse_object;
use crate::web::{HttpClient, Reply, redacted};

const FORM: &str = "application/x-www-form-urlencoded";

/// An introspection endpoint and the credentials of this server there.
pub(crate) struct IntrospectionClient {
    pub(crate) issuer: Issuer,
    /// The endpoint; discovered on first use.
    pub(crate) endpoint: Mutex<Option<Url>>,
    pub(crate) id: String,
    pub(crate) secret: Secret,
    /// Whether the credentials are sent in the form instead of a header.
    pub(crate) in_form: bool,
    pub(crate) http_client: HttpClient,
}

impl IntrospectionClient {
    /// Returns the introspection response for a token.
    pub(crate) async fn introspect(&self, token: &Secret) -> Result<Map<String, Value>, Error> {
        let url = self.endpoint().await?;
        let (form, headers) = self.request(token)?;
        let reply = self.http_client.post(&url, FORM, &headers, form).await?;
        if is_unsupported(&reply) {
            // An empty response does not say that the token is active.
            return Ok(Map::new());
        }
        check(&url, &reply)?;
        parse_object(&reply.body).ok_or_else(|| {
            let message = format!("the response of {} is not a JSON object", redacted(&url));
            Error::new(ErrorKind::InvalidResponse, message)
        })
    }

    async fn endpoint(&self) -> Result<Url, Error> {
        let mut known = self.endpoint.lock().await;
        if let Some(url) = &*known {
            return Ok(url.clone());
        }
        let document = self.issuer.document(&self.http_client).await?;
        let text = document.introspection_endpoint.unwrap_or_default();
        let url = Url::parse(&text).map_err(|error| {
            let issuer = quoted(&self.issuer.name);
            let message =
                format!("the metadata of the issuer {issuer} has no introspection_endpoint");
            Error::caused(ErrorKind::InvalidResponse, message, error)
        })?;
        Ok(known.insert(url).clone())
    }

    fn request(
        &self,
        token: &Secret,
    ) -> Result<(String, Vec<(http::HeaderName, HeaderValue)>), Error> {
        let mut form = Serializer::new(String::new());
        form.append_pair("token", token.expose())
            .append_pair("token_type_hint", "access_token");
        if self.in_form {
            form.append_pair("client_id", &self.id)
                .append_pair("client_secret", self.secret.expose());
            return Ok((form.finish(), Vec::new()));
        }
        // Each part is form-encoded, so that the colon is unambiguous.
        let part = |text: &str| -> String { byte_serialize(text.as_bytes()).collect() };
        let both = Secret::new(format!("{}:{}", part(&self.id), part(self.secret.expose())));
        let basic = Secret::new(format!("Basic {}", BASE64.encode(both.expose().as_bytes())));
        let mut value = HeaderValue::from_str(basic.expose()).map_err(|error| {
            Error::caused(
                ErrorKind::Setup,
                "the client credentials contain characters that a header cannot have",
                error,
            )
        })?;
        value.set_sensitive(true);
        Ok((form.finish(), vec![(AUTHORIZATION, value)]))
    }
}

/// Returns whether the issuer does not support introspection of this type of token: RFC 7009,
/// section 2.2.1, which some issuers apply here too.
fn is_unsupported(reply: &Reply) -> bool {
    let error = parse_object(&reply.body).and_then(|mut body| body.remove("error"));
    reply.status == StatusCode::BAD_REQUEST
        && error.is_some_and(|error| error == "unsupported_token_type")
}
