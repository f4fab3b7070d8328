import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import type { Status } from "../../../src/machinery/api/status.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

const merge = { "content-type": "application/merge-patch+json" };
const badLabels = { "bad key": "x" };
const label = "metadata.labels";

let server: TestServer;
let api: InProcess;
before(async () => {
  server = await startTestServer({ profile: "kubernetes", settings: { controllers: false } });
  api = new InProcess(server);
});

const causesOf = async (target: string, sent: object): Promise<(string | undefined)[]> => {
  const { details } = await api.json<Status>(target, sent);
  return (details?.causes ?? []).map(({ field }) => field);
};

interface Case {
  readonly kind: string;
  /** The collection, and below the object that is changed. */
  readonly path: string;
  readonly subresource?: string;
  readonly made: object;
  readonly change: object;
  /** The fields of the causes when a label is bad too: as kube-apiserver 1.35 lists them. */
  readonly causes: readonly string[];
}

const core = "/api/v1/namespaces/default";
const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const admission = "/apis/admissionregistration.k8s.io/v1";
const fixtures = join(import.meta.dirname, "../../conformance/fixtures");
const pemRequest = readFileSync(join(fixtures, "csr-ecdsa.pem"), "base64");
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
const policySpec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "true" }] };

const certificateRequest = {
  path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
  made: { spec: { request: pemRequest, signerName: "example.com/signer", usages: ["client auth"] } },
  change: { status: { conditions: [{ type: "Odd", status: "" }] } },
} as const;

const cases: readonly Case[] = [
  {
    kind: "ServiceAccount",
    path: `${core}/serviceaccounts`,
    made: {},
    change: {},
    causes: [label, label, label, label],
  },
  {
    kind: "Secret",
    path: `${core}/secrets`,
    made: {},
    change: { type: "other", data: { "b k": "MQ==" } },
    causes: [label, label, label, "type", label, "data[b k]"],
  },
  {
    kind: "ConfigMap",
    path: `${core}/configmaps`,
    made: { immutable: true },
    change: { data: { "b k": "1" } },
    causes: [label, label, label, "data", label, "data[b k]"],
  },
  {
    kind: "Lease",
    path: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    made: {},
    change: { spec: { leaseDurationSeconds: 0 } },
    causes: [label, label, label, "spec.leaseDurationSeconds"],
  },
  {
    kind: "Event",
    path: `${core}/events`,
    made: { involvedObject: { namespace: "default" } },
    change: { involvedObject: { namespace: "other" } },
    causes: [label, label, "involvedObject.namespace"],
  },
  {
    kind: "Role",
    path: `${rbac}/roles`,
    made: {},
    change: { rules: [{ apiGroups: [""], resources: ["pods"] }] },
    causes: [label, label, label, "rules[0].verbs", label],
  },
  {
    kind: "RoleBinding",
    path: `${rbac}/rolebindings`,
    made: { roleRef },
    change: { roleRef: { ...roleRef, name: "edit" }, subjects: [{ kind: "User", name: "" }] },
    causes: [label, label, label, "subjects[0].name", label, "roleRef"],
  },
  {
    kind: "Namespace",
    path: "/api/v1/namespaces",
    subresource: "/status",
    made: {},
    change: { status: { phase: "Odd" } },
    causes: [label, label, label, "status.Phase"],
  },
  {
    kind: "Node",
    path: "/api/v1/nodes",
    made: { spec: { providerID: "a://b" } },
    change: { spec: { providerID: "c://d", taints: [{ key: "a", effect: "" }] } },
    causes: [label, label, label, "metadata.taints[0].effect", label, "spec.providerID", "metadata.taints[0].effect"],
  },
  {
    kind: "CSINode",
    path: "/apis/storage.k8s.io/v1/csinodes",
    made: { spec: { drivers: [] } },
    change: { spec: { drivers: [{ name: "", nodeID: "n" }] } },
    causes: [label, label, label, "spec.drivers[0].name"],
  },
  {
    kind: "ValidatingAdmissionPolicy",
    path: `${admission}/validatingadmissionpolicies`,
    made: { spec: policySpec },
    change: { spec: { failurePolicy: "Odd" } },
    causes: [label, label, label, "spec.failurePolicy"],
  },
  { kind: "CertificateSigningRequest", ...certificateRequest, causes: [label, label, label, label] },
  ...["/approval", "/status"].map((subresource) => ({
    kind: "CertificateSigningRequest",
    ...certificateRequest,
    subresource,
    causes: [label, label, label, "status.conditions[0].status", label],
  })),
];

describe("a change with a bad label and another fault", () => {
  for (const { kind, path, subresource = "", made, change, causes } of cases) {
    it(`has the causes of a ${kind}${subresource} in upstream's order`, async () => {
      const name = `ordered${subresource.replace("/", "-")}`;
      const created = await api.send(path, { method: "POST", body: { metadata: { name }, ...made } });
      assert.equal(created.status, 201, String(created.body));
      const body = { metadata: { labels: badLabels }, ...change };
      const target = `${path}/${name}${subresource}?dryRun=All`;
      assert.deepEqual(await causesOf(target, { method: "PATCH", headers: merge, body }), causes);
    });
  }
});

describe("a new Event", () => {
  const about = { involvedObject: { namespace: "other" } };
  const create = (path: string, body: object): Promise<(string | undefined)[]> =>
    causesOf(`${path}?dryRun=All`, { method: "POST", body: { metadata: { name: "new", labels: badLabels }, ...body } });

  it("of the core group tells of its metadata only where nothing else is wrong", async () => {
    assert.deepEqual(await create(`${core}/events`, about), ["involvedObject.namespace"]);
    assert.deepEqual(await create(`${core}/events`, { involvedObject: { namespace: "default" } }), [label]);
  });

  it("of the group events tells of it between what both groups ask and what only this asks", async () => {
    const path = "/apis/events.k8s.io/v1/namespaces/default/events";
    assert.deepEqual(await create(path, { regarding: { namespace: "other" }, type: "Odd" }), [
      "involvedObject.namespace",
      label,
      "eventTime",
      "type",
    ]);
  });
});

describe("a request with two faults", () => {
  const refusal = async (target: string, sent: object): Promise<readonly (string | number | undefined)[]> => {
    const { code, message } = await api.json<Status>(target, sent);
    return [code, message];
  };

  it("hears of a new object's faulty fields and name before its resourceVersion", async () => {
    const create = async (metadata: object): Promise<(string | undefined)[]> =>
      causesOf(`${core}/configmaps`, { method: "POST", body: { metadata: { resourceVersion: "5", ...metadata } } });
    assert.deepEqual(await create({ name: "versioned", labels: badLabels }), [label]);
    assert.deepEqual(await create({ name: "Versioned" }), ["metadata.name"]);
    const metadata = { name: "default", resourceVersion: "5" };
    assert.deepEqual(await refusal("/api/v1/namespaces", { method: "POST", body: { metadata } }), [
      400,
      "resourceVersion should not be set on objects to be created",
    ]);
  });

  it("hears of an applied configuration's faults, and of repeated keys, before a uid that no object has", async () => {
    const headers = { "content-type": "application/apply-patch+yaml" };
    const apply = (more: string): Promise<HttpResponse> =>
      api.send(`${core}/configmaps/unmet?fieldManager=m`, {
        method: "PATCH",
        headers,
        body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: unmet, uid: u}, ${more}}`,
      });
    assert.equal((await apply("odd: 1")).status, 422);
    const unmet = await apply("data: {a: b, a: c}");
    const nameless = { apiVersion: "v1", kind: "ConfigMap", metadata: { uid: "u" } };
    const target = `${core}/configmaps/unmet?fieldManager=m`;
    assert.equal((await api.send(target, { method: "PATCH", headers, body: nameless })).status, 409);
    assert.equal(unmet.status, 409);
    assert.deepEqual(unmet.headers["warning"], ['299 - "line 1: key \\"a\\" already set in map"']);
  });

  it("hears of a missing namespace before the resourceVersion of what it applies", async () => {
    const headers = { "content-type": "application/apply-patch+yaml" };
    const metadata = { name: "x", resourceVersion: "odd" };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata };
    const apply = (namespace: string): Promise<readonly (string | number | undefined)[]> =>
      refusal(`/api/v1/namespaces/${namespace}/configmaps/x?fieldManager=m`, { method: "PATCH", headers, body });
    assert.deepEqual(await apply("none"), [404, 'namespaces "none" not found']);
    assert.equal((await apply("default"))[0], 400);
  });

  it("hears of a list's timeout before its limit", async () => {
    const [, message] = await refusal(`${core}/configmaps?limit=x&timeoutSeconds=y`, {});
    assert.equal(message, 'strconv.ParseInt: parsing "y": invalid syntax');
  });

  it("hears of a watch's selector before its type that cannot be a stream, and after one that nothing has", async () => {
    const watch = async (query: string, accept: string): Promise<number> => {
      const path = `${core}/configmaps?watch=true&timeoutSeconds=1${query}`;
      return (await api.send(path, { headers: { accept } })).status;
    };
    assert.equal(await watch("&fieldSelector=type%3Dx", "application/yaml"), 400);
    assert.equal(await watch("&continue=x&resourceVersionMatch=Exact", "application/yaml"), 422);
    assert.equal(await watch("", "application/yaml"), 406);
    assert.equal(await watch("&fieldSelector=type%3Dx", "text/html"), 406);
  });

  it("hears of a PUT's parameters before the type of its body", async () => {
    const headers = { "content-type": "application/json-patch+json" };
    const put = { method: "PUT", headers, body: {} };
    assert.equal((await refusal(`${core}/configmaps/x?fieldValidation=Odd`, put))[0], 422);
    assert.equal((await refusal(`${core}/configmaps/x`, put))[0], 415);
    const post = { ...put, method: "POST" };
    assert.equal((await refusal(`${core}/configmaps?fieldValidation=Odd`, post))[0], 415);
  });
});
