import assert from "node:assert/strict";
import { test } from "node:test";
import { webSocketToken } from "../../../src/machinery/authentication/bearer-token.ts";
import { forApiAudiences } from "../../../src/machinery/authentication/token-authentication.ts";
import { request } from "../../features/access/certificate-scene.ts";

test("a token of a WebSocket has one spelling: no other text that a lenient decoder takes for it is accepted", async () => {
  const alice = { username: "alice", groups: [], extra: {} };
  const find = (token: string) => (token === "abc" ? alice : undefined);
  const credential = webSocketToken(forApiAudiences(find, ["api"]), ["api"]);
  const outcomeOf = async (encoded: string): Promise<string> => {
    const headers = { "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${encoded}, x` };
    return (await credential.authenticate({ ...request(headers), isWebSocket: true })).outcome;
  };
  const encoded = Buffer.from("abc").toString("base64url");
  const afterByteOrderMark = Buffer.from("\u{FEFF}abc").toString("base64url");
  assert.equal(await outcomeOf(encoded), "authenticated");
  for (const other of [`${encoded}==`, `${encoded}A`, `Y..${encoded.slice(1)}`, afterByteOrderMark]) {
    assert.equal(await outcomeOf(other), "refused", other);
  }
});
