import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { protocols, sendThenLeave } from "../../machinery/http/leaving-client.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { auditEvents } from "./audit-events.ts";
import type { AuditEvent } from "./audit-events.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

/** With the stage RequestReceived, which says that the server has the request. */
const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] };
const configMaps = "/api/v1/namespaces/default/configmaps";

for (const mode of ["blocking", "batch"] as const) {
  describe(`the audit log in ${mode} mode, of requests whose clients leave before the answer,`, () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-aborted-"));
    const path = join(folder, "audit.log");
    let server: TestServer;
    /** The admission of a held object: `begun` when it is asked, and it lets the object pass when `over` resolves. */
    let held = { begun: Promise.withResolvers<void>(), over: Promise.withResolvers<void>() };
    let requests = 0;
    before(async () => {
      const policyFile = join(folder, "policy.json");
      writeFileSync(policyFile, JSON.stringify(policy));
      server = await startTestServer({
        settings: {
          "audit-log-path": path,
          "audit-policy-file": policyFile,
          "audit-log-mode": mode,
          "audit-log-batch-max-wait": "1ms",
        },
        admission: [
          {
            name: "Hold",
            async validate({ name }) {
              if (!name.startsWith("held")) return;
              held.begun.resolve();
              await held.over.promise;
            },
          },
        ],
      });
    });
    after(async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Begins a request. Its events, once there are so many, as stage and code. */
    const begin = (request: Omit<Parameters<typeof sendThenLeave>[1], "headers">) => {
      const id = `${mode}-${++requests}`;
      const authorization = `Bearer ${server.adminToken}`;
      const headers = { "audit-id": id, "content-type": "application/json", authorization };
      const leave = sendThenLeave(Number(new URL(server.url).port), { ...request, headers });
      const events = async (count: number): Promise<(string | number)[][]> => {
        const found = await auditEvents(path, ({ auditID }) => auditID === id, count);
        return found.map(({ stage, responseStatus }) => (responseStatus ? [stage, responseStatus.code] : [stage]));
      };
      return { leave, events };
    };

    for (const protocol of protocols) {
      it(`records the outcome of a request (${protocol})`, async () => {
        held = { begun: Promise.withResolvers(), over: Promise.withResolvers() };
        const name = `held-${requests}`;
        const sent = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
        // A write would be given up, with 504, if the server knew before it that the client is gone.
        const path = `${configMaps}?dryRun=All`;
        const { leave, events } = begin({ protocol, path, contentLength: sent.length, sent });
        await held.begun.promise;
        leave();
        held.over.resolve();
        assert.deepEqual(await events(2), [["RequestReceived"], ["ResponseComplete", 201]]);
      });

      it(`records a failure for half a body (${protocol})`, async () => {
        const { leave, events } = begin({ protocol, path: configMaps, contentLength: 100, sent: "{" });
        await events(1);
        leave();
        assert.deepEqual(await events(2), [["RequestReceived"], ["ResponseComplete", 400]]);
      });

      it(`records the start and the end of a watch (${protocol})`, async () => {
        const { leave, events } = begin({ protocol, method: "GET", path: `${configMaps}?watch=true` });
        await events(1);
        leave();
        const expected = [["RequestReceived"], ["ResponseStarted", 200], ["ResponseComplete", 200]];
        assert.deepEqual(await events(3), expected);
      });
    }
  });
}

describe("the audit log of a server that stops", () => {
  const folder = temporaryFolder();

  for (const protocol of protocols) {
    it(`has the outcome of a request that it cuts off (${protocol})`, async () => {
      const path = join(folder, `${protocol.replace("/", "-")}.log`);
      const policyFile = join(folder, "policy.json");
      writeFileSync(policyFile, JSON.stringify(policy));
      const server = await startTestServer({ settings: { "audit-log-path": path, "audit-policy-file": policyFile } });
      const authorization = `Bearer ${server.adminToken}`;
      const headers = { "audit-id": "cut off", "content-type": "application/json", authorization };
      const port = Number(new URL(server.url).port);
      sendThenLeave(port, { protocol, path: configMaps, headers, contentLength: 100, sent: "{" });
      const isOfRequest = ({ auditID }: AuditEvent): boolean => auditID === "cut off";
      await auditEvents(path, isOfRequest);
      await server.stop();
      const stages = (await auditEvents(path, isOfRequest)).map(({ stage }) => stage);
      assert.deepEqual(stages, ["RequestReceived", "ResponseComplete"]);
    });
  }
});
