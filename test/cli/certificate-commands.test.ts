import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { statSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { parseAllDocuments } from "yaml";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { parseCertificatesPem } from "../../src/pki/certificates/certificates-pem.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { oids } from "../../src/pki/der/object-identifiers.ts";
import {
  CertificateFolder,
  CertificateScene,
  newAuthority,
  sceneOf,
} from "../features/certificates/certificate-loop-scene.ts";
import { requestWithExtensions } from "../pki/requests/request-with-extensions.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import type { HostedOutcome } from "./command-host.ts";
import { HostedSignet } from "./hosted-signet.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";

describe("the commands for certificates", { concurrency: 1 }, () => {
  let server: TestServer;
  let scene: CertificateScene;
  let host: HostedSignet;
  const folder = new CertificateFolder();
  before(async () => {
    server = await startTestServer();
    scene = new CertificateScene(server.client);
    host = new HostedSignet();
  });
  after(async () => {
    host.stop();
    await server.stop();
    folder.remove();
  });
  const here = (args: readonly string[]): string[] => [...args, "--kubeconfig", server.kubeconfigFile];
  const signet = (...args: string[]): Promise<HostedOutcome> => host.run(here(args));
  const succeed = (...args: string[]): Promise<string> => host.succeed(here(args));

  it("create a key, request a certificate, approve and fetch it", async () => {
    const keyFile = folder.file("walk.key");
    const created = await succeed("csr", "create", "walk", "--key-file", keyFile, "--common-name", "admin");
    assert.equal(created, "certificate request walk created\n");
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.match(await succeed("csr", "list"), /^walk +platform\.io\/apiserver-client +admin +\S+ +Pending$/m);
    assert.equal(await succeed("csr", "approve", "walk"), "certificate request walk approved\n");
    const [issued] = await scene.issued("walk");
    const [written] = parseCertificatesPem(await succeed("csr", "get", "walk"));
    assert.deepEqual(written?.der, issued?.der);
    assert.equal((await signet("csr", "deny", "walk")).code, 1);
    const listed = JSON.parse(await succeed("certificates", "list", "--user", "admin", "-o", "json")) as {
      items: { metadata: { name: string }; spec: { requestName: string } }[];
    };
    const name = listed.items.find(({ spec }) => spec.requestName === "walk")?.metadata.name ?? "";
    assert.match(await succeed("certificates", "describe", name), /^Subject: +CN=admin$/m);
  });

  it("decode a request, check it against its signer's rules, and warn of dangerous names", async () => {
    await scene.request({
      name: "danger",
      signerName: signerNames.nodeAgentServing(names),
      commonName: "system:kube\u001b[2Jscheduler",
      organizations: ["ops"],
      names: { dnsNames: ["*.example.com"] },
      usages: ["server auth", "cert sign", "ocsp signing"],
    });
    const { warnings, signerRules } = JSON.parse(await succeed("csr", "describe", "danger", "-o", "json")) as {
      warnings: string[];
      signerRules: { broken: string[] };
    };
    assert.deepEqual(signerRules.broken, [
      "subject organization is not system:nodes",
      "subject common name does not begin with system:node:",
      "usages did not match [digital signature key encipherment server auth]",
      'the subject\'s "system:kube\\u001b[2Jscheduler" has a control character in it',
    ]);
    assert.deepEqual(warnings.slice(4), [
      'the subject "system:kube\\u001b[2Jscheduler" is not the requester "system:apiserver"',
      'the organization "ops" is not a group of the requester',
      "the subject is a reserved user name",
      'the usage "cert sign" is for CAs only',
      'with the usage "ocsp signing" the holder says which certificates of the CA are revoked',
      'the DNS name "*.example.com" matches every name in its domain',
    ]);
    const text = await succeed("csr", "describe", "danger");
    assert.match(text, /^Key: +ECDSA P-256$/m);
    assert.ok(!text.includes("\u001b"), "what a request says must not steer the terminal");
  });

  it("say once that a key is weak where the signer refuses it, and warn of it for another signer", async () => {
    const weakKey = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
    const request = Buffer.from(
      requestWithExtensions({ privateKey: weakKey, subject: { commonName: "weak" }, extensions: [] }),
    ).toString("base64");
    for (const [name, signerName, warning] of [
      [
        "weak",
        signerNames.apiserverClient(names),
        "the signer will fail this request: RSA keys must have at least 2048 bits, this one has 1024",
      ],
      ["weak-elsewhere", "example.com/services", "the key is weak: RSA with 1024 bits"],
    ] as const) {
      const spec = { signerName, usages: ["client auth"], request };
      await scene.requests.create({ apiVersion: "", kind: "", metadata: { name }, spec, status: {} });
      const { warnings } = JSON.parse(await succeed("csr", "describe", name, "-o", "json")) as { warnings: string[] };
      assert.deepEqual(
        warnings.filter((one) => one.includes("1024")),
        [warning],
      );
    }
  });

  it("say of a signer that not every server has that its rules are unknown, and not whose it is", async () => {
    await scene.request({ name: "other-signer", signerName: "example.com/services", commonName: "cart" });
    const text = await succeed("csr", "describe", "other-signer");
    assert.match(text, /^Signer's rules: +unknown: this command knows those of the signers that every server has$/m);
  });

  it("warn of the server's own names, and of names that are not the node's", async () => {
    await server.client.request("/api/v1/nodes", {
      method: "POST",
      body: { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } },
    });
    const node = { commonName: "system:node:n1", organizations: ["system:nodes"] };
    const wish = {
      signerName: signerNames.nodeAgentServing(names),
      ...node,
      usages: ["digital signature", "server auth"],
    };
    const requester = sceneOf(server, { name: "system:node:n1", groups: ["system:masters"] });
    await requester.request({
      ...wish,
      name: "server-names",
      names: { dnsNames: ["n1", "LocalHost", "bank.com\0.example.com"], ipAddresses: ["127.0.0.1"] },
    });
    const described = JSON.parse(await succeed("csr", "describe", "server-names", "-o", "json")) as {
      warnings: string[];
    };
    assert.deepEqual(described.warnings, [
      'the signer will fail this request: the name "bank.com\\u0000.example.com" is empty, or has a blank or a control character in it',
      '"LocalHost" is a name of the API server: the holder could impersonate it',
      '"127.0.0.1" is a name of the API server: the holder could impersonate it',
      '"LocalHost" is not a name of the node',
      '"bank.com\\u0000.example.com" is not a name of the node',
      "127.0.0.1 is not an address of the node",
      "\"bank.com\\u0000.example.com\" is not a DNS name: it must consist of labels of lower case letters, digits and '-' " +
        "that start and end with a letter or a digit",
    ]);
    const refused = await signet("csr", "approve", "server-names");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /"127\.0\.0\.1" is a name of the API server/);
    const unregistered = sceneOf(server, { name: "system:node:n9", groups: ["system:masters"] });
    await unregistered.request({ ...wish, name: "no-node", commonName: "system:node:n9", names: { dnsNames: ["n9"] } });
    assert.match(await succeed("csr", "describe", "no-node"), /! the requesting node is not registered/);
  });

  it("warn of what only the extensions of a request ask for, which a signer may copy", async () => {
    const privateKey = generatePrivateKey("ECDSA P-256");
    const extensions = [{ id: oids.keyUsage, value: Buffer.from("03020204", "hex") }];
    const subject = { commonName: "copied" };
    for (const [name, attributeType, warning] of [
      ["copied", oids.extensionRequest, 'the usage "cert sign" is for CAs only'],
      [
        "microsoft",
        oids.microsoftExtensionRequest,
        "other programs may read another request: it has extensions in Microsoft's attribute, which only some programs read",
      ],
    ] as const) {
      const pem = requestWithExtensions({ privateKey, subject, extensions, attributeType });
      const request = Buffer.from(pem, "utf8").toString("base64");
      const spec = { signerName: "example.com/services", usages: ["client auth"], request };
      await scene.requests.create({ apiVersion: "", kind: "", metadata: { name }, spec, status: {} });
      const { warnings } = JSON.parse(await succeed("csr", "describe", name, "-o", "json")) as { warnings: string[] };
      assert.ok(warnings.includes(warning), warnings.join("\n"));
    }
  });

  it("approve a dangerous request only after a confirmation", async () => {
    await scene.request({ name: "other", signerName: signerNames.apiserverClient(names), commonName: "somebody" });
    const refused = await signet("csr", "approve", "other");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^warning: the subject "somebody" is not the requester "system:apiserver"$/m);
    assert.deepEqual((await scene.requests.get("other")).status.conditions ?? [], []);
    await succeed("csr", "approve", "other", "--yes", "--reason", "Meant");
    assert.equal((await scene.requests.get("other")).status.conditions?.[0]?.reason, "Meant");
  });

  it("approve or deny several requests, and continue after one that cannot be decided any more", async () => {
    for (const name of ["one", "two", "three"]) {
      await scene.request({ name, signerName: signerNames.apiserverClient(names), commonName: "somebody" });
    }
    await succeed("csr", "deny", "one");
    const approved = await signet("csr", "approve", "one", "none", "two", "three", "--yes");
    assert.deepEqual(
      [approved.code, approved.stdout.split("\n"), approved.stderr.split("\n").length],
      [1, ["certificate request two approved", "certificate request three approved", ""], 3],
    );
    assert.match(approved.stderr, /request one was denied already.*\n.*"none" not found/);
    const denied = await signet("csr", "deny", "two", "one");
    assert.equal(denied.stdout, "certificate request one denied\n");
    assert.match(denied.stderr, /request two was approved already/);
  });

  it("approve the others of several requests where one lacks the confirmation", async () => {
    await scene.request({ name: "doubtful", signerName: signerNames.apiserverClient(names), commonName: "somebody" });
    await succeed("csr", "create", "mine", "--key-file", folder.file("mine.key"), "--common-name", "admin");
    const approved = await signet("csr", "approve", "doubtful", "mine");
    assert.deepEqual([approved.code, approved.stdout], [2, "certificate request mine approved\n"]);
    assert.match(approved.stderr, /^signet: request doubtful is not approved: /m);
  });

  it("print several requests as one stream of YAML documents", async () => {
    for (const name of ["first", "second"]) {
      await scene.request({ name, signerName: signerNames.apiserverClient(names), commonName: "somebody" });
    }
    const documents = parseAllDocuments(await succeed("csr", "deny", "first", "second", "-o", "yaml"));
    const printed = documents.map((document) => document.toJS() as ApiObject);
    assert.deepEqual(
      printed.map(({ metadata }) => metadata.name),
      ["first", "second"],
    );
  });

  it("list certificates by their end, or only those that expire soon", async () => {
    const wish = { signerName: signerNames.apiserverClient(names), commonName: "alice" };
    await scene.obtain({ ...wish, name: "late", expirationSeconds: 7 * 86_400 });
    await scene.obtain({ ...wish, name: "soon", expirationSeconds: 86_400 });
    const requestsOf = async (...more: string[]): Promise<string[]> => {
      const answer = await succeed("certificates", "list", "--user", "system:apiserver", "-o", "json", ...more);
      const { items } = JSON.parse(answer) as { items: { spec: { requestName: string } }[] };
      return items.map(({ spec }) => spec.requestName).filter((name) => name === "soon" || name === "late");
    };
    assert.deepEqual(await requestsOf(), ["soon", "late"]);
    assert.deepEqual(await requestsOf("--expiring-within", "48h"), ["soon"]);
  });

  it("recall certificates in the bundle that the server publishes, by either name of the signer", async () => {
    const signer = signerNames.nodeAgentServing(names);
    const file = folder.write("other.pem", newAuthority("other").certificate);
    await succeed("trust", "create", "platform.io:nodeagent-serving:a", "--signer", signer, "--from-file", file);
    for (const signerName of [signer, "kubernetes.io/kubelet-serving"]) {
      const { metadata } = JSON.parse(await succeed("certificates", "renew", signerName, "-o", "json")) as ApiObject;
      assert.equal(metadata.name, "platform.io:nodeagent-serving:ca");
    }
  });

  it("warn who may not list revocations that revoked certificates may be among those that are not renewed", async () => {
    const resources = "issuedcertificates,clustertrustbundles";
    await succeed("clusterrole", "create", "records", "--verb", "list", "--resource", resources);
    await succeed("clusterrolebinding", "create", "records", "--clusterrole", "records", "--user", "viewer");
    const unrenewed = ["certificates", "list", "--unrenewed"];
    const { code, stderr } = await signet(...unrenewed, "--as", "viewer");
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^warning: revoked certificates may be in the list, because this user may not list revocations$/m,
    );
    assert.doesNotMatch((await signet(...unrenewed)).stderr, /revo/);
  });

  it("publish trust bundles and decode them", async () => {
    const file = folder.write("anchors.pem", newAuthority("one").certificate, newAuthority("two").certificate);
    await succeed("trust", "create", "example.com:signer:main", "--signer", "example.com/signer", "--from-file", file);
    assert.match(await succeed("trust", "list"), /^example\.com:signer:main +example\.com\/signer +2 +\S+Z$/m);
    const described = await succeed("trust", "describe", "example.com:signer:main");
    assert.match(described, /CN=one +\S+Z +[0-9a-f]{64}\n +CN=two/);
    const [leaf] = await scene.obtain({
      name: "no-anchor",
      signerName: signerNames.apiserverClient(names),
      commonName: "alice",
    });
    assert.ok(leaf);
    const refused = await signet("trust", "create", "leaf", "--from-file", folder.write("leaf.pem", leaf));
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /entry 0 does not have the CA bit set/);
  });
});
