import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../resource-references.ts";
import { bootstrapTokenEnd } from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import type { Secret } from "../../../src/features/core/secrets.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";

const references = resourceReferences(platformNames);
let server: TestServer;
before(async () => (server = await startTestServer()));
after(() => server.stop());

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

const bootstrapToken = (id: string, expiration?: string): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: `bootstrap-token-${id}` },
  type: "bootstrap.platform.io/token",
  data: {
    "token-id": base64(id),
    "token-secret": base64("0123456789abcdef"),
    ...(expiration !== undefined && { expiration: base64(expiration) }),
  },
});

test("an expired bootstrap token is deleted, and one that is valid or does not expire is kept", async () => {
  const secrets = server.client.resource(references.secrets, "platform-system");
  await secrets.create(bootstrapToken("endles"));
  await secrets.create(bootstrapToken("future", "2999-01-01T00:00:00Z"));
  await secrets.create(bootstrapToken("expird", "2001-01-01T00:00:00Z"));
  const where = { namespace: "platform-system", name: "bootstrap-token-expird" };
  await waitForObject(server.client, references.secrets, where, (found) => found === undefined);
  assert.notEqual(await secrets.find("bootstrap-token-endles"), undefined);
  assert.notEqual(await secrets.find("bootstrap-token-future"), undefined);
});

test("a bootstrap token whose end can't be read has ended", () => {
  assert.equal(bootstrapTokenEnd("tomorrow"), 0);
});
