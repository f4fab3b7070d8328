import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { parse } from "yaml";
import { WorkQueue } from "../../src/machinery/loops/work-queue.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { InProcess } from "../server/in-process.ts";

const folder = join(import.meta.dirname, "../../docs/monitoring");
const rulesFile = join(folder, "alerts.yaml");

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const rules = (parse(readFileSync(rulesFile, "utf8")) as Rules).groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8")) as Dashboard;

/** Every metric that an expression reads; `up` is Prometheus' own. */
const metricsOf = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:signet|apiserver|nodejs|process|workqueue)_\w+/g)].map(([name]) => name);

/** How often a loop retries a key that always fails, in the last ten minutes of an hour. */
async function retriesOfTenMinutes(): Promise<number> {
  const count = { depth: 0, adds: 0, retries: 0 };
  const timers: { readonly run: () => void; readonly milliseconds: number }[] = [];
  const queue = new WorkQueue({
    count,
    reconcile: () => Promise.reject(new Error("it always fails")),
    onError() {},
    schedule(run, milliseconds) {
      timers.push({ run, milliseconds });
      return () => {};
    },
  });
  queue.add("key");
  let retriesBefore = 0;
  for (let minutes = 0; minutes < 60;) {
    await queue.whenIdle();
    const timer = timers.shift();
    assert.ok(timer !== undefined);
    if (minutes < 50) retriesBefore = count.retries;
    minutes += timer.milliseconds / 60_000;
    timer.run();
  }
  await queue.whenIdle();
  return count.retries - retriesBefore;
}

describe("the alert rules and the dashboard", () => {
  let server: TestServer;
  let exported: ReadonlySet<string>;

  before(async () => {
    server = await startTestServer({ settings: { "audit-log-path": "/dev/null" } });
    const text = String((await new InProcess(server).send("/metrics")).body);
    const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    exported = new Set(
      families.flatMap(([, name = "", type]) =>
        type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name],
      ),
    );
  });

  const expressions = [
    ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: title, expr }))),
  ];

  it("read only metrics that the server exports", () => {
    for (const { where, expr } of expressions) {
      const read = metricsOf(expr);
      assert.ok(read.length > 0 || expr.includes("up{"), `${where} reads no metric`);
      for (const name of read) assert.ok(exported.has(name), `${where} reads ${name}`);
    }
  });

  it("read metrics that other programs export too from Signet alone", () => {
    for (const { where, expr } of expressions) {
      for (const [selected] of expr.matchAll(/\b(?:apiserver|nodejs|process|workqueue)_\w+(?:\{[^}]*\})?/g)) {
        assert.match(selected, /\{job="signet"[,}]/, where);
      }
    }
  });

  it("are all of the server's own metrics, so that every metric has a use", () => {
    const read = new Set(expressions.flatMap(({ expr }) => metricsOf(expr)));
    const unread = [...exported].filter((name) => /^(?:signet|workqueue)_/.test(name) && !read.has(name));
    assert.deepEqual(unread, ["signet_storage_compacted_revision"]);
  });

  it("tell of a loop that always fails with one object", async () => {
    const { expr = "" } = rules.find(({ alert }) => alert === "SignetLoopFails") ?? {};
    const [, threshold] = /rate\(workqueue_retries_total\{job="signet"\}\[10m\]\)\) > ([\d.]+)$/.exec(expr) ?? [];
    const retriesPerSecond = (await retriesOfTenMinutes()) / 600;
    assert.ok(retriesPerSecond > Number(threshold), `${retriesPerSecond} retries a second`);
  });

  it("are what Prometheus itself can read, as far as that can be asked here", () => {
    const { error, status, stdout, stderr } = spawnSync("promtool", ["check", "rules", rulesFile], {
      encoding: "utf8",
    });
    if (error === undefined) return assert.equal(status, 0, stdout + stderr);
    // Without promtool: each expression has its brackets and quotes in pairs.
    for (const { where, expr } of expressions) {
      for (const [open, close] of ["()", "{}", "[]"].map((pair) => pair.split(""))) {
        assert.equal(expr.split(open ?? "").length, expr.split(close ?? "").length, where);
      }
      assert.equal(expr.split('"').length % 2, 1, where);
    }
  });
});
