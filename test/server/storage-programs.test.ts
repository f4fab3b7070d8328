import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { failureReport } from "../../src/cli/failure-report.ts";
import { runBackUp, unreadableSourceAdvice } from "../../src/server/backup/storage-programs.ts";
import { parseServerConfig } from "../../src/server/server-config.ts";
import { StoreDamaged } from "../../src/machinery/storage/store.ts";
import { makeDamagedStore } from "./damaged-store.ts";

it("the advice to give up an object that can't be moved names it so that a shell takes it as one word", () => {
  const advised = (key: string): string => unreadableSourceAdvice({ key, isKmsUnavailable: false });
  const command = "put its key back, or give it up: signet encryption discard ";
  assert.equal(advised("/registry/secrets/default/web"), `${command}/registry/secrets/default/web`);
  const path = "/registry/rbac.authorization.k8s.io/clusterroles";
  assert.equal(advised(`${path}/a;reboot`), `${command}'${path}/a;reboot'`);
});

it("a backup of a damaged store fails as work that cannot be done, and says once what is damaged", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "signet-damaged-"));
  context.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "data"));
  await makeDamagedStore(join(folder, "data"));
  const location = parseServerConfig({ commandLine: { "data-dir": join(folder, "data") }, file: {} });
  const failure = await runBackUp(location, { file: join(folder, "backup"), withKeys: false }).catch((error) => error);
  assert.deepEqual(failureReport(failure, "signet backup"), {
    exitCode: 1,
    message: new StoreDamaged("a write of /registry/namespaces/lost is missing").message,
  });
  assert.deepEqual(readdirSync(folder), ["data"]);
});
