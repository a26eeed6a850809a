//! Requests and sign-ins that must be rejected.

use http::{HeaderValue, Request};
use mcp_auth::client::{Error, SignInProgress};
use mcp_transport_http::Authorize as _;
use url::Url;

use crate::browser::Browser;
use crate::door::World;
use crate::machine::{MACHINE, SECRET};
use crate::program::{Program, why};
use crate::report::{Fault, Outcome, ensure, same, says, worked};
use crate::web;

/// A token that is bound to a key: the issuer accepts the proofs of this SDK, and a server without support for DPoP
/// does not accept the token as a bearer token.
pub(crate) async fn proof(world: &World) -> Outcome {
    for server in [&world.signed, &world.opaque] {
        let alice = Browser::of("alice");
        let program = Program::new(server, |it| it.require_dpop().user_agent(alice.in_place()))?;
        program.auth.sign_in().await?;
        same("the type", program.kept("token_type").await?, "DPoP")?;
        let token = program.kept("access_token").await?;
        let answer = web::knock(server, "Bearer", &token).await?;
        web::refused(&answer, "bound to a key")?;
        same(
            "as DPoP",
            web::knock(server, "DPoP", &token).await?.status,
            401,
        )?;

        // Proofs are also sent with refreshes and with each request.
        program.wait(300);
        let (mut parts, ()) = Request::post(&**server).body(())?.into_parts();
        program.auth.authorize(&mut parts).await?;
        same("renewals", program.count(&SignInProgress::Refreshed), 1)?;
        let header = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
        let shown = format!("DPoP {}", program.kept("access_token").await?);
        same(
            "the header",
            header("authorization"),
            Some(shown.as_bytes()),
        )?;
        ensure(header("dpop").is_some(), || "there is no proof".to_owned())?;
    }
    worked("given out and renewed with proof, refused without: signed and opaque")
}

/// Tokens of the same issuer and user for another server.
pub(crate) async fn other_resource(world: &World) -> Outcome {
    let signed = token_for(&world.signed).await?;
    let opaque = token_for(&world.opaque).await?;
    for (server, token, reason) in [
        (&world.brief, &signed, "for another audience"),
        (&world.other, &opaque, "for another audience"),
        (&world.signed, &opaque, "not a signed JWT"),
        (&world.opaque, &signed, "invalid_token"),
    ] {
        let answer = web::knock(server, "Bearer", token).await?;
        web::refused(&answer, reason).map_err(|fault| format!("{server}: {fault}"))?;
    }
    for (server, token) in [(&world.signed, &signed), (&world.opaque, &opaque)] {
        same(
            "at its own",
            web::knock(server, "Bearer", token).await?.status,
            200,
        )?;
    }
    worked("401 by signature and by introspection, and where the kinds differ")
}

async fn token_for(server: &str) -> Result<String, Fault> {
    let alice = Browser::of("alice");
    let program = Program::new(server, |it| it.user_agent(alice.in_place()))?;
    program.auth.sign_in().await?;
    program.kept("access_token").await
}

/// A token for this server from an issuer that the server does not accept.
pub(crate) async fn other_issuer(world: &World) -> Outcome {
    let fields = [
        ("grant_type", "client_credentials"),
        ("client_id", MACHINE),
        ("client_secret", SECRET),
        ("resource", &world.signed),
        ("scope", "orders:read"),
    ];
    let answer = web::json_of(&world.tenant.form("token", &fields).await?)?;
    let token = answer["access_token"].as_str().ok_or("no token")?;
    let answer = web::knock(&world.signed, "Bearer", token).await?;
    web::refused(&answer, "from another issuer")?;
    worked(format!("401 for a token of {}", world.tenant.name))
}

/// A server names an issuer whose metadata has a different name.
pub(crate) async fn name(world: &World) -> Outcome {
    let alice = Browser::of("alice");
    let program = Program::new(&world.misled, |it| it.user_agent(alice.in_place()))?;
    let error = why(program.connect().await)?;
    is_mismatch(&error)?;
    says("the error", &error.to_string(), "localhost")?;
    same("visits", alice.visits().len(), 0)?;
    same("registrations", program.ids().len(), 0)?;
    worked(error.to_string())
}

/// The redirect of the browser names another issuer.
pub(crate) async fn callback(world: &World) -> Outcome {
    let tenant = world.tenant.name.clone();
    let changes: [(&str, Change); 4] = [
        ("iss", Box::new(move |_| Some(tenant.clone()))),
        ("iss", Box::new(|_| None)),
        ("iss", Box::new(|iss| Some(format!("{iss}/")))),
        ("state", Box::new(|_| Some("of another request".to_owned()))),
    ];
    for (name, change) in changes {
        let change = std::sync::Arc::new(change);
        let alice = Browser::of("alice");
        let meddling = alice.changing(move |back| meddle(back, name, &change));
        let program = Program::new(&world.signed, |it| it.user_agent(meddling))?;
        let error = why(program.connect().await)?;
        is_mismatch(&error)?;
        let signed_in = program.auth.is_signed_in().await?;
        same("whether there are tokens", signed_in, false)?;
    }
    worked("another issuer, none, one with a slash, and another state")
}

type Change = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Replaces or removes a parameter.
fn meddle(back: &mut Url, name: &str, change: &Change) {
    let pairs = back.query_pairs().into_owned();
    let pairs: Vec<(String, String)> = pairs
        .filter_map(|(known, value)| match known == name {
            true => Some((known, change(&value)?)),
            false => Some((known, value)),
        })
        .collect();
    back.query_pairs_mut().clear().extend_pairs(pairs);
}

fn is_mismatch(error: &Error) -> Result<(), Fault> {
    ensure(error.is_mismatch(), || {
        format!("it is taken for something else: {error}")
    })
}
