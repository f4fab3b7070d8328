import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { serviceAccountTokenSecrets } from "../../../src/features/accounts/service-account-token-secrets.ts";
import type { Secret } from "../../../src/features/core/index.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ManualTime } from "../../manual-time.ts";
import { resourceReferences } from "../../resource-references.ts";
import { runLoop } from "../../run-loop.ts";
import type { RunningLoop } from "../../run-loop.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";

const references = resourceReferences(platformNames);
const namespace = "default";
const tokenType = "platform.io/service-account-token";
const nameKey = "platform.io/service-account.name";
const listed = [{ name: "shared" }, { name: "stale" }];

describe("the loop of token Secrets", () => {
  const time = new ManualTime();
  let caCertificates = "first";
  /** What the tokens of some Secrets wait for. */
  const held = Promise.withResolvers<void>();
  let server: TestServer;
  let loop: RunningLoop;
  before(async () => {
    server = await startTestServer({ settings: { controllers: "false" } });
    await server.client
      .resource(references.serviceAccounts, namespace)
      .create({ metadata: { name: "robot" }, secrets: listed });
    const controller = serviceAccountTokenSecrets({
      caCertificates: () => caCertificates,
      async issueToken(_account, { metadata }) {
        if (metadata.name?.startsWith("held") === true) await held.promise;
        return "a token";
      },
    });
    loop = await runLoop(server, controller, { time });
  });
  after(async () => {
    held.resolve();
    await loop.stop();
    await server.stop();
  });

  const secrets = () => server.client.resource(references.secrets, namespace);
  const create = (name: string, more: Partial<Secret> = {}): Promise<Secret> =>
    secrets().create({
      type: tokenType,
      ...more,
      metadata: { annotations: { [nameKey]: "robot" }, ...more.metadata, name },
    });
  const text = (secret: Secret | undefined, key: string): string =>
    Buffer.from(secret?.data?.[key] ?? "", "base64").toString();
  const filled = (name: string, ca = caCertificates): Promise<Secret | undefined> =>
    waitForObject(server.client, references.secrets, { namespace, name }, (found) => text(found, "ca.crt") === ca);
  const listedByAccount = async () =>
    (await server.client.resource(references.serviceAccounts, namespace).get("robot")).secrets;
  /** Resolves when the loop has seen every change so far, and has done what follows from it. */
  const settled = async (marker: string): Promise<void> => {
    await create(marker);
    await filled(marker);
    await loop.queue.whenIdle();
  };

  it("fills them again when the server has other CAs, and keeps their tokens", async () => {
    await create("one");
    assert.equal(text(await filled("one"), "token"), "a token");
    await settled("after-one");
    caCertificates = "second";
    time.pass(5000);
    assert.equal(text(await filled("one"), "token"), "a token");
  });

  it("leaves one that is being deleted as it is", async () => {
    await create("kept", { metadata: { finalizers: ["example.com/hold"] } });
    await filled("kept");
    await secrets().delete("kept");
    await secrets().patch("kept", { body: { data: { "ca.crt": "Zm9yZ2Vk" } } });
    await settled("after-kept");
    assert.equal(text(await secrets().get("kept"), "ca.crt"), "forged");
  });

  it("leaves a deleted Secret of another type in the list of the account that it names", async () => {
    await create("shared", { type: "Opaque" });
    await secrets().delete("shared");
    await settled("after-shared");
    assert.deepEqual(await listedByAccount(), listed);
  });

  it("leaves a deleted one of an earlier account in the list of the account that has its name", async () => {
    const annotations = { [nameKey]: "robot", "platform.io/service-account.uid": "another" };
    await create("stale", { metadata: { annotations } });
    await waitForObject(
      server.client,
      references.secrets,
      { namespace, name: "stale" },
      (found) => found === undefined,
    );
    await settled("after-stale");
    assert.deepEqual(await listedByAccount(), listed);
  });

  it("neither fills nor deletes a Secret of another type that takes the name of one before its turn", async () => {
    await create("replaced");
    await filled("replaced");
    // The loop works on four at a time.
    for (const name of ["held-1", "held-2", "held-3", "held-4"]) await create(name);
    await secrets().delete("replaced");
    await create("replaced", { type: "Opaque" });
    held.resolve();
    await settled("after-replaced");
    assert.equal((await secrets().get("replaced")).data, undefined);
  });
});
