import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { failureReport } from "../../src/cli/failure-report.ts";
import { systemClock } from "../../src/machinery/api/clock.ts";
import { StoreUnavailable } from "../../src/machinery/storage/store.ts";
import { backUp } from "../../src/server/backup/back-up.ts";
import { parseServerConfig } from "../../src/server/settings/server-config.ts";
import { startTestServer } from "../test-server.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Makes a function of `node:fs` fail as on a disk that cannot be written any more. */
const failing = (name: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  fs.${name} = () => { throw Object.assign(new Error("EIO: i/o error, ${name}"), { code: "EIO", syscall: "${name}" }); };
  syncBuiltinESMExports();`)}`;

describe("a restore to a disk that fails", () => {
  const folder = temporaryFolder();
  const file = join(folder, "backup.gz");
  const target = join(folder, "restored");
  before(async () => {
    const server = await startTestServer({ storage: "lmdb" });
    const location = parseServerConfig({ commandLine: { "data-dir": server.dataDirectory }, file: {} });
    await backUp(location, { file, withKeys: true, clock: systemClock, signal: new AbortController().signal });
    await server.stop();
  });

  /** How the program explains itself. The first words are a shell's: not bash, which warns of a locale that the
   * machine lacks. */
  function restore(first: string, ...flags: string[]): { readonly status: number | null; readonly stderr: string } {
    const words = [process.execPath, ...flags, signetProgram, "restore", file, "--data-dir", target];
    const { status, stderr } = spawnSync("sh", ["-c", `${first} exec "$@"`, "sh", ...words], { encoding: "utf8" });
    rmSync(target, { recursive: true, force: true });
    return { status, stderr };
  }

  it("names the place that cannot be written, not the backup", () => {
    const advice = "the disk fails (i/o error); see what the system logs of it, and name a place on another";
    // The first fails where the new store is opened, the second when everything is put in its place.
    for (const [call, code] of Object.entries({ linkSync: 2, rmdirSync: 5 })) {
      const { status, stderr } = restore("", failing(call));
      assert.match(stderr, /^signet: [^\n]+\n$/);
      assert.ok(stderr.includes(target) && stderr.includes(advice) && !stderr.includes(file), stderr);
      assert.equal(status, code, stderr);
    }
  });

  it("is no fault in Signet where the store does not take a write, in any command", () => {
    const { exitCode, message } = failureReport(new StoreUnavailable("the store can't be written: no"), "signet serve");
    const advice = "see what the system, or etcd, logs of it, and try again";
    assert.deepEqual([exitCode, message], [1, `the store can't be written: no; ${advice}`]);
  });

  it("says in one line why the store cannot be made", () => {
    const { status, stderr } = restore("ulimit -v 20971520;");
    assert.match(stderr, /^signet: --data-dir: the store needs 64 GiB of address space[^\n]+\n$/);
    assert.equal(status, 2);
  });
});
