import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import type { Transport } from "../../../src/machinery/client/transport.ts";
import type { ElectedState } from "../../../src/machinery/loops/elected-controllers.ts";
import { QueueCounts } from "../../../src/machinery/loops/work-queue.ts";
import { openControllersStatus } from "../../../src/server/controllers/controllers-status.ts";
import type { ControllersStatus } from "../../../src/server/controllers/controllers-status.ts";

describe("the status of signet controllers", () => {
  let state: ElectedState = "starting";
  let isServerAway = false;
  let status: ControllersStatus;
  let observed: Transport;
  const queueCounts = new QueueCounts();
  const server: Transport = {
    async send() {
      if (isServerAway) throw new Error("cannot reach the server");
      return { status: 403, headers: {}, body: (async function* () {})() };
    },
    close: () => {},
  };
  const get = async (path: string, method = "GET"): Promise<readonly [number, string]> => {
    const answer = await fetch(`${status.url}${path}`, { method });
    return [answer.status, await answer.text()];
  };

  before(async () => {
    const log = pino({ level: "silent" });
    status = await openControllersStatus({
      address: { host: "127.0.0.1", port: 0 },
      log,
      queueCounts,
      state: () => state,
    });
    observed = status.observed(server);
  });
  after(() => status.close());

  it("is always live, and is ready when it runs or stands by and the server answers", async () => {
    assert.deepEqual(await get("/readyz"), [503, "the controllers have not read all objects yet\n"]);
    for (state of ["running", "standby"] as const) assert.deepEqual(await get("/readyz"), [200, "ok"]);
    isServerAway = true;
    await assert.rejects(observed.send({ method: "GET", path: "/" }));
    assert.deepEqual(await get("/readyz"), [503, "cannot reach the server\n"]);
    for (const path of ["/livez", "/healthz"]) assert.deepEqual(await get(path), [200, "ok"]);
    isServerAway = false;
    await observed.send({ method: "GET", path: "/" });
    assert.deepEqual(await get("/readyz"), [200, "ok"]);
  });

  it("ignores a request that was cancelled", async () => {
    isServerAway = true;
    await assert.rejects(observed.send({ method: "GET", path: "/", signal: AbortSignal.abort() }));
    assert.deepEqual(await get("/readyz"), [200, "ok"]);
    isServerAway = false;
  });

  it("has metrics of the loops' queues, and of whether they run here", async () => {
    queueCounts.of("csrsigning").adds = 3;
    state = "running";
    const [code, text] = await get("/metrics");
    assert.equal(code, 200);
    assert.match(text, /^workqueue_adds_total\{name="csrsigning"\} 3$/m);
    assert.match(text, /^leader_election_master_status\{name="signet-controllers"\} 1$/m);
  });

  it("serves nothing else, and is only read", async () => {
    assert.equal((await get("/debug"))[0], 404);
    assert.equal((await get("/metrics", "POST"))[0], 405);
    assert.deepEqual(await get("/livez", "HEAD"), [200, ""]);
  });
});
