import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { certificateSigningRequestResource } from "../../src/features/certificates/resources.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../src/pki/requests/certificate-request.ts";
import {
  encodePrivateKeyPem,
  generatePrivateKey,
  parsePrivateKeyPem,
  publicKeyInfoOf,
} from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { InProcess } from "../server/in-process.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import type { HostedOutcome } from "./command-host.ts";
import { HostedSignet } from "./hosted-signet.ts";
import { UnhelpfulServers } from "./unhelpful-servers.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("a command that writes files", { concurrency: 1 }, () => {
  let server: TestServer;
  let host: HostedSignet;
  let folder = "";
  let count = 0;
  before(async () => {
    server = await startTestServer();
    host = new HostedSignet();
  });
  after(async () => {
    host.stop();
    await server.stop();
  });
  beforeEach(() => {
    folder = temporaryFolder();
    count += 1;
  });
  const signet = (...args: string[]): Promise<HostedOutcome> =>
    host.run([...args, "--kubeconfig", server.kubeconfigFile]);

  /** Each command with a file that only its owner may read, given that file. */
  const secretWriters: Readonly<Record<string, (file: string) => Promise<HostedOutcome>>> = {
    "kubeconfig --user --output-file": (file) => signet("kubeconfig", "--user", "anna", "--output-file", file),
    "kubeconfig --service-account --output-file": (file) =>
      signet("kubeconfig", "--service-account", "default", "--output-file", file),
    "bootstrap-token create --kubeconfig-file": (file) =>
      signet("bootstrap-token", "create", "--kubeconfig-file", file),
    "token create --output-file": (file) => signet("token", "create", "default", "--output-file", file),
  };
  for (const [command, write] of Object.entries(secretWriters)) {
    it(`makes an existing file of mode 0644 private: ${command}`, async () => {
      const file = join(folder, "secret");
      writeFileSync(file, "before");
      chmodSync(file, 0o644);
      const { code, stderr } = await write(file);
      assert.equal(code, 0, stderr);
      assert.equal(lstatSync(file).mode & 0o777, 0o600);
      assert.match(readFileSync(file, "utf8"), /kind: Config|"kind": ?"Config"|^eyJ[^\n]+\n$/);
    });

    it(`replaces a link without writing to its target: ${command}`, async () => {
      const target = join(folder, "target");
      const file = join(folder, "secret");
      writeFileSync(target, "before");
      symlinkSync(target, file);
      const { code, stderr } = await write(file);
      assert.equal(code, 0, stderr);
      assert.ok(lstatSync(file).isFile());
      assert.equal(readFileSync(target, "utf8"), "before");
    });

    it(`refuses folders, pipes, devices and - with one line before it sends a request: ${command}`, async () => {
      const names = ["folder", "pipe", "device", "missing/secret", "-"];
      mkdirSync(join(folder, "folder"));
      execFileSync("mkfifo", [join(folder, "pipe")]);
      symlinkSync("/dev/null", join(folder, "device"));
      for (const name of names) {
        const { code, stdout, stderr } = await write(name === "-" ? name : join(folder, name));
        assert.deepEqual([code, stdout], [name === "-" ? 2 : 5, ""], name);
        assert.match(stderr, /^signet: --[a-z]+-file: [^\n]+\n$/);
      }
    });
  }

  /** Each command with an output that is no key, given the file for it. */
  const otherWriters: Readonly<Record<string, (file: string) => Promise<HostedOutcome>>> = {
    ...secretWriters,
    "csr get --output-file": (file) => signet("csr", "get", "eve", "--output-file", file),
    "csr create --request-file": (file) =>
      signet("csr", "create", "eve", "--key-file", join(folder, "new.key"), "--request-file", file),
    "certificates issue --chain-out": (file) =>
      signet(
        ...["certificates", "issue", "eve", "--signer", "a.io/b", "--out", join(folder, "eve.crt")],
        ...["--key-out", join(folder, "eve.key"), "--chain-out", file],
      ),
    backup: (file) => host.run(["backup", "--data-dir", join(folder, "none"), file]),
    "support-bundle": (file) => host.run(["support-bundle", "--data-dir", join(folder, "none"), file]),
  };
  for (const [command, write] of Object.entries(otherWriters)) {
    it(`does not overwrite a file with a private key: ${command}`, async () => {
      const file = join(folder, "ann.pem");
      const key = `# of ann\n${encodePrivateKeyPem(generatePrivateKey("ECDSA P-256"))}`;
      writeFileSync(file, key, { mode: 0o600 });
      const { code, stdout, stderr } = await write(file);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, /ann\.pem holds a private key and is not replaced; name another file, or remove it\n$/);
      assert.equal(readFileSync(file, "utf8"), key);
    });
  }

  for (const [command, write] of Object.entries(secretWriters).filter(([name]) => name.includes("kubeconfig"))) {
    it(`replaces its own kubeconfig, and none with another cluster or user: ${command}`, async () => {
      const file = join(folder, "config");
      for (const _run of ["first", "second"]) {
        const { code, stderr } = await write(file);
        assert.equal(code, 0, stderr);
      }
      const own = readFileSync(file, "utf8");
      for (const others of [
        own.replace("name: signet", "name: work"),
        own.replace(/(users:\n +- name: )\S+/, "$1bob"),
      ]) {
        writeFileSync(file, others);
        const { code, stdout, stderr } = await write(file);
        assert.deepEqual([code, stdout], [2, ""], stderr);
        assert.match(stderr, /config is a kubeconfig with other clusters or users and is not replaced; name another/);
        assert.equal(readFileSync(file, "utf8"), others);
      }
    });
  }

  it("shows the name of its file on one line, without what could steer a terminal: backup, restore, support-bundle", async () => {
    const stored = await startTestServer({ storage: "lmdb" });
    const { dataDirectory } = stored;
    const file = join(folder, "a\nb\u001b[31m");
    const commands = [
      ["backup", "--data-dir", dataDirectory, file],
      ["restore", "--dry-run", file],
      ["restore", "--data-dir", `${file} restored`, file],
      ["support-bundle", "--data-dir", dataDirectory, `${file} support`],
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await host.run(command);
      assert.equal(code, 0, stderr);
      const name = command.join(" ");
      assert.match(stdout, /^\/.+\/a\\u\{a\}b\\u\{1b\}\[31m[^\n]*: /, name);
      assert.ok(!stdout.includes("\u001b"), name);
    }
  });

  it("keeps the key that it has just made when both flags name one file: csr create", async () => {
    const file = join(folder, "same");
    const { code, stderr } = await signet("csr", "create", "same", "--key-file", file, "--request-file", file);
    assert.equal(code, 2, stderr);
    assert.match(readFileSync(file, "utf8"), /PRIVATE KEY/);
  });

  it("removes the new key of a refused request and its request file, but keeps an existing key: csr create", async () => {
    const [kept, made, request] = [join(folder, "kept"), join(folder, "made"), join(folder, "request")];
    assert.equal((await signet("csr", "create", "taken", "--key-file", join(folder, "other"))).code, 0);
    assert.equal((await signet("csr", "create", "own", "--key-file", kept)).code, 0);
    const key = readFileSync(kept, "utf8");
    for (const file of [kept, made]) {
      const { code, stderr } = await signet("csr", "create", "taken", "--key-file", file, "--request-file", request);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /AlreadyExists/);
      assert.equal(existsSync(request), file === kept);
    }
    assert.equal(readFileSync(kept, "utf8"), key);
    assert.ok(!existsSync(made));
  });

  /** The kubeconfig of a server that answers a request as `answer` does, which gets the real one's answers from `ask`. */
  const kubeconfigOf = async (
    context: TestContext,
    answer: (ask: () => Promise<string>, method: string) => Promise<string>,
  ): Promise<string> => {
    const api = new InProcess(server);
    const unhelpful = new UnhelpfulServers(server);
    context.after(() => unhelpful.close());
    const headers = { "content-type": "application/json" };
    const url = await unhelpful.answering((request, response) => {
      void text(request).then(async (body) => {
        const method = request.method ?? "";
        let status = 0;
        const ask = async (): Promise<string> => {
          const real = await api.send(request.url ?? "", { method, headers, ...(body !== "" && { body }) });
          status = real.status;
          return String(real.body);
        };
        const answered = await answer(ask, method);
        response.writeHead(status, headers).end(answered);
      });
    });
    const kubeconfig = join(folder, "kubeconfig");
    const own = readFileSync(server.kubeconfigFile, "utf8");
    writeFileSync(kubeconfig, own.replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, url), { mode: 0o600 });
    return kubeconfig;
  };

  it("keeps a new key that the same command at the same moment has used first: csr create", async (context) => {
    // What it takes was there before.
    const kubeconfig = await kubeconfigOf(context, async (ask, method) => {
      if (method === "POST") await ask();
      return ask();
    });
    const file = join(folder, "key");
    const { code, stderr } = await host.run(["csr", "create", "twice", "--key-file", file, "--kubeconfig", kubeconfig]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /exists already, for the key of/);
    const { spec } = await server.client.resource(certificateSigningRequestResource(platformNames)).get("twice");
    const { publicKey } = parseCertificateRequestPem(Buffer.from(spec.request ?? "", "base64"));
    assert.deepEqual(publicKey, publicKeyInfoOf(parsePrivateKeyPem(readFileSync(file, "utf8"))));
  });

  it("keeps a new key when it cannot read whose key the request is for that is there: csr create", async (context) => {
    const kubeconfig = await kubeconfigOf(context, async (ask, method) => {
      const answer = method === "POST" ? (await ask(), await ask()) : await ask();
      return method === "GET" && answer.includes('"request":') ? "no JSON" : answer;
    });
    const file = join(folder, "key-of-unread");
    const { code, stderr } = await host.run([
      "csr",
      "create",
      "unread",
      "--key-file",
      file,
      "--kubeconfig",
      kubeconfig,
    ]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /AlreadyExists/);
    assert.match(readFileSync(file, "utf8"), /PRIVATE KEY/);
  });

  const base64 = (bytes: string): string => Buffer.from(bytes).toString("base64");
  const rubbish: Readonly<Record<string, readonly [words: string, field: RegExp, value: () => string]>> = {
    "a certificate that is none": ["--user anna", /"certificate": ?"[^"]+"/g, () => `"certificate":"${base64("x")}"`],
    "a certificate that cannot be read": [
      "--user anna",
      /"certificate": ?"[^"]+"/g,
      () => `"certificate":"${base64(encodePem("CERTIFICATE", Buffer.from("x")))}"`,
    ],
    "a certificate for another key": [
      "--user anna",
      /"certificate": ?"[^"]+"/g,
      () => `"certificate":"${base64(readFileSync(join(server.dataDirectory, "ca.crt"), "utf8"))}"`,
    ],
    "an empty token": ["--service-account default", /"token": ?"[^"]+"/g, () => '"token":""'],
    "a token that no header can hold": ["--service-account default", /"token": ?"[^"]+"/g, () => '"token":"a b"'],
    "a token that is a number": ["--service-account default", /"token": ?"[^"]+"/g, () => '"token":5'],
  };
  for (const [what, [words, field, value]] of Object.entries(rubbish)) {
    it(`keeps a kubeconfig when the server answers with ${what}`, async (context) => {
      const kubeconfig = await kubeconfigOf(context, async (ask) => (await ask()).replaceAll(field, value()));
      const file = join(folder, "good.kubeconfig");
      writeFileSync(file, "good", { mode: 0o600 });
      const { code, stderr } = await host.run([
        "kubeconfig",
        ...words.split(" "),
        "--output-file",
        file,
        "--kubeconfig",
        kubeconfig,
      ]);
      assert.equal(code, 3, stderr);
      assert.match(stderr, /^signet: [^\n]+; check that the kubeconfig names a Signet server, and try again\n$/);
      assert.equal(readFileSync(file, "utf8"), "good");
    });
  }

  /** Each kind of output, given the file for it. */
  const writers: Readonly<Record<string, (file: string) => Promise<HostedOutcome>>> = {
    "a kubeconfig": (file) => signet("kubeconfig", "--user", "anna", "--output-file", file),
    "a request": (file) => signet("csr", "create", "zoe", "--key-file", join(folder, "key"), "--request-file", file),
  };
  for (const [what, write] of Object.entries(writers)) {
    it(`removes what a kill left of ${what}, and not what another command may be writing`, async () => {
      const file = join(folder, "output");
      const [left, current] = [`${file}.0123456789ab.new`, `${file}.ba9876543210.new`];
      for (const name of [left, current]) writeFileSync(name, "keys");
      const twoHoursAgo = Date.now() / 1000 - 7200;
      utimesSync(left, twoHoursAgo, twoHoursAgo);
      const { code, stderr } = await write(file);
      assert.equal(code, 0, stderr);
      assert.deepEqual([existsSync(file), existsSync(left), existsSync(current)], [true, false, true]);
    });
  }

  it("replaces a kubeconfig that embeds a key", async () => {
    const file = join(folder, "anna.kubeconfig");
    for (const round of ["first", "second"]) {
      const { code, stderr } = await signet("kubeconfig", "--user", "anna", "--output-file", file);
      assert.equal(code, 0, `${round}: ${stderr}`);
    }
  });

  it("writes no key through a link, and uses none that others can read: csr create --key-file", async () => {
    const target = join(folder, "target");
    const file = join(folder, "key");
    symlinkSync(target, file); // the target does not exist yet: the attacker waits for it
    const made = await signet("csr", "create", `key-${count}`, "--key-file", file);
    assert.equal(made.code, 0, made.stderr);
    assert.equal(lstatSync(file).mode & 0o777, 0o600);
    assert.ok(lstatSync(file).isFile());
    assert.ok(!existsSync(target));
    chmodSync(file, 0o644);
    const refused = await signet("csr", "create", `key-${count}-again`, "--key-file", file);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^signet: .+ is open to other users \(mode 0644\); chmod 600 it[^\n]*\n$/);
    writeFileSync(file, "no key");
    chmodSync(file, 0o600);
    const wrong = await signet("csr", "create", `key-${count}-again`, "--key-file", file);
    assert.deepEqual([wrong.code, wrong.stderr.split("\n").length], [2, 2]);
  });

  it("ends with the code for an output that cannot be written when a backup does not fit", async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), "signet-output-data-"));
    await (await startTestServer({ storage: "lmdb", dataDirectory })).stop();
    const backup = `"${process.execPath}" "${signetProgram}" backup --data-dir "${dataDirectory}" "${join(folder, "b")}"`;
    // Files that may not grow fail like on a full disk.
    const { status, stderr } = spawnSync("sh", ["-c", `ulimit -f 1; ${backup}`], { encoding: "utf8" });
    rmSync(dataDirectory, { recursive: true });
    assert.match(stderr, /^signet: cannot write .+: no file may be so large there \(ulimit -f\); raise the limit/);
    assert.equal(status, 5);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("reports in one line that standard output is on a full disk, and ends quietly when its reader has gone", () => {
    const help = `"${process.execPath}" "${signetProgram}" --help`;
    const run = (script: string): string => spawnSync("sh", ["-c", script], { encoding: "utf8" }).stderr;
    const line =
      "signet: cannot write to standard output: no space is left on the disk, or none for more files (df -i); make room\n";
    assert.equal(run(`${help} >/dev/full; echo $? >&2`), `${line}5\n`);
    // The reader is gone once its `exec` has closed the pipe. Only then does the pipe `gone` let the program start.
    const pipe = join(folder, "gone");
    execFileSync("mkfifo", [pipe]);
    const script = `{ read -r line <"${pipe}"; ${help}; echo $? >&2; } | { exec <&-; echo >"${pipe}"; }`;
    assert.equal(run(script), "141\n");
  });
});
