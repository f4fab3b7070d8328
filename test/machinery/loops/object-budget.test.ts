import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { Informer } from "../../../src/machinery/loops/informer.ts";
import { ObjectBudget, TooManyObjects } from "../../../src/machinery/loops/object-budget.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../resource-references.ts";

const { configMaps } = resourceReferences(platformNames);

const configMap = (name: string, { resourceVersion = "1", length = 1000 } = {}): ApiObject & { data: object } => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, resourceVersion },
  data: { text: "x".repeat(length) },
});

describe("a budget for objects", () => {
  it("has room again for what an object took that is deleted, or replaced by a smaller one", () => {
    const budget = new ObjectBudget(4000);
    const [small, large] = [configMap("a", { length: 1000 }), configMap("a", { length: 2500 })];
    budget.replace(undefined, large);
    assert.throws(() => budget.replace(undefined, small), TooManyObjects);
    budget.replace(large, small);
    budget.replace(undefined, small);
    budget.replace(small, undefined);
    budget.replace(small, large);
    assert.throws(() => budget.replace(large, configMap("a", { length: 5000 })), TooManyObjects);
  });

  it("counts the parts of objects too, however small each is", () => {
    const parts = (item: unknown): ApiObject & { data: object } => ({
      ...configMap("a"),
      data: Array(1000).fill(item),
    });
    for (const item of [[], {}, "", 1, null]) {
      assert.throws(() => new ObjectBudget(8000).replace(undefined, parts(item)), TooManyObjects);
    }
  });

  it("counts both bytes of each character of a text that needs two, and what V8 keeps for a name", () => {
    const withData = (data: object): ApiObject & { data: object } => ({ ...configMap("a"), data });
    const text = "x".repeat(2000);
    new ObjectBudget(4000).replace(undefined, withData({ text }));
    assert.throws(() => new ObjectBudget(4000).replace(undefined, withData({ text: `${text}\u0100` })), TooManyObjects);
    const names = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}-`, 1]));
    assert.throws(() => new ObjectBudget(60_000).replace(undefined, withData(names)), TooManyObjects);
  });

  it("fails the watch of an informer that has no room for another object, and not one whose objects change or go", async () => {
    const follow = async (
      eventOf: (event: number) => readonly [type: string, name: string],
    ): Promise<{ kept: number; error: unknown }> => {
      const stopping = new AbortController();
      let failure: unknown;
      async function* answer(isWatch: boolean): AsyncGenerator<Uint8Array> {
        if (!isWatch) return yield Buffer.from(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
        for (let event = 1; event <= 1000; event++) {
          const [type, name] = eventOf(event);
          const object = configMap(name, { resourceVersion: `${event}` });
          yield Buffer.from(`${JSON.stringify({ type, object })}\n`);
        }
        stopping.abort();
      }
      const client = new ApiClient({
        send: async ({ query = "" }) => ({ status: 200, headers: {}, body: answer(query.includes("watch=true")) }),
        close() {},
      });
      const informer = new Informer(client.resource<ApiObject>(configMaps), {
        budget: new ObjectBudget(20_000),
        onError(error) {
          failure = error;
          stopping.abort();
        },
      });
      await informer.start(stopping.signal);
      if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener("abort", resolve));
      return { kept: [...informer.list()].length, error: failure };
    };
    assert.deepEqual(await follow(() => ["MODIFIED", "one"]), { kept: 1, error: undefined });
    const addedAndDeleted = await follow((event) =>
      event % 2 === 1 ? ["ADDED", `number-${event}`] : ["DELETED", `number-${event - 1}`],
    );
    assert.deepEqual(addedAndDeleted, { kept: 0, error: undefined });
    const { kept, error } = await follow((event) => ["ADDED", `number-${event}`]);
    assert.ok(error instanceof TooManyObjects, String(error));
    assert.ok(kept > 5 && kept < 20, `${kept}`);
  });
});
