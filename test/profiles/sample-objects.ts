import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Names } from "../../src/machinery/api/names.ts";

const fixtures = join(import.meta.dirname, "../conformance/fixtures");
const anchors = readFileSync(join(fixtures, "ca1.pem"), "utf8");
const certificateRequest = readFileSync(join(fixtures, "cert-csr-p384.pem")).toString("base64");

interface SampledKind {
  readonly kind: string;
  readonly group?: string;
  /** Of the object. */
  readonly namespace?: string;
}

/** What an object of a kind needs besides its metadata. Undefined: nothing. */
export const sampleFields = (
  names: Names,
  { kind, group = "", namespace = "default" }: SampledKind,
): object | undefined => fieldsByKind(names, namespace)[group.startsWith("events.") ? "Event of events" : kind];

/** A new kind with required fields gets a line here and is tested like all others. */
const fieldsByKind = (names: Names, namespace: string): Readonly<Record<string, object>> => {
  const group = names.group("rbac.authorization");
  const subjects = [{ kind: "User", apiGroup: group, name: "ann" }];
  return {
    Pod: { spec: { containers: [{ name: "main", image: "worker:1" }] } },
    "Event of events": {
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { kind: "ServiceAccount", name: "default", namespace },
      reportingController: "example.com/tests",
      reportingInstance: "one",
      ...{ action: "Testing", reason: "Tested", type: "Normal", note: "It works." },
    },
    Event: { involvedObject: { kind: "ServiceAccount", name: "default", namespace }, reason: "Tested" },
    CertificateSigningRequest: {
      spec: { request: certificateRequest, signerName: "example.com/signer", usages: ["client auth"] },
    },
    CSINode: { spec: { drivers: [{ name: "disks.example.com", nodeID: "one", topologyKeys: ["example.com/rack"] }] } },
    ClusterTrustBundle: { spec: { trustBundle: anchors } },
    RoleBinding: { roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" }, subjects },
    ClusterRoleBinding: { roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" }, subjects },
    ValidatingAdmissionPolicy: {
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["podtemplates"] },
          ],
        },
        validations: [{ expression: "object.metadata.name != ''" }],
      },
    },
    ValidatingAdmissionPolicyBinding: { spec: { policyName: "sample", validationActions: ["Deny"] } },
    Revocation: { spec: { token: { id: "one" } } },
    IssuedCertificate: {
      spec: {
        signerName: "example.com/signer",
        serialNumber: "1f",
        fingerprint: "ab".repeat(32),
        notBefore: "2026-01-01T00:00:00Z",
        notAfter: "2099-01-01T00:00:00Z",
      },
    },
  };
};
