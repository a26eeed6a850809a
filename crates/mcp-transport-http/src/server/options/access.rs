//! Who reaches an endpoint.

use super::Options;
use crate::server::request::allowed::{Allowed, Checked};

impl Options {
    /// Also serves requests whose `Host` is `host`: `mcp.example.com` for every port of it,
    /// `mcp.example.com:8443` for that one. Default: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// A web page can make a name of its own point to any address; that is why a server that
    /// listens on this machine must know its names.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts = self.hosts.allow(host);
        self
    }

    /// Serves requests whatever their `Host` is: for a server behind a proxy that checks it.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = Allowed::any();
        self
    }

    /// Also serves web pages of this origin, as in `https://app.example.com`. Default: pages
    /// served from this machine. Requests without an `Origin` come from no web page and pass.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins = self.origins.allow(origin);
        self
    }

    /// Serves every web page the user's browser opens. Do this only where requests are
    /// authorized by something a browser does not send by itself.
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = Allowed::any();
        self
    }

    /// What is wrong with them, for the person who starts the server.
    pub(crate) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.problem_as(Checked::Host);
        hosts.or_else(|| self.origins.problem_as(Checked::Origin))
    }
}
