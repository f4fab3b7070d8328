import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { readFileSync, writeFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { ServerFront } from "../agent/server-front.ts";
import {
  CertificateFolder,
  CertificateScene,
  newAuthority,
  until,
} from "../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../test-server.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";

const signerConfiguration = (authority: string): string => `apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: example.com/services
    certificateAuthority: ${authority}
    dnsNames: ["*.example.com"]
`;

/** The first line of a log; the rest is thrown away. */
async function firstLine(log: Readable): Promise<{ readonly url?: string }> {
  const lines = createInterface({ input: log });
  const [line] = (await once(lines, "line")) as [string];
  return JSON.parse(line) as { readonly url?: string };
}

describe("signet controllers", () => {
  const folder = new CertificateFolder();
  after(() => folder.remove());

  it("runs the loops of a server that runs none, signs with the given CA, and releases its lease", async () => {
    const authority = newAuthority("elsewhere");
    const files = {
      certificate: folder.write("ca.crt", authority.certificate),
      key: folder.writeKey("ca.key", authority),
    };
    const server = await startTestServer({
      settings: { controllers: false, "client-ca-file": files.certificate, "tls-san": ["api.signet.example"] },
    });
    const scene = new CertificateScene(server.client);
    const policy = folder.file("policy.yaml");
    writeFileSync(
      policy,
      `rules:
  - name: anything
    action: approve
    match: { signers: [${signerNames.nodeAgentServing(names)}] }
    require: { commonNames: ["**"], organizations: ["**"], dnsNames: ["**"], maximumLifetimeSeconds: 31536000 }
`,
    );
    const services = newAuthority("services");
    folder.write("services.crt", services.certificate);
    folder.writeKey("services.key", services);
    const signers = folder.file("signers.yaml");
    writeFileSync(signers, signerConfiguration("{ certificateFile: services.crt, keyFile: services.key }"));
    const flags = [
      ...["--signer-config", signers],
      ...["--approval-policy", policy],
      "--cluster-signing-cert-file",
      files.certificate,
      "--cluster-signing-key-file",
      files.key,
    ];
    const address = ["--metrics-bind-address", "127.0.0.1:0"];
    const program = spawn(
      process.execPath,
      [signetProgram, "controllers", "--kubeconfig", server.kubeconfigFile, ...address, ...flags],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    try {
      const { url } = await firstLine(program.stderr);
      const issued = await scene.obtain({
        name: "remote",
        signerName: signerNames.apiserverClient(names),
        commonName: "alice",
      });
      assert.equal(issued[0]?.issuer.commonName, "elsewhere");
      // The controllers learn the server's names from the certificate that it presents.
      for (const [name, type] of [
        ["api.signet.example", "Denied"],
        ["n1.signet.example", "Approved"],
      ] as const) {
        await scene.request({
          ...{ name, signerName: signerNames.nodeAgentServing(names), commonName: "system:node:n1" },
          ...{
            organizations: ["system:nodes"],
            usages: ["digital signature", "server auth"],
            names: { dnsNames: [name] },
          },
        });
        const decided = await scene.settled(name, ({ status }) => (status.conditions ?? []).length > 0);
        assert.equal(decided.status.conditions?.[0]?.type, type);
      }
      assert.equal(await (await fetch(`${url}/readyz`)).text(), "ok");
      assert.match(await (await fetch(`${url}/metrics`)).text(), /^workqueue_adds_total\{name="csrsigning"\} [1-9]/m);
      const lease = await until(
        server.client,
        scene.references.leases,
        ({ metadata }) => metadata.name === "signet-controllers",
      );
      assert.equal(lease.metadata.namespace, names.namespaces.system);
      assert.notEqual(lease.spec.holderIdentity ?? "", "");
      const generated = folder.file("generated.yaml");
      writeFileSync(generated, signerConfiguration("{ generate: { commonName: A } }"));
      const refused = spawn(
        process.execPath,
        [signetProgram, "controllers", "--kubeconfig", server.kubeconfigFile, "--signer-config", generated],
        { stdio: ["ignore", "ignore", "pipe"] },
      );
      const [complaint, [status]] = await Promise.all([text(refused.stderr), once(refused, "exit")]);
      assert.equal(status, 2);
      assert.match(complaint, /signers\[0\]\.certificateAuthority\.generate: only signet serve has a data directory/);
      program.kill("SIGTERM");
      const [code] = (await once(program, "exit")) as [number | null];
      assert.equal(code, 0);
      const leases = server.client.resource(scene.references.leases, names.namespaces.system);
      assert.equal((await leases.get("signet-controllers")).spec.holderIdentity, "");
    } finally {
      program.kill("SIGKILL");
      await server.stop();
    }
  });

  it("do not start with a signer whose CA the server trusts for clients, nor as a user who may not read these CAs", async () => {
    const authority = newAuthority("clients");
    const trusted = folder.write("clients.crt", authority.certificate);
    folder.writeKey("clients.key", authority);
    const tokens = folder.file("tokens.csv");
    writeFileSync(tokens, 'operator,admin,1,"system:masters"\nguest,guest,2,\n', { mode: 0o600 });
    const signers = folder.file("client-signers.yaml");
    const configuration = signerConfiguration("{ certificateFile: clients.crt, keyFile: clients.key }");
    writeFileSync(signers, `${configuration}    usages: [client auth]\n`);
    const server = await startTestServer({
      settings: { controllers: false, "client-ca-file": trusted },
      tokenFile: tokens,
    });
    const complaint = async (token: string): Promise<string> => {
      const connection = ["--kubeconfig", server.kubeconfigFile, "--token", token];
      const program = spawn(
        process.execPath,
        [signetProgram, "controllers", ...connection, "--signer-config", signers],
        {
          stdio: ["ignore", "ignore", "pipe"],
        },
      );
      const [written] = await Promise.all([text(program.stderr), once(program, "exit")]);
      return written;
    };
    try {
      assert.match(await complaint("operator"), /signers\[0\]\.certificateAuthority: the API server trusts this CA/);
      assert.match(await complaint("guest"), /bind the user to the role extension-apiserver-authentication-reader/);
    } finally {
      await server.stop();
    }
  });

  it("end when they are told to, although the server has fallen silent, and say what becomes of a lease", async () => {
    const server = await startTestServer({ settings: { controllers: false } });
    const front = new ServerFront(() => server.url);
    await front.open();
    const kubeconfig = folder.file("front.kubeconfig");
    const direct = readFileSync(server.kubeconfigFile, "utf8");
    writeFileSync(kubeconfig, direct.replaceAll(server.url, front.url), { mode: 0o600 });
    const program = spawn(process.execPath, [signetProgram, "controllers", "--kubeconfig", kubeconfig], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      const lines: string[] = [];
      for await (const line of createInterface({ input: program.stderr })) {
        lines.push(line);
        if (!line.includes('"elected"')) continue;
        front.fallSilent();
        program.kill("SIGTERM");
      }
      assert.match(lines.at(-1) ?? "", /a lease that this process holds expires by itself/);
      assert.equal(program.exitCode ?? (await once(program, "exit"))[0], 0);
    } finally {
      program.kill("SIGKILL");
      await front.close();
      await server.stop();
    }
  });
});
