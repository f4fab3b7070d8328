import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { startTestServerProcess } from "../test-server-process.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { resourceReferences } from "../resource-references.ts";
import { clientOf } from "./client-of.ts";
import { WatchFollower } from "./watch-follower.ts";

/** A process may raise its own limit again with this program of util-linux. */
const canLimit = spawnSync("prlimit", ["--version"]).status === 0;

const configMap = (name: string): ApiObject & { data: Record<string, string> } => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { filler: "f".repeat(50_000) },
});

it(
  "a server on a full disk refuses writes with 503, loses none, stays readable, and writes again when there is room",
  { skip: !canLimit && "prlimit is not installed" },
  async () => {
    const scratch = mkdtempSync(join(tmpdir(), "signet-full-disk-"));
    // Files that may not grow fail like on a full disk, at any write: with EFBIG instead of ENOSPC.
    const launcher = ["prlimit", `--fsize=${4 * 2 ** 20}:unlimited`];
    const server = await startTestServerProcess(join(scratch, "data"), { launcher });
    const client = clientOf(server);
    const following = new AbortController();
    try {
      const { configMaps } = resourceReferences(namesFor("platform"));
      const resource = client.resource<ApiObject>(configMaps, "default");
      const follower = new WatchFollower(configMaps, "default");
      const followed = follower.follow(client, following.signal);
      const written: string[] = [];
      const refusals: unknown[] = [];
      for (let index = 0; refusals.length < 5 && index < 500; index++) {
        const name = `filler-${index}`;
        await resource.create(configMap(name)).then(
          () => written.push(name),
          (error: unknown) => refusals.push(error),
        );
      }
      assert.equal(refusals.length, 5);
      for (const refusal of refusals) {
        assert.ok(refusal instanceof ApiError, String(refusal));
        assert.deepEqual([refusal.code, refusal.reason], [503, "ServiceUnavailable"]);
        assert.match(refusal.message, /takes no writes/);
      }

      const namesIn = (items: readonly ApiObject[]): string[] =>
        items.map(({ metadata }) => metadata.name ?? "").filter((name) => name.startsWith("filler-"));
      assert.deepEqual(namesIn((await resource.list()).items).sort(), [...written].sort());
      assert.equal((await resource.get("filler-0")).metadata.name, "filler-0");
      assert.equal(await client.text("/livez"), "ok");

      await promisify(execFile)("prlimit", ["--pid", String(server.process.pid), "--fsize=unlimited"]);
      const { metadata } = await resource.create(configMap("filler-later"));
      await resource.delete("filler-0");
      const afterwards = [...written.slice(1), "filler-later"].sort();
      const { items } = await resource.list();
      assert.deepEqual(namesIn(items).sort(), afterwards);
      assert.ok(await follower.reached(Number(metadata.resourceVersion), { withinMilliseconds: 100_000 }));
      assert.deepEqual(follower.violations, []);

      following.abort();
      await followed;
      await server.kill();
      const restarted = await startTestServerProcess(join(scratch, "data"));
      const after = clientOf(restarted);
      assert.deepEqual(
        namesIn((await after.resource<ApiObject>(configMaps, "default").list()).items).sort(),
        afterwards,
      );
      after.close();
      assert.equal(await restarted.stop(), 0);
    } finally {
      following.abort();
      client.close();
      await server.kill();
      rmSync(scratch, { recursive: true, force: true });
    }
  },
);
