import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { writeCertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import type { CertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import { keyPair, parseKeyPair } from "../../../src/agent/certificates/key-pair.ts";
import { showAllFilesAs } from "../../machinery/files/show-all-files-as.ts";
import { newPair } from "../new-pair.ts";
import { outputsIn } from "./output-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

/** A short run is part of the tests; `SIGNET_KILLS=100` makes a long one. */
const kills = Number(process.env["SIGNET_KILLS"] ?? 6);

describe("the files of a service's certificate", () => {
  it("match at whatever point their writer is killed, and are correct after the next write", async () => {
    const folder = temporaryFolder();
    for (const output of outputsIn(folder)) writeCertificateOutput(output, newPair());
    for (let round = 0; round < kills; round++) {
      const writer = spawn(process.execPath, [resolve(import.meta.dirname, "output-writer.ts"), folder], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(writer.stdout, "data");
      // Somewhere in its many writes: the later rounds give it longer.
      for (let turns = 0; turns < (round % 20) * 40; turns++) await new Promise(setImmediate);
      writer.kill("SIGKILL");
      await once(writer, "exit");
      parseKeyPair(readFileSync(join(folder, "web.pem"), "utf8"));
      const version = realpathSync(join(folder, "tls", "..data"));
      keyPair({
        keyPem: readFileSync(join(version, "tls.key"), "utf8"),
        certificatePem: readFileSync(join(version, "tls.crt"), "utf8"),
      });
    }
    const pair = newPair();
    for (const output of outputsIn(folder)) writeCertificateOutput(output, pair);
    assert.equal(readFileSync(join(folder, "tls", "tls.key"), "utf8"), pair.keyPem);
    // The version in use, the one before it, and the links.
    assert.equal(readdirSync(join(folder, "tls")).length, 5);
    // No files of an interrupted write: they could hold a key that no program knows of.
    writeFileSync(join(folder, "web.pem.0123456789ab.new"), pair.keyPem);
    for (const output of outputsIn(folder)) writeCertificateOutput(output, newPair());
    assert.deepEqual(readdirSync(folder).toSorted(), ["tls", "web.pem"]);
  });

  it("have the same failure at each try, which names the file that people know", () => {
    const folder = temporaryFolder();
    const output = { type: "folder", folder, names: { key: "missing/tls.key" }, ownership: { mode: 0o600 } } as const;
    for (let round = 0; round < 2; round++) {
      assert.throws(() => writeCertificateOutput(output, newPair()), {
        name: "UnusableFile",
        message: `cannot write ${folder}/missing/tls.key: the folder does not exist; make it, or name another`,
      });
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  it("are written again only when they differ, in contents, mode or owner", () => {
    const folder = temporaryFolder();
    const [pem = assert.fail()] = outputsIn(folder);
    const pair = newPair();
    const { digest, isChanged } = writeCertificateOutput(pem, pair);
    assert.ok(isChanged);
    const file = join(folder, "web.pem");
    const { ino, uid } = statSync(file);
    assert.deepEqual(writeCertificateOutput(pem, pair), { digest, isChanged: false });
    assert.equal(statSync(file).ino, ino);
    const spoilers = [() => writeFileSync(file, "spoiled"), () => chmodSync(file, 0o644), () => rmSync(file)];
    // Root alone can give a file away.
    if (uid === 0) spoilers.push(() => chownSync(file, 1, 1));
    for (const spoil of spoilers) {
      spoil();
      assert.deepEqual(writeCertificateOutput(pem, pair), { digest, isChanged: true });
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(file).uid, uid);
      assert.equal(parseKeyPair(readFileSync(file, "utf8")).keyPem, pair.keyPem);
    }
  });

  it("are not written to a file system without modes or owners, unless it shows each file as one that others cannot use", (context) => {
    const folder = temporaryFolder();
    const [pem = assert.fail()] = outputsIn(folder);
    const pair = newPair();
    const shown = showAllFilesAs(context, 0o777);
    assert.throws(() => writeCertificateOutput(pem, pair), {
      name: "UnusableFile",
      message: `cannot write ${folder}/web.pem: its file system makes the mode 0777 of 0600; name a place on another, or mount it with another umask`,
    });
    assert.deepEqual(readdirSync(folder), []);
    shown.mode = 0o700;
    const { digest, isChanged } = writeCertificateOutput(pem, pair);
    assert.ok(isChanged);
    assert.deepEqual(writeCertificateOutput(pem, pair), { digest, isChanged: false });
    // The group was to read it, and cannot.
    const forGroup = { ...pem, ownership: { mode: 0o640 } };
    assert.throws(() => writeCertificateOutput(forGroup, pair), /makes the mode 0700 of 0640/);
    shown.mode = 0o750;
    writeCertificateOutput(forGroup, pair);
    shown.mode = 0o711;
    assert.throws(() => writeCertificateOutput(pem, pair), /makes the mode 0711 of 0600/);
    shown.mode = 0o700;
    // Another user could read it.
    const { uid, gid } = statSync(folder);
    shown.uid = uid + 1;
    assert.throws(() => writeCertificateOutput(pem, pair), {
      name: "UnusableFile",
      message: `cannot write ${folder}/web.pem: its file system gives it to uid ${uid + 1} and gid ${gid}, not to ${uid} and ${gid}; name a place on another, or mount it for that user`,
    });
  });

  it("are refused, and not waited for, where there is a pipe or a device", () => {
    const folder = temporaryFolder();
    const [pem = assert.fail(), tls = assert.fail()] = outputsIn(folder);
    execFileSync("mkfifo", ["-m", "600", join(folder, "web.pem")]);
    assert.throws(
      () => writeCertificateOutput(pem, newPair()),
      /web\.pem is a pipe, a device or a socket; name a file/,
    );
    writeCertificateOutput(tls, newPair());
    rmSync(join(folder, "tls", "tls.key"));
    symlinkSync("/dev/zero", join(folder, "tls", "tls.key"));
    assert.throws(
      () => writeCertificateOutput(tls, newPair()),
      /tls\.key is a pipe, a device or a socket; name a file/,
    );
  });

  it("leave nothing behind of a write that failed", () => {
    const folder = temporaryFolder();
    const [, output = assert.fail()] = outputsIn(folder);
    writeCertificateOutput(output, newPair());
    const tls = join(folder, "tls");
    const before = readdirSync(tls);
    rmSync(join(tls, "..data"));
    // A link cannot be renamed over it.
    mkdirSync(join(tls, "..data"));
    for (let retry = 0; retry < 3; retry++) assert.throws(() => writeCertificateOutput(output, newPair()));
    assert.deepEqual(readdirSync(tls), before);
  });

  it("are not written to a folder that another user can change", () => {
    const folder = temporaryFolder();
    const [, output = assert.fail()] = outputsIn(folder);
    writeCertificateOutput(output, newPair());
    chmodSync(join(folder, "tls"), 0o777);
    assert.throws(() => writeCertificateOutput(output, newPair()), /tls can be changed by other users/);
    chmodSync(join(folder, "tls"), 0o755);
    // Root alone can give a folder away.
    if (statSync(folder).uid !== 0) return;
    chownSync(join(folder, "tls"), 1, 1);
    assert.throws(() => writeCertificateOutput(output, newPair()), /tls can be changed by other users/);
  });

  it(
    "are written, and old ones removed, in the folder that was checked, although its path leads elsewhere meanwhile",
    { skip: !existsSync("/proc/self/fd") && "only Linux can hold a folder" },
    (context) => {
      const folder = temporaryFolder();
      const tls = join(folder, "tls");
      const [other, moved] = [join(folder, "other"), join(folder, "moved")];
      const [, output = assert.fail()] = outputsIn(folder);
      writeCertificateOutput(output, newPair());
      const old = "..2020-01-01-00-00-00-000.0123abcd";
      mkdirSync(join(other, old), { recursive: true });
      const { renameSync } = fs;
      context.mock.method(fs, "renameSync", (from: string, to: string) => {
        renameSync(from, to);
        if (!to.endsWith("..data")) return;
        renameSync(tls, moved);
        renameSync(other, tls);
      });
      syncBuiltinESMExports();
      context.after(() => {
        context.mock.restoreAll();
        syncBuiltinESMExports();
      });
      const pair = newPair();
      writeCertificateOutput(output, pair);
      assert.deepEqual(readdirSync(tls), [old]);
      assert.equal(readFileSync(join(moved, "tls.key"), "utf8"), pair.keyPem);
    },
  );

  it("are in a folder the parts that are wanted now, each of the newest version, and nothing of a write that was killed", () => {
    const folder = temporaryFolder();
    const output = { type: "folder", folder, ownership: { mode: 0o600 } } as const;
    writeCertificateOutput({ ...output, names: { key: "key", certificate: "crt", chain: "chain" } }, newPair());
    rmSync(join(folder, "crt"));
    symlinkSync("elsewhere", join(folder, "crt"));
    writeFileSync(join(folder, "crt.0123456789ab.new"), "");
    const pair = newPair();
    writeCertificateOutput({ ...output, names: { key: "key", certificate: "crt" } }, pair);
    assert.deepEqual(
      readdirSync(folder).filter((name) => !name.startsWith("..")),
      ["crt", "key"],
    );
    assert.equal(readFileSync(join(folder, "key"), "utf8"), pair.keyPem);
    assert.ok(pair.certificatePem.startsWith(readFileSync(join(folder, "crt"), "utf8")));
  });

  it("are made once of a pair and a password, where that takes long", () => {
    const folder = temporaryFolder();
    const passwords = ["changeit", "changeit", "changed", "changed"];
    for (const type of ["pkcs12", "jks"] as const) {
      let password = "";
      const file = join(folder, type);
      const output = {
        type,
        file,
        alias: "web",
        passwordFile: "",
        password: () => password,
        ownership: { mode: 0o600 },
      };
      const { keyPem, ...rest } = newPair();
      const pair = {
        ...rest,
        get keyPem() {
          reads++;
          return keyPem;
        },
      };
      let reads = 0;
      const looks = passwords.map((one) => {
        password = one;
        return [writeCertificateOutput(output, pair).isChanged, reads];
      });
      const expected = [
        [true, 1],
        [false, 1],
        [true, 2],
        [false, 2],
      ];
      assert.deepEqual(looks, expected, type);
    }
  });

  it("are not written below a folder in which another user can put another in their place", () => {
    const folder = join(temporaryFolder(), "srv");
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const below = join(folder, "app");
    const stores = (["pkcs12", "jks"] as const).map((type): CertificateOutput => ({
      type,
      file: join(below, type),
      alias: "web",
      passwordFile: join(folder, "password"),
      password: () => "changeit",
      ownership: { mode: 0o600 },
    }));
    for (const output of [...outputsIn(below), ...stores]) {
      assert.throws(() => writeCertificateOutput(output, newPair()), /srv can be changed by all users/);
    }
    assert.deepEqual(readdirSync(folder), []);
  });
});
