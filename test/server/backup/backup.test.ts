import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs, {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { watch } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { signetProgram } from "../../../bench/processes/signet-program.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import type { Clock } from "../../../src/machinery/api/clock.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { joinFolder } from "../../../src/machinery/files/folders/owned-folder.ts";
import { UnusableFile } from "../../../src/machinery/files/unusable-file.ts";
import { backUp } from "../../../src/server/backup/back-up.ts";
import { verifyBackupFile, writeBackupFile } from "../../../src/server/backup/backup-file.ts";
import type { BackupItem } from "../../../src/server/backup/backup-format.ts";
import { DamagedBackup } from "../../../src/server/backup/backup-format.ts";
import { runBackUp } from "../../../src/server/backup/storage-programs.ts";
import { restoreBackup } from "../../../src/server/backup/restore.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { InProcess } from "../in-process.ts";

const folder = mkdtempSync(join(tmpdir(), "signet-backup-"));
const locationOf = (directory: string) => parseServerConfig({ commandLine: { "data-dir": directory }, file: {} });
const signal = new AbortController().signal;
const configMaps = "/api/v1/namespaces/default/configmaps";
const file = join(folder, "backup.gz");
/** The first line of a backup that a test makes up. */
const madeUpHeader = {
  format: "signet-backup",
  version: 1,
  signet: "0",
  time: "",
  profile: "platform",
  revision: 1,
  withoutKeys: [],
} as const;

describe("a backup of a running server", () => {
  let server: TestServer;
  let api: InProcess;
  const backUpTo = (name: string, withKeys = true) =>
    backUp(locationOf(server.dataDirectory), { file: name, withKeys, clock: systemClock, signal });
  const create = (name: string) =>
    api.json(configMaps, { method: "POST", body: { metadata: { name }, data: { colour: "green" } } });

  before(async () => {
    server = await startTestServer({ storage: "lmdb" });
    await waitForDefaultAccount(server);
    api = new InProcess(server);
    await create("kept");
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("contains everything that was written before it, at one revision, while others write", async () => {
    const writes = Array.from({ length: 50 }, (_, index) => create(`meanwhile-${index}`));
    const report = await backUpTo(file);
    const [header = "", ...lines] = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
    const { revision } = JSON.parse(header) as { revision: number };
    assert.equal(revision, report.revision);
    const keys = lines.map((line) => (JSON.parse(line) as { key?: string }).key).filter((key) => key !== undefined);
    assert.equal(keys.length, report.objects);
    assert.ok(keys.includes("/registry/configmaps/default/kept"));
    const { entries } = await server.store.range({ start: "/", end: "0", revision });
    assert.deepEqual(
      keys,
      entries.map(({ key }) => key),
    );
    await Promise.all(writes);
  });

  it("replaces an older file, and only its owner can read it", async () => {
    writeFileSync(file, "old", { mode: 0o644 });
    chmodSync(file, 0o644);
    await backUpTo(file);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ["backup.gz"]);
  });

  it("names its own file, not the one that it writes first, where the system refuses that one", async () => {
    const refused = join(folder, "missing", "backup.gz");
    await assert.rejects(runBackUp(locationOf(server.dataDirectory), { file: refused, withKeys: true }), {
      name: "CommandFailure",
      exitCode: 5,
      message: `cannot write ${refused}: the folder does not exist; make it, or name another`,
    });
  });

  it("says that its file cannot be written where the disk fails, and leaves the older one", async (context) => {
    writeFileSync(file, "old");
    context.mock.method(fs, "fsyncSync", () => {
      throw Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO", syscall: "fsync" });
    });
    syncBuiltinESMExports();
    try {
      await assert.rejects(runBackUp(locationOf(server.dataDirectory), { file, withKeys: true }), {
        name: "CommandFailure",
        exitCode: 5,
        message: new RegExp(`^cannot write ${file}: the disk fails`),
      });
    } finally {
      context.mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.equal(readFileSync(file, "utf8"), "old");
    assert.deepEqual(readdirSync(folder), ["backup.gz"]);
    await backUpTo(file);
  });

  it("contains the private keys unless they are left out", async () => {
    const without = join(folder, "without.gz");
    const { withoutKeys } = await backUpTo(without, false);
    assert.ok(gunzipSync(readFileSync(file)).includes("PRIVATE KEY"));
    assert.ok(!gunzipSync(readFileSync(without)).includes("PRIVATE KEY"));
    assert.ok(withoutKeys.includes("ca.key") && withoutKeys.includes("service-account.key"));
  });

  it("contains what links of the data directory lead to, and is refused where one leads nowhere", async () => {
    const [linked, elsewhere] = [join(server.dataDirectory, "ca.key"), join(folder, "elsewhere.key")];
    const before = await backUpTo(join(folder, "before-links.gz"));
    renameSync(linked, elsewhere);
    symlinkSync(elsewhere, linked);
    assert.equal((await backUpTo(join(folder, "with-links.gz"))).files, before.files);
    renameSync(elsewhere, `${elsewhere}.away`);
    const other = join(folder, "beside-links");
    cpSync(server.dataDirectory, other, { recursive: true, verbatimSymlinks: true });
    await assert.rejects(
      backUpTo(join(folder, "dangling.gz")),
      /ca\.key is a link that leads nowhere: put back the file/,
    );
    await assert.rejects(
      startTestServer({ storage: "lmdb", dataDirectory: other }),
      /ca\.key is a link that leads nowhere/,
    );
    rmSync(linked);
    renameSync(`${elsewhere}.away`, linked);
  });

  it("is refused where it would be without a key or a certificate: one that is too large, or no file", async () => {
    const other = join(folder, "beside-files");
    cpSync(server.dataDirectory, other, { recursive: true });
    const key = join(other, "ca.key");
    const refused = async (reason: RegExp) => {
      const file = join(folder, "without-key.gz");
      await assert.rejects(
        backUp(locationOf(other), { file, withKeys: true, clock: systemClock, signal }),
        ({ name, message }: Error) => name === "UnusableFile" && message.startsWith(key) && reason.test(message),
      );
      assert.ok(!existsSync(file));
    };
    writeFileSync(key, Buffer.alloc(2 ** 20 + 1, "x"));
    await refused(/is larger than 1 MiB: move it out/);
    rmSync(key);
    mkdirSync(key);
    await refused(/is a folder, a pipe or a device: put back the file/);
  });

  it("leaves out somebody else's folder that has the name of a key or a certificate, with which a server starts", async () => {
    const other = join(folder, "beside-folders");
    cpSync(server.dataDirectory, other, { recursive: true });
    mkdirSync(join(other, "team.key"));
    mkdirSync(join(other, "team.crt"));
    const beside = await startTestServer({ storage: "lmdb", dataDirectory: other });
    await beside.stop();
    const file = join(folder, "beside-folders.gz");
    const { files } = await backUp(locationOf(other), { file, withKeys: true, clock: systemClock, signal });
    assert.equal(files, (await backUpTo(join(folder, "without-folders.gz"))).files);
  });

  it("is restored to a server that accepts the same tokens and continues above all earlier revisions", async () => {
    const { status } = await api.json<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      {
        method: "POST",
        body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: { audiences: [] } },
      },
    );
    await backUpTo(file);
    const lost = await create("lost");
    const directory = join(folder, "restored");
    const { objects } = await restoreBackup(locationOf(directory), { clock: systemClock, file, signal });
    assert.ok(objects > 50);
    for (const name of readdirSync(directory).filter((one) => statSync(join(directory, one)).isFile())) {
      assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    }

    const second = await startTestServer({ storage: "lmdb", dataDirectory: directory });
    const restored = new InProcess(second);
    const whoami = await restored.json<{ status: { userInfo: { username: string } } }>(
      "/apis/authentication.platform.io/v1/selfsubjectreviews",
      {
        method: "POST",
        token: status.token,
        body: { apiVersion: "authentication.platform.io/v1", kind: "SelfSubjectReview" },
      },
    );
    assert.equal(whoami.status.userInfo.username, "system:serviceaccount:default:default");
    const kept = await restored.json(`${configMaps}/kept`);
    assert.equal(kept.metadata.uid, (await api.json(`${configMaps}/kept`)).metadata.uid);
    assert.ok(Number(kept.metadata.resourceVersion) > Number(lost.metadata.resourceVersion));

    for (const version of [lost.metadata.resourceVersion, String(Number(kept.metadata.resourceVersion) - 1)]) {
      const watch = await restored.watch(`${configMaps}?watch=true&resourceVersion=${version}`);
      assert.deepEqual(
        (await watch.until(1)).events.map(({ type, object }) => [type, object.code]),
        [["ERROR", 410]],
        `a watch from ${version} begins again`,
      );
      watch.stop();
    }
    const stale = await restored.send(`${configMaps}/kept`, {
      method: "PUT",
      body: { ...kept, metadata: { ...kept.metadata, resourceVersion: lost.metadata.resourceVersion } },
    });
    assert.equal(stale.status, 409);
  });

  it("is restored above the revisions of every earlier restore, be it of the same backup or of a newer one", async () => {
    const [older, newer, restored] = ["older.gz", "newer.gz", "restored.gz"].map((name) => join(folder, name));
    assert.ok(older && newer && restored);
    await backUpTo(older);
    await create("in-the-newer-one");
    await backUpTo(newer);
    const inMinutes = (minutes: number): Clock => ({ now: () => systemClock.now() + minutes * 60_000 });
    let restores = 0;
    const restoreIn = async (minutes: number, source: string): Promise<number> => {
      const place = locationOf(join(folder, `restore-${(restores += 1)}`));
      return (await restoreBackup(place, { file: source, clock: inMinutes(minutes), signal })).revision;
    };
    const revisions = [await restoreIn(1, newer)];
    const options = { file: restored, withKeys: true, clock: inMinutes(2), signal };
    await backUp(locationOf(join(folder, "restore-1")), options);
    revisions.push(await restoreIn(3, restored), await restoreIn(4, newer), await restoreIn(5, older));
    for (const [index, revision] of revisions.slice(1).entries()) {
      const perSecond = (revision - (revisions[index] ?? 0)) / 60 / (index === 0 ? 2 : 1);
      assert.ok(perSecond > 90_000, `a server may make ${perSecond} revisions in a second`);
    }
  });

  it("is restored above its own revisions when the clock is wrong, and can be backed up again", async () => {
    const { revision } = await backUpTo(file);
    const past = { now: () => Date.UTC(2020, 0, 1) };
    const future = { now: () => Date.UTC(2099, 0, 1) };
    const ofPast = join(folder, "past.gz");
    await backUp(locationOf(server.dataDirectory), { file: ofPast, withKeys: true, clock: past, signal });
    for (const [name, source] of Object.entries({ "before-backup": file, "before-all": ofPast })) {
      const restored = await restoreBackup(locationOf(join(folder, name)), { file: source, clock: past, signal });
      assert.ok(restored.revision > revision + 1_000_000_000);
    }
    const ahead = locationOf(join(folder, "ahead"));
    await restoreBackup(ahead, { file, clock: future, signal });
    await backUp(ahead, { file: join(folder, "again.gz"), withKeys: true, clock: future, signal });
  });

  it("is refused, and nothing is restored, when it was changed", async () => {
    const whole = readFileSync(file);
    const text = gunzipSync(whole).toString();
    const lines = text.trimEnd().split("\n");
    const damaged: Record<string, Buffer> = {
      "cut off": whole.subarray(0, whole.length - 100),
      "cut off between lines": gzipSync(`${lines.slice(0, 20).join("\n")}\n`),
      "a changed value": gzipSync(text.replace("green", "black")),
      "a missing line": gzipSync(`${lines.filter((_, index) => index !== 15).join("\n")}\n`),
      "another line at its end": gzipSync(`${text}{"key":"/registry/x","value":"{}"}\n`),
      "another program's": gzipSync("hello\n"),
      "not compressed": Buffer.from("hello\n"),
      empty: Buffer.alloc(0),
      "a later version": gzipSync(text.replace('"version":1', '"version":2')),
    };
    const bad = join(folder, "bad.gz");
    const directory = join(folder, "of-damaged");
    for (const [what, bytes] of Object.entries(damaged)) {
      writeFileSync(bad, bytes);
      await assert.rejects(
        restoreBackup(locationOf(directory), { clock: systemClock, file: bad, signal }),
        DamagedBackup,
        what,
      );
      assert.equal(existsSync(directory), false, what);
    }
  });

  it("is refused, and nothing is shown of it, when somebody has made it up", async () => {
    const object = { key: "/registry/a", value: Buffer.from("{}") };
    const madeUp: Record<string, { readonly header?: object; readonly objects?: readonly object[] }> = {
      "a name of names that a shell would run": { header: { profile: "x; rm -rf ~" } },
      "a version that steers the terminal": { header: { signet: "\u001B[2J" } },
      "a time that steers the terminal": { header: { time: "\u001B[2J" } },
      "a key's name that steers the terminal": { header: { withoutKeys: ["\u001B[2J"] } },
      "a revision that no store has": { header: { revision: 2 ** 52 } },
      "an object twice": { objects: [object, object] },
      "objects in another order": { objects: [{ ...object, key: "/registry/b" }, object] },
      "a key that is too long": { objects: [{ ...object, key: `/registry/${"k".repeat(2000)}` }] },
      "an empty key": { objects: [{ ...object, key: "" }] },
      "a key that is none of an object's": { objects: [{ ...object, key: "outside" }] },
      "a key that is not Unicode": { objects: [{ ...object, key: "/registry/\uD800" }] },
    };
    const bad = join(folder, "made-up.gz");
    const directory = join(folder, "of-made-up");
    for (const [what, { header: fields = {}, objects = [object] }] of Object.entries(madeUp)) {
      const items = [
        { type: "header", header: { ...madeUpHeader, ...fields } },
        ...objects.map((one) => ({ type: "object", object: one })),
      ] as BackupItem[]; // some are not, which is the point
      await writeBackupFile(bad, { items: Readable.from(items), check: async () => {} });
      await assert.rejects(
        restoreBackup(locationOf(directory), { clock: systemClock, file: bad, signal }),
        DamagedBackup,
        what,
      );
      assert.equal(existsSync(directory), false, what);
    }
  });

  it("is refused as a pipe or a device, and not waited for", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const bad of [pipe, "/dev/zero"]) {
      const restored = restoreBackup(locationOf(join(folder, "of-pipe")), { clock: systemClock, file: bad, signal });
      await assert.rejects(restored, /a backup is read twice; write it to a file/);
    }
    rmSync(pipe);
  });

  it("is refused, also when it is only read, with a file that a data directory cannot have, or twice", async () => {
    const bad = join(folder, "escaping.gz");
    for (const names of [
      ["../escaped.key"],
      ["signers/../../escaped.key"],
      ["/tmp/escaped.key"],
      ["store/store.mdb"],
      [".key"],
      [`${"k".repeat(252)}.key`],
      ["ca.key", "ca.crt", "ca.key"],
    ]) {
      const items: BackupItem[] = [
        { type: "header", header: madeUpHeader },
        ...names.map((name) => ({ type: "file", file: { file: name, text: "" } }) as const),
      ];
      await writeBackupFile(bad, { items: Readable.from(items), check: async () => {} });
      const directory = join(folder, "of-escaping");
      await assert.rejects(verifyBackupFile(bad), DamagedBackup, names.join());
      await assert.rejects(
        restoreBackup(locationOf(directory), { clock: systemClock, file: bad, signal }),
        DamagedBackup,
        names.join(),
      );
      assert.equal(existsSync(directory), false);
    }
    assert.equal(existsSync(join(folder, "escaped.key")), false);
  });

  it("is not restored over a folder that contains anything", async () => {
    const directory = join(folder, "used");
    mkdirSync(directory);
    writeFileSync(join(directory, "note"), "mine");
    await assert.rejects(restoreBackup(locationOf(directory), { clock: systemClock, file, signal }), UsageError);
    assert.deepEqual(readdirSync(directory), ["note"]);
    await assert.rejects(
      restoreBackup(locationOf(server.dataDirectory), { clock: systemClock, file, signal }),
      UsageError,
    );
  });

  it("is not restored over what came into the folder while the backup was read", async () => {
    const directory = join(folder, "contested");
    const reading = new AbortController().signal;
    reading.throwIfAborted = () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, "ca.key"), "another server's");
    };
    await assert.rejects(
      restoreBackup(locationOf(directory), { clock: systemClock, file, signal: reading }),
      /is not empty \(it holds ca\.key\)/,
    );
    assert.equal(readFileSync(join(directory, "ca.key"), "utf8"), "another server's");
  });

  it("leaves the older file, and nothing else, when it is interrupted, or cannot be read again", async () => {
    const place = join(folder, "interrupted");
    mkdirSync(place);
    const name = join(place, "backup.gz");
    writeFileSync(name, "older");
    const interrupted = AbortSignal.abort(new Error("Ctrl-C"));
    const options = { file: name, withKeys: true, clock: systemClock, signal: interrupted };
    await assert.rejects(backUp(locationOf(server.dataDirectory), options), /Ctrl-C/);
    assert.deepEqual([readdirSync(place), readFileSync(name, "utf8")], [["backup.gz"], "older"]);
    const checked = writeBackupFile(name, {
      items: Readable.from([{ type: "header", header: madeUpHeader } as const]),
      check: () => Promise.reject(new Error("not read again")),
    });
    await assert.rejects(checked, /not read again/);
    assert.deepEqual([readdirSync(place), readFileSync(name, "utf8")], [["backup.gz"], "older"]);
  });

  it("removes what a kill left of an earlier one, and not what another is writing", async () => {
    const place = join(folder, "killed");
    mkdirSync(place);
    const [left, written, other] = [
      "backup.gz.0123456789ab.new",
      "backup.gz.ba9876543210.new",
      "mine.gz.0123456789ab.new",
    ];
    for (const name of [left, written, other]) writeFileSync(join(place, name), "keys");
    const twoHoursAgo = systemClock.now() / 1000 - 7200;
    for (const name of [left, other]) utimesSync(join(place, name), twoHoursAgo, twoHoursAgo);
    await backUpTo(join(place, "backup.gz"));
    assert.deepEqual(readdirSync(place).toSorted(), ["backup.gz", written, other].toSorted());
  });

  it("leaves an empty folder empty when the restore is interrupted", async () => {
    const directory = join(folder, "empty");
    mkdirSync(directory, { mode: 0o700 });
    const interrupted = AbortSignal.abort(new Error("Ctrl-C"));
    await assert.rejects(
      restoreBackup(locationOf(directory), { clock: systemClock, file, signal: interrupted }),
      /Ctrl-C/,
    );
    assert.deepEqual(readdirSync(directory), []);
  });

  it("leaves no usable data directory when the restore is killed, also while it waits for the lock", async () => {
    const directory = join(folder, "killed-while-it-waits");
    mkdirSync(directory, { mode: 0o700 });
    const member = joinFolder(directory);
    const restore = spawn(process.execPath, [signetProgram, "restore", file, "--data-dir", directory]);
    const ended = new AbortController();
    restore.once("exit", () => ended.abort());
    for await (const { filename } of watch(directory, { signal: ended.signal }))
      if (filename === "unfinished-restore") break;
    restore.kill("SIGKILL");
    await once(restore, "exit");
    member.release();
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory: directory }), UsageError);
    await assert.rejects(restoreBackup(locationOf(directory), { clock: systemClock, file, signal }), UnusableFile);
    const options = { file: join(folder, "of-killed.gz"), withKeys: true, clock: systemClock, signal };
    await assert.rejects(backUp(locationOf(directory), options), /a restore into it is not complete/);
  });

  it("has marked its new folder as unfinished before it first waits for the disk: a server refuses it after a kill there", async (context) => {
    const directory = join(folder, "first-flush");
    const marked: boolean[] = [];
    const flush = fs.fsyncSync;
    context.mock.method(fs, "fsyncSync", (descriptor: number) => {
      marked.push(existsSync(join(directory, "unfinished-restore")));
      flush(descriptor);
    });
    syncBuiltinESMExports();
    try {
      await restoreBackup(locationOf(directory), { clock: systemClock, file, signal });
    } finally {
      context.mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.equal(marked[0], true);
  });

  it("is restored again where a kill left nothing but the locks of the folder", async () => {
    const directory = join(folder, "locked");
    mkdirSync(directory, { mode: 0o700 });
    for (const name of ["owner.lock", "members.lock", "owner.json", "owner.json.0123456789ab.new"])
      writeFileSync(join(directory, name), "", { mode: 0o600 });
    await restoreBackup(locationOf(directory), { clock: systemClock, file, signal });
    assert.ok(existsSync(join(directory, "store")));
  });

  it("is refused for a folder without a server's data", async () => {
    const options = { file: join(folder, "none.gz"), withKeys: true, clock: systemClock, signal };
    await assert.rejects(backUp(locationOf(join(folder, "nothing")), options), UsageError);
    await assert.rejects(backUp(locationOf(folder), options), UsageError);
    assert.equal(existsSync(options.file), false);
  });
});
