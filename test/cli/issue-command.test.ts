import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { obtainCertificate } from "../../src/agent/issue/issue-certificate.ts";
import type { IssueOrder } from "../../src/agent/issue/issue-certificate.ts";
import { keyPair, parseKeyPair } from "../../src/agent/certificates/key-pair.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import { CommandFailure, exitCodes } from "../../src/machinery/command-line/command-failure.ts";
import { SignetProcess } from "../end-to-end/signet-process.ts";
import type { Log } from "../../src/machinery/logging/log.ts";
import { logTo } from "../agent/log-to.ts";
import { hour, SigningScene, wanted } from "../agent/certificates/signing-scene.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { HostedSignet } from "./hosted-signet.ts";
import type { HostedOutcome } from "./command-host.ts";

const signers = `
apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: example.com/services
    certificateAuthority: { generate: { commonName: Services } }
    dnsNames: ["*.services.example"]
    maximumLifetime: 24h
`;
const policy = `
rules:
  - name: web
    match: { signers: [example.com/services], users: [admin], groups: ["system:masters"] }
    action: approve
    require: { commonNames: [web.services.example], dnsNames: [web.services.example, www.services.example] }
`;

/** Lets time go by until the work is done, however late it sets its timers. */
async function passesUntil(work: Promise<unknown>, time: Pick<SigningScene["time"], "advance">): Promise<void> {
  const state = { isDone: false };
  const done = work.finally(() => (state.isDone = true));
  while (!state.isDone) await time.advance(100);
  await done;
}

const mode = (file: string): number => statSync(file).mode & 0o777;
const text = (file: string): string => readFileSync(file, "utf8");

describe("signet certificates issue", () => {
  let server: TestServer;
  let signet: HostedSignet;
  const folder = mkdtempSync(join(tmpdir(), "signet-issue-"));
  const file = (name: string): string => join(folder, name);
  before(async () => {
    writeFileSync(file("signers.yaml"), signers);
    writeFileSync(file("policy.yaml"), policy);
    server = await startTestServer({
      settings: { "signer-config": file("signers.yaml"), "approval-policy": file("policy.yaml") },
    });
    signet = new HostedSignet();
  });
  after(async () => {
    signet.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const issue = (name: string, ...words: string[]): Promise<HostedOutcome> =>
    signet.run(["certificate", "issue", name, "--kubeconfig", server.kubeconfigFile, ...words]);
  const ofServices = ["--signer", "example.com/services"];
  const web = [...ofServices, "--dns", "web.services.example"];

  it("writes key and certificate into one private file, and requests again only when renewal is due", async () => {
    const out = file("web.pem");
    writeFileSync(out, "old", { mode: 0o644 });
    const hook = ["--hook", `echo "$SIGNET_CHANGED_FILE" >> "${file("hooks")}"`];
    const issued = await issue("web", ...web, "--out", out, ...hook);
    assert.equal(issued.code, 0, issued.stderr);
    assert.match(issued.stdout, /^certificate web is in .+web\.pem, valid until \S+Z\n$/);
    assert.match(issued.stderr, /requested web-csr-[0-9a-f]{40}; .* can run: signet csr approve web-csr-/);
    assert.equal(mode(out), 0o600);
    assert.deepEqual(parseKeyPair(text(out)).certificate.subjectAltNames.dnsNames, ["web.services.example"]);
    assert.equal(text(file("hooks")), `${out}\n`);
    const before = text(out);
    const again = await issue("web", ...web, "--out", out, ...hook);
    assert.deepEqual([again.code, again.stderr, text(out)], [0, "", before]);
    assert.equal(text(file("hooks")), `${out}\n`);
  });

  it("writes several files behind links that one rename changes, and replaces nothing else", async () => {
    const files = ["--out", file("w.crt"), "--key-out", file("w.key"), "--chain-out", file("w.chain")];
    const issued = await issue("split", ...web, ...files);
    assert.equal(issued.code, 0, issued.stderr);
    const pair = keyPair({ keyPem: text(file("w.key")), certificatePem: text(file("w.crt")) });
    assert.equal(text(file("w.crt")).split("BEGIN CERTIFICATE").length, 2);
    assert.deepEqual(pair.certificate.subjectAltNames.dnsNames, ["web.services.example"]);
    assert.equal(readlinkSync(file("w.key")), ".signet-split/files/key.pem");
    assert.deepEqual([mode(file("w.key")), mode(file("w.crt")), mode(file("w.chain"))], [0o600, 0o600, 0o600]);
    assert.equal(mode(file(".signet-split")), 0o700);
    assert.equal((await issue("split", ...web, ...files)).code, 0);
    writeFileSync(file("mine.key"), "mine");
    const refused = await issue("other", ...web, "--out", file("o.crt"), "--key-out", file("mine.key"));
    assert.equal(refused.code, exitCodes.usage.code);
    assert.match(refused.stderr, /--key-out: .+mine\.key is there already.*move it away/);
    assert.equal(text(file("mine.key")), "mine");
  });

  it("keeps no key where other users could put a link in the place of its folder", async () => {
    mkdirSync(file("shared"));
    chmodSync(file("shared"), 0o777);
    const refused = await issue("web", ...web, "--out", file("shared/web.pem"));
    assert.equal(refused.code, exitCodes.usage.code);
    assert.match(refused.stderr, /shared can be changed by all users, .* or another folder for --out\n$/);
    assert.deepEqual(readdirSync(file("shared")), []);
  });

  it("replaces the certificate at the next run when its options have changed, and only then", async () => {
    const out = ["--out", file("changed.pem")];
    const wishes = [
      [...web, "--dns", "www.services.example"],
      web,
      [...web, "--lifetime", "2h"],
      [...web, "--lifetime", "2h", "--usage", "server auth"],
      [...web, "--lifetime", "2h", "--usage", "server auth", "--key-type", "rsa-2048"],
    ];
    let before = "";
    for (const wish of wishes) {
      const issued = await issue("changed", ...wish, ...out);
      assert.equal(issued.code, 0, issued.stderr);
      const now = text(file("changed.pem"));
      assert.notEqual(now, before);
      before = now;
      const again = await issue("changed", ...wish, ...out);
      assert.deepEqual([again.code, again.stderr, text(file("changed.pem"))], [0, "", before]);
    }
    const { dnsNames } = parseKeyPair(before).certificate.subjectAltNames;
    assert.deepEqual(dnsNames, ["web.services.example"], "without the name that is no longer wanted");
  });

  it("goes by the server's time when the machine's clock is wrong", async () => {
    for (const days of [400, -400]) {
      const wrongClock = `--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+${days}*864e5`;
      const run = async (): Promise<string> => {
        const words = ["certificates", "issue", `clock${days < 0 ? "-slow" : "-fast"}`, ...web];
        const process = SignetProcess.in(
          { NODE_OPTIONS: wrongClock },
          ...words,
          ...["--kubeconfig", server.kubeconfigFile, "--out", file(`clock${days}.pem`)],
        );
        assert.equal(await process.ended(), 0, process.output);
        return process.output;
      };
      assert.match(await run(), /this machine's clock differs from the server's[^]*requested clock-/);
      assert.doesNotMatch(await run(), /requested/);
    }
  });

  it("ends with the code of the table when a request is denied", async () => {
    const denied = await issue("no", ...ofServices, "--dns", "db.services.example", "--out", file("no.pem"));
    assert.equal(denied.code, exitCodes.refused.code);
    assert.match(denied.stderr, /signet: request no-csr-\S+: Denied \(.*[^.]; change what is requested, .*\n$/);
    assert.equal(statSync(file("no.pem"), { throwIfNoEntry: false }), undefined);
  });

  it("reports that the files are written when only the hook fails", async () => {
    const failed = await issue("hook", ...web, "--out", file("hook.pem"), "--hook", "exit 3");
    assert.equal(failed.code, exitCodes.refused.code);
    assert.match(
      failed.stderr,
      /the files are written, but the hook for .+hook\.pem ended with code 3; the same command runs/,
    );
    assert.equal(parseKeyPair(text(file("hook.pem"))).certificate.subject.commonName, "web.services.example");
  });

  it("reports invalid options before it requests anything", async () => {
    const out = ["--out", file("x.pem")];
    const uses: readonly (readonly [words: readonly string[], says: RegExp])[] = [
      [["Web", ...web, ...out], /NAME: "Web": must be 1 to 40 lower case/],
      [["x", ...ofServices, "--ip", "web", ...out], /--ip: "web" is not an IP address/],
      [["x", ...ofServices, "--dns", "a b", ...out], /--dns: "a b": /],
      [["x", ...web, "--lifetime", "5m", ...out], /--lifetime: .* 10m/],
      [["x", ...web, "--lifetime", "24856d", ...out], /--lifetime: .* 24855d/],
      [["x", ...web, "--key-type", "dsa", ...out], /--key-type: "dsa" is not one of/],
      [["x", ...web, ...out, "--chain-out", file("c.pem")], /--chain-out: give --key-out too/],
      [["x", ...web, ...out, "--key-out", file("x.pem")], /name a file of its own for each/],
      [["x", ...web], /required option '--out <file>'/],
      [["x", "--dns", "a", ...out], /required option '--signer <name>'/],
    ];
    for (const [[name = "", ...words], says] of uses) {
      const { code, stderr } = await issue(name, ...words);
      assert.equal(code, exitCodes.usage.code, stderr);
      assert.match(stderr, says);
    }
  });
});

describe("a certificate without an agent", () => {
  const start = (scene: SigningScene, more: Partial<IssueOrder> = {}, log: Log = logTo(() => {})) => {
    const stopping = new AbortController();
    const out = join(scene.directory, "n1.pem");
    const work = obtainCertificate(
      {
        name: "n1",
        wanted,
        lifetimeSeconds: undefined,
        files: { out, keyOut: undefined, chainOut: undefined },
        isRenewed: true,
        hook: { command: `echo changed >> "${scene.directory}/hooks"`, check: undefined, timeoutMilliseconds: 60_000 },
        ...more,
      },
      {
        names: platformNames,
        client: () => scene.client,
        timeoutMilliseconds: 30_000,
        clock: scene.time,
        monotonic: scene.time,
        random: () => 0.5,
        sleep: scene.time.sleep,
        log,
        onFailed: () => {},
        signal: stopping.signal,
      },
    );
    const stop = async (): Promise<void> => {
      stopping.abort();
      await work;
    };
    const hooks = async (count: number): Promise<void> => {
      while (hookRuns(scene) < count) await turn();
      assert.equal(hookRuns(scene), count);
    };
    return { out, work, stop, hooks };
  };
  const hookRuns = ({ directory }: SigningScene): number => {
    const written = join(directory, "hooks");
    return statSync(written, { throwIfNoEntry: false }) === undefined ? 0 : text(written).split("\n").length - 1;
  };

  it("that is renewed is replaced with its key at the renewal point, and its hook runs each time", async (context) => {
    const scene = new SigningScene(context);
    const { out, hooks, stop } = start(scene);
    await hooks(1);
    const first = parseKeyPair(text(out));
    // The dice say 0.5: 80 % of ten hours.
    await scene.time.advance(8 * hour - 1);
    assert.equal(text(out), first.keyPem + first.certificatePem);
    await scene.time.advance(1);
    await hooks(2);
    const second = parseKeyPair(text(out));
    assert.notEqual(second.keyPem, first.keyPem);
    await stop();
    const again = start(scene);
    await scene.time.advance(1000);
    assert.equal(scene.requests.size, 2, "a restart continues with the certificate that is there");
    await again.stop();
  });

  it("that is revoked is replaced with its key: within five minutes, or by the next run", async (context) => {
    const scene = new SigningScene(context);
    const { out, hooks, stop } = start(scene);
    await hooks(1);
    const keys = [parseKeyPair(text(out)).keyPem];
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 1);
    const revoke = (): void => {
      scene.isRevoked = true;
      scene.onAnswer = () => void (scene.isRevoked = false);
    };
    revoke();
    await scene.time.advance(5 * 60_000);
    await hooks(2);
    keys.push(parseKeyPair(text(out)).keyPem);
    await stop();
    revoke();
    await passesUntil(start(scene, { isRenewed: false }).work, scene.time);
    keys.push(parseKeyPair(text(out)).keyPem);
    assert.deepEqual([new Set(keys).size, scene.requests.size], [3, 3]);
  });

  it("that was revoked meanwhile is not written to its files again, also when it is to be renewed", async (context) => {
    const scene = new SigningScene(context);
    const { out, hooks, stop } = start(scene);
    await hooks(1);
    await stop();
    rmSync(out);
    scene.isRevoked = true;
    scene.onAnswer = () => void (scene.isRevoked = false);
    let writes = 0;
    const log = logTo((_fields, message) => void (writes += message === "the files are written" ? 1 : 0));
    const again = start(scene, {}, log);
    await scene.time.advance(1000);
    await again.hooks(2);
    await again.stop();
    assert.deepEqual([writes, scene.requests.size], [1, 2]);
  });

  it("has its links made again within a minute, and says when something else is in the place of one", async (context) => {
    const scene = new SigningScene(context);
    const [out, keyOut] = [join(scene.directory, "n1.crt"), join(scene.directory, "keys", "n1.key")];
    const log: string[] = [];
    const { hooks, stop } = start(
      scene,
      { files: { out, keyOut, chainOut: undefined } },
      logTo((_fields, message) => log.push(message)),
    );
    await hooks(1);
    const isPair = (): boolean => {
      keyPair({ keyPem: text(keyOut), certificatePem: text(out) });
      return true;
    };
    assert.ok(isPair());
    rmSync(out);
    rmSync(dirname(keyOut), { recursive: true });
    await scene.time.advance(60_000);
    assert.ok(isPair());
    rmSync(out);
    writeFileSync(out, "of somebody");
    await scene.time.advance(60_000);
    assert.match(
      log.at(-1) ?? "",
      /^not all files are written: .+n1\.crt is not the link to .+ any more: move it away$/,
    );
    rmSync(out);
    await scene.time.advance(10_000);
    assert.ok(isPair());
    await stop();
  });

  it("is managed by only one process", async (context) => {
    const scene = new SigningScene(context);
    const { hooks, stop } = start(scene);
    await hooks(1);
    const other = start(scene);
    await assert.rejects(other.work, /certificate n1: .+ is in use by the process \d+; .* choose another NAME/);
    await stop();
  });

  it("ends when its first request is refused, and not when a renewal is", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "denies";
    const { work } = start(scene);
    await assert.rejects(work, (error) => error instanceof CommandFailure && error.exitCode === exitCodes.refused.code);
    scene.behaviour = "issues";
    const { out, hooks, stop } = start(scene);
    await hooks(1);
    const first = text(out);
    scene.behaviour = "denies";
    await scene.time.advance(8 * hour);
    scene.behaviour = "issues";
    await scene.time.advance(60_000);
    await hooks(2);
    assert.notEqual(text(out), first);
    await stop();
  });

  it("ends without a decision in time, and the next run continues with the same key and request", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const { work } = start(scene, { isRenewed: false });
    while (scene.requests.size === 0) await turn();
    const [name = ""] = scene.requests.keys();
    const late = assert.rejects(work, (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.exitCode, exitCodes.pending.code);
      assert.ok(error.message.includes(`can run: signet csr approve ${name}; then run the same command again`));
      return true;
    });
    await passesUntil(late, scene.time);
    scene.behaviour = "issues";
    scene.issue(name);
    const second = start(scene, { isRenewed: false });
    while (hookRuns(scene) < 1) await turn();
    await passesUntil(second.work, scene.time);
    assert.equal(scene.requests.size, 1);
    assert.equal(parseKeyPair(text(second.out)).certificate.subject.commonName, wanted.commonName);
  });
});
