import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startTestServerProcess } from "../test-server-process.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { HostedSignet } from "../cli/hosted-signet.ts";
import { resourceReferences } from "../resource-references.ts";
import { clientOf } from "./client-of.ts";

const mount = (...words: string[]): boolean => spawnSync("mount", words).status === 0;
const { configMaps } = resourceReferences(namesFor("platform"));

const configMap = (name: string, bytes: number): ApiObject & { data: Record<string, string> } => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { filler: "f".repeat(bytes) },
});

/** The result of a write. A refusal says what is wrong. */
const outcomeOf = (write: Promise<unknown>): Promise<"written" | "refused"> =>
  write.then(
    () => "written",
    (error: unknown) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.deepEqual([error.code, error.reason], [503, "ServiceUnavailable"]);
      assert.match(error.message, /takes no writes now: .*no space is left on the server's disk; make room/);
      return "refused";
    },
  );

/** A file system of a few pages. When it is full, the kernel itself answers ENOSPC, also for mapped files. */
describe("a server on a file system that is full", { concurrency: 1 }, () => {
  let folder = "";
  let disk = "";
  let canMount = false;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "signet-full-"));
    disk = join(folder, "disk");
    mkdirSync(disk);
    canMount = mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk);
  });
  after(() => {
    if (canMount) spawnSync("umount", ["-l", disk]);
    rmSync(folder, { recursive: true, force: true });
  });
  const resize = (kibibytes: number): void => assert.ok(mount("-o", `remount,size=${kibibytes}k`, disk));
  const empty = (kibibytes: number): void => {
    assert.equal(spawnSync("umount", [disk]).status, 0);
    assert.ok(mount("-t", "tmpfs", "-o", `size=${kibibytes}k,mode=0755`, "tmpfs", disk));
  };

  it("does not start there, and explains in one line what it needs", async (context) => {
    if (!canMount) return context.skip("tmpfs can't be mounted");
    const signet = new HostedSignet();
    context.after(() => signet.stop());
    for (const kibibytes of [4, 8, 12, 64, 1020]) {
      for (const workers of kibibytes === 8 ? ["1", "2"] : ["1"]) {
        empty(kibibytes);
        const words = ["serve", "--data-dir", join(disk, "data"), "--secure-port=0", "--workers", workers];
        const { code, stderr } = await signet.run(words);
        assert.equal(code, 2);
        assert.match(stderr, /^signet: .+ cannot be used: 1 MiB of free space is needed to start: [^\n]+\n$/);
      }
    }
  });

  it("does not let LMDB fail to write a page at a large position, which damages the memory of the process", (context) => {
    if (!canMount) return context.skip("tmpfs can't be mounted");
    empty(180 * 1024);
    const words = [join(import.meta.dirname, "fill-store.ts"), disk];
    const { stdout, stderr, status, signal } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.deepEqual(
      { stdout, stderr, status, signal },
      { stdout: "StoreUnavailable\n", stderr: "", status: 0, signal: null },
    );
  });

  for (const { kibibytes, bytes, workers } of [
    { kibibytes: 1028, bytes: 10, workers: 1 },
    { kibibytes: 1300, bytes: 3000, workers: 2 },
    { kibibytes: 2048, bytes: 60_000, workers: 1 },
    { kibibytes: 2052, bytes: 200_000, workers: 1 },
  ]) {
    it(`lives on, reads, and writes when there is room: ${kibibytes} KiB, ${bytes} bytes a time, ${workers} workers`, async (context) => {
      if (!canMount) return context.skip("tmpfs can't be mounted");
      empty(kibibytes);
      const server = await startTestServerProcess(join(disk, "data"), { flags: [`--workers=${workers}`] });
      const client = clientOf(server);
      try {
        const resource = client.resource<ApiObject>(configMaps, "default");
        const written = new Set<string>();
        let refusals = 0;
        for (let round = 0; refusals < 16 && round < 400; round++) {
          const names = Array.from({ length: 8 }, (_, index) => `filler-${round}-${index}`);
          const outcomes = await Promise.all(names.map((name) => outcomeOf(resource.create(configMap(name, bytes)))));
          names.filter((_, index) => outcomes[index] === "written").forEach((name) => written.add(name));
          refusals += outcomes.filter((outcome) => outcome === "refused").length;
        }
        assert.ok(refusals >= 16);
        // Another file takes the remaining pages.
        assert.throws(() => writeFileSync(join(disk, "ballast"), Buffer.alloc(2 ** 22)), { code: "ENOSPC" });
        await outcomeOf(resource.create(configMap("one-more", bytes))); // this uses pages of the store that became free, or fails
        assert.equal(server.process.signalCode, null);
        assert.equal(await client.text("/livez"), "ok");
        const { items } = await resource.list();
        const listed = new Set(items.map(({ metadata }) => metadata.name));
        for (const name of written) assert.ok(listed.has(name), `${name} was written`);

        resize(kibibytes + 8192);
        assert.equal(await outcomeOf(resource.create(configMap("later", bytes))), "written");
        assert.equal(await server.stop(), 0);
      } finally {
        client.close();
        await server.kill();
      }
    });
  }
});
