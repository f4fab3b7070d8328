import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { AgentSettings, BootstrapCredential } from "../../src/agent/agent-settings.ts";
import type { Connect } from "../../src/agent/connection/agent-clients.ts";
import { CertificateStore } from "../../src/agent/certificates/certificate-store.ts";
import { startAgent } from "../../src/agent/start-agent.ts";
import type { StartAgentOptions } from "../../src/agent/start-agent.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { sleep as realSleep } from "../../src/machinery/api/clock.ts";
import type { Sleep } from "../../src/machinery/api/clock.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { resourceReferences } from "../resource-references.ts";
import { serialNumberHex } from "../../src/pki/certificates/certificate.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { startTestServer } from "../test-server.ts";
import { newPair } from "./new-pair.ts";
import { wantedClientCertificate, wantedDigest } from "../../src/agent/certificates/wanted-certificate.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";
import { logTo } from "./log-to.ts";
import { settingsOf } from "./settings-of.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** A server that lets machines bootstrap, a data directory, and agents in this process. */
async function scene(context: TestContext, profile: Profile = "platform") {
  const server = await startTestServer({ profile });
  const folder = mkdtempSync(join(tmpdir(), "signet-agent-"));
  const names = namesFor(profile);
  const references = resourceReferences(names);
  const { client } = server;
  await permitNodeBootstrap({ client, names });
  const { token, secret } = newBootstrapToken(names, {
    // Some machines here have lost their certificate, but not their Node.
    mayReplaceNode: true,
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: undefined,
  });
  await client.resource(references.secrets, names.namespaces.system).create(secret);
  const log: { readonly fields: Record<string, unknown>; readonly message: string }[] = [];
  const write = (fields: Record<string, unknown>, message: string): void => void log.push({ fields, message });
  const stores = (name: string) => new CertificateStore(join(folder, "pki"), name);
  context.after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  return {
    client,
    references,
    log,
    stores,
    kubeconfigFile: server.kubeconfigFile,
    withToken: { type: "token", source: "a test", token: () => token } as const,
    serials: () =>
      [stores("client").read(), stores("serving").read()].map((pair) => pair && serialNumberHex(pair.certificate)),
    async start(
      bootstrap: BootstrapCredential,
      { settings = {}, ...options }: Partial<StartAgentOptions> & { readonly settings?: Partial<AgentSettings> } = {},
    ) {
      const agent = await startAgent(
        settingsOf({
          servers: [server.url],
          caCertificates: () => server.caCertificates,
          bootstrap,
          dataDirectory: folder,
          ...settings,
        }),
        { log: logTo(write), version: "test", ...options },
      );
      context.after(() => agent.stop());
      return agent;
    },
    /** As a person would who sees the request. */
    async approveServing(): Promise<void> {
      const requests = client.resource(references.certificateSigningRequests);
      const pending = await eventually("a request for a serving certificate", async () => {
        const { items } = await requests.list({
          fieldSelector: `spec.signerName=${signerNames.nodeAgentServing(names)}`,
        });
        return items.find(({ status }) => status.conditions === undefined);
      });
      const condition = { type: "Approved", status: "True", reason: "Test", message: "" };
      await requests.update({ ...pending, status: { conditions: [condition] } }, { subresource: "approval" });
    },
  };
}

describe("an agent", () => {
  it("bootstraps against either naming profile, and is ready once its serving certificate is approved", async (context) => {
    for (const profile of ["platform", "kubernetes"] as const) {
      const { start, withToken, approveServing, client, references, stores } = await scene(context, profile);
      await start(withToken);
      await approveServing();
      await eventually("the node is ready", async () => {
        const node = await client.resource(references.nodes).find("n1");
        return node?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      });
      const { subjectAltNames } = stores("serving").read()?.certificate ?? assert.fail();
      assert.deepEqual([subjectAltNames.dnsNames, subjectAltNames.ipAddresses], [["n1"], ["127.0.0.1"]]);
    }
  });

  it("needs its bootstrap credential once", async (context) => {
    const { start, withToken, serials, log } = await scene(context);
    const first = await start(withToken);
    await eventually("a client certificate", () => serials()[0]);
    await first.stop();
    const [before] = serials();
    const second = await start({ type: "none" });
    second.renewNow();
    await eventually("another client certificate", () => serials()[0] !== before);
    assert.ok(!log.some(({ message }) => message.includes("not connected")));
  });

  it("reports another node's certificate in its folder before it replaces it, and ends when it cannot", async (context) => {
    const { start, withToken, stores, log } = await scene(context);
    stores("client").install(newPair(undefined, "n2"), { now: 0, wantedDigest: "" });
    const found = "has a client certificate of system:node:n2, not of the node n1";
    await assert.rejects(start({ type: "none" }), {
      name: "UsageError",
      message: new RegExp(`${found}, and there is no bootstrap credential: name the node with --node-name, its folder`),
    });
    await start(withToken);
    assert.ok(
      log.some(({ message }) => message.includes(`${found}: this node's own takes its place; if that is wrong,`)),
    );
    await eventually("its own certificate", () => {
      const { commonName } = stores("client").read()?.certificate.subject ?? {};
      return commonName === "system:node:n1";
    });
  });

  it("removes what a kill has left half-written, also of a certificate that its settings do not name any more", async (context) => {
    const { start, withToken, stores } = await scene(context);
    const left = join(dirname(stores("client").file), "web-current.pem.0123456789ab.new");
    writeFileSync(left, "");
    await start(withToken);
    assert.ok(!existsSync(left));
  });

  it("says which certificate its settings do not name any more, and leaves its files alone", async (context) => {
    const { start, withToken, stores, log } = await scene(context);
    const pair = newPair({ notBefore: Date.now(), notAfter: Date.now() + 1e9 });
    for (const name of ["web", "web-2"]) stores(name).install(pair, { now: Date.UTC(2026, 0), wantedDigest: "" });
    await start(withToken);
    const lines = log.filter(({ message }) => message.includes("the settings do not name this certificate any more"));
    const filesOf = (name: string) => [`${name}-2026-01-01-00-00-00-000.pem`, `${name}-current.pem`, `${name}-wanted`];
    assert.deepEqual(
      new Map(lines.map(({ fields }) => [fields["certificate"], new Set([fields["files"]].flat())])),
      new Map(["web", "web-2"].map((name) => [name, new Set(filesOf(name))])),
    );
    assert.equal(lines[0]?.fields["folder"], dirname(stores("web").file));
    assert.equal(stores("web").read()?.keyPem, pair.keyPem);
  });

  it("can be introduced by a client certificate, such as the administrator's", async (context) => {
    const { start, stores, kubeconfigFile } = await scene(context);
    const { clientCertificate = assert.fail() } = readKubeconfig({ file: kubeconfigFile }).transport;
    await start({ type: "certificate", source: "a kubeconfig", ...clientCertificate });
    const pair = await eventually("a client certificate", () => stores("client").read());
    assert.equal(pair.certificate.subject.commonName, "system:node:n1");
    assert.notEqual(pair.keyPem, clientCertificate.key);
  });

  it("bootstraps again when its client certificate has expired, is another node's, or is from an unknown CA", async (context) => {
    const { start, withToken, serials, stores } = await scene(context);
    const now = Date.now();
    const pairs = [
      newPair({ notBefore: now - 2000, notAfter: now - 1000 }),
      newPair({ notBefore: now - 1000, notAfter: now + 1e9 }, "n2"),
      newPair({ notBefore: now - 1000, notAfter: now + 1e9 }),
    ];
    for (const pair of pairs) {
      stores("client").install(pair, {
        now,
        wantedDigest: wantedDigest(wantedClientCertificate(namesFor("platform"), "n1"), undefined),
      });
      const [before] = serials();
      const agent = await start(withToken);
      await eventually("a new client certificate", () => serials()[0] !== before);
      assert.equal(stores("client").read()?.certificate.subject.commonName, "system:node:n1");
      await agent.stop();
    }
  });

  it("introduces itself again as soon as the server refuses its certificate, whatever it was used for", async (context) => {
    const { start, withToken, approveServing, stores } = await scene(context);
    let isRefused = false;
    const connect: Connect = (options) => {
      const transport = httpsTransport(options);
      return {
        send: async (request) =>
          isRefused && request.path.includes("/leases")
            ? {
                status: 401,
                headers: {},
                body: Readable.from([Buffer.from('{"kind":"Status","reason":"Unauthorized"}')]),
              }
            : transport.send(request),
        close: () => transport.close(),
      };
    };
    // The regular check of the certificate, after a minute, does not come here.
    const sleep: Sleep = (milliseconds, signal) => realSleep(milliseconds > 10_000 ? 2 ** 30 : 100, signal);
    await start(withToken, { connect, sleep });
    await approveServing();
    const first = await eventually("a client certificate", () => stores("client").read());
    isRefused = true;
    await eventually("another client certificate", () => stores("client").read()?.keyPem !== first.keyPem);
    isRefused = false;
  });

  it("counts no question of its own as unanswered because it ended meanwhile", async (context) => {
    const { start, withToken, log } = await scene(context);
    const closed = Promise.withResolvers<never>();
    closed.promise.catch(() => {});
    let isAsked = false;
    const connect: Connect = (options) => {
      const transport = httpsTransport(options);
      return {
        send(request) {
          if (!request.path.includes("/clustertrustbundles")) return transport.send(request);
          isAsked = true;
          return closed.promise;
        },
        close() {
          transport.close();
          if (isAsked) closed.reject(new Error("the connection was closed"));
        },
      };
    };
    const agent = await start(withToken, { connect });
    await eventually("a question whether certificates were recalled", () => isAsked);
    await agent.stop();
    assert.deepEqual(agent.status().outages, []);
    assert.deepEqual(
      log.filter(({ message }) => message.startsWith("could not")),
      [],
    );
  });

  it("reports which bootstrap credential is missing, and starts when there is one", async (context) => {
    const { start, withToken, serials, log } = await scene(context);
    let token: string | undefined;
    await start({ type: "token", source: "/run/token", token: () => token });
    await eventually("the complaint", () =>
      log.some(({ message }) => message.includes("/run/token is missing, holds no token, or cannot be read")),
    );
    token = withToken.token();
    await eventually("a client certificate", () => serials()[0]);
  });

  it("warns of a bootstrap token whose file's mode lets every user read it, and uses it", async (context) => {
    for (const mode of [0o640, 0o644]) {
      const { start, withToken, serials, log } = await scene(context);
      const file = join(temporaryFolder(), "token");
      writeFileSync(file, withToken.token());
      chmodSync(file, mode);
      await start({ ...withToken, type: "token file", source: file });
      await eventually("a client certificate", () => serials()[0]);
      const warning = `every user may read ${file}, the file of the bootstrap token; chmod 600 it`;
      const isWarned = log.some(({ message }) => message === warning);
      assert.equal(isWarned, mode === 0o644);
    }
  });

  it("says that it is broken when a loop ends by a fault, and can still be stopped", async (context) => {
    const { start, withToken } = await scene(context);
    const fault = new Error("a bug");
    let isBroken = false;
    const monotonic = {
      now() {
        if (isBroken) throw fault;
        return performance.now();
      },
    };
    const agent = await start(withToken, { monotonic });
    await eventually("a client certificate", () => agent.status().certificates[0]?.state === "current");
    agent.renewNow();
    isBroken = true;
    await assert.rejects(agent.broken, fault);
    await agent.stop();
  });

  it("goes by the server's time when its own clock is wrong, and says so", async (context) => {
    for (const days of [400, -400]) {
      const { start, withToken, serials, log, client, references } = await scene(context);
      const clock = { now: () => Date.now() + days * 86_400_000 };
      const agent = await start(withToken, { clock });
      await eventually("a client certificate", () => serials()[0]);
      const skew = log.find(({ message }) => message.includes("clock differs"))?.fields["skewSeconds"];
      assert.ok(Math.abs(Number(skew) + days * 86_400) < 60, `skew: ${String(skew)}`);
      await eventually("a lease by the server's time", async () => {
        const lease = await client.resource(references.leases, "platform-node-lease").find("n1");
        return Math.abs(Date.parse(lease?.spec.renewTime ?? "") - Date.now()) < 60_000;
      });
      const { items } = await client.resource(references.certificateSigningRequests).list();
      assert.equal(items.filter(({ spec }) => spec.signerName.endsWith("apiserver-client-nodeagent")).length, 1);
      await agent.stop();
    }
  });
});
