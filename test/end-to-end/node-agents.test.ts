import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePort } from "../../bench/processes/free-ports.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { resourceReferences } from "../resource-references.ts";
import { parseCertificatesPem } from "../../src/pki/certificates/certificates-pem.ts";
import { AgentUnderTest } from "./agent-under-test.ts";
import { eventually } from "./eventually.ts";
import { newAuthority, useAuthority } from "./signing-authority.ts";
import { SignetProcess } from "./signet-process.ts";
import { SteadyRequests } from "./steady-requests.ts";
import { userOf } from "../user-of.ts";

const names = platformNames;
const references = resourceReferences(names);
const folder = mkdtempSync(join(tmpdir(), "signet-end-to-end-"));
const dataDirectory = join(folder, "server");
const caFile = join(dataDirectory, "ca.crt");
const tokenFile = join(folder, "bootstrap-token");
const policyFile = join(folder, "policy.yaml");
const authorityFiles = { certificateFile: join(folder, "signing.crt"), keyFile: join(folder, "signing.key") };
const bundleName = "platform.io:nodeagent-serving:ca";

const approvalPolicy = `
rules:
  - name: node-serving
    match: { signers: [platform.io/nodeagent-serving], groups: ["system:nodes"] }
    action: approve
    require: { namesBelongToNode: true, dnsNames: ["node-*"], ipRanges: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16] }
`;

const firstAuthority = newAuthority("first signer");
const secondAuthority = newAuthority("second signer");
let server: SignetProcess;
/** The same after a restart. */
const port = await freePort();
let admin: ApiClient;
let agents: readonly [AgentUnderTest, AgentUnderTest];

async function startServer(): Promise<string> {
  server = new SignetProcess(
    ...["serve", "--data-dir", dataDirectory, "--secure-port", String(port), "--approval-policy", policyFile],
    ...["--cluster-signing-cert-file", authorityFiles.certificateFile],
    ...["--cluster-signing-key-file", authorityFiles.keyFile],
  );
  const url = await server.find(/listens on (\S+)/);
  await server.find(/(ready in)/);
  return url;
}

before(async () => {
  writeFileSync(policyFile, approvalPolicy);
  useAuthority(authorityFiles, firstAuthority);
  const url = await startServer();
  const kubeconfig = join(dataDirectory, "admin.kubeconfig");
  admin = new ApiClient(httpsTransport(readKubeconfig({ file: kubeconfig }).transport));
  const output = await SignetProcess.run("bootstrap-token", "create", "--kubeconfig", kubeconfig, "--ttl", "10m");
  writeFileSync(tokenFile, /^[a-z0-9]{6}\.[a-z0-9]{16}$/m.exec(output)?.[0] ?? "", { mode: 0o600 });
  const agent = (nodeName: string): AgentUnderTest => {
    const own = join(folder, nodeName);
    mkdirSync(own, { mode: 0o700 });
    return new AgentUnderTest({ folder: own, nodeName, server: url, caFile, tokenFile });
  };
  agents = [agent("node-a"), agent("node-b")];
  await Promise.all(agents.map((one) => one.start()));
});

after(async () => {
  server.signal("SIGCONT");
  await Promise.all([...agents, server].map((one) => one.end()));
  admin.close();
  rmSync(folder, { recursive: true });
});

const publishedAnchors = async (): Promise<string> =>
  (await admin.resource(references.clusterTrustBundles).get(bundleName)).spec.trustBundle;

const healthByBundle = async (agent: AgentUnderTest): Promise<string> =>
  agent.read("/healthz", await publishedAnchors());

/** How often the server has read the files of the signing CA again. */
const authorityReads = (): number => server.output.match(/cluster-signing[^\n]*file read again/g)?.length ?? 0;

/** The file exists shortly before the listener uses it. */
const servesItsNewest = (agent: AgentUnderTest): Promise<boolean> =>
  eventually(
    `${agent.nodeName} serves with its newest certificate`,
    async () => (await agent.servedSerial(await publishedAnchors())) === agent.serials()[1],
  );

async function whoIsNode(agent: AgentUnderTest): ReturnType<typeof userOf> {
  const client = agent.apiClient();
  try {
    return await userOf(client);
  } finally {
    client.close();
  }
}

/**
 * Every client that relies on an agent: new TLS clients that trust the followed bundles, and programs that act as the
 * node.
 */
const steadyRequests = (): SteadyRequests =>
  new SteadyRequests(
    agents.flatMap((agent, index) => [
      () => agent.read("/healthz", readFileSync(agents[1 - index]?.bundleFile ?? "", "utf8")),
      async () => assert.equal((await whoIsNode(agent)).username, `system:node:${agent.nodeName}`),
    ]),
  );

async function rotateAll(): Promise<void> {
  const before = agents.map((agent) => agent.serials());
  for (const agent of agents) agent.rotate();
  for (const [index, agent] of agents.entries()) {
    await eventually(`${agent.nodeName} has two new certificates`, () =>
      agent.serials().every((serial) => before[index]?.includes(serial) === false),
    );
  }
}

describe("two agents and a server, each in a separate process", () => {
  it("get both certificates with nothing but a bootstrap token, and register", async () => {
    for (const agent of agents) {
      await eventually(`${agent.nodeName} is ready`, async () => {
        const { status } = await admin.resource(references.nodes).get(agent.nodeName);
        return status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
      });
      for (const name of ["client", "serving"] as const) {
        const file = join(folder, agent.nodeName, "pki", `${name}-current.pem`);
        assert.equal(statSync(file).mode & 0o777, 0o600);
      }
      const lease = await admin.resource(references.leases, names.namespaces.nodeLease).get(agent.nodeName);
      assert.equal(lease.spec.holderIdentity, agent.nodeName);
      assert.equal(lease.spec.leaseDurationSeconds, 40);
    }
  });

  it("serve with a certificate that verifies with only the published trust bundle", async () => {
    for (const agent of agents) {
      assert.equal(await healthByBundle(agent), "ok");
      const metrics = await agent.read("/metrics", await publishedAnchors());
      assert.match(metrics, /^signet_agent_certificates_installed_total\{certificate="serving"\} 1$/m);
      await assert.rejects(agent.read("/healthz", readFileSync(caFile, "utf8")), /certificate/);
    }
  });

  it("have certificates that openssl verifies for their purpose", async () => {
    const anchors = join(folder, "anchors.pem");
    writeFileSync(anchors, await publishedAnchors());
    for (const agent of agents) {
      for (const [name, purpose] of [
        ["client", "sslclient"],
        ["serving", "sslserver"],
      ] as const) {
        const leaf = join(folder, "leaf.pem");
        writeFileSync(leaf, agent.pair(name).certificatePem);
        const output = execFileSync("openssl", [
          "verify",
          "-x509_strict",
          "-purpose",
          purpose,
          "-CAfile",
          anchors,
          leaf,
        ]);
        assert.match(output.toString(), /: OK/);
      }
    }
  });

  it("are system:node:NAME to the server", async () => {
    for (const agent of agents) {
      const { username, groups } = await whoIsNode(agent);
      assert.equal(username, `system:node:${agent.nodeName}`);
      assert.ok(groups.includes("system:nodes"));
    }
  });

  it("follow trust bundles into files, by name and by signer", async () => {
    for (const agent of agents) {
      const { bundleFile, signerFile } = agent;
      const anchors = await publishedAnchors();
      await eventually("the bundle's file", () => readFileSync(bundleFile, "utf8") === anchors);
      await eventually("the signer's file", () => parseCertificatesPem(readFileSync(signerFile)).length === 1);
    }
  });

  it("cannot touch each other's objects", async () => {
    const [{ nodeName: own }, { nodeName: other }] = agents;
    const client = agents[0].apiClient();
    const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.code === 403;
    const nodes = client.resource(references.nodes);
    const leases = client.resource(references.leases, names.namespaces.nodeLease);
    assert.equal((await nodes.get(own)).metadata.name, own);
    await assert.rejects(nodes.get(other), isForbidden);
    await assert.rejects(nodes.patch(other, { body: { metadata: { labels: { a: "b" } } } }), isForbidden);
    await assert.rejects(nodes.patch(other, { body: { status: { phase: "x" } }, subresource: "status" }), isForbidden);
    await assert.rejects(nodes.delete(own), isForbidden);
    await assert.rejects(leases.get(other), isForbidden);
    await assert.rejects(leases.patch(other, { body: { spec: { holderIdentity: own } } }), isForbidden);
    client.close();
  });

  it("rotate both certificates three times while no request fails", async () => {
    const requests = steadyRequests();
    const serials = agents.map((agent) => new Set(agent.serials()));
    for (let round = 0; round < 3; round++) {
      await rotateAll();
      for (const [index, agent] of agents.entries()) for (const one of agent.serials()) serials[index]?.add(one);
      for (const agent of agents) {
        await servesItsNewest(agent);
      }
      const before = requests.answers;
      await eventually("requests with the new certificates", () => requests.answers > before + 20);
    }
    await requests.stop();
    assert.deepEqual(requests.failures, []);
    assert.deepEqual(
      serials.map(({ size }) => size),
      [8, 8],
    );
    for (const agent of agents) {
      assert.equal(await healthByBundle(agent), "ok");
      await eventually("the command for changes ran for each", () => {
        const changes = readFileSync(agent.changesFile, "utf8").split("\n");
        return ["client-certificate", "serving-certificate"].every(
          (change) => changes.filter((line) => line === change).length >= 4,
        );
      });
    }
  });

  it("continue across a new signing CA that overlaps the old one", async () => {
    const requests = steadyRequests();
    const old = agents.map((agent) => agent.apiClient());
    // First everyone gets the new CA, then it signs.
    useAuthority(authorityFiles, firstAuthority, [secondAuthority]);
    for (const { bundleFile } of agents) {
      await eventually("both anchors", () => parseCertificatesPem(readFileSync(bundleFile)).length === 2);
    }
    const readsBefore = authorityReads();
    useAuthority(authorityFiles, secondAuthority, [firstAuthority]);
    await eventually("the server has read the new CA", () => authorityReads() > readsBefore);
    await rotateAll();
    for (const agent of agents) {
      for (const name of ["client", "serving"] as const) {
        assert.equal(agent.pair(name).certificate.issuer.commonName, "second signer");
      }
      await servesItsNewest(agent);
    }
    for (const [index, client] of old.entries()) {
      assert.equal((await userOf(client)).username, `system:node:${agents[index]?.nodeName}`);
      client.close();
    }
    await requests.stop();
    assert.deepEqual(requests.failures, []);
  });

  it("have matching pairs after they were killed in the middle of a rotation", async () => {
    const [agent] = agents;
    const pendingKeys = (["client", "serving"] as const).map((name) =>
      join(folder, agent.nodeName, "pki", `${name}-pending.key`),
    );
    const killAndRestart = async (): Promise<void> => {
      await agent.end("SIGKILL");
      agent.serials(); // throws when a key and its certificate do not fit
      await agent.start();
    };
    agent.rotate();
    await killAndRestart();
    await rotateAll();

    // A server that does not answer blocks the requests at their most critical moment.
    const before = agent.serials();
    server.signal("SIGSTOP");
    agent.rotate();
    await eventually("the keys of both requests", () => pendingKeys.every((file) => existsSync(file)));
    await killAndRestart();
    server.signal("SIGCONT");
    await eventually("the requests from before the kill are finished", () =>
      pendingKeys.every((file) => !existsSync(file)),
    );
    assert.ok(agent.serials().every((serial) => !before.includes(serial)));
    assert.equal(await healthByBundle(agent), "ok");
  });

  it("survive an unavailable server", async () => {
    await server.end();
    for (const agent of agents) agent.rotate();
    for (const agent of agents) {
      await eventually("the agent noticed", () => agent.log.includes("no new certificate: "));
      assert.equal(await agent.read("/healthz", readFileSync(agent.bundleFile, "utf8")), "ok");
    }
    const before = agents.map((agent) => agent.serials());
    await startServer();
    for (const [index, agent] of agents.entries()) {
      await eventually(`${agent.nodeName} has new certificates`, () =>
        agent.serials().every((serial) => before[index]?.includes(serial) === false),
      );
    }
  });

  it("log no secrets", () => {
    const [id = "", secret = ""] = readFileSync(tokenFile, "utf8").split(".");
    assert.equal(id.length, 6);
    for (const { log } of agents) {
      assert.ok(!log.includes(secret));
      assert.ok(!log.includes("PRIVATE KEY"));
    }
  });
});
