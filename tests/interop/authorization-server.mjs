// Two authorization servers of another project (oidc-provider) on a local port: one at the root, and one at a path, which
// has another issuer, other keys and other users.
//
// Users sign in without a password and consent on the development pages of oidc-provider. A resource is identified by its
// path alone, because protected servers use any port.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Provider, errors } from "oidc-provider";

const MINUTE = 60;
const signed = { accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };

/** How tokens for a resource look, and how many seconds they last. */
const RESOURCES = {
  "/signed/mcp": { ...signed, accessTokenTTL: 5 * MINUTE },
  "/brief/mcp": { ...signed, accessTokenTTL: MINUTE },
  "/opaque/mcp": { accessTokenFormat: "opaque", accessTokenTTL: 5 * MINUTE },
};

/** Clients that are known beforehand: a program without a user, and a server that asks about tokens. */
const CLIENTS = [
  {
    client_id: "machine",
    client_secret: "secret of the machine",
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
  },
  {
    client_id: "resource-server",
    client_secret: "secret of the resource server",
    grant_types: [],
    redirect_uris: [],
    response_types: [],
  },
];

function resource(indicator) {
  const { hostname, pathname } = new URL(indicator);
  const known = RESOURCES[pathname];
  if (hostname !== "127.0.0.1" || !known) throw new errors.InvalidTarget();
  return { scope: "orders:read orders:write", ...known };
}

function provider(issuer) {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig" };
  return new Provider(issuer, {
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clients: CLIENTS,
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    features: {
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
      introspection: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: (_, indicator) => resource(indicator) },
      revocation: { enabled: true },
    },
    jwks: { keys: [key] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    scopes: ["openid", "offline_access", "orders:read", "orders:write"],
  });
}

const PATH = "/tenant";
const listener = createServer();
listener.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${listener.address().port}`;
  const atRoot = provider(issuer).callback();
  const atPath = provider(issuer + PATH).callback();
  listener.on("request", (request, response) => {
    if (!request.url.startsWith(`${PATH}/`)) return atRoot(request, response);
    // With this property, frameworks pass on the path at which an application is mounted.
    request.originalUrl = request.url;
    request.url = request.url.slice(PATH.length);
    return atPath(request, response);
  });
  console.log(issuer);
});
