import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { parseKeyPair } from "../../../src/agent/certificates/key-pair.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { signetProgram } from "../../../bench/processes/signet-program.ts";
import { HostedSignet } from "../../cli/hosted-signet.ts";
import { startTestServer } from "../../test-server.ts";

const isRoot = process.getuid?.() === 0;
const someoneElse = 65_534;

interface Started {
  readonly process: ChildProcess;
  /** "ready", or the text on standard error and the exit code when it exited. */
  readonly outcome: Promise<"ready" | { readonly code: number | null; readonly said: string }>;
}

let folder = "";
let data = "";
let running: ChildProcess[] = [];
let signet: HostedSignet;
before(() => {
  signet = new HostedSignet();
});
after(() => signet.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signet-data-"));
  data = join(folder, "data");
});
afterEach(async () => {
  for (const child of running) await end(child, "SIGKILL");
  running = [];
  rmSync(folder, { recursive: true, force: true });
});

const serve = (directory: string, flags: readonly string[] = []): string[] => [
  ...["serve", "--data-dir", directory, "--secure-port=0", "--log-level=silent"],
  ...flags,
];

function start(directory: string, flags: readonly string[] = []): Started {
  const child = spawn(process.execPath, [signetProgram, ...serve(directory, flags)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  const outcome = new Promise<Awaited<Started["outcome"]>>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => line.startsWith("ready") && resolve("ready"));
    child.once("close", (code) => resolve({ code, said }));
  });
  return { process: child, outcome };
}

/** Starts and stops a server in this process: much faster, where it does not matter which process it is. */
async function serveOnce(dataDirectory: string): Promise<void> {
  await (await startTestServer({ storage: "lmdb", dataDirectory })).stop();
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

const kubeconfig = (): string => readFileSync(join(data, "admin.kubeconfig"), "utf8");

describe("a data directory", () => {
  for (const workers of [1, 2]) {
    it(`has one server: a second one is refused with one line and changes nothing (--workers ${workers})`, async () => {
      const first = start(data, [`--workers=${workers}`]);
      assert.equal(await first.outcome, "ready");
      const before = kubeconfig();
      const link = join(folder, "link");
      symlinkSync(data, link);
      for (const flags of [[], ["--workers=2"], ["--profile=kubernetes"]]) {
        for (const directory of [data, link]) {
          const second = await signet.run(serve(directory, flags));
          assert.equal(second.code, 2);
          assert.match(
            second.stderr,
            new RegExp(
              `^signet: .+ is in use by the process ${first.process.pid} at "https://127\\.0\\.0\\.1:\\d+"; [^\\n]+\\n$`,
            ),
          );
        }
      }
      assert.equal(kubeconfig(), before);
      assert.deepEqual(
        readdirSync(data).filter((name) => name.endsWith(".new")),
        [],
      );
    });

    it(`is free again when its server has stopped or was killed (--workers ${workers})`, async () => {
      for (const signal of ["SIGKILL", "SIGTERM"] as const) {
        const server = start(data, [`--workers=${workers}`]);
        assert.equal(await server.outcome, "ready");
        await end(server.process, signal);
      }
      await serveOnce(data);
    });
  }

  it("has exactly one server when several start at the same moment", async () => {
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => start(data).outcome));
    const refusals = outcomes.filter((outcome) => outcome !== "ready");
    assert.equal(refusals.length, 3);
    for (const { code, said } of refusals) {
      assert.equal(code, 2);
      assert.match(said, /^signet: .+ is in use by [^\n]+\n$/);
    }
  });

  const refuse = async (directory: string, expected: RegExp): Promise<void> => {
    const { code, stderr } = await signet.run(serve(directory));
    assert.equal(code, 2, directory);
    assert.match(stderr, /^signet: [^\n]+\n$/);
    assert.match(stderr, expected);
  };

  it("is refused with one line when it cannot be created", async () => {
    writeFileSync(join(folder, "file"), "");
    symlinkSync("loop", join(folder, "loop"));
    symlinkSync("none", join(folder, "dangling"));
    await refuse("/proc/signet/data", /the folder does not exist; make it, or name another/);
    await refuse(join(folder, "file"), /is not a folder/);
    await refuse(join(folder, "file/data"), /a file, not a folder/);
    await refuse(join(folder, "loop"), /links/);
    await refuse(
      join(folder, "dangling"),
      /--data-dir: .+dangling is a link to a folder that does not exist; make that/,
    );
    await refuse(join(folder, "n".repeat(300)), /too long/);
  });

  it("is refused when other users can write to it, also through a link", async () => {
    mkdirSync(data);
    symlinkSync("data", join(folder, "link"));
    for (const mode of [0o770, 0o702, 0o1777]) {
      chmodSync(data, mode);
      await refuse(data, /other users can write to it \(mode \d+\); chmod 700/);
    }
    await refuse(join(folder, "link"), /chmod 700/);
    assert.deepEqual(readdirSync(data), []);
  });

  it("is refused when it is another user's", { skip: !isRoot && "only root can give files away" }, async () => {
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, someoneElse, someoneElse);
    await refuse(data, /belongs to another user \(uid 65534\)/);
    assert.deepEqual(readdirSync(data), []);
  });

  it("is refused when its keys are open to other users", async () => {
    await serveOnce(data);
    for (const name of ["ca.key", "service-account.key", "serving.pem", "admin.pem", "admin.kubeconfig"]) {
      chmodSync(join(data, name), 0o640);
      const reason =
        "is open to other users \\(mode 0640\\); chmod 600 it; if others may have read it, replace what is in it";
      await refuse(data, new RegExp(`${name.replace(".", "\\.")} ${reason} \\(docs/break-in\\.md\\)`));
      chmodSync(join(data, name), 0o600);
    }
    await serveOnce(data);
  });

  it("gets new certificates of its own in place of damaged ones", async () => {
    await serveOnce(data);
    const damages: readonly ((pem: string) => string)[] = [
      (pem) => pem.replace(/(PRIVATE KEY-----\n.*\n)..../, "$1AAAA"),
      (pem) => pem.replace(/(CERTIFICATE-----\n)..../, "$1AAAA"),
      (pem) =>
        encodePrivateKeyPem(generatePrivateKey("ECDSA P-256")) + pem.slice(pem.indexOf("-----BEGIN CERTIFICATE")),
    ];
    for (const name of ["serving.pem", "admin.pem"]) {
      for (const damage of damages) {
        const damaged = damage(readFileSync(join(data, name), "utf8"));
        writeFileSync(join(data, name), damaged);
        await serveOnce(data);
        const made = readFileSync(join(data, name), "utf8");
        assert.notEqual(made, damaged);
        assert.doesNotThrow(() => parseKeyPair(made));
      }
    }
  });

  it("is cleaned of the files of interrupted writes, and of nothing else", async () => {
    for (const part of ["", "signers", "store"]) {
      mkdirSync(join(data, part), { mode: 0o700 });
      for (const name of ["ca.key.0123456789ab.new", "mine.new", "ca.0123456789ab.txt"])
        writeFileSync(join(data, part, name), "");
    }
    await serveOnce(data);
    for (const part of ["", "signers", "store"]) {
      const left = readdirSync(join(data, part)).filter((name) => /new|txt/.test(name));
      assert.deepEqual(left.sort(), ["ca.0123456789ab.txt", "mine.new"], part);
    }
  });

  it("is refused when its store is damaged", async () => {
    mkdirSync(join(data, "store"), { recursive: true, mode: 0o700 });
    writeFileSync(join(data, "store/store.mdb"), Buffer.alloc(50_000, 0xa5));
    await refuse(data, /store\.mdb is damaged, or is not a Signet store; restore a backup/);
  });

  it("is refused when the file of its store is empty, unless no server has served from it or the store was removed", async () => {
    mkdirSync(join(data, "store"), { recursive: true, mode: 0o700 });
    writeFileSync(join(data, "store/store.mdb"), "");
    await serveOnce(data);
    writeFileSync(join(data, "store/store.mdb"), "");
    await refuse(
      data,
      /store\.mdb is empty, and a server has had objects there: restore a backup \(signet restore\), or,/,
    );
    rmSync(join(data, "store"), { recursive: true });
    await serveOnce(data);
  });

  it("is refused when its store is a link to a folder that is not there, such as one on a disk that is not mounted", async () => {
    const disk = join(folder, "disk");
    await serveOnce(data);
    renameSync(join(data, "store"), disk);
    symlinkSync(disk, join(data, "store"));
    await serveOnce(data);
    renameSync(disk, `${disk}.unmounted`);
    await refuse(data, /store is a link to .+disk, which is not there: mount its disk/);
  });

  it("is refused when a file of its store cannot be opened", async () => {
    mkdirSync(join(data, "store"), { recursive: true, mode: 0o700 });
    symlinkSync("store.mdb", join(data, "store/store.mdb"));
    await refuse(data, /--data-dir: cannot use .+store\.mdb: its symbolic links form a loop/);
  });

  it("may be below missing folders, and is closed to other users", async () => {
    const deep = join(folder, "one/two/three");
    await serveOnce(deep);
    for (const made of [deep, join(folder, "one")]) assert.equal(statSync(made).mode & 0o777, 0o700);
    for (const lock of ["owner.lock", "members.lock"]) assert.equal(statSync(join(deep, lock)).mode & 0o777, 0o600);
  });

  it(
    "is refused with one line when this user may not write to it",
    { skip: !isRoot && "only root can be another" },
    () => {
      mkdirSync(data, { mode: 0o755 });
      chmodSync(folder, 0o755);
      const closed = join(folder, "closed");
      mkdirSync(closed, { mode: 0o500 });
      chownSync(closed, someoneElse, someoneElse);
      const asSomeoneElse = ["--reuid", String(someoneElse), "--regid", String(someoneElse), "--clear-groups"];
      for (const directory of [join(data, "theirs"), closed]) {
        const words = [process.execPath, signetProgram, "serve", "--secure-port=0", "--data-dir", directory];
        const { status, stderr } = spawnSync("setpriv", [...asSomeoneElse, ...words], { encoding: "utf8" });
        assert.equal(status, 2, stderr);
        assert.match(stderr, /^signet: .+ cannot be used: this user has no permission; [^\n]+\n$/);
      }
      assert.ok(!existsSync(join(data, "theirs")));
    },
  );
});
