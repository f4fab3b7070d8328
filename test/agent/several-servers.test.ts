import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { AgentSettings } from "../../src/agent/agent-settings.ts";
import { startAgent } from "../../src/agent/start-agent.ts";
import { serverAccess } from "../../src/cli/agent/agent-server-access.ts";
import { writePrivateFile, writePublicFile } from "../../src/machinery/files/atomic-file.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { signCertificate } from "../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { socketFolder } from "../socket-folder.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { newAuthority } from "../end-to-end/signing-authority.ts";
import { resourceReferences } from "../resource-references.ts";
import { startMachineServer } from "./machine-server.ts";
import type { MachineServer } from "./machine-server.ts";
import { ServerFront } from "./server-front.ts";
import { logTo } from "./log-to.ts";
import { shortenedSleep } from "./shortened-sleep.ts";
import { settingsOf } from "./settings-of.ts";

const references = resourceReferences(names);
const hour = 3_600_000;

describe("an agent of several servers", () => {
  const folder = socketFolder();
  const serverAuthorities = [newAuthority("first CA of the server"), newAuthority("second CA of the server")] as const;
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const ownCertificate = { "tls-cert-file": files.certificate, "tls-private-key-file": files.key };
  let machines: MachineServer;
  before(async () => {
    useServerCertificate(serverAuthorities[0]);
    machines = await startMachineServer({ settings: ownCertificate, storage: "lmdb" });
  });
  after(async () => {
    await machines.stop();
    rmSync(folder, { recursive: true });
  });

  function useServerCertificate(authority: CertificateAuthority): void {
    const key = generatePrivateKey("ECDSA P-256");
    const der = signCertificate(
      {
        subject: { commonName: "server" },
        publicKey: publicKeyInfoOf(key),
        notBefore: Date.now() - hour,
        notAfter: Date.now() + hour,
        isCA: false,
        keyUsages: ["digitalSignature"],
        extendedKeyUsages: ["serverAuth"],
        subjectAltNames: { ...noSubjectAltNames, dnsNames: ["server.example"], ipAddresses: ["127.0.0.1"] },
      },
      authority,
    );
    writePrivateFile(files.key, encodePrivateKeyPem(key));
    writePublicFile(files.certificate, encodePem("CERTIFICATE", der));
  }

  const pemOf = ({ certificate }: CertificateAuthority): string => encodePem("CERTIFICATE", certificate.der);

  async function start(context: TestContext, nodeName: string, settings: Partial<AgentSettings>) {
    const time = { skipped: 0 };
    const log: string[] = [];
    const write = (fields: Record<string, unknown>, message: string): void =>
      void log.push(`${message} ${JSON.stringify(fields)}`);
    const agent = await startAgent(
      settingsOf({
        servers: [],
        caCertificates: () => serverAuthorities.map(pemOf).join(""),
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
        monotonic: { now: () => performance.now() + time.skipped },
      },
    );
    context.after(() => agent.stop());
    await eventually("all certificates", () => agent.status().certificates.every(({ state }) => state === "current"));
    return { agent, time, log };
  }

  /** Resolves after the next two heartbeats. */
  async function heartbeats(nodeName: string): Promise<void> {
    const leases = machines.admin.resource(references.leases, names.namespaces.nodeLease);
    const version = async (): Promise<string | undefined> => (await leases.find(nodeName))?.metadata.resourceVersion;
    // The first one may have been on its way already.
    for (let beat = 0; beat < 2; beat++) {
      const before = await version();
      await eventually("a heartbeat", async () => (await version()) !== before);
    }
  }

  it("continues with the next one when the first is away, and returns to the first after five minutes", async (context) => {
    const fronts = [new ServerFront(() => machines.url), new ServerFront(() => machines.url)] as const;
    context.after(() => Promise.all(fronts.map((front) => front.close())));
    for (const front of fronts) await front.open();
    const { agent, time } = await start(context, "failover", { servers: fronts.map(({ url }) => url) });
    assert.equal(fronts[1].connections, 0, "the second one is not asked while the first answers");
    await fronts[0].close();
    await heartbeats("failover");
    assert.ok(fronts[1].connections > 0);
    agent.renewNow();
    await eventually("renewals by the second", () =>
      agent.status().certificates.every(({ state }) => state === "current"),
    );
    const before = fronts[0].connections;
    await fronts[0].open();
    await heartbeats("failover");
    assert.equal(fronts[0].connections, before, "it stays with the second for a while");
    time.skipped += 5 * 60_000;
    await eventually("it returns to the first", () => fronts[0].connections > before);
    await fronts[1].close();
    await heartbeats("failover");
  });

  it("follows the server's CA by its bundle, from the old CA over both to the new one", async (context) => {
    const caFile = join(folder, "server-ca.pem");
    const [first, second] = serverAuthorities;
    writeFileSync(caFile, pemOf(first));
    const bundles = () => machines.admin.resource(references.clusterTrustBundles);
    const publish = (...authorities: readonly CertificateAuthority[]): Promise<unknown> =>
      bundles().patch("server-ca", { body: { spec: { trustBundle: authorities.map(pemOf).join("") } } });
    await bundles().create({
      apiVersion: "",
      kind: "",
      metadata: { name: "server-ca" },
      spec: { trustBundle: pemOf(first) },
    });
    const front = new ServerFront(() => machines.url);
    context.after(() => front.close());
    await front.open();
    const { caCertificates } = serverAccess({ server: [front.url], caFile });
    const { log } = await start(context, "ca-bundle", {
      servers: [front.url],
      caCertificates,
      trustBundles: [{ source: { bundleName: "server-ca" }, file: caFile, hook: undefined }],
    });
    const anchors = (): number => readFileSync(caFile, "utf8").split("BEGIN").length - 1;
    await publish(first, second);
    await eventually("both anchors", () => anchors() === 2);
    useServerCertificate(second);
    await machines.restart(ownCertificate);
    await heartbeats("ca-bundle");
    await publish(second);
    await eventually("the new anchor alone", () => readFileSync(caFile, "utf8") === pemOf(second));
    front.cut();
    await heartbeats("ca-bundle");
    assert.deepEqual(
      log.filter((line) => /from a CA that|certificate has expired/i.test(line)),
      [],
    );
  });

  it("reaches the server through the proxy of HTTPS_PROXY", async (context) => {
    const asked = new Set<string>();
    const proxy = createProxy().on("connect", (request, socket: Socket) => {
      asked.add(request.url ?? "");
      const upstream = connect(Number(new URL(machines.url).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
      socket.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    process.env["HTTPS_PROXY"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // listens on a port
    context.after(() => {
      delete process.env["HTTPS_PROXY"];
      proxy.close();
      proxy.closeAllConnections();
    });
    const { agent } = await start(context, "behind-a-proxy", { servers: ["https://server.example:6443"] });
    await heartbeats("behind-a-proxy");
    agent.renewNow("client");
    await eventually("a renewal with the client certificate", () =>
      agent.status().certificates.every(({ state }) => state === "current"),
    );
    assert.deepEqual([...asked], ["server.example:6443"]);
  });
});
