import assert from "node:assert/strict";
import { it } from "node:test";
import pino from "pino";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import type { WriteRequest, WriteResult } from "../../../src/machinery/storage/store.ts";
import { InProcess } from "../in-process.ts";
import { startTestServer } from "../../test-server.ts";

class FullStore extends MemoryStore {
  isFull = false;

  override async write(request: WriteRequest): Promise<WriteResult> {
    if (this.isFull) throw new StoreUnavailable("the store can't be written: no space is left");
    return super.write(request);
  }
}

it("a store that refuses writes is logged at once, but not for every write", async () => {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const store = new FullStore();
  const server = await startTestServer({ store, log, settings: { controllers: false } });
  const api = new InProcess(server);
  store.isFull = true;
  for (const name of ["a", "b", "c"]) {
    const body = { metadata: { name } };
    const { status } = await api.send("/api/v1/namespaces/default/configmaps", { method: "POST", body });
    assert.equal(status, 503);
  }
  const refusals = lines.filter((line) => line.includes("takes no writes"));
  assert.equal(refusals.length, 1);
  assert.match(refusals[0] ?? "", /"the store takes no writes now: the store can't be written: no space is left"/);
});
