//! What an authorization server publishes for those who verify its tokens.
//!
//! Specification: authorization, authorization server metadata discovery.

use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::audience::public_url;
use crate::error::{Error, Kind, quoted};
use crate::web::{Limits, Reply, Web, shown};
use crate::well_known;

/// How much is read of what an issuer says, and for how long.
pub(crate) const LIMITS: Limits = Limits {
    body: 64 << 10,
    patience: Duration::from_secs(5),
    redirects: 3,
};

/// An issuer, by its name.
pub(crate) struct Issuer {
    pub(crate) name: String,
    pub(crate) url: Url,
}

/// Its document, as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct Document {
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
    pub(crate) async fn document(&self, web: &Web) -> Result<Document, Error> {
        let mut failed = None;
        for url in well_known::of_issuer(&self.url) {
            match self.at(web, &url).await {
                Ok(Some(document)) => return Ok(document),
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| {
            let name = quoted(&self.name);
            Error::new(Kind::Unusable, format!("the issuer {name} has no metadata"))
        }))
    }

    async fn at(&self, web: &Web, url: &Url) -> Result<Option<Document>, Error> {
        let reply = web.get(url).await?;
        if reply.status.is_client_error() && !reply.is_temporary() {
            return Ok(None);
        }
        let document: Document = json(url, &reply)?;
        if document.issuer != self.name {
            return Err(Error::new(
                Kind::Mismatch,
                format!(
                    "the metadata at {} is of the issuer {} and not of {}",
                    shown(url),
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
        let message = format!("{} answers no such document", shown(url));
        Error::caused(Kind::Unusable, message, error)
    })
}

/// Whether the request succeeded.
pub(crate) fn check(url: &Url, reply: &Reply) -> Result<(), Error> {
    if reply.status.is_success() {
        return Ok(());
    }
    let kind = if reply.is_temporary() {
        Kind::Unavailable
    } else {
        Kind::Unusable
    };
    let message = format!("{} answers {}", shown(url), reply.status);
    Err(Error::new(kind, message))
}
