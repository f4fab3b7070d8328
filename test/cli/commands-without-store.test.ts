import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { skipsEtcd, startEtcd } from "../machinery/storage/etcd/etcd-process.ts";
import type { HostedOutcome } from "./command-host.ts";
import { HostedSignet } from "./hosted-signet.ts";

/** The commands that work on a server's store, whether it runs or not. */
const commands: readonly (readonly string[])[] = [
  ["encryption", "status"],
  ["encryption", "rewrite"],
  ["encryption", "rotate"],
  ["encryption", "retire"],
  ["encryption", "discard", "/registry/secrets/default/web", "--yes"],
  ["keys", "list"],
  ["keys", "rotate"],
  ["ca", "list"],
  ["backup", "saved"],
];

/** Two keys: then there is one to retire. */
const encryptionKeys = [1, 2].map((byte) => `${Buffer.alloc(32, byte).toString("base64")}\n`).join("");

describe("a command on the store of a server", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-no-store-"));
  const keyFile = join(folder, "encryption.key");
  writeFileSync(keyFile, encryptionKeys, { mode: 0o600 });
  let signet: HostedSignet;
  before(() => {
    signet = new HostedSignet();
  });
  after(() => {
    signet.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (args: readonly string[], dataDirectory: string): Promise<HostedOutcome> =>
    signet.run([
      ...args.map((arg) => (arg === "saved" ? join(folder, arg) : arg)),
      ...["--data-dir", dataDirectory, "--encryption-key-file", keyFile],
    ]);

  it("refuses a folder without a server's store, and creates nothing there", async () => {
    const other = mkdtempSync(join(folder, "other-"));
    writeFileSync(join(other, "letter.txt"), "dear");
    for (const args of commands) {
      const { code, stdout, stderr } = await run(args, other);
      assert.equal(code, 2, `${args.join(" ")}: ${stdout}${stderr}`);
      assert.match(stderr, /holds no store of a server: name the one that signet serve was given/, args.join(" "));
    }
    assert.deepEqual(readdirSync(other), ["letter.txt"]);
  });

  it("says that the objects are in etcd since they were moved there", async () => {
    const data = mkdtempSync(join(folder, "moved-"));
    mkdirSync(join(data, "store.moved-70"));
    for (const args of commands) {
      const { code, stderr } = await run(args, data);
      assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
      assert.match(
        stderr,
        /its objects were moved to etcd: give --etcd-servers; or, to go back .* rename/,
        args.join(" "),
      );
    }
    const { code, stdout } = await signet.run(["doctor", "--data-dir", data]);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^BAD +storage +the store does not open: --data-dir: its objects were moved to etcd: give --etcd-servers/m,
    );
  });

  it("says that a data directory is a link that leads nowhere", async () => {
    const link = join(folder, "link");
    symlinkSync("gone", link);
    for (const args of [...commands, ["doctor"]]) {
      const { code, stderr } = await run(args, link);
      assert.equal(code, 2, args.join(" "));
      assert.match(
        stderr,
        /^signet: --data-dir: .+link is a link to a folder that does not exist; make that/,
        args.join(" "),
      );
    }
  });

  it("refuses a damaged store with one line, and does not change it", async () => {
    const data = mkdtempSync(join(folder, "damaged-"));
    const file = join(data, "store/store.mdb");
    mkdirSync(join(data, "store"), { mode: 0o700 });
    writeFileSync(file, "a text", { mode: 0o600 });
    for (const args of commands) {
      const { code, stdout, stderr } = await run(args, data);
      assert.deepEqual(
        [code, stdout, stderr],
        [
          2,
          "",
          `signet: --data-dir: ${file} is damaged, or is not a Signet store; restore a backup (signet restore)\n`,
        ],
        args.join(" "),
      );
    }
    assert.equal(readFileSync(file, "utf8"), "a text");
    assert.equal(readFileSync(keyFile, "utf8"), encryptionKeys);
  });

  it("refuses a store whose file is empty with one line, and leaves it", async () => {
    const data = mkdtempSync(join(folder, "empty-"));
    const file = join(data, "store/store.mdb");
    mkdirSync(join(data, "store"), { mode: 0o700 });
    writeFileSync(file, "", { mode: 0o600 });
    const refusal = async (args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(args, data);
      assert.equal(code, 2, `${args.join(" ")}: ${stdout}${stderr}`);
      return stderr;
    };
    for (const args of commands) assert.match(await refusal(args), /holds no store of a server/, args.join(" "));
    // A server has served from it.
    writeFileSync(join(data, "admin.pem"), "", { mode: 0o600 });
    for (const args of commands)
      assert.match(await refusal(args), /store\.mdb is empty, and a server has/, args.join(" "));
    const { code, stdout } = await signet.run(["doctor", "--data-dir", data]);
    assert.equal(code, 1);
    assert.match(stdout, /^BAD +storage +.+store\.mdb is empty, and a server has had objects there/m);
    assert.deepEqual(readdirSync(join(data, "store")), ["store.mdb"]);
  });

  it("refuses a store that is a link to nothing with one line, and keeps the link", async () => {
    const data = mkdtempSync(join(folder, "link-"));
    symlinkSync(join(folder, "unmounted"), join(data, "store"));
    for (const args of commands) {
      const { code, stderr } = await run(args, data);
      assert.equal(code, 2, args.join(" "));
      assert.match(stderr, /store is a link to .+unmounted, which is not there/, args.join(" "));
    }
    const { code, stdout } = await signet.run(["doctor", "--data-dir", data]);
    assert.equal(code, 1);
    assert.match(stdout, /^BAD +storage +.+store is a link to .+unmounted, which is not there/m);
    assert.deepEqual(readdirSync(folder).includes("unmounted"), false);
  });

  it("refuses an etcd without a server's data, and keeps the keys", { skip: skipsEtcd }, async () => {
    const etcd = await startEtcd();
    try {
      for (const args of commands.filter(([group]) => group === "encryption" || group === "backup")) {
        const { code, stdout, stderr } = await run([...args, "--etcd-servers", etcd.urls.join(",")], folder);
        assert.equal(code, 2, `${args.join(" ")}: ${stdout}${stderr}`);
        assert.match(stderr, /etcd holds nothing of a server below \S+: name the members/, args.join(" "));
      }
      assert.equal(readFileSync(keyFile, "utf8"), encryptionKeys);
    } finally {
      await etcd.stop();
    }
  });
});
