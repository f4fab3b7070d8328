import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { renameSync, writeFileSync } from "node:fs";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { encodeElement, encodeSequence } from "../../../../src/pki/der/der-writer.ts";
import { formatDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { serialNumberHex } from "../../../../src/pki/certificates/certificate.ts";
import { oids } from "../../../../src/pki/der/object-identifiers.ts";
import { parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { withExtension } from "../../../pki/certificates/with-extension.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import {
  CertificateFolder,
  CertificateScene,
  intermediateOf,
  newAuthority,
  sceneOf,
  until,
} from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { csrSigning } from "../../../../src/features/certificates/signers/csr-signing.ts";
import { runningSigners } from "../../../../src/features/certificates/signers/running-signers.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";

const apiserverClient = signerNames.apiserverClient(names);
const apiserverClientNodeAgent = signerNames.apiserverClientNodeAgent(names);
const nodeAgentServing = signerNames.nodeAgentServing(names);
const node = { commonName: "system:node:n1", organizations: ["system:nodes"] };

describe("csr-signing", () => {
  let server: TestServer;
  let scene: CertificateScene;
  const folder = new CertificateFolder();
  before(async () => {
    server = await startTestServer();
    scene = new CertificateScene(server.client);
  });
  after(async () => {
    await server.stop();
    folder.remove();
  });

  it("signs certificates that openssl verifies with only the signer's published trust bundle", async () => {
    const wishes = [
      { name: "client", signerName: apiserverClient, commonName: "alice", purpose: "sslclient" },
      { name: "node-client", signerName: apiserverClientNodeAgent, ...node, purpose: "sslclient" },
      {
        name: "node-serving",
        signerName: nodeAgentServing,
        ...node,
        names: { dnsNames: ["n1.example.com"], ipAddresses: ["10.0.0.7", "fd00::7"] },
        usages: ["digital signature", "server auth"],
        purpose: "sslserver",
      },
    ];
    for (const { purpose, ...wish } of wishes) {
      const issued = await scene.obtain(wish);
      const bundle = await until(
        server.client,
        scene.references.clusterTrustBundles,
        ({ spec }) => spec.signerName === wish.signerName,
      );
      const anchors = parseCertificatesPem(bundle.spec.trustBundle);
      assert.match(folder.opensslVerify(anchors, issued, purpose), /leaf\.pem: OK/);
    }
  });

  it("backdates a certificate by five minutes and ends it at the requested time", async () => {
    const [certificate] = await scene.obtain({
      name: "short",
      signerName: apiserverClient,
      commonName: "alice",
      expirationSeconds: 600,
    });
    assert.ok(certificate);
    assert.equal(certificate.notAfter - certificate.notBefore, (600 + 300) * 1000);
    assert.equal(certificate.isCA, false);
  });

  it("signs for as long as the request asks, by default a day for nodes, and never longer than --cluster-signing-duration", async () => {
    const wishes = [
      { name: "user", signerName: apiserverClient, commonName: "alice" },
      { name: "node", signerName: apiserverClientNodeAgent, ...node },
    ];
    const hours = async (of: CertificateScene, requested?: number): Promise<(number | undefined)[]> =>
      Promise.all(
        wishes.map(async (wish) => {
          const expirationSeconds = requested === undefined ? {} : { expirationSeconds: requested * 3600 };
          const [leaf] = await of.obtain({
            ...wish,
            name: `${wish.name}-${requested ?? "default"}`,
            ...expirationSeconds,
          });
          return leaf && Math.round((leaf.notAfter - leaf.notBefore) / 3_600_000);
        }),
      );
    assert.deepEqual(await hours(scene), [8760, 24]);
    assert.deepEqual(await hours(scene, 48), [48, 48]);
    assert.deepEqual(await hours(scene, 8761), [8760, 8760]);
    const bounded = await startTestServer({ settings: { "cluster-signing-duration": "2h" } });
    for (const requested of [undefined, 3])
      assert.deepEqual(await hours(new CertificateScene(bounded.client), requested), [2, 2]);
    await bounded.stop();
  });

  it("fails a request that breaks its signer's rules, and names them", async () => {
    const name = "stranger";
    await scene.request({ name, signerName: apiserverClientNodeAgent, commonName: "alice", names: { uris: ["a:b"] } });
    const { reason, message } = await scene.failure(name);
    assert.equal(reason, "SignerValidationFailure");
    assert.equal(
      message,
      "subject organization is not system:nodes; subject common name does not begin with system:node:; " +
        "URI subjectAltNames are not allowed",
    );
  });

  it("fails a request with names that programs read in different ways, even when a person has approved it", async () => {
    for (const [index, dnsName] of ["a.example.com\0.evil.test", "", "a b", "a\nb", "\x7f"].entries()) {
      const name = `unlike-${index}`;
      await scene.request({
        name,
        signerName: apiserverClient,
        commonName: "alice",
        names: { dnsNames: ["a", dnsName] },
      });
      const { reason, message } = await scene.failure(name);
      assert.equal(reason, "SignerValidationFailure");
      assert.equal(
        message,
        `the name ${JSON.stringify(dnsName)} is empty, or has a blank or a control character in it`,
      );
    }
  });

  it("fails a request with a control character in its subject, even when a person has approved it", async () => {
    for (const [index, organization] of ["system:masters\0", "dev\nops", "\x9b2J"].entries()) {
      const name = `steering-${index}`;
      const organizations = ["dev", organization];
      await scene.request({ name, signerName: apiserverClient, commonName: "alice", organizations });
      const { reason, message } = await scene.failure(name);
      assert.equal(reason, "SignerValidationFailure");
      assert.equal(message, `the subject's ${JSON.stringify(organization)} has a control character in it`);
    }
  });

  it("accepts a request with an RSA key below 2048 bits, but does not sign it", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    await scene.request({ name: "small", signerName: apiserverClient, commonName: "alice", privateKey });
    const { reason, message } = await scene.failure("small");
    assert.equal(reason, "SignerValidationFailure");
    assert.equal(message, "RSA keys must have at least 2048 bits, this one has 1024");
  });

  it("fails a request whose certificate is too large for its record or the request, and does not try again", async () => {
    const nameOf = (index: number): string => `spiffe://example.com/${index}/${"x".repeat(1100)}`;
    for (const [name, length] of [
      ["too-large-for-its-record", 710],
      ["too-large-for-its-request", 510],
    ] as const) {
      const uris = Array.from({ length }, (_, index) => nameOf(index));
      const { metadata } = await scene.request({
        name,
        signerName: apiserverClient,
        commonName: "w",
        names: { uris },
      });
      const { reason, message } = await scene.failure(name);
      assert.equal(reason, "CertificateTooLarge");
      assert.match(message, /^the request with its certificate is too large: .* take .* bytes/);
      const recorded = await server.client
        .resource(scene.references.issuedCertificates)
        .list({ fieldSelector: `spec.requestUid=${metadata.uid}` });
      assert.deepEqual(recorded.items, [], `${name}: what is not handed out is not recorded`);
    }
  });

  it("leaves the requests of custom signers to their signers", async () => {
    await scene.request({ name: "custom", signerName: "example.com/custom", commonName: "alice" });
    await scene.approve("custom");
    // What was approved later is issued: by then the loop has passed the custom one.
    await scene.obtain({ name: "after-custom", signerName: apiserverClient, commonName: "alice" });
    assert.equal((await scene.requests.get("custom")).status.certificate, undefined);
  });

  it("looks every ten seconds for the signer of a request that was approved before the signer ran", async () => {
    const quiet = await startTestServer({ settings: { controllers: false } });
    const requester = new CertificateScene(quiet.client);
    await requester.request({ name: "early", signerName: apiserverClient, commonName: "alice" });
    await requester.approve("early");
    const authority = rootSigningAuthority(newAuthority("late"));
    const signers = runningSigners({
      ...{ names, authorityFor: () => authority, configured: () => [] },
      maximumLifetimeSeconds: 3600,
      revocation: undefined,
    });
    let isRunning = false;
    const signing = csrSigning({
      findSigner: (name) => (isRunning ? signers.find(name) : undefined),
      server: () => ({ names: { dnsNames: [], ipAddresses: [] }, certificates: [] }),
    });
    const time = new ManualTime();
    const loop = await runLoop(quiet, signing, { time });
    const isIssued = async (): Promise<boolean> => {
      await loop.queue.whenIdle();
      return (await requester.requests.get("early")).status.certificate !== undefined;
    };
    assert.equal(await isIssued(), false);
    isRunning = true;
    time.pass(9_999);
    assert.equal(await isIssued(), false);
    time.pass(1);
    assert.equal(await isIssued(), true);
    await loop.stop();
    await quiet.stop();
  });

  it("records every certificate before it is delivered", async () => {
    const requested = await sceneOf(server, { name: "alice", groups: ["system:masters"] }).request({
      name: "recorded",
      signerName: apiserverClient,
      commonName: "alice",
      names: { dnsNames: ["a.example.com"] },
    });
    await scene.approve("recorded");
    const [certificate] = await scene.issued("recorded");
    assert.ok(certificate);
    const records = await server.client.resource(scene.references.issuedCertificates).list({
      fieldSelector: `spec.requestUid=${requested.metadata.uid},spec.signerName=${apiserverClient}`,
    });
    assert.equal(records.items.length, 1);
    const [record] = records.items;
    assert.equal(record?.spec.serialNumber, serialNumberHex(certificate));
    assert.equal(record?.spec.subject, formatDistinguishedName(certificate.subject));
    assert.equal(record?.spec.username, "alice");
    assert.deepEqual(record?.spec.dnsNames, ["a.example.com"]);
    assert.equal(Date.parse(record?.spec.notAfter ?? ""), certificate.notAfter);
  });
});

describe("the CAs of csr-signing", () => {
  const folder = new CertificateFolder();
  after(() => folder.remove());

  it("are the signer's own, or else those for all signers", async () => {
    const [common, serving] = [newAuthority("common"), newAuthority("serving")];
    const server = await startTestServer({
      settings: {
        "cluster-signing-cert-file": folder.write("common.crt", common.certificate),
        "cluster-signing-key-file": folder.writeKey("common.key", common),
        "cluster-signing-nodeagent-serving-cert-file": folder.write("serving.crt", serving.certificate),
        "cluster-signing-nodeagent-serving-key-file": folder.writeKey("serving.key", serving),
      },
    });
    const scene = new CertificateScene(server.client);
    const [client] = await scene.obtain({ name: "client", signerName: apiserverClient, commonName: "alice" });
    const [served] = await scene.obtain({
      name: "serving",
      signerName: nodeAgentServing,
      ...node,
      names: { dnsNames: ["n1"] },
      usages: ["digital signature", "server auth"],
    });
    assert.equal(client?.issuer.commonName, "common");
    assert.equal(served?.issuer.commonName, "serving");
  });

  it("are read again when both of their files have changed", async () => {
    const [first, second] = [newAuthority("first"), newAuthority("second")];
    const settings = {
      "cluster-signing-cert-file": folder.write("ca.crt", first.certificate),
      "cluster-signing-key-file": folder.writeKey("ca.key", first),
    };
    const server = await startTestServer({ settings });
    const scene = new CertificateScene(server.client);
    const issuerNow = async (name: string): Promise<string | undefined> => {
      server.readFilesAgain();
      const [certificate] = await scene.obtain({ name, signerName: apiserverClient, commonName: "alice" });
      return certificate?.issuer.commonName;
    };
    assert.equal(await issuerNow("before"), "first");
    folder.write("ca.crt", second.certificate);
    assert.equal(await issuerNow("between"), "first");
    writeFileSync(folder.file("ca.key"), "half a fi");
    assert.equal(await issuerNow("broken"), "first");
    renameSync(folder.writeKey("next.key", second), folder.file("ca.key"));
    assert.equal(await issuerNow("replaced"), "second");
  });

  it("sign no name that their CA, or one above it, may not certify", async () => {
    const base = encodeElement(0x82, Buffer.from("evil.example.com"));
    const value = encodeSequence(encodeElement(0xa1, encodeSequence(base)));
    const plain = newAuthority("constrained");
    const certificate = withExtension(plain.certificate, plain, { id: oids.nameConstraints, isCritical: true, value });
    const root = { ...plain, certificate };
    const intermediate = intermediateOf(root, "intermediate");
    const server = await startTestServer({
      settings: {
        "cluster-signing-cert-file": folder.write("below.crt", intermediate.certificate, root.certificate),
        "cluster-signing-key-file": folder.writeKey("below.key", intermediate),
        "cluster-signing-nodeagent-serving-cert-file": folder.write("constrained.crt", root.certificate),
        "cluster-signing-nodeagent-serving-key-file": folder.writeKey("constrained.key", root),
      },
    });
    const scene = new CertificateScene(server.client);
    const serving = { signerName: nodeAgentServing, ...node, usages: ["digital signature", "server auth"] };
    await scene.obtain({ ...serving, name: "good", names: { dnsNames: ["n1.example.com"] } });
    const client = { signerName: apiserverClient, commonName: "alice" };
    const wishes = [
      { ...serving, name: "exact", names: { dnsNames: ["evil.example.com"] } },
      { ...serving, name: "wildcard", names: { dnsNames: ["*.example.com"] } },
      { ...client, name: "above", names: { dnsNames: ["a.evil.example.com"] } },
    ];
    for (const wish of wishes) {
      await scene.request(wish);
      const { message } = await scene.failure(wish.name);
      assert.match(message, /the CA may not certify the names: .* is excluded/);
    }
  });

  it("sign for no usage that their CA does not pass on", async () => {
    const servers = intermediateOf(newAuthority("root"), "only servers", { extendedKeyUsages: ["serverAuth"] });
    const server = await startTestServer({
      settings: {
        "cluster-signing-nodeagent-client-cert-file": folder.write("servers.crt", servers.certificate),
        "cluster-signing-nodeagent-client-key-file": folder.writeKey("servers.key", servers),
      },
    });
    const scene = new CertificateScene(server.client);
    await scene.request({ name: "client", signerName: apiserverClientNodeAgent, ...node });
    const { message } = await scene.failure("client");
    assert.equal(message, "the extended key usages of the CA do not include clientAuth");
  });

  it("hand out their chain, with which the inventory knows the certificate without a look", async () => {
    const root = newAuthority("root");
    const intermediate = intermediateOf(root, "intermediate");
    const server = await startTestServer({
      settings: {
        "cluster-signing-cert-file": folder.write("chain.crt", intermediate.certificate, root.certificate),
        "cluster-signing-key-file": folder.writeKey("chain.key", intermediate),
      },
    });
    const scene = new CertificateScene(server.client);
    const wish = { signerName: apiserverClient, commonName: "alice" };
    const [, issuer] = await scene.obtain({ ...wish, name: "first" });
    assert.equal(issuer?.subject.commonName, "intermediate");
    // The loops read the changes in their order: the first certificate came before the second approval.
    await scene.obtain({ ...wish, name: "second" });
    assert.match(await server.client.text("/metrics"), /^workqueue_adds_total\{name="certificate-inventory"\} 0$/m);
  });
});
