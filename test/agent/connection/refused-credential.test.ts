import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { refusalText } from "../../../src/agent/connection/refused-credential.ts";
import { forbidden } from "../../../src/machinery/api/api-error.ts";
import { newPair } from "../new-pair.ts";

describe("the node's client certificate", () => {
  const nodes = { group: "", resource: "nodes" };
  const anonymous = forbidden(nodes, { message: 'User "system:anonymous" cannot create resource "nodes"' });

  it("is said not to have come when the server takes its owner for anonymous, as behind a proxy that ends TLS", () => {
    const credential = { type: "node certificate", pair: newPair(), now: 0, next: "" } as const;
    assert.match(
      refusalText(anonymous, credential),
      /^the server did not get the node's client certificate \w+, .+"system:anonymous" .+: a proxy or a load balancer between them must pass TLS through$/,
    );
  });

  it("is not missed where none was sent", () => {
    const credential = { type: "node certificate", pair: undefined, now: 0, next: "" } as const;
    assert.match(refusalText(anonymous, credential), /^the server accepts a request without a client certificate, but/);
  });
});
