import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { apiserverClientNodeAgent } from "../../../../src/features/certificates/signers/apiserver-client-node-agent.ts";
import { apiserverClient } from "../../../../src/features/certificates/signers/apiserver-client.ts";
import { nodeClientSubresources } from "../../../../src/features/certificates/requests/csr-approving.ts";
import { nodeAgentServing } from "../../../../src/features/certificates/signers/node-agent-serving.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const privateKey = generatePrivateKey("ECDSA P-256");
const node = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const pemOf = (subject: object, names: Partial<SubjectAltNames> = {}): string =>
  createCertificateRequestPem({ privateKey, subject, subjectAltNames: { ...noSubjectAltNames, ...names } });
const requestOf = (...of: Parameters<typeof pemOf>): CertificateRequest => parseCertificateRequestPem(pemOf(...of));
const client = ["digital signature", "client auth"];
const serving = ["digital signature", "server auth"];

describe("apiserver-client", () => {
  const { faults } = apiserverClient;

  it("requires client auth, and also allows digital signature and key encipherment", () => {
    const request = requestOf({ commonName: "a" });
    assert.deepEqual(faults(request, ["client auth"]), []);
    assert.deepEqual(faults(request, ["key encipherment", "client auth", "digital signature"]), []);
    assert.deepEqual(faults(request, ["digital signature"]), [
      "missing required usage for client certificate: client auth",
    ]);
    assert.deepEqual(faults(request, []), ["missing required usage for client certificate: client auth"]);
    assert.deepEqual(faults(request, [...client, "server auth"]), [
      "invalid usage for client certificate: server auth",
    ]);
  });
});

describe("apiserver-client-nodeagent", () => {
  const { faults } = apiserverClientNodeAgent;

  it("accepts a node's client request, with and without key encipherment", () => {
    assert.deepEqual(faults(requestOf(node), client), []);
    assert.deepEqual(faults(requestOf(node), [...client, "key encipherment"]), []);
  });

  it("refuses every other organization and name", () => {
    for (const organizations of [
      [],
      ["system:masters"],
      ["system:nodes", "system:masters"],
      ["system:nodes", "system:nodes"],
    ]) {
      assert.deepEqual(faults(requestOf({ ...node, organizations }), client), [
        "subject organization is not system:nodes",
      ]);
    }
    assert.deepEqual(faults(requestOf({ ...node, commonName: "alice" }), client), [
      "subject common name does not begin with system:node:",
    ]);
  });

  it("refuses names that no Node can have, of which many look like the name of another", () => {
    for (const name of [
      "",
      " ",
      "N1",
      "n1.",
      "n1 ",
      "n1\u200b",
      "n1/a",
      "n1:a",
      "..",
      "*",
      "n_1",
      "\u05781",
      "n".repeat(254),
    ]) {
      assert.deepEqual(faults(requestOf({ ...node, commonName: `system:node:${name}` }), client), [
        "subject common name does not name a node",
      ]);
    }
    assert.deepEqual(faults(requestOf({ ...node, commonName: "system:node:n-1.example.com" }), client), []);
  });

  it("refuses names of every type, with a message for each", () => {
    const names = { dnsNames: ["a"], emailAddresses: ["a@b"], ipAddresses: ["::1"], uris: ["a:b"] };
    assert.equal(faults(requestOf(node, names), client).length, 4);
  });

  it("refuses more usages and fewer", () => {
    for (const usages of [[], ["client auth"], serving, [...client, "server auth"], [...client, "any"]]) {
      assert.equal(faults(requestOf(node), usages).length, 1, usages.join());
    }
  });
});

describe("nodeagent-serving", () => {
  const { faults } = nodeAgentServing;

  it("requires a DNS name or an address, and refuses other types", () => {
    assert.deepEqual(faults(requestOf(node, { dnsNames: ["n1"] }), serving), []);
    assert.deepEqual(faults(requestOf(node, { ipAddresses: ["10.0.0.1"] }), [...serving, "key encipherment"]), []);
    assert.deepEqual(faults(requestOf(node), serving), ["DNS or IP subjectAltName is required"]);
    assert.deepEqual(faults(requestOf(node, { dnsNames: ["n1"], uris: ["a:b"], emailAddresses: ["a@b"] }), serving), [
      "Email subjectAltNames are not allowed",
      "URI subjectAltNames are not allowed",
    ]);
    assert.equal(faults(requestOf(node, { dnsNames: ["n1"] }), client).length, 1);
  });
});

describe("nodeClientSubresources", () => {
  const signerName = signerNames.apiserverClientNodeAgent(platformNames);
  const fieldOf = (subject: object): string => Buffer.from(pemOf(subject)).toString("base64");
  const question = { signerName, username: "bootstrap", usages: client, request: fieldOf(node) };

  it("tells a renewing node from a joining node", () => {
    assert.deepEqual(nodeClientSubresources(platformNames, question), ["nodeclient"]);
    const renewal = { ...question, username: "system:node:n1" };
    assert.deepEqual(nodeClientSubresources(platformNames, renewal), ["selfnodeclient", "nodeclient"]);
    assert.deepEqual(nodeClientSubresources(platformNames, { ...question, username: "system:node:n2" }), [
      "nodeclient",
    ]);
  });

  it("is empty for all other requests", () => {
    const servingSigner = { ...question, signerName: signerNames.nodeAgentServing(platformNames) };
    assert.deepEqual(nodeClientSubresources(platformNames, servingSigner), []);
    assert.deepEqual(nodeClientSubresources(platformNames, { ...question, usages: serving }), []);
    const other = { ...question, request: fieldOf({ commonName: "a" }) };
    assert.deepEqual(nodeClientSubresources(platformNames, other), []);
    assert.deepEqual(nodeClientSubresources(platformNames, { ...question, request: "" }), []);
  });
});
