//! Connections that use the accounts of users.

use mcp_client::Error;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Owner, Principal, Transport};
use tokio::time::Instant;

use super::Core;
use crate::connection::unreachable;
use crate::upstream::unavailable;

impl Core {
    /// Creates the transport of a new connection for a client. Call it before other connections are closed to make room.
    ///
    /// # Errors
    /// The configuration is invalid; users have accounts, but this client has no account; or the last attempt with its account
    /// failed a short time ago.
    pub(super) fn transport_for(&self, client: &Owner) -> Result<Box<dyn Transport>, ErrorObject> {
        let upstream = &self.upstream;
        if let Some(user) = self.user_of(client)
            && self.account_failures.is_waiting(user, Instant::now())
        {
            let name = &*upstream.name;
            let text = format!(
                "the last connection to the server {name:?} with your account has failed; the log of the gateway has the reason; try again in a second"
            );
            return Err(unavailable(name, text));
        }
        upstream
            .transport(Some(client))
            .map_err(|error| self.not_opened(client, error))
    }

    /// Returns whether the gateway may end a call of another client to make room for a connection of this client. Returns `false`
    /// if the server has refused the account of this user. Otherwise, the failing attempts of this user could end one call after
    /// the other.
    pub(super) fn may_end_calls(&self, client: &Owner) -> bool {
        let user = self.user_of(client);
        user.is_none_or(|user| !self.account_failures.has_failed(user))
    }

    /// Records whether the last connection for a client could be opened.
    pub(super) fn record_opened(&self, client: &Owner, has_failed: bool) {
        if let Some(user) = self.user_of(client) {
            self.account_failures
                .record(user, has_failed, Instant::now());
        }
    }

    /// Creates the error for a connection that could not be opened for a client. `error` is the reason.
    pub(super) fn not_opened(&self, client: &Owner, error: Error) -> ErrorObject {
        let server = &*self.upstream.name;
        match error {
            // The gateway itself refused the connection, for example because the user has no account.
            Error::Rejected(reason) => reason,
            error if self.upstream.has_accounts() => {
                if let Some(omitted) = self.failures.admit(std::time::Instant::now()) {
                    tracing::warn!(server, %client, %error, omitted, "the server cannot be reached with the account of a user");
                }
                let text = format!(
                    "the server {server:?} cannot be reached with your account; the log of the gateway has the reason"
                );
                unavailable(server, text)
            }
            error => unreachable(server, &error, &self.failures),
        }
    }

    fn user_of<'a>(&self, client: &'a Owner) -> Option<&'a Principal> {
        client
            .principal
            .as_ref()
            .filter(|_| self.upstream.has_accounts())
    }
}
