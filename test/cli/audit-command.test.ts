import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startTestServerProcess } from "../test-server-process.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { clientOf } from "../reliability/client-of.ts";
import { HostedSignet } from "./hosted-signet.ts";

describe("signet audit verify", () => {
  const scratch = mkdtempSync(join(tmpdir(), "signet-verify-"));
  const data = join(scratch, "data");
  const log = join(scratch, "audit.log");
  const key = `--public-key=${join(data, "audit-log.pub")}`;
  const checkpoint = `--checkpoint=${join(data, "audit-log.checkpoint")}`;

  let signet: HostedSignet;

  before(async () => {
    signet = new HostedSignet();
    // Two starts, and two workers that write one file.
    for (const workers of [2, 1]) {
      const flags = [`--workers=${workers}`, `--audit-log-path=${log}`, "--audit-log-chain"];
      const server = await startTestServerProcess(data, { flags });
      const clients = [clientOf(server), clientOf(server), clientOf(server)];
      for (const client of clients) for (let index = 0; index < 20; index++) await client.text("/readyz");
      if (workers === 1) await annotateConfigMap(clients[0] ?? clientOf(server));
      for (const client of clients) client.close();
      assert.equal(await server.stop(), 0);
    }
  });

  after(() => {
    signet.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  it("verifies a log that workers wrote across a restart, with keys that only the server can read", async () => {
    const { code, stdout } = await signet.run(["audit", "verify", log, key, checkpoint]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^the log is whole: the last of \d+ checkpoints is at number \d+$/m);
    assert.ok(!stdout.includes("note: signatures"));
    const uris = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line.includes('"/readyz"'));
    assert.equal(uris.length, 120);
    for (const file of ["audit-log.key", "audit-log.checkpoint", "audit-log.lock"]) {
      assert.equal(statSync(join(data, file)).mode & 0o777, 0o600, file);
    }
  });

  it("verifies a log to whose events an admission policy has added annotations with the names of the chain's own", async () => {
    const annotated = /"chain\.signet\.platform\.io\/checkpoint":"end","chain\.signet\.platform\.io\/sequence":"7",/;
    assert.match(readFileSync(log, "utf8"), annotated);
    const { code, stdout } = await signet.run(["audit", "verify", log, key, checkpoint]);
    assert.equal(code, 0, stdout);
  });

  it("notes which lines are not in the files, and which ones no checkpoint covers yet", async () => {
    const lines = readFileSync(log, "utf8").split("\n");
    const verified = async (part: readonly string[]): Promise<string> => {
      const file = join(scratch, "part.log");
      writeFileSync(file, part.join("\n"));
      return (await signet.run(["audit", "verify", file, key])).stdout;
    };
    assert.match(await verified(lines.slice(10)), /^note: the lines before number 11 are not here$/m);
    const covered = lines.findLastIndex((line) => line.includes('"chain.signet.platform.io/checkpoint"'));
    const uncovered = /^note: no checkpoint covers the lines after number \d+ yet: they could be changed unseen$/m;
    assert.match(await verified(lines.slice(0, covered)), uncovered);
    assert.doesNotMatch(await verified(lines), /lines before number|no checkpoint covers/);
  });

  it("names each fault, and ends with code 1", async () => {
    const lines = readFileSync(log, "utf8").split("\n");
    const changed = join(scratch, "changed.log");
    writeFileSync(changed, lines.toSpliced(40, 1).join("\n"));
    const { code, stdout, stderr } = await signet.run(["audit", "verify", changed, key]);
    assert.equal(code, 1);
    assert.match(stdout, /^fault: .*changed\.log: line 41 comes after lines that are missing: 41 to 41$/m);
    assert.match(stderr, /^signet: the log is not as it was written: 1 fault; /);
  });

  it("reports what it could not check, and what is wrong with its arguments", async () => {
    const { code, stdout } = await signet.run(["audit", "verify", log]);
    assert.equal(code, 0);
    assert.match(stdout, /^note: signatures were not checked: .*\nnote: the end could be missing /m);
    const missing = await signet.run(["audit", "verify", join(scratch, "none.log")]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^signet: cannot read .+none\.log: there is no such file; name another\n$/);
    const pipe = join(scratch, "pipe.log");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    const unread = await signet.run(["audit", "verify", pipe]);
    assert.deepEqual(
      [unread.code, unread.stderr],
      [2, `signet: cannot read ${pipe}: a log is read twice; name a file\n`],
    );
    const other = join(scratch, "other.log");
    writeFileSync(other, "{}\n");
    assert.match((await signet.run(["audit", "verify", other])).stdout, /^.+other\.log: 1 line, none with a number$/m);
    const wrongKey = await signet.run(["audit", "verify", log, `--public-key=${log}`]);
    assert.equal(wrongKey.code, 2);
    assert.match(
      wrongKey.stderr,
      /--public-key: .* it holds no public key in PEM; name the audit-log.pub of the server\n$/,
    );
  });
});

const policyName = "chain.signet.platform.io";

/** Creates a ConfigMap whose audit event gets annotations by an admission policy. */
async function annotateConfigMap(client: ApiClient): Promise<void> {
  const admission = "/apis/admissionregistration.platform.io/v1";
  const resourceRules = [{ apiGroups: [""], apiVersions: ["*"], operations: ["CREATE"], resources: ["configmaps"] }];
  const auditAnnotations = [
    { key: "checkpoint", valueExpression: "'end'" },
    { key: "sequence", valueExpression: "'7'" },
  ];
  await client.request(`${admission}/validatingadmissionpolicies`, {
    method: "POST",
    body: { metadata: { name: policyName }, spec: { matchConstraints: { resourceRules }, auditAnnotations } },
  });
  await client.request(`${admission}/validatingadmissionpolicybindings`, {
    method: "POST",
    body: { metadata: { name: "audited" }, spec: { policyName, validationActions: ["Audit"] } },
  });
  await client.request("/api/v1/namespaces/default/configmaps", { method: "POST", body: { metadata: { name: "a" } } });
}
