import assert from "node:assert/strict";
import { spawn, spawnSync, execFile } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { startTestServerProcess } from "../test-server-process.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { resourceReferences } from "../resource-references.ts";
import { clientOf } from "./client-of.ts";

const root = join(import.meta.dirname, "../..");
const canLimit = spawnSync("prlimit", ["--version"]).status === 0;
const withoutLimits = { skip: !canLimit && "prlimit is not installed" };
const hasProc = { skip: spawnSync("test", ["-r", "/proc/self/net/tcp"]).status !== 0 && "there is no /proc" };

const folder = mkdtempSync(join(tmpdir(), "signet-process-"));
let folders = 0;
const newData = (): string => join(mkdtempSync(join(folder, `${++folders}-`)), "data");
const children = new Set<ChildProcess>();
after(() => {
  // A test that fails leaves its processes, and this one would wait for them for ever.
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Starts `signet` without runtime flags that would help it. */
const signet = (args: readonly string[]): ChildProcess => {
  const child = spawn(process.execPath, [signetProgram, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: root,
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.stdout.once("readable", () => {}); // lets it read
  return child;
};

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await delay(20);
  }
}

/** Whether a process listens on the debugger's port 9229 (0x240D). One that has ended does not. */
function listensOnDebuggerPort(pid: number): boolean {
  const listening = readFileSync("/proc/net/tcp", "utf8").matchAll(/:240D \S+ 0A (?:\S+\s+){5}(\d+)/g);
  const sockets = new Set(Array.from(listening, ([, inode]) => `socket:[${inode}]`));
  try {
    return readdirSync(`/proc/${pid}/fd`).some((file) => sockets.has(readlinkSync(`/proc/${pid}/fd/${file}`)));
  } catch {
    return false;
  }
}

/** Which signals a process catches or ignores (`SigCgt`, `SigIgn`). */
function handles(pid: number, signal: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return [/^SigCgt:\s+(\w+)/m, /^SigIgn:\s+(\w+)/m].some(
    (field) => ((BigInt(`0x${field.exec(status)?.[1] ?? "0"}`) >> BigInt(signal - 1)) & 1n) === 1n,
  );
}

async function exitOf(child: ChildProcess): Promise<{ readonly code: number | null; readonly stderr: string }> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

describe("SIGTERM", () => {
  it("ends a server in order that has only just said that it is ready", async () => {
    for (const workers of [1, 2]) {
      const server = await startTestServerProcess(newData(), { flags: [`--workers=${workers}`] });
      assert.equal(await server.stop(), 0);
    }
  });
});

describe("SIGHUP", () => {
  for (const [what, argumentsFor] of [
    [
      "a server that waits for etcd",
      (port: number) => ["serve", "--data-dir", newData(), "--etcd-servers", `http://127.0.0.1:${port}`],
    ],
    [
      "controllers that wait for their server",
      (port: number) => ["controllers", "--kubeconfig", kubeconfigOf(`https://127.0.0.1:${port}`)],
    ],
  ] as const) {
    it(`is no end of a start, as of ${what}: the settings are read again`, async (context) => {
      const silent = createServer().listen(0, "127.0.0.1");
      context.after(() => silent.close());
      await once(silent, "listening");
      const { port } = silent.address() as AddressInfo; // it listens on TCP
      const program = signet(argumentsFor(port));
      const ended = exitOf(program);
      const [connection] = (await once(silent, "connection")) as [Socket];
      context.after(() => connection.destroy());
      program.kill("SIGHUP");
      const line = once(program.stderr ?? assert.fail(), "data");
      assert.match(String(await Promise.race([line, ended])), /"settings read again"/);
      program.kill("SIGTERM");
      await ended;
    });
  }
});

/** A kubeconfig's file, without credentials. */
function kubeconfigOf(server: string): string {
  const file = `${newData()}.kubeconfig`;
  const context = { name: "one", context: { cluster: "one" } };
  writeFileSync(
    file,
    JSON.stringify({ clusters: [{ name: "one", cluster: { server } }], contexts: [context], "current-context": "one" }),
  );
  return file;
}

/** A process that has LMDB's lock for writers, until it is killed. */
const suspendedInCommit = `
import { openEnvironment } from "${import.meta.resolve("../../src/machinery/storage/backends/lmdb-environment.ts")}";
const { root } = openEnvironment({ directory: process.argv[1], profile: "platform" });
root.transactionSync(() => {
  console.log("in a transaction");
  process.kill(process.pid, "SIGSTOP");
});`;

describe("SIGTERM to a server that waits for another process, which was suspended while it wrote to the store", () => {
  for (const [when, signals] of [
    ["after its grace", 1],
    ["at once when it comes twice", Infinity],
  ] as const) {
    it(`ends it ${when}`, async () => {
      const data = newData();
      const server = await startTestServerProcess(data);
      const words = ["--input-type=module", "--eval", suspendedInCommit, join(data, "store")];
      const other = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
      children.add(other);
      await once(other.stdout, "data");
      const client = clientOf(server);
      const { configMaps } = resourceReferences(namesFor("platform"));
      const written = client.resource<ApiObject>(configMaps, "default").create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "waits" },
      });
      written.catch(() => {});
      assert.equal(await client.text("/livez"), "ok"); // after the write has come
      const ended = once(server.process, "exit");
      for (let sent = 0; sent < signals && server.process.signalCode === null; sent++) {
        server.process.kill("SIGTERM");
        await turn();
      }
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      await assert.rejects(written);
      client.close();
      other.kill("SIGKILL");
    });
  }
});

describe("SIGUSR1", hasProc, () => {
  it("opens no debugger in the server, its workers, an agent or controllers, and stops none of them", async () => {
    const server = await startTestServerProcess(newData(), { flags: ["--workers=2"] });
    const data = newData();
    const kubeconfig = join(data, "..", "nowhere.kubeconfig");
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
        clusters: [{ name: "x", cluster: { server: "https://127.0.0.1:1" } }],
        users: [{ name: "x", user: { token: "x" } }],
      }),
    );
    const plainData = newData();
    const plain = signet(["serve", `--data-dir=${plainData}`, "--secure-port=0"]);
    const agent = signet(["agent", `--kubeconfig=${kubeconfig}`, "--node-name=n", `--data-dir=${data}`, "--port=0"]);
    const others = [plain, agent];
    try {
      for (const { stdout } of others) await until(() => (stdout?.readableLength ? true : undefined));
      const controllers = signet(["controllers", `--kubeconfig=${join(plainData, "admin.kubeconfig")}`]);
      others.push(controllers);
      await until(() => (controllers.stdout?.readableLength ? true : undefined));
      const pids = [server.process.pid ?? 0, ...server.workerIds(), ...others.map(({ pid }) => pid ?? 0)];
      assert.equal(pids.length, 6);
      for (const pid of pids) {
        assert.ok(handles(pid, 10), String(pid));
        process.kill(pid, "SIGUSR1");
      }
      const client = clientOf(server);
      for (let index = 0; index < 10; index++) assert.equal(await client.text("/readyz"), "ok");
      client.close();
      for (const pid of pids) {
        assert.equal(listensOnDebuggerPort(pid), false);
        assert.ok(process.kill(pid, 0));
      }
    } finally {
      for (const other of others) other.kill("SIGKILL");
      await server.kill();
    }
  });

  it("opens no lasting debugger when it arrives during the start of the process", async () => {
    for (const milliseconds of [20, 40, 60]) {
      const child = signet(["serve", `--data-dir=${newData()}`, "--secure-port=0"]);
      await delay(milliseconds);
      child.kill("SIGUSR1");
      // Before Node.js has started, the signal simply ends the process.
      if (child.stdout) await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
      await until(() => (listensOnDebuggerPort(child.pid ?? 0) ? undefined : true));
      if (child.kill("SIGKILL")) await once(child, "exit");
    }
  });
});

describe("a server whose audit file is on a full disk", withoutLimits, () => {
  it("serves, says so, ends at SIGTERM, and writes whole lines once there is room", async () => {
    const path = join(newData(), "..", "audit.log");
    // Files may not grow beyond this: as on a full disk, the last write is cut off in the middle of a line.
    const limit = 512 * 2 ** 20;
    writeFileSync(path, "", { mode: 0o600 });
    truncateSync(path, limit - 2501);
    const launcher = ["prlimit", `--fsize=${limit}:unlimited`];
    const server = await startTestServerProcess(newData(), { launcher, flags: [`--audit-log-path=${path}`] });
    const client = clientOf(server);
    try {
      for (let index = 0; index < 50; index++) assert.equal(await client.text("/readyz"), "ok");
      await promisify(execFile)("prlimit", ["--pid", String(server.process.pid), "--fsize=unlimited"]);
      await client.request("/api/v1/namespaces/kube-nowhere").catch(() => {});
      const events = await until(() => {
        const text = readFileSync(path)
          .subarray(limit - 2501)
          .toString("utf8");
        return text.includes("kube-nowhere") && text.endsWith("\n") ? text.trim().split("\n") : undefined;
      });
      const uris = events.map((line) => (JSON.parse(line) as { requestURI: string }).requestURI); // throws for a half line
      assert.equal(uris.filter((uri) => uri === "/readyz").length, 50);
    } finally {
      client.close();
      assert.equal(await server.stop(), 0);
    }
  });

  it("ends at SIGTERM while the disk stays full, and has counted lost events", async () => {
    const server = await startTestServerProcess(newData(), { flags: ["--audit-log-path=/dev/full"] });
    const client = clientOf(server);
    for (let index = 0; index < 50; index++) assert.equal(await client.text("/readyz"), "ok");
    assert.match(await client.text("/metrics"), /^apiserver_audit_event_total [1-9]/m);
    client.close();
    assert.equal(await server.stop(), 0);
  });
});

describe("a server whose output is not read", () => {
  const shellServer = async (prepareOutput: string): Promise<void> => {
    const data = newData();
    const line = `${prepareOutput}; exec "${process.execPath}" "${signetProgram}" serve "--data-dir=${data}" --secure-port=0 --log-level=debug --audit-log-path=-`;
    const child = spawn("bash", ["-c", line], { stdio: "ignore", cwd: root });
    const ended = once(child, "exit");
    const config = await until(() => {
      try {
        return readFileSync(join(data, "admin.kubeconfig"), "utf8");
      } catch {
        return undefined;
      }
    });
    const url = /server: (\S+)/.exec(config)?.[1] ?? "";
    const client = new ApiClient(
      httpsTransport({ server: url, caCertificates: readFileSync(join(data, "ca.crt"), "utf8") }),
    );
    try {
      // More than a pipe holds.
      for (let index = 0; index < 150; index++) assert.equal(await client.text("/livez"), "ok");
      client.close();
      child.kill("SIGTERM");
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  };

  it("continues without its reader, and ends at SIGTERM", () => shellServer("exec > >(head -1 >/dev/null) 2>&1"));
  it("starts, continues and ends at SIGTERM when its output is a full pipe without a reader", () =>
    shellServer("exec > >(exec sleep 60) 2>&1; yes | head -c 65536"));
  it("continues and ends at SIGTERM when the disk is full", () => shellServer("exec > /dev/full 2>&1"));
});

describe("a server without free file descriptors", withoutLimits, () => {
  it("closes connections above the limit, continues, and accepts new ones when there is room", async () => {
    const launcher = ["prlimit", "--nofile=128:128"];
    const server = await startTestServerProcess(newData(), { launcher, flags: ["--log-level=silent"] });
    const { port } = new URL(server.url);
    const sockets: Socket[] = [];
    let closed = 0;
    for (let index = 0; index < 400; index++) {
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      socket.on("error", () => {});
      socket.on("close", () => closed++);
      sockets.push(socket);
    }
    await until(() => (closed >= 400 - 64 ? true : undefined));
    for (const socket of sockets) socket.destroy();
    const client = clientOf(server);
    await until(() => (closed === 400 ? true : undefined));
    let answer: string | undefined;
    while (answer === undefined) answer = await client.text("/readyz").catch(() => undefined);
    assert.equal(answer, "ok");
    client.close();
    assert.equal(await server.stop(), 0);
  });
});

describe("a start that cannot succeed", () => {
  it("ends with one line and exit code 2 for an audit file that cannot be written, in workers too", async () => {
    for (const workers of [1, 2]) {
      const flags = ["--secure-port=0", `--workers=${workers}`, `--audit-log-path=${folder}`];
      const { code, stderr } = await exitOf(signet(["serve", `--data-dir=${newData()}`, ...flags]));
      assert.equal(code, 2);
      assert.match(stderr, /^signet: --audit-log-path: cannot write [^\n]*\n$/);
    }
  });
});

describe("workers that cannot be started again", () => {
  it("leave the primary process running, which SIGTERM ends at once", async () => {
    const data = newData();
    const server = await startTestServerProcess(data, { flags: ["--workers=2", "--log-level=silent"] });
    renameSync(join(data, "ca.key"), join(data, "ca.key.gone"));
    copyFileSync("/dev/null", join(data, "ca.key"));
    const before = server.workerIds();
    for (const id of before) process.kill(id, "SIGKILL");
    await until(() => (server.workerIds().some((id) => before.includes(id)) ? undefined : true));
    assert.equal(await server.stop(), 0);
  });
});
