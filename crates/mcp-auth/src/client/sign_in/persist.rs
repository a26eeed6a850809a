//! Storage of tokens, keys and registrations.

use crate::client::inner::Inner;
use crate::client::registration::Registration;
use crate::client::token::{DpopKey, TokenSet, TokenType};
use crate::error::Error;
use crate::scopes::Scopes;
use crate::secret;
use crate::well_known::canonical;

/// Maximum number of registrations in memory.
const MAX_CLIENTS: usize = 64;
/// Maximum number of stored scopes that earlier calls needed. The client ignores a larger set.
const MAX_NEEDED_SCOPES: usize = 32;

impl Inner {
    /// Returns the text that identifies the server in the names of stored entries. It contains the query of the server's URL,
    /// because some services identify users by the query. The tokens of one user must not be used for another user.
    fn stored_name(&self) -> String {
        let query = self.server.query();
        let query = query.map(|query| format!("?{query}"));
        canonical(&self.server) + &query.unwrap_or_default()
    }

    pub(crate) fn tokens_name(&self) -> String {
        format!("tokens {}", self.stored_name())
    }

    fn dpop_key_name(&self) -> String {
        format!("key {}", self.stored_name())
    }

    /// Returns the name of a registration in the store. Registrations are stored per issuer.
    fn client_name(issuer: &str) -> String {
        format!("client {issuer}")
    }

    /// Reads the store on the first call. Treats unreadable entries as missing.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        if self.state().is_loaded {
            return Ok(());
        }
        let tokens = self.load_tokens().await?;
        let dpop_key = self.stored_dpop_key().await?;
        let mut state = self.state();
        if !state.is_loaded {
            state.is_loaded = true;
            if self.settings.credentials.is_some() {
                state.credentials_issuer = tokens.as_ref().map(|tokens| tokens.issuer.clone());
            }
            // A DPoP token is useless without its key.
            let has_key = dpop_key.is_some();
            state.tokens = tokens.filter(|t| has_key || t.kind == TokenType::Bearer);
            state.dpop_key = dpop_key;
        }
        Ok(())
    }

    /// Returns the stored DPoP key, if it can be read.
    pub(crate) async fn stored_dpop_key(&self) -> Result<Option<DpopKey>, Error> {
        let text = self.store.load(&self.dpop_key_name()).await?;
        Ok(text.and_then(|text| DpopKey::from_text(&text).ok()))
    }

    /// Returns the stored tokens, if they belong to this client.
    pub(crate) async fn load_tokens(&self) -> Result<Option<TokenSet>, Error> {
        let Some(text) = self.store.load(&self.tokens_name()).await? else {
            return Ok(None);
        };
        match TokenSet::from_text(&text) {
            Ok(tokens) => Ok(Some(tokens).filter(|tokens| self.is_own(tokens))),
            Err(error) => {
                tracing::warn!(%error, "the stored tokens cannot be read, signing in again");
                Ok(None)
            }
        }
    }

    fn is_own(&self, tokens: &TokenSet) -> bool {
        let own = self.settings.credentials.as_ref();
        own.is_none_or(|own| own.client_id == tokens.client_id)
    }

    pub(crate) async fn save_tokens(&self, tokens: TokenSet) -> Result<(), Error> {
        let text = tokens.to_text()?;
        self.state().tokens = Some(tokens);
        self.store.save(&self.tokens_name(), &text).await
    }

    pub(crate) async fn remove_tokens(&self) -> Result<(), Error> {
        self.state().tokens = None;
        self.store.remove(&self.tokens_name()).await
    }

    fn needed_scopes_name(&self) -> String {
        format!("needed scopes {}", self.stored_name())
    }

    /// Stores the scopes that a call needed, so that the next sign-in requests them. The scopes belong to the issuer of the
    /// current tokens.
    pub(crate) async fn save_needed_scopes(&self, scopes: &Scopes) -> Result<(), Error> {
        let issuer = self
            .state()
            .tokens
            .as_ref()
            .map(|tokens| tokens.issuer.clone());
        let Some(issuer) = issuer else { return Ok(()) };
        let text = secret::to_json(&(issuer, scopes))?;
        self.store.save(&self.needed_scopes_name(), &text).await
    }

    /// Returns the stored scopes that a call needed, and their issuer. Treats an unreadable entry as missing.
    pub(crate) async fn load_needed_scopes(&self) -> Result<Option<(String, Scopes)>, Error> {
        let text = self.store.load(&self.needed_scopes_name()).await?;
        Ok(text.and_then(|text| mcp_jsonrpc::decode_document(text.expose()).ok()))
    }

    /// Returns the stored scopes that earlier calls needed. Returns no scopes if the current tokens have another issuer, or if
    /// there are more than [`MAX_NEEDED_SCOPES`] scopes.
    pub(crate) async fn needed_scopes(&self) -> Result<Scopes, Error> {
        let stored = self.load_needed_scopes().await?;
        let state = self.state();
        let issuer = state.tokens.as_ref().map(|tokens| &tokens.issuer);
        let of_issuer = stored.filter(|(of, scopes)| {
            Some(of) == issuer && scopes.iter().count() <= MAX_NEEDED_SCOPES
        });
        Ok(of_issuer.map(|(_, scopes)| scopes).unwrap_or_default())
    }

    pub(crate) async fn remove_needed_scopes(&self) -> Result<(), Error> {
        self.store.remove(&self.needed_scopes_name()).await
    }

    /// Returns the DPoP key. If the store has no key, generates and stores a new key.
    pub(crate) async fn dpop_key(&self) -> Result<DpopKey, Error> {
        if let Some(key) = self.state().dpop_key.clone() {
            return Ok(key);
        }
        let key = DpopKey::generate()?;
        self.store
            .save(&self.dpop_key_name(), &key.to_text())
            .await?;
        self.state().dpop_key = Some(key.clone());
        Ok(key)
    }

    pub(crate) async fn load_client(&self, issuer: &str) -> Result<Option<Registration>, Error> {
        if let Some(client) = self.state().clients.get(issuer) {
            return Ok(Some(client.clone()));
        }
        let Some(text) = self.store.load(&Self::client_name(issuer)).await? else {
            return Ok(None);
        };
        let Ok(stored) = mcp_jsonrpc::decode_document::<Registration>(text.expose()) else {
            tracing::warn!(
                issuer,
                "the stored registration cannot be read, registering again"
            );
            return Ok(None);
        };
        let issuer = issuer.to_owned();
        Ok(Some(Registration { issuer, ..stored }))
    }

    /// Removes the stored registration of a client that the issuer no longer knows. Returns whether a registration was removed.
    /// Does not remove configured credentials.
    pub(crate) async fn remove_client(&self, issuer: &str) -> Result<bool, Error> {
        self.state().clients.remove(issuer);
        let name = Self::client_name(issuer);
        if self.settings.credentials.is_some() || self.store.load(&name).await?.is_none() {
            return Ok(false);
        }
        self.store.remove(&name).await?;
        Ok(true)
    }

    pub(crate) async fn save_client(&self, client: &Registration) -> Result<(), Error> {
        let text = secret::to_json(client)?;
        {
            let mut state = self.state();
            if state.clients.len() >= MAX_CLIENTS {
                state.clients.clear();
            }
            state.clients.insert(client.issuer.clone(), client.clone());
        }
        let name = Self::client_name(&client.issuer);
        self.store.save(&name, &text).await
    }
}
