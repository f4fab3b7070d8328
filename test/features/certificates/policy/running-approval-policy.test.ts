import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { maximumShownLength } from "../../../../src/machinery/api/text/format-value.ts";
import { encodeElement, encodeObjectIdentifier, encodeSequence } from "../../../../src/pki/der/der-writer.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { extendedKeyUsages, oids } from "../../../../src/pki/der/object-identifiers.ts";
import type { CertificateSigningRequest } from "../../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { CertificateFolder, conditionOf, sceneOf } from "../certificate-loop-scene.ts";
import type { CertificateScene } from "../certificate-loop-scene.ts";
import { requestWithExtensions } from "../../../pki/requests/request-with-extensions.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { Extension } from "../../../../src/pki/certificates/extension.ts";

const policy = `
rules:
  - name: everything
    match: { signers: [platform.io/apiserver-client], users: [alice] }
    action: approve
    require: { commonNames: ["**"], dnsNames: ["**"], emailAddresses: ["**"], uris: ["**"] }
  - name: nodes
    match: { signers: [platform.io/nodeagent-serving], groups: ["system:nodes"] }
    action: approve
    require: { namesBelongToNode: true, dnsNames: ["**"], ipRanges: [10.0.0.0/8] }
`;

const privateKey = generatePrivateKey("ECDSA P-256");
const nodeAgentServing = signerNames.nodeAgentServing(names);

describe("the approval policy of a running server", () => {
  const folder = new CertificateFolder();
  let server: TestServer;
  let alice: CertificateScene;

  before(async () => {
    const file = folder.file("policy.yaml");
    writeFileSync(file, policy);
    server = await startTestServer({ settings: { "approval-policy": file } });
    alice = sceneOf(server, { name: "alice", groups: ["system:masters"] });
  });

  after(async () => {
    await server.stop();
    folder.remove();
  });

  const decided = (request: CertificateSigningRequest): boolean =>
    conditionOf(request, "Approved") !== undefined || conditionOf(request, "Denied") !== undefined;

  /** What the policy says of a request of alice's with these extensions. */
  const decisionOn = (name: string, extensions: readonly Omit<Extension, "isCritical">[]): Promise<string> =>
    decisionOnRequest(name, requestWithExtensions({ privateKey, subject: { commonName: "w" }, extensions }));

  async function decisionOnRequest(name: string, pem: string): Promise<string> {
    await alice.requests.create({
      apiVersion: `${names.group("certificates")}/v1`,
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(pem, "utf8").toString("base64"),
        signerName: signerNames.apiserverClient(names),
        usages: ["digital signature", "client auth"],
        expirationSeconds: 3600,
      },
      status: {},
    });
    const request = await alice.settled(name, decided);
    return conditionOf(request, "Denied")?.message ?? "approved";
  }

  const alternativeNames = (...elements: readonly Buffer[]): Omit<Extension, "isCritical"> => ({
    id: oids.subjectAltName,
    value: encodeSequence(...elements),
  });
  const dnsName = (name: string): Buffer => encodeElement(0x82, Buffer.from(name, "latin1"));

  it("approves no name of a type that no rule can check, even together with good names", async () => {
    assert.equal(await decisionOn("good", [alternativeNames(dnsName("a.example.com"))]), "approved");
    for (const [index, tag] of [0xa0, 0xa3, 0xa4, 0xa5, 0x88, 0x80].entries()) {
      const other = alternativeNames(dnsName("a.example.com"), encodeElement(tag, Buffer.from("x")));
      assert.match(await decisionOn(`other-${index}`, [other]), /: extensions: only DNS names, IP addresses/);
    }
  });

  it("approves no request for a CA, in any encoding", async () => {
    const constraints = (hex: string) => [{ id: oids.basicConstraints, value: Buffer.from(hex, "hex") }];
    for (const [index, hex] of ["3000", "3003010100"].entries()) {
      assert.equal(await decisionOn(`no-ca-${index}`, constraints(hex)), "approved");
    }
    for (const [index, hex] of [
      "30030101ff",
      "3081030101ff",
      "3003010101",
      "3006020100010101",
      "3003020100",
      "",
    ].entries()) {
      assert.match(await decisionOn(`ca-${index}`, constraints(hex)), /: extensions: a CA certificate is requested/);
    }
  });

  it("approves no usage that only the extensions ask for, and that is of a CA, for its revocations or for everything", async () => {
    const limit = (id: string, hex: string) => [{ id, value: Buffer.from(hex, "hex") }];
    const usages = (hex: string) => limit(oids.keyUsage, hex);
    const purposes = (...ids: readonly string[]) => [
      { id: oids.extendedKeyUsage, value: encodeSequence(...ids.map(encodeObjectIdentifier)) },
    ];
    const { any, ocspSigning, serverAuth } = extendedKeyUsages;
    assert.equal(await decisionOn("ordinary", [...usages("030205e0"), ...purposes(serverAuth)]), "approved");
    for (const [name, extensions, refusal] of [
      ["certificates", usages("03020204"), /: usages: "cert sign" is not allowed\.$/],
      ["lists", usages("03020102"), /: usages: "crl sign" is not allowed\.$/],
      ["statuses", purposes(serverAuth, ocspSigning), /: usages: "ocsp signing" is not allowed\.$/],
      ["everything", purposes(any), /: usages: "any" is not allowed\.$/],
      ["unreadable", usages("04020204"), /: usages: "cert sign" is not allowed/],
    ] as const) {
      assert.match(await decisionOn(name, extensions), refusal);
    }
  });

  it("approves no request with extensions in Microsoft's attribute, which OpenSSL copies and no rule checks", async () => {
    const extensions = [alternativeNames(dnsName("a.example.com"))];
    const attributeType = oids.microsoftExtensionRequest;
    const pem = requestWithExtensions({ privateKey, subject: { commonName: "w" }, extensions, attributeType });
    assert.match(await decisionOnRequest("microsoft", pem), /: request: it has extensions in Microsoft's attribute/);
  });

  it("approves no request beside another, which OpenSSL or keytool reads and Go passes over", async () => {
    const pemOf = (commonName: string) =>
      requestWithExtensions({ privateKey, subject: { commonName }, extensions: [] });
    const [mine, other] = [pemOf("w"), pemOf("other")];
    const [begin, end] = ["BEGIN CERTIFICATE REQUEST-----", "END CERTIFICATE REQUEST-----"];
    const plain = [
      mine,
      `Subject: CN = w\n${mine}and more`,
      mine.replaceAll("\n", "\r\n"),
      mine.replaceAll("\n", " \n"),
    ];
    for (const [index, text] of plain.entries()) {
      assert.equal(await decisionOnRequest(`plain-${index}`, text), "approved");
    }
    for (const [index, text] of [
      other.replace(begin, `${begin}\f`) + mine,
      other.replace(end, `${end}\u0001`) + mine,
      other.replaceAll(" CERTIFICATE REQUEST-----", ":REQUEST") + mine,
      mine + other,
      mine.replace(`${begin}\n`, `${begin}\nProc-Type: 4\n\n`),
      mine.replace(/\n(?=-----END)/, "\n\n"),
    ].entries()) {
      assert.match(await decisionOnRequest(`odd-${index}`, text), /: request: it is not one plain PEM block/);
    }
  });

  it("names its reasons for denying in a message of bounded length, however many names are wrong", async () => {
    const many = Array.from({ length: 1000 }, (_, index) => dnsName(`a b${index}.example.com`));
    const message = await decisionOn("many", [alternativeNames(...many)]);
    assert.match(message, /^Denied by rule "everything" .*"a b0\.example\.com" is not a DNS name/);
    assert.ok(message.length < maximumShownLength + 200, String(message.length));
  });

  it("gives no node the name of another node, even when it reports that name as its own", async () => {
    for (const name of ["n1.example.com", "n2.example.com"]) {
      await server.client.resource(alice.references.nodes).create({ metadata: { name } } as never); // the server fills in the rest
    }
    const node = sceneOf(server, { name: "system:node:n1.example.com", groups: ["system:nodes"] });
    const own = node.client.resource(alice.references.nodes);
    const addresses = [{ type: "InternalDNS", address: "N2.example.com" }];
    await own.patch("n1.example.com", { body: { status: { addresses } }, subresource: "status" });
    const wish = {
      signerName: nodeAgentServing,
      commonName: "system:node:n1.example.com",
      organizations: ["system:nodes"],
      usages: ["digital signature", "server auth"],
      expirationSeconds: 3600,
    };
    await node.request({ ...wish, name: "own", names: { dnsNames: ["n1.example.com"] } });
    assert.ok(conditionOf(await alice.settled("own", decided), "Approved"));
    await node.request({ ...wish, name: "of-another", names: { dnsNames: ["n2.EXAMPLE.com"] } });
    const denied = conditionOf(await alice.settled("of-another", decided), "Denied");
    assert.match(denied?.message ?? "", /namesBelongToNode: "n2\.EXAMPLE\.com" is the name of another node/);
  });

  it("gives a node the DNS names and addresses that it reports, each by the type that it reports", async () => {
    await server.client.resource(alice.references.nodes).create({ metadata: { name: "n3" } } as never); // the server fills in the rest
    const node = sceneOf(server, { name: "system:node:n3", groups: ["system:nodes"] });
    const addresses = [
      { type: "Hostname", address: "host.test" },
      { type: "InternalDNS", address: "Internal.test" },
      { type: "ExternalDNS", address: "external.test" },
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "ExternalIP", address: "10.0.0.2" },
      { type: "Other", address: "other.test" },
      { type: "Other", address: "10.0.0.3" },
      { type: "Hostname", address: "10.0.0.4" },
      { type: "InternalIP", address: "wrong.test" },
    ];
    await node.client
      .resource(alice.references.nodes)
      .patch("n3", { body: { status: { addresses } }, subresource: "status" });
    const messageOn = async (name: string, names: Partial<SubjectAltNames>): Promise<string | undefined> => {
      await node.request({
        ...{ name, signerName: nodeAgentServing, commonName: "system:node:n3", organizations: ["system:nodes"] },
        ...{ usages: ["digital signature", "server auth"], expirationSeconds: 3600, names },
      });
      return conditionOf(await alice.settled(name, decided), "Denied")?.message;
    };
    const own = {
      dnsNames: ["n3", "HOST.test", "internal.test", "external.test"],
      ipAddresses: ["10.0.0.1", "10.0.0.2"],
    };
    assert.equal(await messageOn("each", own), undefined);
    for (const name of ["other.test", "wrong.test"])
      assert.match(
        (await messageOn(name, { dnsNames: ["n3", name] })) ?? "",
        new RegExp(`namesBelongToNode: "${name}" is not a name of the node`),
      );
    for (const address of ["10.0.0.3", "10.0.0.4"])
      assert.match(
        (await messageOn(address, { dnsNames: ["n3"], ipAddresses: [address] })) ?? "",
        new RegExp(`namesBelongToNode: ${address} is not an address of the node`),
      );
  });
});
