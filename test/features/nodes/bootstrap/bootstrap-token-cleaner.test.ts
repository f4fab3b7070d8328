import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, test } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../../resource-references.ts";
import { bootstrapTokenCleaner } from "../../../../src/features/nodes/bootstrap/bootstrap-token-cleaner.ts";
import { bootstrapTokenEnd } from "../../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import type { Secret } from "../../../../src/features/core/secrets.ts";
import { timestamp } from "../../../../src/machinery/api/clock.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import type { RunningLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { waitForObject } from "../../../wait-for-object.ts";

const references = resourceReferences(platformNames);
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

describe("a bootstrap token that has expired", () => {
  const now = Date.parse("2026-01-11T00:00:00Z");
  const [hour, day] = [3_600_000, 24 * 3_600_000];
  const secrets = () => server.client.resource(references.secrets, "platform-system");
  const names = async (): Promise<readonly (string | undefined)[]> =>
    (await secrets().list()).items.map(({ metadata }) => metadata.name);
  const untilGone = (id: string): Promise<unknown> =>
    waitForObject(
      server.client,
      references.secrets,
      { namespace: "platform-system", name: `bootstrap-token-${id}` },
      (found) => found === undefined,
    );

  let time: ManualTime;
  let server: TestServer;
  let loop: RunningLoop;
  beforeEach(async () => {
    time = new ManualTime(now);
    server = await startTestServer({ settings: { controllers: false }, clock: time.clock });
    for (const [id, expiration] of [
      ["endles", undefined],
      ["future", "2999-01-01T00:00:00Z"],
      ["today0", timestamp(now + hour)],
    ] as const)
      await secrets().create(bootstrapToken(id, expiration));
    loop = await runLoop(server, bootstrapTokenCleaner, { time });
    await loop.queue.whenIdle();
  });
  afterEach(async () => {
    await loop.stop();
    await server.stop();
  });

  it("is deleted an hour later, and one that is valid or does not expire is kept", async () => {
    time.pass(hour);
    await loop.queue.whenIdle();
    time.pass(hour - 1);
    await loop.queue.whenIdle();
    assert.equal((await names()).length, 3);
    time.pass(1);
    await untilGone("today0");
    assert.deepEqual(await names(), ["bootstrap-token-endles", "bootstrap-token-future"]);
  });

  it("is kept when it had not, because the clock was ahead for less than an hour", async () => {
    time.setClock(2 * day);
    loop.queue.add("platform-system/bootstrap-token-today0");
    await loop.queue.whenIdle();
    time.setClock(-2 * day);
    time.pass(hour - 1);
    loop.queue.add("platform-system/bootstrap-token-today0");
    await loop.queue.whenIdle();
    time.pass(hour);
    await loop.queue.whenIdle();
    assert.equal((await names()).length, 3);
    time.pass(hour);
    await untilGone("today0");
  });

  it("is kept for an hour when it is made again with the name of one that was deleted", async () => {
    time.pass(hour);
    await loop.queue.whenIdle();
    time.pass(hour);
    await untilGone("today0");
    await loop.queue.whenIdle();
    await secrets().create(bootstrapToken("today0", timestamp(now)));
    await loop.queue.whenIdle();
    assert.equal((await names()).length, 3);
    time.pass(hour);
    await untilGone("today0");
  });

  it("leaves a Secret of another type that was made with its name", async () => {
    await secrets().delete("bootstrap-token-today0");
    await secrets().create({ ...bootstrapToken("today0", timestamp(now + hour)), type: "Opaque" });
    for (let passed = 0; passed < 3; passed++) {
      time.pass(hour);
      await loop.queue.whenIdle();
    }
    assert.equal((await names()).length, 3);
  });
});

test("a bootstrap token whose end can't be read has ended", () => {
  assert.equal(bootstrapTokenEnd("tomorrow"), 0);
});
