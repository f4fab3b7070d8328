import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { AgentSettings, ServiceCertificate } from "../../src/agent/agent-settings.ts";
import { CertificateStore } from "../../src/agent/certificates/certificate-store.ts";
import { startAgent } from "../../src/agent/start-agent.ts";
import type { RunningAgent } from "../../src/agent/start-agent.ts";
import { revocationResource } from "../../src/features/revocation/resources.ts";
import { timestamp } from "../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import type { Transport } from "../../src/machinery/client/transport.ts";
import { fingerprintOf } from "../../src/pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../src/pki/certificates/certificates-pem.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { shellWord } from "../../src/machinery/command-line/output/shell-word.ts";
import { socketFolder } from "../socket-folder.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { newAuthority } from "../end-to-end/signing-authority.ts";
import { resourceReferences } from "../resource-references.ts";
import { servicesSigner, startMachineServer } from "./machine-server.ts";
import type { MachineServer } from "./machine-server.ts";
import { ServerFront } from "./server-front.ts";
import { logTo } from "./log-to.ts";
import { shortenedSleep } from "./shortened-sleep.ts";
import { settingsOf } from "./settings-of.ts";

const references = resourceReferences(names);
const serviceNames = ["web", "db", "api"] as const;
const minute = 60_000;

const service = (name: string, file: string): ServiceCertificate => ({
  name,
  signerName: servicesSigner,
  commonName: `${name}.services.example`,
  organizations: [],
  dnsNames: [`${name}.services.example`],
  ipAddresses: [],
  emailAddresses: [],
  uris: [],
  usages: ["digital signature", "server auth"],
  keyType: "ECDSA P-256",
  lifetimeSeconds: undefined,
  renewalShare: undefined,
  outputs: [{ type: "pem", file, ownership: { mode: 0o600 } }],
  hook: undefined,
});

describe("a running agent", () => {
  const folder = socketFolder();
  const anchors = Array.from({ length: 3 }, (_, index) =>
    encodePem("CERTIFICATE", newAuthority(`anchor ${index}`).certificate.der),
  );
  const time = { passed: 0 };
  let machines: MachineServer;
  before(async () => {
    machines = await startMachineServer({ clock: { now: () => Date.now() + time.passed } });
  });
  after(async () => {
    await machines.stop();
    rmSync(folder, { recursive: true });
  });

  /** The Date of an answer is Node.js' own, not the server's. */
  const dated = (transport: Transport): Transport => ({
    async send(request) {
      const response = await transport.send(request);
      return { ...response, headers: { ...response.headers, date: new Date(Date.now() + time.passed).toUTCString() } };
    },
    close: () => transport.close(),
  });

  async function start(
    context: TestContext,
    nodeName: string,
    {
      through = (transport) => transport,
      ...settings
    }: Partial<AgentSettings> & { readonly through?: (transport: Transport) => Transport } = {},
  ) {
    const log: string[] = [];
    const write = (fields: Record<string, unknown>, message: string): void =>
      void log.push(`${message} ${JSON.stringify(fields)}`);
    const agent = await startAgent(
      settingsOf({
        servers: [machines.url],
        caCertificates: () => readFileSync(machines.caFile, "utf8"),
        bootstrap: { type: "token", source: "a test", token: () => machines.bootstrapToken },
        nodeIpAddresses: ["10.0.0.7"],
        dataDirectory: join(folder, nodeName),
        nodeName,
        ...settings,
      }),
      {
        log: logTo(write),
        version: "test",
        sleep: shortenedSleep(500),
        clock: { now: () => Date.now() + time.passed },
        monotonic: { now: () => performance.now() + time.passed },
        connect: (options) =>
          through(dated(httpsTransport({ ...options, timeoutMilliseconds: 1000, watchIdleMilliseconds: 1500 }))),
      },
    );
    context.after(() => agent.stop());
    return { agent, log };
  }

  const allAreCurrent = (agent: RunningAgent): Promise<boolean> =>
    eventually("all certificates", () => agent.status().certificates.every(({ state }) => state === "current"));
  const bundles = () => machines.admin.resource(references.clusterTrustBundles);
  const publish = async (name: string, ...indexes: readonly number[]): Promise<void> => {
    const spec = { trustBundle: indexes.map((index) => anchors[index]).join("") };
    if ((await bundles().find(name)) === undefined) {
      await bundles().create({ apiVersion: "", kind: "", metadata: { name }, spec });
    } else await bundles().patch(name, { body: { spec } });
  };
  const lease = (nodeName: string) =>
    machines.admin.resource(references.leases, names.namespaces.nodeLease).find(nodeName);
  const node = (nodeName: string) => machines.admin.resource(references.nodes).find(nodeName);

  async function heartbeats(nodeName: string): Promise<void> {
    for (let beats = 0; beats < 3; beats++) {
      const before = (await lease(nodeName))?.metadata.resourceVersion;
      await eventually("a heartbeat", async () => (await lease(nodeName))?.metadata.resourceVersion !== before);
    }
  }

  it("continues with the next server when one stops answering: it renews certificates and follows trust bundles", async (context) => {
    const fronts = [new ServerFront(() => machines.url), new ServerFront(() => machines.url)] as const;
    context.after(() => Promise.all(fronts.map((front) => front.close())));
    for (const front of fronts) await front.open();
    await publish("silent", 0);
    const file = (name: string): string => join(folder, `silent-${name}.pem`);
    const { agent } = await start(context, "silent", {
      servers: fronts.map(({ url }) => url),
      certificates: serviceNames.map((name) => service(name, file(name))),
      trustBundles: [
        { source: { bundleName: "silent" }, file: file("trust"), hook: undefined },
        { source: { signerName: servicesSigner }, file: file("signer"), hook: undefined },
      ],
    });
    await allAreCurrent(agent);
    const holds = (...indexes: readonly number[]): Promise<boolean> =>
      eventually(
        "the new anchors",
        () => readFileSync(file("trust"), "utf8") === indexes.map((index) => anchors[index]).join(""),
      );
    const contents = (): string[] => serviceNames.map((name) => readFileSync(file(name), "utf8"));
    await holds(0);

    const before = contents();
    fronts[0].fallSilent();
    agent.renewNow();
    await publish("silent", 0, 1);
    await holds(0, 1);
    await eventually("renewals", () => contents().every((text, index) => text !== before[index]));
    await allAreCurrent(agent);
    await heartbeats("silent");

    // It is tried again later, and the other one may fall silent too.
    fronts[0].speak();
    time.passed += 5 * minute;
    const connections = fronts[0].connections;
    await eventually("it returns to the first", () => fronts[0].connections > connections);
    fronts[1].fallSilent();
    await publish("silent", 2);
    await holds(2);
    await heartbeats("silent");
  });

  it("shows in its status what fails while the server is away", async (context) => {
    let isAway = false;
    const through = (transport: Transport): Transport => ({
      send: (request) => (isAway ? Promise.reject(new Error("away")) : transport.send(request)),
      close: () => transport.close(),
    });
    const { agent } = await start(context, "away", { through });
    await allAreCurrent(agent);
    isAway = true;
    const failure = "could not renew the node's lease: away";
    await eventually("the outage", () => agent.status().outages.includes(failure));
    isAway = false;
    await eventually("its end", () => agent.status().outages.length === 0);
  });

  it("says that a copy of its data directory is in use on another machine", async (context) => {
    const { agent, log } = await start(context, "cloned");
    await allAreCurrent(agent);
    await heartbeats("cloned");
    const dataDirectory = join(folder, "clone");
    cpSync(join(folder, "cloned"), dataDirectory, { recursive: true, verbatimSymlinks: true });
    const clone = await start(context, "cloned", { dataDirectory });
    await eventually("the other agent in the status", () =>
      agent.status().outages.some((line) => line.includes("another agent renews it too")),
    );
    await clone.agent.stop();
    await eventually("its end in the log", () => log.some((line) => line.startsWith("only this agent renews")));
  });

  it("renews what a signer has recalled, and nothing else", async (context) => {
    const file = join(folder, "recalled-web.pem");
    const name = `${servicesSigner.replace("/", ":")}:ca`;
    const recallIn = (text: string) => ({ annotations: { "signet.platform.io/renew-issued-before": text } });
    // A time that has not come hides no other.
    const later = { name: `${servicesSigner.replace("/", ":")}:later`, ...recallIn("2999-01-01T00:00:00Z") };
    const published = await eventually("the signer's bundle", () => bundles().find(name));
    await bundles().create({ ...published, metadata: later });
    context.after(() => bundles().delete(later.name));
    const accepted = new Set<string>();
    // What another signer's bundles say cannot be read.
    const through = (transport: Transport): Transport => ({
      async send(request) {
        if (request.path.endsWith("/clustertrustbundles")) accepted.add(String(request.headers?.["accept"]));
        if (request.query?.includes("nodeagent-serving") !== true) return transport.send(request);
        return { status: 500, headers: {}, body: Readable.from([Buffer.from("{}")]) };
      },
      close: () => transport.close(),
    });
    const { agent, log } = await start(context, "recalled", { certificates: [service("web", file)], through });
    await allAreCurrent(agent);
    const serials = (): Record<string, string> =>
      Object.fromEntries(agent.status().certificates.map(({ name, notAfter }) => [name, String(notAfter)]));
    const before = serials();
    const recall = (text: string) => bundles().patch(name, { body: { metadata: recallIn(text) } });
    await recall("at noon");
    await recall(timestamp(Date.now() + time.passed));
    await eventually("the recall in the log", () => log.some((line) => line.startsWith("the signer has recalled")));
    time.passed += 36 * minute;
    await eventually("a new certificate", () => serials()["web"] !== before["web"]);
    await allAreCurrent(agent);
    assert.deepEqual({ ...serials(), web: "" }, { ...before, web: "" });
    assert.ok(log.some((line) => line.startsWith("requested a certificate") && line.includes('"reason":"recalled"')));
    const after = serials();
    await heartbeats("recalled");
    assert.deepEqual(serials(), after);
    // Bundles may have a mebibyte each.
    assert.deepEqual([...accepted], ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"]);
  });

  it("replaces a service's certificate and its own that are revoked, each with a new key, and no others", async (context) => {
    const files = { web: join(folder, "revoked-web.pem"), db: join(folder, "revoked-db.pem") };
    const certificates = Object.entries(files).map(([name, file]) => service(name, file));
    const { agent, log } = await start(context, "revoked", { certificates });
    await allAreCurrent(agent);
    const pemOf = (name: string): string => readFileSync(join(folder, "revoked", "pki", `${name}-current.pem`), "utf8");
    const keyOf = (pem: string): string => pem.slice(0, pem.indexOf("-----BEGIN CERTIFICATE"));
    const before = { web: pemOf("web"), db: pemOf("db"), serving: pemOf("serving"), client: pemOf("client") };
    const revocations = machines.admin.resource(revocationResource(names));
    for (const name of ["web", "serving"] as const) {
      const [certificate = assert.fail()] = parseCertificatesPem(before[name]);
      const spec = { certificate: { fingerprint: fingerprintOf(certificate) }, reason: "keyCompromise" };
      await revocations.create({ apiVersion: "", kind: "", metadata: { name: `revoked-${name}` }, spec });
      await eventually("another certificate", () => keyOf(pemOf(name)) !== keyOf(before[name]));
    }
    await allAreCurrent(agent);
    assert.equal(readFileSync(files.web, "utf8"), pemOf("web"));
    await heartbeats("revoked");
    assert.deepEqual([pemOf("db"), pemOf("client")], [before.db, before.client]);
    const requested = log.filter((line) => line.includes('"reason":"revoked"'));
    assert.equal(requested.length, 2, "each once");
  });

  it("needs no server that can tell what is revoked", async (context) => {
    for (const [nodeName, code, outages] of [
      ["unknowing", 404, 0],
      ["forbidding", 403, 0],
      ["broken", 500, 1],
    ] as const) {
      let looks = 0;
      const through = (transport: Transport): Transport => ({
        async send(request) {
          if (!request.path.endsWith("/certificatereviews")) return transport.send(request);
          looks++;
          const text = JSON.stringify({ kind: "Status", code, message: "no review", status: { revoked: true } });
          return { status: code, headers: {}, body: Readable.from([Buffer.from(text)]) };
        },
        close: () => transport.close(),
      });
      const { agent, log } = await start(context, nodeName, { through });
      await allAreCurrent(agent);
      const before = looks;
      await eventually("a whole look", () => looks > before + 1);
      assert.equal(agent.status().outages.filter((line) => line.includes("are revoked")).length, outages);
      assert.ok(!log.some((line) => line.includes("revoked: another")));
    }
  });

  it("needs no server that can tell what is recalled, and believes none about another signer", async (context) => {
    const annotations = { "signet.platform.io/renew-issued-before": timestamp(Date.now() + time.passed) };
    const ofOther = { metadata: { name: "other", annotations }, spec: { signerName: "example.com/other" } };
    for (const [nodeName, codes, outages] of [
      ["older", { "apiserver-client-nodeagent": 404, "nodeagent-serving": 403 }, 0],
      ["failing", { "nodeagent-serving": 500 }, 1],
    ] as const) {
      let looks = 0;
      const through = (transport: Transport): Transport => ({
        async send(request) {
          if (!request.path.endsWith("/clustertrustbundles")) return transport.send(request);
          if (request.query?.includes("services") === true) looks++;
          const [, code = 200] = Object.entries(codes).find(([signer]) => request.query?.includes(signer)) ?? [];
          const text = JSON.stringify({ kind: "List", code, message: "no bundles", metadata: {}, items: [ofOther] });
          return { status: code, headers: {}, body: Readable.from([Buffer.from(text)]) };
        },
        close: () => transport.close(),
      });
      const certificates = [service("web", join(folder, `${nodeName}-web.pem`))];
      const { agent } = await start(context, nodeName, { certificates, through });
      await allAreCurrent(agent);
      const before = looks;
      await eventually("a whole look", () => looks > before + 1);
      assert.equal(agent.status().outages.filter((line) => line.includes("are recalled")).length, outages);
      for (const { name, renewAt = 0 } of agent.status().certificates) {
        assert.ok(renewAt > Date.now() + time.passed + 36 * minute, `${nodeName}: ${name}`);
      }
    }
  });

  it("registers a deleted Node again, with a Lease that stays", async (context) => {
    const { agent } = await start(context, "deleted");
    await allAreCurrent(agent);
    await eventually("a Lease", () => lease("deleted"));
    const { uid } = (await node("deleted"))?.metadata ?? {};
    await machines.admin.resource(references.nodes).delete("deleted");
    const owner = await eventually("a Lease of the new Node", async () => {
      const [found] = (await lease("deleted"))?.metadata.ownerReferences ?? [];
      return found !== undefined && found.uid !== uid && found;
    });
    assert.equal(owner.uid, (await node("deleted"))?.metadata.uid);
    const leaseUid = (await lease("deleted"))?.metadata.uid;
    await heartbeats("deleted");
    assert.equal((await lease("deleted"))?.metadata.uid, leaseUid);
  });

  it("reports its Node again after an answer without a status", async (context) => {
    let spoiled = 0;
    const through = (transport: Transport): Transport => ({
      async send(request) {
        const isNode = request.method === "POST" && request.path.endsWith("/nodes");
        if (!isNode) return transport.send(request);
        spoiled++;
        const text = JSON.stringify({ kind: "Node", metadata: { name: "spoiled" } });
        return { status: 201, headers: {}, body: Readable.from([Buffer.from(text)]) };
      },
      close: () => transport.close(),
    });
    // Each new report is a create while the Node is not known.
    const { log } = await start(context, "spoiled", { through });
    await eventually("the fault", () =>
      log.some((line) => line.startsWith("could not report the node: an answer is not what the API says")),
    );
    await eventually("another try", () => spoiled > 1);
  });

  it("sends heartbeats while its end waits for a hook", async (context) => {
    const [begun, done] = [join(folder, "begun"), join(folder, "done")];
    const command = `touch ${shellWord(begun)}; until test -e ${shellWord(done)}; do sleep 0.1; done`;
    const { agent } = await start(context, "slow-hook", {
      hook: { command, check: undefined, timeoutMilliseconds: minute },
    });
    await allAreCurrent(agent);
    await eventually("the hook runs", () => existsSync(begun));
    const stopped = agent.stop({ hookGraceMilliseconds: 1000 * minute });
    await heartbeats("slow-hook");
    writeFileSync(done, "");
    await stopped;
  });

  it("keeps the key of a pending request, and logs a reminder every 15 minutes", async (context) => {
    const people = { ...service("people", join(folder, "people.pem")), signerName: "example.com/people" };
    const { agent, log } = await start(context, "undecided", { certificates: [people] });
    const requested = (): string | undefined =>
      agent.status().certificates.find(({ name }) => name === "people")?.pendingRequest;
    const name = await eventually("the request", requested);
    const store = new CertificateStore(join(folder, "undecided/pki"), "people");
    const key = store.pendingKey() ?? assert.fail();
    const reminders = (): number => log.filter((line) => line.includes(`signet csr approve ${name}`)).length;
    for (const count of [1, 2]) {
      time.passed += 16 * minute;
      await eventually("a reminder", () => reminders() === count);
    }
    assert.deepEqual([store.pendingKey(), requested()], [key, name]);
  });

  it("publishes its port unless it listens on a loopback name or address", async (context) => {
    for (const [nodeName, listenAddress, isPublished] of [
      ["by-address", "127.0.0.1", false],
      ["by-name", "localhost", false],
      ["everywhere", "0.0.0.0", true],
    ] as const) {
      const { agent } = await start(context, nodeName, { listenAddress });
      const status = await eventually("its Node", async () => (await node(nodeName))?.status);
      const port = status.daemonEndpoints.kubeletEndpoint.Port;
      assert.equal(port, isPublished ? agent.port : 0, listenAddress);
    }
  });

  it("writes no file when only the order of anchors has changed", async (context) => {
    await publish("order", 0, 1);
    const file = join(folder, "order.pem");
    const { log } = await start(context, "order", {
      trustBundles: [{ source: { bundleName: "order" }, file, hook: undefined }],
    });
    const writes = (): number => log.filter((line) => line.startsWith("wrote the trust bundle")).length;
    await eventually("the file", () => writes() === 1);
    await publish("order", 1, 0);
    await heartbeats("order");
    await publish("order", 2);
    await eventually("the next file", () => readFileSync(file, "utf8") === anchors[2]);
    assert.equal(writes(), 2);
  });

  it("says which credential the server refused, and why", async (context) => {
    const token = { type: "token", source: "/run/token", token: () => "abcdef.0123456789abcdef" } as const;
    const { log } = await start(context, "refused", { bootstrap: token });
    const line = await eventually("the refusal", () => log.find((one) => one.includes("(401)")));
    assert.match(
      line,
      /does not accept the bootstrap token abcdef of \/run\/token \(401\): it is unknown, was deleted or/,
    );
    assert.ok(!log.join().includes("0123456789abcdef"));
  });

  it("answers on its port however many idle connections are open", async (context) => {
    const { agent } = await start(context, "crowded");
    await allAreCurrent(agent);
    const { port } = agent;
    const idle = Array.from({ length: 300 }, () => connect({ host: "127.0.0.1", port }).on("error", () => {}));
    context.after(() => idle.forEach((socket) => socket.destroy()));
    await Promise.all(idle.map((socket) => once(socket, "connect")));
    const [answer] = (await once(
      get({ host: "127.0.0.1", port, path: "/readyz", rejectUnauthorized: false, agent: false }),
      "response",
    )) as [{ statusCode: number; resume(): void }]; // of IncomingMessage
    answer.resume();
    assert.equal(answer.statusCode, 200);
  });
});
