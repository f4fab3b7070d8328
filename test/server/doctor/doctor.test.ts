import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { alarmAdvice } from "../../../src/machinery/storage/etcd/etcd-errors.ts";
import { examineEtcdAlarms, examineEtcdClocks } from "../../../src/server/doctor/examine-etcd.ts";
import { writeSupportBundle } from "../../../src/server/doctor/doctor-programs.ts";
import { ProtobufWriter } from "../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { startFakeEtcd } from "../../machinery/storage/etcd/fake-etcd.ts";
import {
  api,
  folder,
  staticToken,
  tokenFile,
  dataDirectory,
  configOf,
  examine,
  troubles,
  newTroubles,
} from "./examined-server.ts";

describe("signet doctor beside a running server", () => {
  it("finds nothing wrong with a new one", async () => {
    assert.deepEqual(await newTroubles(), []);
  });

  it("names file and field of settings that the server would refuse", async () => {
    const config = (kind: string, rest: string): string =>
      `apiVersion: apiserver.config.k8s.io/v1\nkind: ${kind}\n${rest}`;
    const faulty: Readonly<Record<string, readonly [text: string, found: RegExp]>> = {
      "authorization-config": [
        config("AuthorizationConfiguration", "authorizers: [{type: Oracle, name: o}]"),
        /authorizers\[0\]\.type: /,
      ],
      "authentication-config": [
        config("AuthenticationConfiguration", "jwt: [{issuer: {url: 'http://x'}}]"),
        /jwt\[0\]\.issuer\.url: /,
      ],
      "audit-policy-file": ["apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]", /rules\[0\]\.level: /],
      "encryption-provider-config": [
        config("EncryptionConfiguration", "resources: [{resources: [secrets], providers: [{rot13: {}}]}]"),
        /resources\[0\]\.providers\[0\]/,
      ],
      "approval-policy": ["rules: [{name: x, action: maybe}]", /rules\[0\]\.action: /],
      "signer-config": [
        "apiVersion: signet.platform.io/v1\nkind: SignerConfiguration\nsigners: [{}]",
        /signers\[0\]\.name/,
      ],
      "authentication-token-webhook-config-file": ["clusters: 7", /./],
      "service-account-key-file": ["no PEM", /./],
    };
    const given = Object.entries(faulty).map(([setting, [text]]) => {
      writeFileSync(join(folder, setting), text, { mode: 0o600 });
      return [setting, join(folder, setting)] as const;
    });
    const found = await newTroubles({ ...Object.fromEntries(given), "audit-log-path": join(folder, "audit.log") });
    for (const [setting, [, field]] of Object.entries(faulty)) {
      const lines = found.filter((line) => line.includes(join(folder, setting)));
      assert.equal(lines.length, 1, `${setting}: ${found.join("\n")}`);
      assert.match(lines[0] ?? "", new RegExp(`^bad configuration: --${setting}: `));
      assert.match(lines[0] ?? "", field);
    }
    assert.equal(found.length, given.length, found.join("\n"));
  });

  it("names each other setting whose file the server would refuse", async () => {
    const wrong = join(folder, "wrong");
    writeFileSync(wrong, "neither a key nor a token", { mode: 0o600 });
    const log = { "audit-log-path": join(folder, "audit.log"), "audit-log-chain": "true" };
    for (const [setting, more] of [
      ["client-ca-file", {}],
      ["requestheader-client-ca-file", {}],
      ["token-auth-file", {}],
      ["encryption-key-file", {}],
      ["audit-log-chain-key-file", log],
    ] as const) {
      const found = troubles(await examine({ ...more, [setting]: wrong }));
      assert.ok(
        found.some((line) => line.startsWith(`bad configuration: --${setting}: `) && line.includes(wrong)),
        `${setting}: ${found.join("\n")}`,
      );
    }
  });

  it("finds an etcd whose clock differs from this machine's", async () => {
    const now = Date.now();
    const etcd = createServer((_request, response) => {
      response.writeHead(200, { date: new Date(now + 600_000).toUTCString() }).end();
    }).listen(0, "127.0.0.1");
    await once(etcd, "listening");
    const { port } = etcd.address() as AddressInfo; // it listens on TCP
    const { storage } = configOf({ "etcd-servers": `http://127.0.0.1:${port},http://127.0.0.1:9` });
    const found = async (at: number) =>
      (await examineEtcdClocks(storage, at)).map(({ state, found: what }) => [state, what]);
    const what = `the clock of etcd's member http://127.0.0.1:${port}`;
    const behind = await found(now);
    assert.equal(behind.length, 1);
    assert.equal(behind[0]?.[0], "bad");
    assert.match(behind[0]?.[1] ?? "", /is (599|600) s ahead of this machine's$/);
    assert.deepEqual(await found(now + 600_000), [["good", `${what} agrees with this machine's`]]);
    etcd.closeAllConnections();
    etcd.close();
  });

  it("finds the alarms of an etcd, which reads are answered in spite of", async () => {
    const alarms = ["memberID:1 alarm:NOSPACE ", "memberID:1 alarm:CORRUPT ", "etcdserver: no leader"];
    const status = new ProtobufWriter();
    for (const alarm of alarms.toReversed()) status.bytesField(8, Buffer.from(alarm));
    await using etcd = await startFakeEtcd({
      onCall: ({ path, answer }) => answer(path.endsWith("/Status") ? status.finish() : Buffer.alloc(0)),
    });
    const found = async (url: string) =>
      (await examineEtcdAlarms(configOf({ "etcd-servers": url }).storage)).map(({ state, found: what, advice }) => [
        state,
        what,
        advice,
      ]);
    const says = `etcd's member ${etcd.url} says:`;
    assert.deepEqual(await found(etcd.url), [
      ["bad", `${says} memberID:1 alarm:NOSPACE`, alarmAdvice.NOSPACE],
      ["bad", `${says} memberID:1 alarm:CORRUPT`, alarmAdvice.CORRUPT],
      ["bad", `${says} etcdserver: no leader`, "look at that member's log"],
    ]);
    await using sound = await startFakeEtcd({});
    assert.deepEqual(await found(sound.url), []);
  });

  it("finds keys of an EncryptionConfiguration that others can read, and objects that are not written with them yet", async () => {
    const file = join(folder, "encryption.yaml");
    const key = Buffer.alloc(32, 7).toString("base64");
    const aes = `aescbc: { keys: [{ name: one, secret: ${key} }] }`;
    writeFileSync(
      file,
      "{ apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [" +
        `{ resources: [serviceaccounts], providers: [{ ${aes} }, { identity: {} }] }] }`,
    );
    const found = async (mode: number): Promise<string[]> => {
      chmodSync(file, mode);
      const lines = await newTroubles({ "encryption-provider-config": file });
      return lines
        .filter((line) => line.startsWith("warning encryption"))
        .map((line) => line.replace(/: \d+ /, ": N "));
    };
    const stale = "warning encryption: N objects not encrypted as the settings say";
    assert.deepEqual(await found(0o644), [`warning encryption: others can read or write ${file}`, stale]);
    assert.deepEqual(await found(0o600), [stale]);
  });

  it("finds bindings that name what does not exist", async () => {
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    const subject = { kind: "ServiceAccount", name: "gone", namespace: "default" };
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "Role", name: "missing" };
    const ofNamespace = { kind: "ServiceAccount", name: "default" };
    const body = { metadata: { name: "orphan" }, roleRef, subjects: [subject, ofNamespace] };
    await api.json(bindings, { method: "POST", body, token: staticToken });
    assert.deepEqual(await newTroubles(), [
      "warning bindings: binding default/orphan: Role missing does not exist",
      "warning bindings: binding default/orphan: service account default/gone does not exist",
    ]);
    await api.json(`${bindings}/orphan`, { method: "DELETE", token: staticToken });
  });

  it("names twenty faults of bindings, and counts the others", async () => {
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    const subjects = Array.from({ length: 23 }, (_, index) => ({ kind: "ServiceAccount", name: `gone-${index}` }));
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "view" };
    const body = { metadata: { name: "orphans" }, roleRef, subjects };
    await api.json(bindings, { method: "POST", body, token: staticToken });
    const found = await newTroubles();
    assert.equal(found.length, 21);
    assert.equal(
      found[19],
      "warning bindings: binding default/orphans: service account default/gone-19 does not exist",
    );
    assert.equal(found[20], "warning bindings: and 3 more");
    await api.json(`${bindings}/orphans`, { method: "DELETE", token: staticToken });
  });

  it("finds unsafe settings, and members of etcd that do not answer", async () => {
    const findings = await newTroubles({
      "authorization-mode": "AlwaysAllow",
      "bind-address": "0.0.0.0",
      "etcd-servers": "http://127.0.0.1:9",
    });
    const has = (text: string): boolean => findings.some((line) => line.includes(text));
    assert.ok(has("AlwaysAllow") && has("has no audit log") && has("without TLS"), findings.join("\n"));
    assert.ok(has("bad storage: etcd's member http://127.0.0.1:9 cannot be used"), findings.join("\n"));
  });

  it("finds an authorizer that allows everything in a configuration file, wherever it stands there", async () => {
    const file = join(folder, "authorizers.yaml");
    const write = (...types: readonly string[]): void =>
      writeFileSync(
        file,
        JSON.stringify({
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "AuthorizationConfiguration",
          authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
        }),
      );
    write("Node", "RBAC", "AlwaysAllow");
    const found = `--authorization-config: ${file} has an authorizer AlwaysAllow: every user who logs in may do everything`;
    assert.deepEqual(await newTroubles({ "authorization-config": file }), [`warning settings: ${found}`]);
    write("Node", "RBAC");
    assert.deepEqual(await newTroubles({ "authorization-config": file }), []);
  });

  it("reports a folder without a server's data", async () => {
    assert.match((await newTroubles({ "data-dir": join(folder, "nothing") }))[0] ?? "", /does not exist/);
  });

  it("refuses a file in the place of a data directory", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    await assert.rejects(examine({ "data-dir": file }), /^UsageError: --data-dir: .+ is not a folder; name another$/);
  });

  it("creates no file in the data directory of another user, whose server could not use it", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can make a folder of another user");
    const theirs = join(folder, "theirs");
    cpSync(join(dataDirectory, "store"), join(theirs, "store"), { recursive: true });
    for (const name of readdirSync(join(theirs, "store"))) {
      if (name.endsWith("lock")) rmSync(join(theirs, "store", name));
      else chownSync(join(theirs, "store", name), 65_534, 65_534);
    }
    for (const path of [theirs, join(theirs, "store")]) chownSync(path, 65_534, 65_534);
    await assert.rejects(examine({ "data-dir": theirs }), /belongs to another user: run this as that one/);
    const config = configOf({ "data-dir": theirs });
    await assert.rejects(writeSupportBundle(config, Date.now()), /belongs to another user/);
    assert.deepEqual(readdirSync(join(theirs, "store")), ["store.mdb"]);
  });

  it("puts no secret of the server into a support bundle", async () => {
    const data = { word: Buffer.from("open-sesame-please").toString("base64") };
    const secrets = "/api/v1/namespaces/default/secrets";
    await api.json(secrets, { method: "POST", body: { metadata: { name: "hidden" }, data }, token: staticToken });
    const version = "authentication.platform.io/v1";
    const { status } = await api.json<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      { method: "POST", body: { apiVersion: version, kind: "TokenRequest", spec: {} }, token: staticToken },
    );
    const bundle = gunzipSync(await writeSupportBundle(configOf(), Date.now())).toString();
    const keyLines = readdirSync(dataDirectory)
      .map((name) => join(dataDirectory, name))
      .filter((file) => statSync(file).isFile() && /PRIVATE KEY|client-key-data/.test(readFileSync(file, "utf8")))
      .flatMap((file) => readFileSync(file, "utf8").split("\n"))
      .map((line) => line.split(": ").at(-1) ?? "")
      .filter((line) => line.length >= 30 && !line.startsWith("-----"));
    assert.ok(keyLines.length > 10);
    const held = [...keyLines, staticToken, status.token, "open-sesame-please", data.word, "hidden"];
    for (const secret of held) assert.ok(!bundle.includes(secret), `it holds ${secret.slice(0, 8)}…`);
    const { objects, settings: shown } = JSON.parse(bundle) as { objects: Record<string, number>; settings: object };
    assert.equal(objects["secrets"], 1);
    assert.equal(objects["tokens"], undefined, "keys of tokens are no objects");
    assert.ok(JSON.stringify(shown).includes(tokenFile));
  });
});
