//! The life of tokens: storage, refresh, theft, revocation.

use mcp_auth::client::SignInProgress;
use tokio::task::JoinSet;

use crate::door::World;
use crate::program::{call, claims, signed_in};
use crate::report::{Outcome, ensure, same, says, worked};
use crate::web;

/// Seconds after which a token with a lifetime of one minute is refreshed.
pub(crate) const SOON: u64 = 31;

/// The next run of a program needs no sign-in.
pub(crate) async fn kept(world: &World) -> Outcome {
    let (_, program, client) = signed_in(&world.brief).await?;
    client.close().await?;
    let again = program.again(|it| it)?;
    again.wait(SOON);
    let client = again.connect().await?;
    same("who calls", &claims(&client).await?["sub"], "alice")?;
    same("the steps", again.count(&SignInProgress::Refreshed), 1)?;
    same("sign-ins", again.ids().len(), 0)?;
    worked("one renewal, no visit")
}

/// A token is refreshed before it expires, once for all calls.
pub(crate) async fn renewal(world: &World) -> Outcome {
    let (alice, program, client) = signed_in(&world.brief).await?;
    program.wait(SOON);
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let client = client.clone();
        calls.spawn(async move { call(&client, "list_orders").await });
    }
    while let Some(done) = calls.join_next().await {
        same("orders", done??, "7, 8")?;
    }
    same("renewals", program.count(&SignInProgress::Refreshed), 1)?;
    let refusals = program.steps();
    let refusals = refusals
        .iter()
        .filter(|it| matches!(it, SignInProgress::Challenged { .. }));
    same("refusals", refusals.count(), 1)?;
    same("visits", alice.visits().len(), 1)?;
    worked("one for 20 calls, none of which was refused")
}

/// A refresh token is valid once.
pub(crate) async fn rotation(world: &World) -> Outcome {
    let (alice, program, client) = signed_in(&world.brief).await?;
    let mut known = vec![program.kept("refresh_token").await?];
    for _ in 0..3 {
        program.wait(SOON);
        call(&client, "list_orders").await?;
        let next = program.kept("refresh_token").await?;
        ensure(!known.contains(&next), || "it is the same again".to_owned())?;
        known.push(next);
    }
    same("renewals", program.count(&SignInProgress::Refreshed), 3)?;
    same("visits", alice.visits().len(), 1)?;
    worked(format!("{} of them, one after the other", known.len()))
}

/// A refresh token is used twice: all tokens that came from it end, and the user signs in again.
pub(crate) async fn reuse(world: &World) -> Outcome {
    let (alice, program, client) = signed_in(&world.brief).await?;
    let old = program.kept("refresh_token").await?;
    program.wait(SOON);
    call(&client, "list_orders").await?;
    let id = &program.ids()[0];
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", &old),
        ("client_id", id),
        ("resource", &world.brief),
    ];
    let answer = world.issuer.form("token", &fields).await?;
    same("what the thief gets", answer.status, 400)?;
    says("it", answer.text(), "invalid_grant")?;
    same("visits", alice.visits().len(), 1)?;

    program.wait(SOON);
    same("orders", call(&client, "list_orders").await?, "7, 8")?;
    same("ends", program.expirations(), 1)?;
    same("visits", alice.visits().len(), 2)?;
    worked("refused to the thief, and the user is asked again")
}

/// Opaque tokens.
pub(crate) async fn introspection(world: &World) -> Outcome {
    let (_, program, client) = signed_in(&world.opaque).await?;
    let token = program.kept("access_token").await?;
    ensure(!token.contains('.'), || "it is signed".to_owned())?;
    let claims = claims(&client).await?;
    same("who calls", &claims["sub"], "alice")?;
    same("the audience", &claims["aud"], &*world.opaque)?;
    same("the issuer", &claims["iss"], &*world.issuer.name)?;
    same(
        "the answer",
        call(&client, "cancel_order").await?,
        "order 7 is cancelled",
    )?;
    worked("asked about for each request, with a step-up")
}

/// A revoked token is rejected, and the user signs in again.
pub(crate) async fn revoked(world: &World) -> Outcome {
    let (alice, program, client) = signed_in(&world.opaque).await?;
    let token = program.kept("access_token").await?;
    same(
        "the status",
        web::knock(&world.opaque, "Bearer", &token).await?.status,
        200,
    )?;
    let fields = [("token", &*token), ("client_id", &program.ids()[0])];
    let answer = world.issuer.form("revocation", &fields).await?;
    same("the status", answer.status, 200)?;
    let answer = web::knock(&world.opaque, "Bearer", &token).await?;
    web::refused(&answer, "not active")?;
    same("orders", call(&client, "list_orders").await?, "7, 8")?;
    same("visits", alice.visits().len(), 2)?;
    worked("401, then another visit")
}
