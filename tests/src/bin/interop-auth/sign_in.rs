//! From an unknown server to the result of a tool.

use mcp_auth::client::{SignInProgress, diagnose};
use mcp_protocol::Revision;
use url::Url;

use crate::browser::Browser;
use crate::door::World;
use crate::program::{Program, call, claims, signed_in, why};
use crate::report::{Outcome, ensure, same, says, worked};
use crate::web;

/// Checks that both metadata documents of the issuer are equal and that signing in with them succeeds.
pub(crate) async fn metadata(world: &World) -> Outcome {
    let name = &world.issuer.name;
    let url = format!("{name}/.well-known/oauth-authorization-server");
    let document = web::json_of(&web::get(&url.parse()?, &[]).await?)?;
    same("the other document", &document, &world.issuer.document)?;
    found(&world.signed, name).await
}

/// Signs in to an issuer whose only document is below its path.
pub(crate) async fn metadata_path(world: &World) -> Outcome {
    found(&world.foreign, &world.tenant.name).await
}

async fn found(server: &str, issuer: &str) -> Outcome {
    let (_, program, client) = signed_in(server).await?;
    let claims = claims(&client).await?;
    same("the issuer of the token", &claims["iss"], issuer)?;
    let discovered = SignInProgress::Discovered {
        resource: server.to_owned(),
        issuer: issuer.to_owned(),
    };
    same("discoveries", program.count(&discovered), 1)?;
    worked(discovered.to_string())
}

/// An unknown client is registered, once per redirect URI.
pub(crate) async fn registration(world: &World) -> Outcome {
    let (alice, program, _) = signed_in(&world.signed).await?;
    program.auth.sign_in().await?;
    let ids = program.ids();
    same("sign-ins", ids.len(), 2)?;
    same("the client of the second", &ids[1], &ids[0])?;
    let asked: Vec<_> = alice
        .visits()
        .iter()
        .map(|it| it.asked("client_id"))
        .collect();
    same("who asked", asked, vec![Some(ids[0].clone()); 2])?;
    worked(format!("two sign-ins as {}", ids[0]))
}

/// Sends the browser to the issuer, which redirects it to a local port with a code.
pub(crate) async fn code(world: &World) -> Outcome {
    let alice = Browser::of("alice");
    let program = Program::new(&world.signed, |it| it.user_agent(alice.on_a_port()))?;
    let client = program.connect().await?;
    same("who calls", &claims(&client).await?["sub"], "alice")?;
    same("orders", call(&client, "list_orders").await?, "7, 8")?;
    let visits = alice.visits();
    let [visit] = &*visits else {
        return Err(format!("{} visits", visits.len()).into());
    };
    same("the pages", &*visit.pages, ["login", "consent"])?;
    for (name, value) in [
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("resource", &world.signed),
        ("scope", "orders:read offline_access"),
        ("prompt", "consent"),
    ] {
        same(name, visit.asked(name).as_deref(), Some(value))?;
    }
    same("the state", visit.answered("state"), visit.asked("state"))?;
    same(
        "iss",
        visit.answered("iss").as_ref(),
        Some(&world.issuer.name),
    )?;

    // The challenge was necessary: without one the issuer redirects with an error.
    let bare = visit.url.query_pairs();
    let bare = bare.filter(|(name, _)| !name.starts_with("code_challenge"));
    let bare = Url::parse_with_params(world.issuer.endpoint("authorization")?.as_str(), bare)?;
    let answer = web::get(&bare, &[]).await?;
    let location = answer.header("location").unwrap_or_default();
    says("the way back", location, "error=invalid_request")?;
    worked(format!(
        "{:?}, back with a code of {}",
        visit.pages, world.issuer.name
    ))
}

/// Checks that the token's audience is the requested resource, which the server verifies itself.
pub(crate) async fn audience(world: &World) -> Outcome {
    let (_, program, client) = signed_in(&world.signed).await?;
    let claims = claims(&client).await?;
    same("the audience", &claims["aud"], &*world.signed)?;
    same("the client", &claims["client_id"], &*program.ids()[0])?;
    same("the scopes", &claims["scope"], "orders:read")?;
    worked(format!("at+jwt for {}", claims["aud"]))
}

/// Calls a tool that requires another scope: the user consents again, and the call is repeated.
pub(crate) async fn step_up(world: &World) -> Outcome {
    for revision in [Revision::LATEST_WITH_SESSIONS, Revision::LATEST] {
        let alice = Browser::of("alice");
        let program = Program::new(&world.signed, |it| it.user_agent(alice.on_a_port()))?;
        let client = program.connect_as(revision).await?;
        same("the revision", client.revision(), revision)?;
        call(&client, "list_orders").await?;
        same("visits", alice.visits().len(), 1)?;
        let done = call(&client, "cancel_order").await?;
        same("the answer", done, "order 7 is cancelled")?;
        call(&client, "list_orders").await?;
        let visits = alice.visits();
        same("visits", visits.len(), 2)?;
        let scopes = visits[1].asked("scope").unwrap_or_default();
        for scope in ["orders:read", "orders:write"] {
            says("the second request", &scopes, scope)?;
        }
        // The user is still signed in, and the client keeps its session.
        same(
            "clients",
            visits[0].asked("client_id"),
            visits[1].asked("client_id"),
        )?;
        same("the pages", &*visits[1].pages, ["consent"])?;
        let claims = claims(&client).await?;
        says("the token", &claims["scope"].to_string(), "orders:write")?;
    }
    worked("asked twice, by 2025-11-25 and by 2026-07-28")
}

/// The user denies consent.
pub(crate) async fn denied(world: &World) -> Outcome {
    let alice = Browser::of("alice");
    alice.refuse();
    let program = Program::new(&world.signed, |it| it.user_agent(alice.in_place()))?;
    let error = why(program.connect().await)?;
    ensure(error.is_denied(), || format!("it is no denial: {error}"))?;
    same("visits", alice.visits().len(), 1)?;
    worked(error.to_string())
}

/// Runs `diagnose`, which checks each step without signing in.
pub(crate) async fn diagnosis(world: &World) -> Outcome {
    let shown = diagnose(&world.foreign).await?;
    same("the issuer", shown.issuer().ok(), Some(&*world.tenant.name))?;
    let text = shown.to_string();
    for line in [
        "answers 401",
        "scope: \"orders:read\"",
        "/.well-known/oauth-protected-resource/signed/mcp: found",
        "/.well-known/oauth-authorization-server/tenant: ",
        "/tenant/.well-known/openid-configuration: found",
        "PKCE with S256: supported",
        "dynamic client registration: supported",
        "refresh tokens: supported",
    ] {
        says("the diagnosis", &text, line)?;
    }
    let misled = diagnose(&world.misled).await?.to_string();
    says("the other diagnosis", &misled, "its issuer is")?;
    worked(format!(
        "{} addresses",
        shown.discovery_log().attempts().len()
    ))
}
