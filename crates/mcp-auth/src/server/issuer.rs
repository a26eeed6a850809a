//! Metadata of issuers, for the verification of tokens.
//!
//! Specification: authorization, authorization server metadata discovery.

use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::audience::public_url;
use crate::error::{Error, ErrorKind, quoted};
use crate::web::{HttpClient, Limits, Reply, redacted};
use crate::well_known;

/// Limits of requests to issuers.
pub(crate) const ISSUER_LIMITS: Limits = Limits {
    max_response_bytes: 64 << 10,
    timeout: Duration::from_secs(5),
    max_redirects: 3,
};

pub(crate) struct Issuer {
    pub(crate) name: String,
    pub(crate) url: Url,
}

/// The members of an issuer's metadata that the verification of tokens needs.
#[derive(Deserialize)]
pub(crate) struct IssuerMetadata {
    issuer: String,
    pub(crate) jwks_uri: Option<String>,
    pub(crate) introspection_endpoint: Option<String>,
}

impl Issuer {
    /// Creates an issuer from its name. The name is a URL, and is compared byte for byte.
    ///
    /// # Errors
    /// Returns an error if requests cannot be sent to the URL.
    pub(crate) fn new(name: String) -> Result<Self, Error> {
        let url = public_url(&name, "the issuer")?;
        Ok(Self { name, url })
    }

    /// Fetches the metadata from the first well-known URL that has it.
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
            Error::invalid_response(format!("the issuer {name} has no metadata"))
        }))
    }

    /// Parses the URL in this field of the metadata.
    pub(crate) fn endpoint(&self, field: &str, url: Option<&str>) -> Result<Url, Error> {
        Url::parse(url.unwrap_or_default()).map_err(|error| {
            let name = quoted(&self.name);
            let message = format!("the metadata of the issuer {name} has no {field}");
            Error::caused(ErrorKind::InvalidResponse, message, error)
        })
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
        check(url, &reply)?;
        let document: IssuerMetadata = reply.json().map_err(|error| {
            // The content is not quoted, because it may be anything.
            let url = redacted(url);
            let message = format!("the response of {url} is not the expected document");
            Error::caused(ErrorKind::InvalidResponse, message, error)
        })?;
        if document.issuer != self.name {
            return Err(Error::mismatch(format!(
                "the metadata at {} belongs to the issuer {}, not to {}",
                redacted(url),
                quoted(&document.issuer),
                quoted(&self.name)
            )));
        }
        Ok(Some(document))
    }
}

/// Checks that the request succeeded.
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
