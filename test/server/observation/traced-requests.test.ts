import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { before, describe, it, mock } from "node:test";
import { forbidden } from "../../../src/machinery/api/api-error.ts";
import type { TracedReconcile } from "../../../src/machinery/tracing/loop-trace.ts";
import { requestChannel, RequestTrace } from "../../../src/machinery/tracing/request-trace.ts";
import type { TracedRequest } from "../../../src/machinery/tracing/request-trace.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { SentRequest } from "../in-process.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, data: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

describe("a server whose diagnostics channels have subscribers", () => {
  let server: TestServer;
  let api: InProcess;

  before(async () => {
    server = await startTestServer({
      admission: [
        {
          name: "NoTrouble",
          validate({ object }) {
            if (object?.metadata.name === "trouble")
              throw forbidden({ group: "", resource: "configmaps" }, { name: "trouble", message: "no" });
          },
        },
      ],
    });
    api = new InProcess(server);
  });

  /** Returns the trace of one request. The controllers' requests continue meanwhile. */
  async function explained(target: string, sent: SentRequest = {}): Promise<TracedRequest> {
    const messages: TracedRequest[] = [];
    const collect = (message: unknown): void => void messages.push(message as TracedRequest);
    subscribe("signet:request", collect);
    try {
      await api.send(target, { ...sent, headers: { ...sent.headers, "audit-id": "the-one" } });
    } finally {
      unsubscribe("signet:request", collect);
    }
    const found = messages.filter(({ auditId }) => auditId === "the-one");
    assert.equal(found.length, 1);
    return found[0] as TracedRequest; // there is one
  }
  /** Without the wait for the cache: whether there is one depends on what the controllers write meanwhile. */
  const stepsOf = ({ steps }: TracedRequest): string[] =>
    steps.map(({ step }) => step).filter((step) => step !== "wait for fresh cache");
  const lastOf = ({ steps }: TracedRequest): string => {
    const { step, decided } = steps.at(-1) ?? { step: "", decided: "" };
    return `${step}: ${decided}`;
  };

  it("reports what each step of a create decided", async () => {
    const told = await explained(`${configMaps}?fieldManager=me`, { method: "POST", body: configMap("a") });
    assert.equal(told.method, "POST");
    assert.equal(told.uri, `${configMaps}?fieldManager=me`);
    assert.equal(told.user, "admin");
    assert.equal(told.status, 201);
    assert.deepEqual(stepsOf(told), [
      ...["parse", "authenticate", "impersonate", "authorize", "handle", "read body", "decode"],
      ...["mutating admission", "validation", "validating admission", "store", "encode"],
    ]);
    const decided = Object.fromEntries(told.steps.map((step) => [step.step, step.decided]));
    assert.match(decided["authenticate"] ?? "", /\badmin$/);
    assert.equal(decided["authorize"], "allow");
    assert.equal(decided["validating admission"], "allowed");
    assert.match(decided["store"] ?? "", /^revision \d+$/);
    assert.ok(told.steps.every(({ microseconds }) => Number.isInteger(microseconds) && microseconds >= 0));
  });

  it("reports the impersonated user of a request, and which rule allowed it", async () => {
    const told = await explained("/version", { headers: { "impersonate-user": "jane" } });
    assert.equal(told.user, "admin");
    const decided = Object.fromEntries(told.steps.map((step) => [step.step, step.decided]));
    assert.equal(decided["impersonate"], "jane");
    assert.match(decided["authorize"] ?? "", /^allow: .*ClusterRole "system:discovery"/);
  });

  it("reports which step refused a request, and why", async () => {
    const unknown = await explained("/api/v1/secrets", { token: "a-token-that-nobody-knows" });
    assert.equal(unknown.user, undefined);
    assert.match(lastOf(unknown), /^authenticate: .*refused: .*invalid bearer token.*; refused: 401 Unauthorized$/);

    const denied = await explained("/api/v1/secrets", { headers: { "impersonate-user": "jane" } });
    assert.match(lastOf(denied), /^authorize: noOpinion.*; refused: 403 Forbidden$/);

    const admission = await explained(configMaps, { method: "POST", body: configMap("trouble") });
    assert.equal(lastOf(admission), "validating admission: NoTrouble; refused: 403 Forbidden");

    const invalid = await explained(configMaps, { method: "POST", body: configMap("Not A Name") });
    assert.equal(lastOf(invalid), "validation: refused: 422 Invalid (metadata.name)");
    const unreadable = await explained(configMaps, { method: "POST", body: "{" });
    assert.equal(lastOf(unreadable), "decode: refused: 400 BadRequest");
  });

  it("never contains a token, a body, a header or a query parameter that is not the API's", async () => {
    const secrets = ["credential-of-request", "value-of-body", "value-of-header", "value-of-query", "value-of-patch"];
    const headers = { "x-custom": "value-of-header", cookie: "value-of-header" };
    const body = configMap("b", { key: "value-of-body" });
    const patch = { data: { key: "value-of-patch", "bad key": 7 } };
    const told = [
      await explained(`${configMaps}?access_token=value-of-query`, { method: "POST", body, headers }),
      await explained(`${configMaps}?access_token=value-of-query`, { token: "credential-of-request" }),
      await explained(`${configMaps}/b`, {
        ...{ method: "PATCH", body: patch, headers: { "content-type": "application/merge-patch+json" } },
      }),
      await explained(configMaps, { method: "POST", body: configMap("c", { "bad key": "value-of-body" }) }),
      await explained("/healthz?token=value-of-query"),
    ];
    const text = JSON.stringify(told);
    for (const secret of [...secrets, server.adminToken]) assert.ok(!text.includes(secret), secret);
  });

  it("reports what a loop did, or why it did nothing", async () => {
    const told: TracedReconcile[] = [];
    const collect = (message: unknown): void => void told.push(message as TracedReconcile);
    const outcomes = (controller: string, key: string): string[] =>
      told.filter((one) => one.controller === controller && one.key === key).map(({ outcome }) => outcome);
    subscribe("signet:loop", collect);
    try {
      await api.send("/api/v1/namespaces", {
        method: "POST",
        body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "told" } },
      });
      await eventually("the account", () => outcomes("serviceaccount", "told").includes("created the account"));
      await api.send("/api/v1/namespaces/told", {
        method: "PATCH",
        body: { metadata: { labels: { a: "b" } } },
        headers: { "content-type": "application/merge-patch+json" },
      });
      await eventually("no more work", () =>
        outcomes("serviceaccount", "told").includes("nothing to do: the account exists"),
      );
      assert.ok(told.every(({ microseconds }) => Number.isInteger(microseconds)));
    } finally {
      unsubscribe("signet:loop", collect);
    }
  });

  it("makes no trace, begins no step and publishes nothing without subscribers", async () => {
    const traced = (["run", "begin", "decided", "publish"] as const).map((name) =>
      mock.method(RequestTrace.prototype, name),
    );
    const counts = (): number[] => traced.map(({ mock: counted }) => counted.callCount());
    try {
      assert.equal(requestChannel.hasSubscribers, false);
      await api.send(configMaps, { method: "POST", body: configMap("unheard") });
      await api.send(configMaps);
      await api.send(`${configMaps}/unheard`, { token: "unknown" });
      assert.deepEqual(counts(), [0, 0, 0, 0]);
      // The counters are not blind: with a listener they count.
      await explained(`${configMaps}/unheard`);
      assert.ok(counts().every((count) => count > 0));
    } finally {
      mock.restoreAll();
    }
  });
});
