//! The source of an issuer's keys.

use url::Url;

use super::keys::Jwks;
use crate::error::{Error, ErrorKind, quoted};
use crate::server::issuer::{Issuer, check};
use crate::web::HttpClient;

/// Fetches the keys of an issuer.
pub(crate) struct Source {
    pub(crate) issuer: Issuer,
    /// The URL of the keys; otherwise the metadata names it.
    pub(crate) keys: Option<Url>,
    pub(crate) http_client: HttpClient,
}

impl Source {
    pub(crate) async fn fetch(&self) -> Result<Jwks, Error> {
        let url = match &self.keys {
            Some(url) => url.clone(),
            None => self.named().await?,
        };
        let reply = self.http_client.get(&url).await?;
        check(&url, &reply)?;
        let keys = Jwks::read(&reply.body)?;
        tracing::debug!(issuer = %self.issuer.name, ?keys, "fetched keys");
        Ok(keys)
    }

    async fn named(&self) -> Result<Url, Error> {
        let document = self.issuer.document(&self.http_client).await?;
        let text = document.jwks_uri.unwrap_or_default();
        Url::parse(&text).map_err(|error| {
            let issuer = quoted(&self.issuer.name);
            let message = format!("the metadata of the issuer {issuer} has no jwks_uri");
            Error::caused(ErrorKind::InvalidResponse, message, error)
        })
    }
}
