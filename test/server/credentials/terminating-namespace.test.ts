import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { resourceReferences } from "../../resource-references.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const references = resourceReferences(names);
const sparse = (object: object): never => object as never; // the server fills in the rest

describe("a namespace that is being deleted", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
    const { client } = server;
    await client.resource(references.namespaces).create(sparse({ metadata: { name: "ending" } }));
    const kept = { metadata: { name: "kept", finalizers: ["example.com/wait"] } };
    await client.resource(references.serviceAccounts, "ending").create(sparse(kept));
    await client.resource(references.namespaces).delete("ending");
  });

  const refused = (operation: Promise<unknown>): Promise<void> =>
    assert.rejects(
      operation,
      (error) => error instanceof ApiError && error.code === 403 && /terminated/.test(error.message),
    );

  it("issues no token for its remaining accounts, by request or by Secret", async () => {
    const accounts = server.client.resource(references.serviceAccounts, "ending");
    assert.ok(await accounts.get("kept"));
    const request = { apiVersion: `${names.group("authentication")}/v1`, kind: "TokenRequest", metadata: {}, spec: {} };
    await refused(accounts.createSubresource("kept", { subresource: "token", object: request }));
    const annotations = { [names.key("service-account.name")]: "kept" };
    const secret = { metadata: { name: "token", annotations }, type: names.key("service-account-token") };
    await refused(server.client.resource(references.secrets, "ending").create(sparse(secret)));
  });
});
