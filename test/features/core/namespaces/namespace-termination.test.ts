import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  namespaceTermination,
  nextCheckMilliseconds,
} from "../../../../src/features/core/namespaces/namespace-termination.ts";
import type { Namespace } from "../../../../src/features/core/namespaces/namespaces.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { storedResources } from "../../../../src/server/served-kinds.ts";
import { ManualTime } from "../../../manual-time.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { runLoop } from "../../../run-loop.ts";
import type { RunningLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";

const references = resourceReferences(platformNames);

describe("a namespace that is deleted", { concurrency: 1 }, () => {
  const time = new ManualTime();
  let server: TestServer;
  let loop: RunningLoop;
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
    const contents = storedResources(platformNames).filter(({ scope }) => scope === "Namespaced");
    loop = await runLoop(server, namespaceTermination({ contents }), { time });
  });
  after(async () => {
    await loop.stop();
    await server.stop();
  });

  const namespaces = () => server.client.resource(references.namespaces);
  const configMapsOf = (namespace: string) => server.client.resource(references.configMaps, namespace);
  const finalizers = ["example.com/hold"];
  const remove = async (name: string): Promise<void> => {
    await namespaces().delete(name);
    await time.whenTimerIsSet();
  };
  /** Lets time pass until a namespace is as it should be; undefined: gone. */
  const later = async (
    name: string,
    isAsWanted: (found: Namespace | undefined) => boolean,
  ): Promise<Namespace | undefined> => {
    for (let turn = 0; turn < 300; turn++) {
      const found = await namespaces().find(name);
      if (isAsWanted(found)) return found;
      time.pass(1000);
      await loop.queue.whenIdle();
    }
    return assert.fail(`the namespace ${name} did not become what was waited for`);
  };
  const isGone = (found: Namespace | undefined): boolean => found === undefined;
  const hasCondition =
    (wanted: string) =>
    (found: Namespace | undefined): boolean =>
      found?.status.conditions?.some(({ type, status }) => type === wanted && status === "True") === true;

  it("is emptied and removed, and accepts no new objects meanwhile", async () => {
    await namespaces().create({ metadata: { name: "left" }, spec: {} });
    const accounts = server.client.resource(references.serviceAccounts, "left");
    const configMaps = configMapsOf("left");
    await accounts.create({ metadata: { name: "robot" } });
    await configMaps.create({ metadata: { name: "held", finalizers } });
    // No garbage collector runs here.
    await configMaps.create({ metadata: { name: "parent", finalizers: ["foregroundDeletion"] } });
    await configMaps.create({ metadata: { name: "leaving", finalizers: ["orphan"] } });
    await remove("left");
    assert.notEqual(await accounts.find("robot"), undefined);
    const waiting = await later("left", hasCondition("NamespaceFinalizersRemaining"));
    assert.equal(await accounts.find("robot"), undefined);
    assert.deepEqual(
      waiting?.status.conditions
        ?.filter(({ status }) => status === "True")
        .map(({ reason, message }) => [reason, message]),
      [
        ["SomeResourcesRemain", "Some resources are remaining: configmaps. has 1 resource instances"],
        [
          "SomeFinalizersRemain",
          "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ],
      ],
    );
    await assert.rejects(configMaps.create({ metadata: { name: "late" } }), { code: 403 });
    await configMaps.patch("held", { body: { metadata: { finalizers: null } } });
    await later("left", isGone);
    assert.equal(await configMaps.find("held"), undefined);
  });

  it("keeps everything else while one of its Pods ends", async () => {
    await namespaces().create({ metadata: { name: "busy" }, spec: {} });
    const configMaps = configMapsOf("busy");
    await configMaps.create({ metadata: { name: "needed" } });
    const pods = server.client.resource(references.pods, "busy");
    await server.client.resource(references.serviceAccounts, "busy").create({ metadata: { name: "default" } });
    await pods.create({
      metadata: { name: "ending", finalizers },
      spec: { containers: [{ name: "one", image: "example.com/one", resources: {} }] },
    });
    await remove("busy");
    const waiting = await later("busy", hasCondition("NamespaceContentRemaining"));
    assert.equal(
      waiting?.status.conditions?.find(({ type }) => type === "NamespaceContentRemaining")?.message,
      "Some resources are remaining: pods. has 1 resource instances",
    );
    assert.notEqual((await pods.get("ending")).metadata.deletionTimestamp, undefined);
    assert.equal((await configMaps.get("needed")).metadata.deletionTimestamp, undefined);
    await pods.patch("ending", { body: { metadata: { finalizers: null } } });
    await later("busy", isGone);
    assert.equal(await configMaps.find("needed"), undefined);
  });

  it("is removed although the server's clock was an hour ahead when it was deleted", async () => {
    await namespaces().create({ metadata: { name: "ahead" }, spec: {} });
    time.setClock(-3_600_000);
    await namespaces().delete("ahead");
    await later("ahead", isGone);
  });
});

it("a namespace whose objects do not go away is looked at every second at first, and then less often", () => {
  assert.deepEqual(
    [0, 5000, 10_000, 50_000, 600_000, 86_400_000].map(nextCheckMilliseconds),
    [1000, 1000, 1000, 5000, 10_000, 10_000],
  );
  let checks = 0;
  for (let passed = 5000; passed < 3_600_000; passed += nextCheckMilliseconds(passed)) checks += 1;
  assert.ok(checks < 400, `${checks} in an hour`);
});
