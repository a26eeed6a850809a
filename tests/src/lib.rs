//! Support code shared by the integration suites, and the fixtures they drive.

#[cfg(feature = "suites")]
pub mod auth_server;
pub mod bench;
#[cfg(all(feature = "suites", unix))]
pub mod cluster;
#[cfg(feature = "suites")]
pub mod everything;
#[cfg(feature = "suites")]
pub mod http;
#[cfg(feature = "suites")]
pub mod network;
#[cfg(feature = "suites")]
pub mod random;
#[cfg(all(feature = "suites", target_os = "linux"))]
pub mod reliability;
#[cfg(feature = "suites")]
pub mod tcp;
#[cfg(feature = "suites")]
pub mod wire;

/// The README and the guides, whose snippets are compiled and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../docs/README.md")]
    struct Overview;
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guide/servers.md")]
    struct Servers;
    #[doc = include_str!("../../docs/guide/resources.md")]
    struct Resources;
    #[doc = include_str!("../../docs/guide/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../../docs/guide/clients.md")]
    struct Clients;
    #[doc = include_str!("../../docs/guide/extensions.md")]
    struct Extensions;
    #[doc = include_str!("../../docs/guide/gateway.md")]
    struct Gateways;
    #[doc = include_str!("../../docs/guide/host.md")]
    struct Hosts;
    #[doc = include_str!("../../docs/guide/http.md")]
    struct Http;
    #[doc = include_str!("../../docs/guide/authorization.md")]
    struct Authorization;
    #[doc = include_str!("../../docs/guide/networks.md")]
    struct Networks;
    #[doc = include_str!("../../docs/guide/revisions.md")]
    struct Revisions;
    #[doc = include_str!("../../docs/guide/tasks.md")]
    struct Tasks;
    #[doc = include_str!("../../docs/guide/telemetry.md")]
    struct Telemetry;
    #[doc = include_str!("../../docs/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../docs/guide/transports.md")]
    struct Transports;
    #[doc = include_str!("../../docs/reference/errors.md")]
    struct Errors;
    #[doc = include_str!("../../docs/reference/limits.md")]
    struct Limits;
    #[doc = include_str!("../../docs/reference/security-model.md")]
    struct SecurityModel;
    #[doc = include_str!("../../docs/reference/comparison.md")]
    struct Comparison;
    #[doc = include_str!("../../docs/moving/rmcp.md")]
    struct MovingFromRmcp;
    #[doc = include_str!("../../docs/moving/tower-mcp.md")]
    struct MovingFromTowerMcp;
    #[doc = include_str!("../../docs/moving/fastmcp.md")]
    struct MovingFromFastMcp;
    #[doc = include_str!("../../docs/agents/write-an-mcp-server-in-rust/SKILL.md")]
    struct AgentSkill;
    #[doc = include_str!("../../docs/agents/AGENTS-snippet.md")]
    struct AgentSnippet;
    #[doc = include_str!("../../docs/identity/README.md")]
    struct IdentityProviders;
    #[doc = include_str!("../../docs/identity/oidc-provider.md")]
    struct OidcProvider;
    #[doc = include_str!("../../docs/identity/keycloak.md")]
    struct Keycloak;
    #[doc = include_str!("../../docs/identity/auth0.md")]
    struct Auth0;
    #[doc = include_str!("../../docs/identity/okta.md")]
    struct Okta;
    #[doc = include_str!("../../docs/identity/entra-id.md")]
    struct EntraId;
}
