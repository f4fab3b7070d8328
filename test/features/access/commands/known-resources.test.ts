import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findResource, knownResources } from "../../../../src/features/access/commands/known-resources.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { UnreadableAnswer } from "../../../../src/machinery/client/transport.ts";

/** The client of a server whose list of groups, beside the core group, is this. `paths`: what it was asked for. */
function clientOf(groups: object): { readonly client: ApiClient; readonly paths: readonly string[] } {
  const paths: string[] = [];
  async function* text(json: object): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(json));
  }
  const client = new ApiClient({
    async send({ path }) {
      paths.push(path);
      const answer = path === "/apis" ? groups : { kind: "APIGroupDiscoveryList", metadata: {}, items: [] };
      return { status: 200, headers: {}, body: text(answer) };
    },
    close() {},
  });
  return { client, paths };
}

describe("the resources that a server is known to have", () => {
  it("are read in two answers, however many groups the server names", async () => {
    const resource = { resource: "widgets", responseKind: { kind: "Widget" }, scope: "Cluster" };
    const groups = Array.from({ length: 10_000 }, (_, number) => ({
      metadata: { name: `g${number}.example.com` },
      versions: [{ version: "v1", resources: [resource] }],
    }));
    const { client, paths } = clientOf({ kind: "APIGroupDiscoveryList", metadata: {}, items: groups });
    const known = await knownResources({ client, names: platformNames });
    assert.deepEqual(paths, ["/api", "/apis"]);
    const found = findResource(known, { wanted: "widget.g9999.example.com", names: platformNames });
    assert.equal(found?.resource, "widgets");
    assert.equal(found?.isNamespaced, false);
  });

  it("are not read from a server that lists its groups alone", async () => {
    const { client } = clientOf({ kind: "APIGroupList", groups: [{ name: "example.com" }] });
    await assert.rejects(knownResources({ client, names: platformNames }), UnreadableAnswer);
  });
});
