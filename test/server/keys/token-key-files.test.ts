import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { pino } from "pino";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { keptStore } from "../kept-store.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

describe("the file of a token key", () => {
  let folder = "";
  let dataDirectory = "";
  let file = "";
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  let store = new MemoryStore();
  const start = (): Promise<TestServer> => startTestServer({ dataDirectory, log, store: keptStore(store) });
  beforeEach(() => {
    folder = temporaryFolder();
    dataDirectory = join(folder, "data");
    file = join(dataDirectory, "service-account.key");
    lines.length = 0;
    store = new MemoryStore();
  });

  for (const [what, text] of [
    ["empty", ""],
    ["no key", "garbage\n"],
  ] as const) {
    it(`that is ${what} is reported with its name and what to do`, async () => {
      const server = await start();
      await server.stop();
      writeFileSync(file, text);
      await assert.rejects(start(), {
        name: "UnusableFile",
        message: new RegExp(`${file}: it contains no PEM private key; restore it from a backup, or remove it`),
      });
      // Also where the store does not know of it.
      store = new MemoryStore();
      await assert.rejects(start(), { name: "UnusableFile" });
    });
  }

  it("that is gone is logged by name: its tokens are refused from then on", async () => {
    const before = await start();
    await before.stop();
    assert.deepEqual(
      lines.filter((line) => line.includes("token key")),
      [],
    );
    rmSync(file);
    const server = await start();
    await server.stop();
    const warning = lines.find((line) => line.includes("a token key's file is gone"));
    assert.ok(warning?.includes(file), lines.join(""));
  });
});
