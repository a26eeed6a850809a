//! What an authorization server publishes for those who verify its tokens.
//!
//! Specification: authorization, authorization server metadata discovery.

use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::audience::public_url;
use crate::error::{Error, ErrorKind, quoted};
use crate::web::{HttpClient, Limits, Reply, redacted};
use crate::well_known;

/// How much is read of what an issuer says, and for how long.
pub(crate) const ISSUER_LIMITS: Limits = Limits {
    max_response_bytes: 64 << 10,
    timeout: Duration::from_secs(5),
    max_redirects: 3,
};

/// An issuer, by its name.
pub(crate) struct Issuer {
    pub(crate) name: String,
    pub(crate) url: Url,
}

/// Its document, as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct IssuerMetadata {
    issuer: String,
    pub(crate) jwks_uri: Option<String>,
    pub(crate) introspection_endpoint: Option<String>,
}

impl Issuer {
    /// The issuer of this name, which is a URL and is compared to the letter.
    ///
    /// # Errors
    /// It is no URL that anything may be asked of.
    pub(crate) fn new(name: String) -> Result<Self, Error> {
        let url = public_url(&name, "the issuer")?;
        Ok(Self { name, url })
    }

    /// Its document, from the first place that has one.
    pub(crate) async fn document(&self, http_client: &HttpClient) -> Result<IssuerMetadata, Error> {
        let mut failed = None;
        for url in well_known::issuer_metadata_urls(&self.url) {
            match self.at(http_client, &url).await {
                Ok(Some(document)) => return Ok(document),
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| {
            let name = quoted(&self.name);
            Error::new(
                ErrorKind::InvalidResponse,
                format!("the issuer {name} has no metadata"),
            )
        }))
    }

    async fn at(
        &self,
        http_client: &HttpClient,
        url: &Url,
    ) -> Result<Option<IssuerMetadata>, Error> {
        let reply = http_client.get(url).await?;
        if reply.status.is_client_error() && !reply.is_temporary() {
            return Ok(None);
        }
        let document: IssuerMetadata = json(url, &reply)?;
        if document.issuer != self.name {
            return Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "the metadata at {} is of the issuer {} and not of {}",
                    redacted(url),
                    quoted(&document.issuer),
                    quoted(&self.name)
                ),
            ));
        }
        Ok(Some(document))
    }
}

/// The document in a successful reply.
pub(crate) fn json<T: serde::de::DeserializeOwned>(url: &Url, reply: &Reply) -> Result<T, Error> {
    check(url, reply)?;
    reply.json().map_err(|error| {
        // What was read is not repeated: it may be anything.
        let message = format!("{} answers no such document", redacted(url));
        Error::caused(ErrorKind::InvalidResponse, message, error)
    })
}

/// Whether the request succeeded.
pub(crate) fn check(url: &Url, reply: &Reply) -> Result<(), Error> {
    if reply.status.is_success() {
        return Ok(());
    }
    let kind = if reply.is_temporary() {
        ErrorKind::Unavailable
    } else {
        ErrorKind::InvalidResponse
    };
    let message = format!("{} answers {}", redacted(url), reply.status);
    Err(Error::new(kind, message))
}
