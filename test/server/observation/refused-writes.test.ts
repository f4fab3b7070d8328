import assert from "node:assert/strict";
import { it } from "node:test";
import pino from "pino";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { StoreDamaged, StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import type { WriteRequest, WriteResult } from "../../../src/machinery/storage/store.ts";
import { InProcess } from "../in-process.ts";
import { startTestServer } from "../../test-server.ts";

class RefusingStore extends MemoryStore {
  refusal: StoreUnavailable | undefined;

  override async write(request: WriteRequest): Promise<WriteResult> {
    if (this.refusal !== undefined) throw this.refusal;
    return super.write(request);
  }
}

it("a store that refuses writes is logged at once, but not for every write", async () => {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const store = new RefusingStore();
  const server = await startTestServer({ store, log, settings: { controllers: false } });
  const api = new InProcess(server);
  store.refusal = new StoreUnavailable("the store can't be written: no space is left");
  for (const name of ["a", "b", "c"]) {
    const body = { metadata: { name } };
    const { status } = await api.send("/api/v1/namespaces/default/configmaps", { method: "POST", body });
    assert.equal(status, 503);
  }
  const refusals = lines.filter((line) => line.includes("takes no writes"));
  assert.equal(refusals.length, 1);
  assert.match(refusals[0] ?? "", /"the store takes no writes now: the store can't be written: no space is left"/);
});

it("a write over a damaged object is refused for its damage, in the answer and in the log, not for a store without writes", async () => {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const store = new RefusingStore();
  const server = await startTestServer({ store, log, settings: { controllers: false } });
  const api = new InProcess(server);
  store.refusal = new StoreDamaged("the write of /registry/configmaps/default/a is not as it was written");
  const body = { metadata: { name: "a" } };
  const answer = await api.json("/api/v1/namespaces/default/configmaps", { method: "POST", body });
  assert.deepEqual([answer.code, answer.message], [503, store.refusal.message]);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /"the store's file is damaged \(the write of \/registry\/configmaps\/default\/a is /);
});
