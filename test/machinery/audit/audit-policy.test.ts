import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namesFor, platformNames } from "../../../src/machinery/api/names.ts";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import { decideAudit, parseAuditPolicy } from "../../../src/machinery/audit/audit-policy.ts";
import type { AuditPolicy } from "../../../src/machinery/audit/audit-policy.ts";
import { requestInfo } from "../../../src/machinery/http/request-info.ts";
import { withUnknownFields } from "../command-line/with-unknown-fields.ts";

const names = namesFor("platform", { hasUpstreamNames: true });
const jane: UserInfo = { username: "jane", groups: ["devs", "system:authenticated"], extra: {} };
const policyOf = (rules: string): AuditPolicy =>
  parseAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\n${rules}`, names);

/** The level of a request: `GET /path`. */
const levelOf = (policy: AuditPolicy, request: string, user: UserInfo | undefined = jane): string => {
  const [method = "", target = ""] = request.split(" ");
  const [path = "", query = ""] = target.split("?");
  return decideAudit(policy, { info: requestInfo({ method, path, query }), user, names }).level;
};

const wellKnown = policyOf(`
omitStages: [RequestReceived]
rules:
  - { level: None, users: [system:proxy], verbs: [watch], resources: [{ group: "", resources: [endpoints, services] }] }
  - { level: None, userGroups: [system:nodes], verbs: [get], resources: [{ group: "", resources: [nodes, nodes/status] }] }
  - level: None
    users: [system:controller-manager]
    verbs: [get, update]
    namespaces: [kube-system]
    resources: [{ group: "", resources: [endpoints] }]
  - { level: None, nonResourceURLs: ["/healthz*", /version, "/openapi*"] }
  - { level: None, resources: [{ group: "", resources: [events] }] }
  - level: Request
    verbs: [deletecollection]
    omitStages: [ResponseStarted]
  - level: Metadata
    resources:
      - { group: "", resources: [secrets, configmaps, serviceaccounts/token] }
      - { group: authentication.k8s.io, resources: [tokenreviews] }
  - { level: Request, verbs: [get, list, watch], resources: [{ group: "" }, { group: certificates.platform.io }] }
  - { level: RequestResponse, resources: [{ group: "" }, { group: certificates.k8s.io }], omitManagedFields: true }
  - { level: Metadata }
`);

describe("an audit policy", () => {
  it("decides by the first rule that matches", () => {
    assert.equal(levelOf(wellKnown, "GET /healthz/ping"), "None");
    assert.equal(levelOf(wellKnown, "GET /version"), "None");
    assert.equal(levelOf(wellKnown, "GET /version/"), "Metadata");
    assert.equal(levelOf(wellKnown, "POST /api/v1/namespaces/a/events"), "None");
    assert.equal(levelOf(wellKnown, "GET /api/v1/namespaces/a/secrets/b"), "Metadata");
    assert.equal(levelOf(wellKnown, "POST /api/v1/namespaces/a/serviceaccounts/b/token"), "Metadata");
    assert.equal(levelOf(wellKnown, "POST /api/v1/namespaces/a/serviceaccounts"), "RequestResponse");
    assert.equal(levelOf(wellKnown, "GET /api/v1/pods?watch=1"), "Request");
    const node: UserInfo = { username: "system:node:a", groups: ["system:nodes"], extra: {} };
    assert.equal(levelOf(wellKnown, "GET /api/v1/nodes/a", node), "None");
    assert.equal(levelOf(wellKnown, "PUT /api/v1/nodes/a/status", node), "RequestResponse");
    assert.equal(levelOf(wellKnown, "GET /apis", undefined), "Metadata");
  });

  it("has rules that hold for the users, groups and paths that they name, and for no others", () => {
    const holds = (rule: string, request: string, user?: UserInfo): boolean => {
      const policy = policyOf(`rules: [{ level: Metadata, ${rule} }]`);
      const info = requestInfo({ method: "GET", path: request, query: "" });
      return decideAudit(policy, { info, user, names }).level === "Metadata";
    };
    const joe: UserInfo = { username: "joe", groups: ["ops"], extra: {} };
    for (const [rule, held] of [
      ["users: [jane]", [jane]],
      ["users: [joe, jane]", [jane, joe]],
      ["users: [jan]", []],
      ["userGroups: [devs, none]", [jane]],
      ["userGroups: [ops, devs]", [jane, joe]],
      ["users: [joe], userGroups: [devs]", []],
      ["verbs: [get]", [jane, joe, undefined]],
    ] as const) {
      const found = [jane, joe, undefined].filter((user) => holds(rule, "/version", user));
      assert.deepEqual(found, held, rule);
    }
    for (const [url, path, isHeld] of [
      ["/a*", "/a", true],
      ["/a*", "/ab/c", true],
      ["/a*", "/b/a", false],
      ["/a", "/a/", false],
      ["/a", "/ab", false],
      ["'*'", "/version", true],
      ["/api*", "/api/v1/pods", false],
    ] as const) {
      assert.equal(holds(`nonResourceURLs: [${url}]`, path, jane), isHeld, `${url} ${path}`);
    }
  });

  it("treats both spellings of a group alike, in rules and in requests", () => {
    for (const group of ["authentication.k8s.io", "authentication.platform.io"]) {
      assert.equal(levelOf(wellKnown, `POST /apis/${group}/v1/tokenreviews`), "Metadata");
    }
    for (const group of ["certificates.k8s.io", "certificates.platform.io"]) {
      const path = `/apis/${group}/v1/certificatesigningrequests`;
      assert.deepEqual(
        [levelOf(wellKnown, `GET ${path}`), levelOf(wellKnown, `POST ${path}`)],
        ["Request", "RequestResponse"],
      );
    }
  });

  it("matches the resources of every group with the group '*'", () => {
    const all = policyOf("rules: [{ level: Metadata, resources: [{ group: '*', resources: [secrets, '*/status'] }] }]");
    for (const [request, level] of [
      ["GET /api/v1/secrets", "Metadata"],
      ["GET /api/v1/pods", "None"],
      ["GET /apis/certificates.k8s.io/v1/certificatesigningrequests/a/status", "Metadata"],
      ["GET /apis/certificates.k8s.io/v1/certificatesigningrequests/a", "None"],
      ["GET /version", "None"],
    ] as const) {
      assert.equal(levelOf(all, request), level, request);
    }
  });

  it("omits the stages of both policy and rule, and lets a rule override the policy's managed fields", () => {
    assert.deepEqual(wellKnown.rules[5]?.omitStages, ["RequestReceived", "ResponseStarted"]);
    assert.deepEqual(wellKnown.rules[6]?.omitStages, ["RequestReceived"]);
    const inherited = policyOf(
      "omitManagedFields: true\nrules: [{ level: Request }, { level: Request, omitManagedFields: false }]",
    );
    assert.deepEqual(
      inherited.rules.map((rule) => rule.omitManagedFields),
      [true, false],
    );
  });

  it("matches resources as upstream does", () => {
    const level = (resources: string, request: string): string =>
      levelOf(policyOf(`rules: [{ level: Metadata, resources: [{ group: "", resources: [${resources}] }] }]`), request);
    const pod = "/api/v1/namespaces/a/pods/b";
    for (const [resources, path, expected] of [
      ["pods", pod, "Metadata"],
      ["pods", `${pod}/status`, "None"],
      ["pods/status", `${pod}/status`, "Metadata"],
      ["'pods/*'", `${pod}/status`, "Metadata"],
      ["'pods/*'", pod, "Metadata"],
      ["'secrets/*'", `${pod}/status`, "None"],
      ["'*/status'", `${pod}/status`, "Metadata"],
      ["'*/status'", pod, "None"],
      ["'*'", `${pod}/status`, "Metadata"],
      ["'*'", "/apis/apps/v1/deployments", "None"],
    ] as const) {
      assert.equal(level(resources, `GET ${path}`), expected, `${resources} ${path}`);
    }
    const named = policyOf(
      'rules: [{ level: Metadata, resources: [{ group: "", resources: [pods], resourceNames: [b] }] }]',
    );
    assert.deepEqual([levelOf(named, `GET ${pod}`), levelOf(named, `GET ${pod}x`)], ["Metadata", "None"]);
    const clusterScoped = policyOf('rules: [{ level: Metadata, namespaces: [""] }]');
    assert.equal(levelOf(clusterScoped, "GET /api/v1/namespaces"), "Metadata");
    assert.equal(levelOf(clusterScoped, `GET ${pod}`), "None");
    assert.equal(levelOf(clusterScoped, "GET /version"), "None");
  });

  it("refuses a field that there is not, wherever it is: a rule without a limit would keep too much or nothing", () => {
    const resources = [{ group: "", resources: ["secrets"], resourceNames: ["a"] }];
    const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata", resources }] };
    parseAuditPolicy(JSON.stringify(policy), platformNames);
    for (const { path, content } of withUnknownFields(policy)) {
      assert.throws(() => parseAuditPolicy(JSON.stringify(content), platformNames), {
        message: `${path}: unknown field`,
      });
    }
  });

  it("names the field of each fault", () => {
    const faults = (text: string): string => {
      try {
        parseAuditPolicy(text, platformNames);
      } catch (error) {
        return error instanceof Error ? error.message : "";
      }
      return "";
    };
    const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
    assert.equal(faults("{}"), "apiVersion: must be audit.k8s.io/v1; kind: must be Policy");
    assert.equal(faults(head), "rules: at least one rule is required");
    assert.match(faults(`${head}rules: [{ level: All }]`), /^rules\[0\]\.level: "All" is not one of None, Metadata, /);
    assert.match(faults(`${head}rules: [{}]`), /^rules\[0\]\.level: /);
    assert.match(
      faults(`${head}rules: [{ level: None, verb: [get] }]`),
      /^rules\[0\]\.verb: unknown field \(did you mean verbs\?\)$/,
    );
    assert.match(
      faults(`${head}omitStages: [Begin]\nrules: [{ level: None }]`),
      /^omitStages\[0\]: "Begin" is not one of/,
    );
    for (const [rule, path] of [
      ["nonResourceURLs: [healthz]", "nonResourceURLs[0]"],
      ["nonResourceURLs: ['/a*b']", "nonResourceURLs[0]"],
      ["nonResourceURLs: [/a], namespaces: [b]", "nonResourceURLs"],
      ["nonResourceURLs: [/a], resources: [{ group: '' }]", "nonResourceURLs"],
      ["nonResourceURLs: ['a/b']", "nonResourceURLs[0]"],
      ["resources: [{ group: A_ }]", "resources[0].group"],
      ["resources: [{ resourceNames: [a] }]", "resources[0].resourceNames"],
      ["omitStages: [x]", "omitStages[0]"],
    ] as const) {
      const found = faults(`${head}rules: [{ level: None, ${rule} }]`);
      assert.ok(found.startsWith(`rules[0].${path}: `), `${rule}: ${found}`);
    }
  });
});
