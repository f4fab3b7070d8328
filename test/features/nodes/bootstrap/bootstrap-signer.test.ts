import assert from "node:assert/strict";
import { before, test } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { ConfigMap } from "../../../../src/features/core/config-maps.ts";
import type { Secret } from "../../../../src/features/core/secrets.ts";
import { bootstrapSigner } from "../../../../src/features/nodes/bootstrap/bootstrap-signer.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { waitForObject } from "../../../wait-for-object.ts";

const references = resourceReferences(platformNames);
let server: TestServer;
before(async () => (server = await startTestServer()));

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

const bootstrapToken = (id: string, data: Readonly<Record<string, string>> = {}): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: `bootstrap-token-${id}` },
  type: "bootstrap.platform.io/token",
  data: Object.fromEntries(
    Object.entries({
      "token-id": id,
      "token-secret": "my voice is my passcode",
      "usage-bootstrap-signing": "true",
      ...data,
    }).map(([key, value]) => [key, base64(value)]),
  ),
});

const clusterInfo = (data: Readonly<Record<string, string>>): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "cluster-info" },
  data,
});

async function clusterInfoWhen(isAsWanted: (data: Readonly<Record<string, string>>) => boolean): Promise<unknown> {
  const where = { namespace: "platform-public", name: "cluster-info" };
  const found = await waitForObject(server.client, references.configMaps, where, (object) =>
    isAsWanted(object?.data ?? {}),
  );
  return found?.data;
}

// The texts of upstream's own test of its signatures.
const content = "Hello from the other side. I must have called a thousand times.";
const signatureOfContent = "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8";
const signatureOfNothing = "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk";

test("cluster-info has a signature of each bootstrap token that may sign, and of no other, whatever changes", async () => {
  const secrets = server.client.resource(references.secrets, "platform-system");
  const configMaps = server.client.resource(references.configMaps, "platform-public");
  await secrets.create(bootstrapToken("expird", { expiration: "2001-01-01T00:00:00Z" }));
  await secrets.create(bootstrapToken("nosign", { "usage-bootstrap-signing": "false" }));
  await secrets.create(bootstrapToken("nobody", { "token-id": "others" }));
  await secrets.create({ ...bootstrapToken("opaque"), type: "Opaque" });
  await secrets.create(bootstrapToken("longids"));
  for (const id of ["public", "opaque"])
    await server.client.resource(references.secrets, "platform-public").create(bootstrapToken(id));
  await secrets.create(bootstrapToken("joshua", { expiration: "2999-01-01T00:00:00Z" }));
  await configMaps.create(
    clusterInfo({ kubeconfig: content, other: "kept", "jws-kubeconfig-nosign": "x", "jws-kubeconfig-nobody": "y" }),
  );
  const signed = await clusterInfoWhen((data) => "jws-kubeconfig-joshua" in data);
  assert.deepEqual(signed, { kubeconfig: content, other: "kept", "jws-kubeconfig-joshua": signatureOfContent });

  await configMaps.update(clusterInfo({ kubeconfig: "" }));
  const signedAgain = await clusterInfoWhen((data) => "jws-kubeconfig-joshua" in data && data["kubeconfig"] === "");
  assert.deepEqual(signedAgain, { kubeconfig: "", "jws-kubeconfig-joshua": signatureOfNothing });

  await secrets.delete("bootstrap-token-joshua");
  assert.deepEqual(await clusterInfoWhen((data) => !("jws-kubeconfig-joshua" in data)), { kubeconfig: "" });
});

test("requests continue while cluster-info is signed with many tokens", async (t) => {
  const tokens = 200;
  const quiet = await startTestServer({ settings: { controllers: false } });
  const secrets = quiet.client.resource(references.secrets, "platform-system");
  for (let index = 0; index < tokens; index += 1) await secrets.create(bootstrapToken(String(100_000 + index)));
  const loop = await runLoop(quiet, bootstrapSigner, { time: new ManualTime() });
  t.after(() => loop.stop());
  const configMaps = quiet.client.resource(references.configMaps, "platform-public");
  let milliseconds = 0;
  t.mock.method(performance, "now", () => (milliseconds += 10)); // each signature takes a turn
  const turns = await turnsDuring(async () => {
    await configMaps.create(clusterInfo({ kubeconfig: content }));
    await waitForObject(
      quiet.client,
      references.configMaps,
      { namespace: "platform-public", name: "cluster-info" },
      (object) => {
        return Object.keys(object?.data ?? {}).length === tokens + 1;
      },
    );
  });
  assert.ok(turns >= tokens, `${turns} turns`);
});
