import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../src/machinery/client/https/https-transport.ts";
import { readText } from "../../../src/machinery/client/transport.ts";
import { mergeMetrics } from "../../../src/machinery/http/metrics/merge-metrics.ts";
import { traced } from "../../../src/machinery/tracing/loop-trace.ts";
import { exportTraces } from "../../../src/machinery/trace-export/export-traces.ts";
import { traceExportSettings } from "../../../src/machinery/trace-export/trace-export-settings.ts";
import { openTlsSite } from "../../features/federation/tls-site.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { environmentProxy } from "../../machinery/client/https/refusing-proxy.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, string>> }[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<Span, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parent = "00f067aa0ba902b7";
const version = "/version";
const service = { name: "signet", version: "1.2.3" };

describe("traces for a collector", () => {
  const warnings: object[] = [];
  let onWarning: () => void = () => {};
  let answer: RequestListener;
  let exports: { readonly body: Export; readonly header: string | undefined }[] = [];
  const collector = createServer((request, response) => answer(request, response));
  let server: TestServer;
  let api: InProcess;
  let end: () => Promise<void>;

  const takes: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Export; // sent by the exporter
      exports.push({ body, header: request.headers["x-tenant"]?.toString() });
      response.end("{}");
    });
  };
  const spans = (): Span[] =>
    exports.flatMap(({ body }) =>
      body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans)),
    );
  const exporting = (environment: Readonly<Record<string, string>> = {}): void => {
    const { port } = collector.address() as AddressInfo; // it listens on a port
    const settings = traceExportSettings(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`,
        OTEL_BSP_SCHEDULE_DELAY: "1",
        ...environment,
      },
      service,
    );
    assert.ok(settings);
    const warn = (fields: object): void => {
      warnings.push(fields);
      onWarning();
    };
    end = exportTraces(settings, { warn, info: () => {}, error: () => {} });
  };
  const traceparent = (flags: string): object => ({ headers: { traceparent: `00-${traceId}-${parent}-${flags}` } });

  before(async () => {
    server = await startTestServer({ settings: { controllers: "-*" } });
    api = new InProcess(server);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    await api.send("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
    collector.listen(0, "127.0.0.1");
    await once(collector, "listening");
  });

  beforeEach(() => {
    answer = takes;
    exports = [];
  });

  after(async () => {
    await server.stop();
    collector.closeAllConnections();
    collector.close();
  });

  it("contain a request and its steps in the trace of the caller, and no secret", async () => {
    exporting({
      OTEL_SERVICE_NAME: "identity",
      OTEL_RESOURCE_ATTRIBUTES: "region=eu%20west,broken",
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=one",
    });
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const target = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    const issued = await api.send(target, { method: "POST", body, ...traceparent("01") });
    await end();
    const root = spans().find(({ name, parentSpanId }) => name === "POST" && parentSpanId === parent);
    assert.ok(root);
    assert.equal(root.traceId, traceId);
    const steps = spans().filter(({ parentSpanId }) => parentSpanId === root.spanId);
    const names = new Set(steps.map(({ name }) => name));
    for (const step of ["authenticate", "authorize", "decode", "sign", "encode"]) assert.ok(names.has(step), step);
    assert.equal(steps[0]?.startTimeUnixNano.length, 19);
    for (const [index, step] of steps.entries()) {
      assert.equal(step.endTimeUnixNano, steps[index + 1]?.startTimeUnixNano ?? root.endTimeUnixNano);
    }
    const values = new Map(root.attributes.map(({ key, value }) => [key, value["stringValue"] ?? value["intValue"]]));
    assert.deepEqual(
      [values.get("url.path"), values.get("http.response.status_code"), values.get("enduser.id")],
      [target, "201", "admin"],
    );
    assert.equal(values.get("signet.audit_id"), issued.headers["audit-id"]);
    assert.equal(exports[0]?.header, "one");
    const resource = exports[0].body.resourceSpans[0]?.resource.attributes.map(({ key, value }) => [
      key,
      value["stringValue"],
    ]);
    assert.deepEqual(resource?.slice(1), [
      ["service.name", "identity"],
      ["region", "eu west"],
    ]);
    const text = JSON.stringify(exports);
    for (const secret of [server.adminToken, "eyJ"]) assert.ok(!text.includes(secret));
  });

  it("break off a collector that never answers, or never ends its answer, when they end", async () => {
    const answers: RequestListener[] = [
      () => {},
      (_request, response) => {
        const more = (): boolean => response.write(Buffer.alloc(64 * 1024));
        response.on("drain", more);
        more();
      },
    ];
    for (const hostile of answers) {
      const { promise, resolve } = Promise.withResolvers<void>();
      answer = (request, response) => {
        response.on("close", resolve);
        hostile(request, response);
      };
      exporting({ OTEL_EXPORTER_OTLP_TIMEOUT: "3600000" });
      await api.send(version, traceparent("01"));
      await end();
      await promise;
    }
  });

  it("are sampled as the sampler and the caller decide", async () => {
    exporting();
    await api.send(version, traceparent("00"));
    await api.send(version, { headers: { traceparent: "00-zz" } });
    await end();
    assert.deepEqual(
      [spans().some((span) => span.traceId === traceId), spans().some(({ name }) => name === "GET")],
      [false, true],
    );
    exports = [];
    exporting({ OTEL_TRACES_SAMPLER: "parentbased_always_off" });
    await api.send(version);
    await api.send(version, traceparent("01"));
    await end();
    assert.deepEqual(new Set(spans().map((span) => span.traceId)), new Set([traceId]));
    exports = [];
    // The last digits of the trace's id decide: 0x0e0e4736 is 5.5 % of the whole range.
    for (const [ratio, count] of [
      ["0.05", 0],
      ["0.06", 1],
    ] as const) {
      exporting({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: ratio });
      await api.send(version, traceparent("00"));
      await end();
      assert.equal(spans().filter(({ name }) => name === "GET").length, count, ratio);
    }
  });

  it("connect the run of a loop with its requests and the server's work for them", async () => {
    exporting();
    const transport = httpsTransport({ server: server.url, caCertificates: server.caCertificates });
    await traced("certificate", async () => {
      await readText((await transport.send({ method: "GET", path: version, query: "secret=1" })).body);
      await assert.rejects(new ApiClient(transport).request("/api/v1/secrets"));
      return "done";
    })("client");
    transport.close();
    await end();
    const named = (name: string, kind: number) => spans().filter((span) => span.name === name && span.kind === kind);
    const [run] = named("certificate", 1);
    assert.ok(run);
    const [sent, refused] = named("GET", 3);
    const [answered] = named("GET", 2);
    assert.deepEqual([sent?.parentSpanId, answered?.parentSpanId], [run.spanId, sent?.spanId]);
    assert.deepEqual(new Set([sent, refused, answered].map((span) => span?.traceId)), new Set([run.traceId]));
    assert.deepEqual(sent?.attributes, [
      { key: "http.request.method", value: { stringValue: "GET" } },
      { key: "url.path", value: { stringValue: version } },
      { key: "http.response.status_code", value: { intValue: "200" } },
    ]);
    assert.deepEqual(refused?.status, { code: 2 });
  });

  it("are exemplars of the latency histogram, in OpenMetrics only", async () => {
    const scrape = async (accept: string): Promise<[type: string, text: string]> => {
      const { headers, body } = await api.send("/metrics", { headers: { accept } });
      return [String(headers["content-type"]), String(body)];
    };
    const bucket =
      /^apiserver_request_duration_seconds_bucket\{.*\} \d+ # \{trace_id="4bf92f35.{24}"\} [\d.e-]+ \d+(\.\d+)?$/m;
    // As Prometheus asks.
    const both = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    exporting();
    await api.send("/apis", traceparent("01"));
    await end();
    const [type, text] = await scrape(both);
    assert.equal(type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert.match(text, bucket);
    assert.match(text, /^# TYPE apiserver_request counter$/m);
    assert.ok(text.endsWith("\n# EOF\n"));
    const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    assert.equal(new Set(families).size, families.length);
    for (const accept of ["", "*/*", "text/plain, application/openmetrics-text;q=0.5", "text/plain"]) {
      const [plainType, plain] = await scrape(accept);
      assert.deepEqual([plainType, plain.includes("trace_id")], ["text/plain; version=0.0.4; charset=utf-8", false]);
    }
    // Workers tell each other what `metricsText` gives.
    assert.match(mergeMetrics([await server.metricsText(), await server.metricsText()]), bucket);
  });

  it("delay no request while the collector is silent or refuses them, and say so", async () => {
    answer = (_request, response) => void response.writeHead(503).end();
    exporting({ OTEL_BSP_MAX_QUEUE_SIZE: "10" });
    for (let index = 0; index < 20; index++) assert.equal((await api.send(version)).status, 200);
    await end();
    assert.equal(spans().length, 0);
    assert.match(JSON.stringify(warnings), /"lostSpans":[1-9]/);
    answer = () => {};
    exporting({ OTEL_EXPORTER_OTLP_TIMEOUT: "1" });
    for (let index = 0; index < 20; index++) assert.equal((await api.send(version)).status, 200);
    await end();
  });

  it("continue after an answer that changes the protocol", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = (_request, response) => {
      answer = takes;
      response.writeHead(101, { connection: "upgrade", upgrade: "other" }).end(resolve);
    };
    exporting();
    await api.send(version, traceparent("01"));
    await promise;
    await api.send(version, traceparent("01"));
    await end();
    assert.ok(spans().length > 0);
  });

  it("go to a collector over HTTPS through the proxy of HTTPS_PROXY", async (context) => {
    const { asked } = await environmentProxy(context);
    exporting({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.invalid:4318" });
    await api.send(version);
    await end();
    assert.deepEqual([...new Set(asked)], ["collector.invalid:4318"]);
  });

  it("go to a collector whose CA is renewed while they are sent", async () => {
    await using collectorBefore = await openTlsSite();
    await using collectorNow = await openTlsSite();
    collectorNow.answer = takes;
    const file = join(temporaryFolder(), "ca.crt");
    writeFileSync(file, collectorBefore.caCertificate);
    exporting({ OTEL_EXPORTER_OTLP_ENDPOINT: collectorNow.url, OTEL_EXPORTER_OTLP_CERTIFICATE: file });
    const isLost = new Promise<void>((resolve) => (onWarning = resolve));
    await api.send(version);
    await isLost;
    assert.equal(spans().length, 0);
    writeFileSync(file, collectorNow.caCertificate);
    await api.send(version);
    await end();
    assert.ok(spans().length > 0);
  });

  it("go to the collector while the file of its CA is empty or half-written", async () => {
    await using site = await openTlsSite();
    site.answer = takes;
    const file = join(temporaryFolder(), "ca.crt");
    writeFileSync(file, site.caCertificate);
    for (const unfinished of ["", site.caCertificate.slice(0, -40)]) {
      exporting({ OTEL_EXPORTER_OTLP_ENDPOINT: site.url, OTEL_EXPORTER_OTLP_CERTIFICATE: file });
      writeFileSync(file, unfinished);
      exports = [];
      await api.send(version);
      await end();
      assert.ok(spans().length > 0, unfinished);
      writeFileSync(file, site.caCertificate);
    }
  });

  it("wait for no device in the place of the collector's CA", () => {
    for (const file of ["/dev/zero", "/dev", "/nowhere"]) {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://a.invalid", OTEL_EXPORTER_OTLP_CERTIFICATE: file };
      assert.throws(() => exporting(variables), new RegExp(`^UsageError: OTEL_EXPORTER_OTLP_CERTIFICATE: .*${file}`));
    }
  });

  it("are off without a collector, and refuse invalid variables", () => {
    const settingsOf = (environment: Readonly<Record<string, string>>) => traceExportSettings(environment, service);
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.test:4318" };
    assert.equal(settingsOf({}), undefined);
    assert.equal(settingsOf({ ...endpoint, OTEL_SDK_DISABLED: "true" }), undefined);
    assert.equal(settingsOf({ ...endpoint, OTEL_TRACES_EXPORTER: "none" }), undefined);
    assert.equal(settingsOf(endpoint)?.url.href, "https://collector.test:4318/v1/traces");
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector.test/here" };
    assert.equal(settingsOf({ ...endpoint, ...traces })?.url.href, "https://collector.test/here");
    for (const wrong of [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      { OTEL_TRACES_SAMPLER: "sometimes" },
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" },
      { OTEL_BSP_MAX_QUEUE_SIZE: "many" },
    ]) {
      const name = Object.keys(wrong).at(-1) ?? "";
      assert.throws(() => settingsOf({ ...endpoint, ...wrong }), new RegExp(`^UsageError: ${name}: `), name);
    }
  });
});
