// An authorization server that nobody here wrote: oidc-provider, on a port of this machine. Two of them, in fact: one at
// the root, and one at a path, whose issuer has another name, other keys and other users.
//
// Whoever signs in needs no password, and agrees on the pages that oidc-provider has for development. What a resource
// is, is told by its path alone, because those who protect one come by any port.

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
    // This is how a framework tells an application where it is mounted.
    request.originalUrl = request.url;
    request.url = request.url.slice(PATH.length);
    return atPath(request, response);
  });
  console.log(issuer);
});
