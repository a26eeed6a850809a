//! The scenarios of authorization.

use mcp_auth::OAuth;
use mcp_auth::client::{Credentials, Enterprise, OAuthBuilder, SigningKey};
use mcp_client::Client;
use mcp_tests::auth_server::browser;
use mcp_transport_http::HttpTransport;
use serde_json::json;

use super::{Fault, Task};

/// A document that the suite expects and that no server has.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The redirect URI; no server listens there.
const BACK: &str = "http://localhost:3000/callback";

/// The expected outcome of a scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The tool call succeeds.
    Answered,
    /// The client rejects the server's data, or stops after its limits.
    Refused,
}

impl Task {
    /// Signs in, lists the tools and calls the only tool.
    pub(super) async fn authorize(&self, scenario: &str) -> Result<(), Fault> {
        let (auth, outcome) = self.described(scenario)?;
        let auth = auth.build()?;
        if scenario == "dpop-nonce" {
            // The transport sends a message twice at most: once without a token, or once without the nonce.
            auth.sign_in().await?;
        }
        match (self.call(auth).await, outcome) {
            (Ok(client), Outcome::Answered) => Ok(client.close().await?),
            (Ok(_), Outcome::Refused) => Err("it was not seen that the server cheats".into()),
            (Err(error), Outcome::Answered) => Err(error),
            (Err(error), Outcome::Refused) => {
                eprintln!("refused, as it has to be: {error}");
                Ok(())
            }
        }
    }

    async fn call(&self, auth: OAuth) -> Result<Client, Fault> {
        let http = HttpTransport::new(&self.url)?.authorize(auth);
        let client = self.builder().connect(http).await?;
        super::call(client, "test-tool", json!({})).await
    }

    fn described(&self, scenario: &str) -> Result<(OAuthBuilder, Outcome), Fault> {
        let auth = OAuth::client(&self.url).client_name("conformance-client", None);
        let user = || {
            OAuth::client(&self.url)
                .user_agent(browser(BACK))
                .client_metadata_url(DOCUMENT)
        };
        let context = |name: &str| self.told(name);
        let answered = match scenario {
            "resource-mismatch" | "metadata-issuer-mismatch" | "scope-retry-limit" => {
                return Ok((user(), Outcome::Refused));
            }
            "iss-supported-missing" | "iss-wrong-issuer" | "iss-unexpected" | "iss-normalized" => {
                return Ok((user(), Outcome::Refused));
            }
            "pre-registration" => {
                let client = registered(context("client_id")?);
                user().credentials(client.secret(context("client_secret")?))
            }
            "client-credentials-jwt" => {
                let key = SigningKey::from_pem(&context("private_key_pem")?.into())?;
                let client = registered(context("client_id")?).key(key);
                auth.credentials(client).client_credentials()
            }
            "client-credentials-basic" => {
                let client = registered(context("client_id")?);
                let client = client.secret(context("client_secret")?);
                auth.credentials(client).client_credentials()
            }
            "wif-jwt-bearer" => {
                let client = registered(context("client_id")?);
                auth.credentials(client).workload(context("valid_jwt")?)
            }
            "enterprise-managed-authorization" | "cross-app-access-complete-flow" => {
                let client = registered(context("client_id")?);
                let client = client.secret(context("client_secret")?);
                let there = Credentials::new(context("idp_client_id")?);
                let identity = context("idp_id_token")?;
                let enterprise = Enterprise::new(context("idp_issuer")?, there, identity)
                    .token_endpoint(context("idp_token_endpoint")?);
                auth.credentials(client).enterprise(enterprise)
            }
            "dpop" | "dpop-nonce" => user().require_dpop(),
            // The metadata of this server is that of its whole host.
            "metadata-var2" => user().allow_parent_resource(),
            _ => user(),
        };
        Ok((answered, Outcome::Answered))
    }

    fn told(&self, name: &str) -> Result<String, Fault> {
        let context = self.context()?;
        let value = context[name].as_str();
        let value = value.ok_or_else(|| format!("the context of {} has no {name}", self.scenario));
        Ok(value?.to_owned())
    }
}

/// The suite does not name the issuer before the server does.
fn registered(client_id: String) -> Credentials {
    Credentials::new(client_id).accept_any_issuer()
}
