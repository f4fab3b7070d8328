import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StoreDamaged } from "../../../src/machinery/storage/store.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { examineDisk } from "../../../src/server/doctor/examine-data-directory.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { put } from "../../machinery/storage/store-contract.ts";
import { makeDamagedStore } from "../store/damaged-store.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

test("signet doctor takes a file system that does not say what is free for no full disk", () => {
  const [disk = assert.fail()] = examineDisk("/proc");
  assert.equal(disk.state, "good");
});

test("signet doctor finds that the store's file has lost an object, and says what to do", async () => {
  const dataDirectory = temporaryFolder();
  await makeDamagedStore(dataDirectory);

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject, state }) => subject === "storage" && state !== "good"),
    [
      {
        state: "bad",
        subject: "storage",
        found: "the store's file is damaged: 1 object can't be read",
        advice: StoreDamaged.advice,
      },
    ],
  );
});

test("signet doctor advises no older backup for a store that only has to be used in another way", async () => {
  const dataDirectory = temporaryFolder();
  const directory = join(dataDirectory, "store");
  await new LmdbStore({ directory, profile: "platform" }).close();
  const mark = join(dataDirectory, "store.in-etcd");
  writeFileSync(mark, "");

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject }) => subject === "storage"),
    [
      {
        state: "bad",
        subject: "storage",
        found: "the store does not open",
        advice:
          `--data-dir: a move of its objects between ${directory} and etcd broke off: give --etcd-servers; or, where etcd refuses that, ` +
          `remove ${mark} to use that store`,
      },
    ],
  );
});

test("signet doctor finds Secrets that are stored in plain, and one whose key is not there", async () => {
  const dataDirectory = temporaryFolder();
  const store = new LmdbStore({ directory: join(dataDirectory, "store"), profile: "platform" });
  await put(store, "/registry/secrets/default/plain", "{}");
  await put(store, "/registry/secrets/default/sealed", "signet:enc:aesgcmderived:v1:0123456789abcdef:sealed");
  await store.close();

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject }) => subject === "encryption"),
    [
      {
        state: "bad",
        subject: "encryption",
        found: "1 object can't be decrypted",
        advice: "see signet encryption status; put their key back",
      },
      {
        state: "warning",
        subject: "encryption",
        found: "Secrets are not encrypted in the store",
        advice: "start the server, which makes encryption.key; then: signet encryption rewrite",
      },
    ],
  );
});
