import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https-transport.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

/** The tested parts of an event of audit.k8s.io/v1. */
interface AuditEvent {
  readonly kind: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly responseStatus: { readonly code: number; readonly reason?: string; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

describe("the audit log", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-audit-"));
  const path = join(folder, "audit.log");
  let server: TestServer;
  let client: ApiClient;
  const configMaps = "/api/v1/namespaces/default/configmaps";

  const clientWith = (bearerToken: string | undefined): ApiClient =>
    new ApiClient(
      httpsTransport({
        server: server.url,
        caCertificates: server.caCertificates,
        ...(bearerToken !== undefined && { bearerToken: () => bearerToken }),
      }),
    );

  /** The events of a request, found by its unique user agent or path, once `count` of them are written. */
  const eventsOf = async (wanted: (event: AuditEvent) => boolean, count = 1): Promise<AuditEvent[]> => {
    for (;;) {
      const lines = readFileSync(path, "utf8").split("\n");
      // A line may be half there while it is written.
      lines.pop();
      const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(wanted); // written by the server
      if (events.length >= count) return events;
      await new Promise(setImmediate);
    }
  };

  before(async () => {
    server = await startTestServer({ settings: { "audit-log-path": path } });
    client = clientWith(server.adminToken);
  });

  after(async () => {
    client.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("names the created object and the rule that allowed it, promptly and without an empty line", async () => {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } };
    const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>("POST", configMaps, {
      body,
    });
    const [event] = await eventsOf(({ verb, user }) => verb === "create" && user.username === "admin");
    assert.equal(event?.kind, "Event");
    assert.equal(event.stage, "ResponseComplete");
    assert.equal(event.objectRef?.name, metadata.name);
    assert.equal(event.objectRef.uid, metadata.uid);
    assert.equal(event.annotations?.["authorization.k8s.io/decision"], "allow");
    assert.match(event.requestReceivedTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    await client.request("DELETE", `${configMaps}/${metadata.name}`);
    const [deletion] = await eventsOf(({ verb, user }) => verb === "delete" && user.username === "admin");
    assert.equal(deletion?.objectRef?.uid, metadata.uid);
    await client.request("DELETE", `${configMaps}?labelSelector=a%3Db&dryRun=All`);
    const [collection] = await eventsOf(({ verb, user }) => verb === "deletecollection" && user.username === "admin");
    assert.equal(collection?.requestURI, `${configMaps}?labelSelector=a%3Db&dryRun=All`);
  });

  it("contains failed logins and refusals with their reason, and no credential", async () => {
    const stranger = clientWith("wrong-secret");
    await assert.rejects(stranger.request("GET", "/api/v1/namespaces/x?access_token=wrong-secret&token=wrong-secret"));
    stranger.close();
    const [login] = await eventsOf(({ requestURI }) => requestURI === "/api/v1/namespaces/x");
    assert.deepEqual(login?.user, {});
    assert.equal(login.responseStatus.message, "Authentication failed, attempted: bearer");
    assert.deepEqual([login.responseStatus.code, login.responseStatus.reason], [401, "Unauthorized"]);
    assert.equal(login.annotations, undefined);

    const anonymous = clientWith(undefined);
    await assert.rejects(anonymous.request("GET", "/api/v1/secrets"), (error) => error instanceof ApiError);
    anonymous.close();
    const [refused] = await eventsOf(
      ({ requestURI, responseStatus }) => requestURI === "/api/v1/secrets" && responseStatus.code === 403,
    );
    assert.equal(refused?.annotations?.["authorization.k8s.io/decision"], "forbid");
    assert.ok(!readFileSync(path, "utf8").includes("wrong-secret"));
  });

  it("tells of a watch when it begins and when it ends, by one id", async () => {
    const stopping = new AbortController();
    const watching = clientWith(server.adminToken);
    const namespaces = watching.resource({
      group: "",
      version: "v1",
      plural: "namespaces",
      kind: "Namespace",
      scope: "Cluster",
    });
    for await (const _ of namespaces.watch({ resourceVersion: "0" }, stopping.signal)) break;
    stopping.abort();
    watching.close();
    const isMine = ({ verb, user }: AuditEvent): boolean => verb === "watch" && user.username === "admin";
    const events = await eventsOf(isMine, 2);
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["ResponseStarted", "ResponseComplete"],
    );
    assert.equal(events[0]?.auditID, events[1]?.auditID);
  });

  it("is counted among the metrics", async () => {
    const text = await client.text("/metrics");
    assert.match(text, /^apiserver_audit_event_total [1-9]\d*$/m);
    assert.match(text, /^apiserver_audit_error_total\{plugin="log"\} 0$/m);
  });
});
