import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import pino from "pino";
import { CertificateStore } from "../../../src/agent/certificates/certificate-store.ts";
import { startAgent } from "../../../src/agent/start-agent.ts";
import type { RunningAgent } from "../../../src/agent/start-agent.ts";
import { authorityRecord } from "../../../src/features/certificates/authorities/authority-record.ts";
import type { Generation } from "../../../src/features/certificates/authorities/authority-record.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";
import { systemClock, timestamp } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { UnusableFile } from "../../../src/machinery/files/unusable-file.ts";
import { readKeyRecord } from "../../../src/machinery/keys/key-records.ts";
import { SealingKey } from "../../../src/machinery/keys/sealing-key.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import { formatDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { fingerprintOf } from "../../../src/pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import {
  abortRotation,
  prepareAuthority,
  retireAuthority,
  subjectOf,
  switchAuthority,
} from "../../../src/features/certificates/authorities/rotate-authority.ts";
import { keptStore } from "../kept-store.ts";
import { settingsOf } from "../../agent/settings-of.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { ManualTime } from "../../manual-time.ts";
import { resourceReferences } from "../../resource-references.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const clock = systemClock;
const references = resourceReferences(names);
const everyAuthority = ["ca", "apiserver-client-ca", "nodeagent-client-ca", "nodeagent-serving-ca"] as const;

const keysOf = ({ store, dataDirectory }: Pick<TestServer, "store" | "dataDirectory">) => ({
  ...{ store, dataDirectory, names, sealingKey: SealingKey.open(dataDirectory) },
});

describe("the CAs of a server with a live agent", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-ca-rotation-"));
  const caFile = join(folder, "server-ca.pem");
  const pki = (name: string) => new CertificateStore(join(folder, "agent", "pki"), name);
  let server: TestServer;
  let agent: RunningAgent;
  const over = new AbortController();
  const answered: { good: number; readonly bad: string[] } = { good: 0, bad: [] };
  let load: Promise<void>;

  /** A new connection for each request, with what the agent has in its files at that moment. */
  const requestAsAgent = async (): Promise<void> => {
    const pair = pki("client").read();
    assert.ok(pair);
    const client = new ApiClient(
      httpsTransport({
        server: server.url,
        caCertificates: readFileSync(caFile, "utf8"),
        clientCertificate: { certificate: pair.certificatePem, key: pair.keyPem },
      }),
    );
    try {
      await client.resource(references.nodes).get("n1");
    } finally {
      client.close();
    }
  };

  before(async () => {
    server = await startTestServer({ storage: "lmdb", dataDirectory: join(folder, "server") });
    writeFileSync(caFile, server.caCertificates);
    await permitNodeBootstrap({ client: server.client, names });
    const { token, secret } = newBootstrapToken(names, {
      ...{ mayReplaceNode: true, groups: [bootstrapGroup], expiresAt: undefined, description: undefined },
    });
    await server.client.resource(references.secrets, names.namespaces.system).create(secret);
    agent = await startAgent(
      settingsOf({
        servers: [server.url],
        caCertificates: () => readFileSync(caFile, "utf8"),
        bootstrap: { type: "token", source: "a test", token: () => token },
        dataDirectory: join(folder, "agent"),
        trustBundles: [{ source: { bundleName: "platform.io:apiserver-serving:ca" }, file: caFile, hook: undefined }],
      }),
      { log: { info() {}, warn() {}, error() {} }, version: "test" },
    );
    await eventually("the agent's certificate", () => pki("client").read());
    await eventually("the node", () => server.client.resource(references.nodes).find("n1"));
    load = (async () => {
      while (!over.signal.aborted) {
        try {
          await requestAsAgent();
          answered.good += 1;
        } catch (error) {
          answered.bad.push(String(error));
        }
        await delay(5);
      }
    })();
  });
  after(async () => {
    over.abort();
    await load;
    await agent.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const issuerOf = (name: string): string => {
    const pair = pki(name).read();
    return pair === undefined ? "" : formatDistinguishedName(pair.certificate.issuer);
  };
  const subjects = (pem: string): string[] =>
    parseCertificatesPem(pem).map(({ subject }) => formatDistinguishedName(subject));

  it("are replaced one after the other, and no request fails", async () => {
    const keys = keysOf(server);
    for (const name of everyAuthority) await prepareAuthority(keys, { name, clock });
    await eventually("both CAs in the agent's file", () => subjects(readFileSync(caFile, "utf8")).length === 2);
    const published = await eventually("both CAs in the namespaces", async () => {
      const found = await server.client.resource(references.configMaps, "default").get(names.rootCaConfigMap);
      const { data = {} } = found as unknown as { data?: Readonly<Record<string, string>> };
      return subjects(data["ca.crt"] ?? "").length === 2 && data["ca.crt"];
    });
    assert.equal(
      published,
      server.caCertificates === "" ? "" : readFileSync(join(server.dataDirectory, "ca.crt"), "utf8"),
    );
    assert.equal(issuerOf("client"), "CN=signet-nodeagent-client-ca");

    for (const name of everyAuthority) {
      await assert.rejects(switchAuthority(keys, { name, isForced: false, clock }), /wait until .* or use --force/);
      await switchAuthority(keys, { name, isForced: true, clock });
    }
    await eventually("a serving certificate of the new CA", () => {
      const text = readFileSync(join(server.dataDirectory, "serving.pem"), "utf8");
      const [serving] = parseCertificatesPem(text);
      return serving && /^CN=signet-ca-[0-9a-f]{8}$/.test(formatDistinguishedName(serving.issuer));
    });
    const beforeRenewal = answered.good;
    await eventually("requests at the new serving certificate", () => answered.good > beforeRenewal + 5);
    await assert.rejects(
      retireAuthority(keys, { name: "nodeagent-client-ca", isForced: false, clock }),
      /1 certificate of the old CA can be used/,
    );
    agent.renewNow("client");
    await eventually("a client certificate of the new CA", () =>
      /^CN=signet-nodeagent-client-ca-[0-9a-f]{8}$/.test(issuerOf("client")),
    );
    // The request that is under way may have the old one.
    const sinceRenewal = answered.good;
    await eventually("requests with the new client certificate", () => answered.good > sinceRenewal + 1);
    await retireAuthority(keys, { name: "nodeagent-client-ca", isForced: true, clock });
    await assert.rejects(retireAuthority(keys, { name: "ca", isForced: false, clock }), /it signed until/);
    await retireAuthority(keys, { name: "ca", isForced: true, clock });
    await eventually("the new CA alone in the agent's file", () => subjects(readFileSync(caFile, "utf8")).length === 1);
    const afterwards = answered.good;
    await eventually("requests without the old CAs", () => answered.good > afterwards + 5);
    assert.deepEqual(answered.bad, []);
  });

  it("are updated in the administrator's kubeconfig and in the files of the data directory, at once and after a start", async () => {
    const { dataDirectory } = server;
    for (const name of everyAuthority) {
      assert.equal(statSync(join(dataDirectory, `${name}.key`)).mode & 0o777, 0o600);
    }
    const checkKubeconfig = (): void => {
      const { transport } = readKubeconfig({ file: server.kubeconfigFile });
      const [certificate] = parseCertificatesPem(transport.clientCertificate?.certificate ?? "");
      assert.ok(certificate);
      assert.match(formatDistinguishedName(certificate.issuer), /^CN=signet-apiserver-client-ca-[0-9a-f]{8}$/);
      assert.deepEqual(
        subjects(transport.caCertificates ?? ""),
        subjects(readFileSync(join(dataDirectory, "ca.crt"), "utf8")),
      );
    };
    checkKubeconfig();
    await server.stop();
    server = await startTestServer({ storage: "lmdb", dataDirectory, settings: { "secure-port": 0 } });
    checkKubeconfig();
  });
});

describe("a rotation of a CA", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-ca-states-"));
  const time = new ManualTime();
  const minute = 60_000;
  const store = new MemoryStore();
  const logged: string[] = [];
  let server: TestServer;
  before(async () => {
    server = await startTestServer({
      ...{ dataDirectory: join(folder, "data"), store: keptStore(store), clock: time.clock },
      log: pino({}, { write: (line: string) => void logged.push(line) }),
    });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const name = "nodeagent-serving-ca";
  const keys = () => keysOf({ store, dataDirectory: server.dataDirectory });
  const timed = { name, clock: time.clock };
  const unforced = { ...timed, isForced: false };
  const generations = async (): Promise<readonly Generation[]> =>
    (await readKeyRecord(store, authorityRecord)).value?.authorities[name]?.generations ?? [];
  const states = async (): Promise<string> => (await generations()).map(({ state }) => state).join(" ");

  it("is refused in any other order, for other names, and for the only CA", async () => {
    for (const [attempt, message] of [
      [() => switchAuthority(keys(), unforced), /no new CA is prepared/],
      [() => switchAuthority(keys(), { ...timed, isForced: true }), /no new CA is prepared/],
      [() => retireAuthority(keys(), { ...timed, isForced: true }), /no old CA is trusted: the one that signs/],
      [() => abortRotation(keys(), timed), /no rotation is under way/],
      [() => prepareAuthority(keys(), { ...timed, name: "../ca" }), /there is no CA "..\/ca": name one of ca, /],
      [() => prepareAuthority(keys(), { ...timed, name: "service-account" }), /there is no CA/],
    ] as const) {
      await assert.rejects(attempt(), message);
    }
    assert.deepEqual(await generations(), []);
  });

  it("can be aborted at each step", async () => {
    await prepareAuthority(keys(), timed);
    await assert.rejects(prepareAuthority(keys(), timed), /a new CA is prepared already/);
    assert.equal(await states(), "signing prepared");
    const line = await eventually("the line", () => logged.find((one) => one.includes("CA rotated")));
    const shown = (await generations()).map(({ fingerprint, state }) => ({ fingerprint, state }));
    assert.deepEqual(JSON.parse(line).generations, shown);
    assert.equal(await abortRotation(keys(), timed), "prepared");
    assert.equal(await states(), "signing");
    await assert.rejects(switchAuthority(keys(), unforced), /no new CA is prepared/);
    await assert.rejects(retireAuthority(keys(), unforced), /no old CA is trusted/);
    await assert.rejects(abortRotation(keys(), timed), /no rotation is under way/);
    const { fingerprint } = await prepareAuthority(keys(), timed);
    time.pass(10 * minute);
    await switchAuthority(keys(), unforced);
    assert.equal(await states(), "replaced signing");
    assert.equal(await abortRotation(keys(), timed), "switched");
    assert.equal(await states(), "replaced signing");
    await assert.rejects(retireAuthority(keys(), unforced), /it signed until/);
    time.pass(10 * minute);
    assert.deepEqual(await retireAuthority(keys(), unforced), [fingerprint]);
    assert.equal(await states(), "signing");
  });

  it("makes a CA that is valid as long as the one that signs", async () => {
    const lifetimeOf = (pem: string): number | undefined =>
      parseCertificatesPem(pem).map(({ notBefore, notAfter }) => notAfter - notBefore)[0];
    const { certificate } = await prepareAuthority(keys(), timed);
    assert.equal(lifetimeOf(certificate), lifetimeOf(readFileSync(join(server.dataDirectory, `${name}.crt`), "utf8")));
    await abortRotation(keys(), timed);
  });

  it("lets the CA sign again that signed before, also after another rotation was undone", async () => {
    const signing = async (): Promise<string | undefined> =>
      (await generations()).find(({ state }) => state === "signing")?.fingerprint;
    const first = await signing();
    for (const _ of ["undone", "undone too"]) {
      await prepareAuthority(keys(), timed);
      await switchAuthority(keys(), { ...timed, isForced: true });
      await abortRotation(keys(), timed);
      assert.equal(await signing(), first);
      await assert.rejects(abortRotation(keys(), timed), /the newest rotation was undone: nothing more to undo/);
      assert.equal(await signing(), first);
    }
    await prepareAuthority(keys(), timed);
    assert.equal(await abortRotation(keys(), timed), "prepared");
    await assert.rejects(abortRotation(keys(), timed), /nothing more to undo/);
    await retireAuthority(keys(), { ...timed, isForced: true });
  });

  it("undoes only the newest rotation: not the one before it when it is aborted twice", async () => {
    await prepareAuthority(keys(), timed);
    await switchAuthority(keys(), { ...timed, isForced: true });
    await prepareAuthority(keys(), timed);
    assert.equal(await states(), "replaced signing prepared");
    assert.equal(await abortRotation(keys(), timed), "prepared");
    const left = await generations();
    await assert.rejects(abortRotation(keys(), timed), /nothing more to undo/);
    assert.deepEqual(await generations(), left);
    await retireAuthority(keys(), { ...timed, isForced: true });
  });

  it("ends when no certificate of the old CA is valid but the API server's own", async () => {
    await prepareAuthority(keys(), timed);
    await switchAuthority(keys(), { ...timed, isForced: true });
    const old = (await generations()).find(({ state }) => state === "replaced");
    assert.ok(old);
    time.pass(10 * minute);
    const records = server.client.resource(references.issuedCertificates);
    const record = async (digit: string, { signerName, notAfter }: { signerName: string; notAfter: number }) => {
      const validity = { notBefore: timestamp(time.clock.now() - 60 * minute), notAfter: timestamp(notAfter) };
      const spec = {
        signerName,
        issuer: subjectOf(old),
        serialNumber: digit,
        fingerprint: digit.repeat(64),
        ...validity,
      };
      await records.create({ apiVersion: "", kind: "", metadata: { name: `record-${digit}` }, spec });
    };
    const inAnHour = time.clock.now() + 60 * minute;
    const signerName = "example.com/signer";
    await record("1", { signerName, notAfter: inAnHour });
    await assert.rejects(retireAuthority(keys(), unforced), /1 certificate of the old CA can be used/);
    await records.delete("record-1");
    await record("2", { signerName, notAfter: time.clock.now() - minute });
    await record("3", { signerName: signerNames.apiserverServing(names), notAfter: inAnHour });
    assert.deepEqual(await retireAuthority(keys(), unforced), [old.fingerprint]);
  });

  it("does not begin with a sealing key that cannot open the CAs that are there", async () => {
    const before = await states();
    const sealingKey = SealingKey.open(mkdtempSync(join(folder, "another-")));
    await assert.rejects(prepareAuthority({ ...keys(), sealingKey }, timed), UnusableFile);
    assert.equal(await states(), before);
  });

  it("begins once for two operators, and changes nothing when the store cannot be written", async () => {
    const outcomes = await Promise.allSettled([prepareAuthority(keys(), timed), prepareAuthority(keys(), timed)]);
    assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const write = () => Promise.reject(new StoreUnavailable("the disk is full"));
    const keysOfFullDisk = { ...keys(), store: { ...keptStore(store), write } };
    time.pass(10 * minute);
    await assert.rejects(switchAuthority(keysOfFullDisk, unforced), StoreUnavailable);
    assert.equal(await states(), "signing prepared");
  });

  it("continues after a restart, and is copied into the files", async () => {
    await server.stop();
    server = await startTestServer({ dataDirectory: join(folder, "data"), store: keptStore(store), clock: time.clock });
    await switchAuthority(keys(), unforced);
    const signing = (await generations()).find(({ state }) => state === "signing");
    assert.ok(signing);
    const copied = parseCertificatesPem(readFileSync(join(server.dataDirectory, `${name}.crt`)));
    assert.deepEqual(copied.map(fingerprintOf)[0], signing.fingerprint);
    assert.equal(copied.length, 2);
    const record = JSON.stringify((await readKeyRecord(store, authorityRecord)).value);
    assert.doesNotMatch(record, /PRIVATE KEY/);
  });
});
