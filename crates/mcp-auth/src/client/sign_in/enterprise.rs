//! The assertion of an organisation for its user.
//!
//! Specification: [enterprise-managed
//! authorization](https://github.com/modelcontextprotocol/ext-auth).

use super::grant::Enterprise;
use crate::Secret;
use crate::client::ServerMetadata;
use crate::client::discovery::{DiscoveryLog, DiscoveryResult};
use crate::client::inner::Inner;
use crate::client::registration::Registration;
use crate::client::token::{TokenEndpoint, TokenRequest};
use crate::error::{Error, quoted};
use crate::scopes::Scopes;

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Inner {
    /// Exchanges the user's identity token at the identity provider for an assertion to the
    /// server's authorization server.
    ///
    /// Specification: enterprise-managed authorization, token exchange.
    pub(crate) async fn assertion(
        &self,
        enterprise: &Enterprise,
        found: &DiscoveryResult,
        scopes: &Scopes,
    ) -> Result<Secret, Error> {
        let provider = match &enterprise.token_endpoint {
            Some(url) => ServerMetadata::new(&enterprise.issuer, url),
            None => {
                let discovery = self.discovery();
                let mut log = DiscoveryLog::default();
                discovery.issuer(&enterprise.issuer, &mut log).await?
            }
        };
        let identity = enterprise.identity.assertion(&provider.issuer).await?;
        let form = TokenRequest::new("urn:ietf:params:oauth:grant-type:token-exchange")
            .with("requested_token_type", ID_JAG)
            .with("audience", found.server.issuer.as_str())
            .with("resource", found.resource.as_str())
            .and("scope", scopes.to_parameter())
            .with("subject_token", identity)
            .with(
                "subject_token_type",
                "urn:ietf:params:oauth:token-type:id_token",
            );
        let client = Registration::of(&enterprise.client, &provider.issuer);
        let endpoint = TokenEndpoint {
            http_client: &self.http_client,
            server: &provider,
            client: &client,
            dpop_key: None,
            nonces: &self.nonces,
            now: self.now(),
        };
        let answer = endpoint.ask(form).await?;
        match answer.issued.as_deref() {
            Some(ID_JAG) => Ok(answer.access),
            other => Err(Error::invalid_response(format!(
                "the identity provider {} issued a token of type {}; an ID-JAG assertion was \
                     requested",
                quoted(&enterprise.issuer),
                quoted(other.unwrap_or("(no type)"))
            ))),
        }
    }
}
