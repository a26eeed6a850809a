//! An organisation's word for its member.
//!
//! Specification: [enterprise-managed authorization](https://github.com/modelcontextprotocol/ext-auth).

use super::grant::Enterprise;
use crate::Secret;
use crate::client::ServerMetadata;
use crate::client::discovery::{Discovery, Found, Trail};
use crate::client::inner::Inner;
use crate::client::registration::Registration;
use crate::client::token::{Endpoint, Form};
use crate::error::{Error, Kind, quoted};
use crate::scopes::Scopes;

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Inner {
    /// The identity provider's word for the user, to the server's authorization server.
    ///
    /// Specification: enterprise-managed authorization, token exchange.
    pub(crate) async fn assertion(
        &self,
        enterprise: &Enterprise,
        found: &Found,
        scopes: &Scopes,
    ) -> Result<Secret, Error> {
        let provider = match &enterprise.token_endpoint {
            Some(url) => ServerMetadata::new(&enterprise.issuer, url),
            None => {
                let discovery = Discovery {
                    web: &self.web,
                    server: &self.server,
                    known: &self.setup.known,
                };
                let mut trail = Trail::default();
                discovery.issuer(&enterprise.issuer, &mut trail).await?
            }
        };
        let identity = enterprise.identity.assertion(&provider.issuer).await?;
        let form = Form::new("urn:ietf:params:oauth:grant-type:token-exchange")
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
        let endpoint = Endpoint {
            web: &self.web,
            server: &provider,
            client: &client,
            proofs: None,
            nonces: &self.nonces,
            now: self.now(),
        };
        let answer = endpoint.ask(form).await?;
        match answer.issued.as_deref() {
            Some(ID_JAG) => Ok(answer.access),
            other => Err(Error::new(
                Kind::Unusable,
                format!(
                    "the identity provider {} gives out {} where an assertion for another server \
                     was asked for",
                    quoted(&enterprise.issuer),
                    quoted(other.unwrap_or("nothing it has a name for"))
                ),
            )),
        }
    }
}
