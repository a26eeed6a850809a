//! Which hosts and origins may send requests.

use super::Options;
use crate::server::request::allowed::{AllowList, SourceHeader};

impl Options {
    /// Also accepts requests whose `Host` is `host`: `mcp.example.com` for every port,
    /// `mcp.example.com:8443` for that port only. Default: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// This protects against DNS rebinding: a web page can make its own host name resolve to any
    /// address, so a server on a local address has to check the name.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts = self.hosts.allow(host);
        self
    }

    /// Accepts requests with any `Host`. Use it for a server behind a proxy that checks the host.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = AllowList::any();
        self
    }

    /// Also accepts requests from web pages of this origin, for example `https://app.example.com`.
    /// Default: pages served from this machine. A request without `Origin` does not come from a web
    /// page and is accepted.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins = self.origins.allow(origin);
        self
    }

    /// Accepts requests from every web page. Use it only if requests are authenticated by something
    /// that a browser does not send on its own, such as a bearer token.
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = AllowList::any();
        self
    }

    /// Returns the first invalid setting as an error message.
    pub(crate) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.problem_as(SourceHeader::Host);
        hosts.or_else(|| self.origins.problem_as(SourceHeader::Origin))
    }
}
