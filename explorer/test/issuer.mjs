// An issuer of ID tokens: it logs everybody in as one user, and checks PKCE and scopes as a real one does. It lists the
// scopes in its field supported, if any, gives those in granted, and records in asked what it was asked for. It gives tokens on
// another host than the issuer's, as Google's does: to a browser another port is another host.
import crypto from "node:crypto";
import fs from "node:fs";
import https from "node:https";
import { once } from "node:events";

const urlOf = (server) => `https://127.0.0.1:${server.address().port}`;

export async function startIssuer(cert, key, clientID, user) {
  const { publicKey, privateKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map();
  const encode = (v) => Buffer.from(JSON.stringify(v)).toString("base64url");
  const serve = () => https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, (request, answer) => {
    const url = new URL(request.url, issuer.url);
    answer.setHeader("Access-Control-Allow-Origin", "*");
    const json = (v, code = 200) => answer.writeHead(code, { "Content-Type": "application/json" }).end(JSON.stringify(v));
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json({ issuer: issuer.url, authorization_endpoint: `${issuer.url}/authorize`, token_endpoint: `${urlOf(tokens)}/token`, jwks_uri: `${issuer.url}/keys`,
          response_types_supported: ["code"], subject_types_supported: ["public"], id_token_signing_alg_values_supported: ["RS256"], scopes_supported: issuer.supported });
      case "/keys":
        return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" }] });
      case "/authorize": {
        const code = crypto.randomUUID();
        const asked = url.searchParams;
        const [back, state, scopes] = [new URL(asked.get("redirect_uri")), asked.get("state"), asked.get("scope")];
        issuer.asked.push(scopes);
        const refused = scopes.split(" ").some((s) => !issuer.granted.includes(s));
        if (!refused) codes.set(code, asked);
        back.search = new URLSearchParams(refused ? { error: "invalid_scope", state } : { code, state });
        return answer.writeHead(302, { Location: back.href }).end();
      }
      case "/token": {
        let body = "";
        request.on("data", (d) => { body += d; }).on("end", () => {
          const form = new URLSearchParams(body);
          const asked = codes.get(form.get("code"));
          codes.delete(form.get("code"));
          const challenge = crypto.createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
          if (!asked || asked.get("code_challenge") !== challenge || asked.get("client_id") !== clientID) return json({ error: "invalid_grant" }, 400);
          const now = Math.floor(Date.now() / 1000);
          const text = `${encode({ alg: "RS256", kid: "one" })}.${encode({ iss: issuer.url, aud: clientID, sub: user, iat: now, exp: now + 600 })}`;
          json({ id_token: `${text}.${crypto.sign("sha256", Buffer.from(text), privateKey).toString("base64url")}` });
        });
        return undefined;
      }
      default:
        return json({}, 404);
    }
  });
  const issuer = { url: "", supported: undefined, granted: ["openid"], asked: [], stop: () => { for (const s of [server, tokens]) { s.close(); s.closeAllConnections(); } } };
  const [server, tokens] = [serve(), serve()];
  for (const s of [server, tokens]) await once(s.listen(0, "127.0.0.1"), "listening");
  issuer.url = urlOf(server);
  return issuer;
}
