//! Programs that authenticate as themselves, without a user.

use mcp_auth::client::{Credentials, OAuthBuilder, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::door::World;
use crate::program::{Program, call, claims};
use crate::report::{Fault, Outcome, same, worked};
use crate::web;

/// The client id at the authorization server.
pub(crate) const MACHINE: &str = "machine";
pub(crate) const SECRET: &str = "secret of the machine";

/// Client credentials with a secret, for signed and opaque tokens.
pub(crate) async fn secret(world: &World) -> Outcome {
    for server in [&world.signed, &world.opaque] {
        let machine = Credentials::new(MACHINE)
            .secret(SECRET)
            .issuer(&world.issuer.name);
        works(server, MACHINE, |it| it.credentials(machine)).await?;
    }
    worked("signed and opaque, with a step-up, and again when they end")
}

/// Client credentials with a key, whose public part is registered at the authorization server.
pub(crate) async fn key(world: &World) -> Outcome {
    let (key, public) = pair()?;
    let document = json!({
        "client_name": "a machine with a key",
        "grant_types": ["client_credentials"],
        "redirect_uris": [],
        "response_types": [],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks": { "keys": [public] },
    });
    let registration = world.issuer.endpoint("registration")?;
    let registered = web::json_of(&web::post(&registration, &document, &[]).await?)?;
    let id = registered["client_id"].as_str().ok_or("no client_id")?;
    let machine = Credentials::new(id).key(key).issuer(&world.issuer.name);
    works(&world.signed, id, |it| it.credentials(machine)).await?;
    worked(format!("private_key_jwt of {id}"))
}

/// Obtains a token, one with more scopes when a tool requires them, and a new one after expiry.
async fn works(
    server: &str,
    id: &str,
    known: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
) -> Result<(), Fault> {
    let program = Program::new(server, |it| known(it).client_credentials())?;
    let client = program.connect().await?;
    let said = claims(&client).await?;
    same("the client", &said["client_id"], id)?;
    same("the audience", &said["aud"], server)?;
    same("the scopes", &said["scope"], "orders:read")?;
    same(
        "the answer",
        call(&client, "cancel_order").await?,
        "order 7 is cancelled",
    )?;
    let token = program.kept("access_token").await?;
    program.wait(300);
    same("orders", call(&client, "list_orders").await?, "7, 8")?;
    let next = program.kept("access_token").await?;
    same("whether it is the same token", token == next, false)
}

/// A key and its public part.
fn pair() -> Result<(SigningKey, Value), Fault> {
    let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
    let made = |_| "the system makes no key";
    let der = EcdsaKeyPair::generate_pkcs8(how, &random).map_err(made)?;
    let pair = EcdsaKeyPair::from_pkcs8(how, der.as_ref(), &random).map_err(|_| "no such key")?;
    // An uncompressed point: a marker byte and two coordinates.
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let public = json!({
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "key-1",
        "x": base64url(x), "y": base64url(y),
    });
    let text = data_encoding::BASE64.encode(der.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    let key = SigningKey::from_pem(&pem.into())?.with_id("key-1");
    Ok((key, public))
}

fn base64url(bytes: &[u8]) -> String {
    data_encoding::BASE64URL_NOPAD.encode(bytes)
}
