//! Signs in to servers of this SDK with an authorization server of another project, for `cargo xtask interop`.
//!
//! `interop-auth ISSUER` starts local servers that are protected by tokens of that issuer. It connects to them as a
//! client of a user with a browser, as a program without a user, and as a client with a wrong token. It prints one
//! JSON line per feature, as `interop-client` does. The issuer is `tests/interop/authorization-server.mjs`.

mod browser;
mod door;
mod machine;
mod processes;
mod program;
mod refused;
#[path = "../interop-client/report.rs"]
#[expect(dead_code, reason = "here nothing may be absent")]
mod report;
mod sign_in;
mod tokens;
mod web;

use std::process::ExitCode;

use door::World;
use report::{Fault, row};

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &*args {
        [mode, url, tokens, ahead] if mode == "host" => processes::host(url, tokens, ahead).await,
        [issuer] => run(issuer).await,
        _ => Err("usage: interop-auth ISSUER | host URL TOKENS SECONDS".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

async fn run(issuer: &str) -> Result<(), Fault> {
    let world = &World::open(issuer).await?;
    row("metadata", sign_in::metadata(world)).await;
    row("metadata-path", sign_in::metadata_path(world)).await;
    row("registration", sign_in::registration(world)).await;
    row("code", sign_in::code(world)).await;
    row("audience", sign_in::audience(world)).await;
    row("step-up", sign_in::step_up(world)).await;
    row("denied", sign_in::denied(world)).await;
    row("kept", tokens::kept(world)).await;
    row("renewal", tokens::renewal(world)).await;
    row("rotation", tokens::rotation(world)).await;
    row("reuse", tokens::reuse(world)).await;
    row("processes", processes::one_refresh(world)).await;
    row("introspection", tokens::introspection(world)).await;
    row("revoked", tokens::revoked(world)).await;
    row("client-secret", machine::secret(world)).await;
    row("client-key", machine::key(world)).await;
    row("proof", refused::proof(world)).await;
    row("other-resource", refused::other_resource(world)).await;
    row("other-issuer", refused::other_issuer(world)).await;
    row("issuer-name", refused::name(world)).await;
    row("callback", refused::callback(world)).await;
    row("diagnose", sign_in::diagnosis(world)).await;
    Ok(())
}
