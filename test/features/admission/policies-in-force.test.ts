import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ForgetfulStore } from "../../machinery/registry/forgetful-store.ts";
import { everyKey } from "../../../src/machinery/storage/key-range.ts";
import { LongWork } from "../../../src/machinery/scheduling/long-work.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { cpuSecondsOf } from "../../cpu-seconds-of.ts";
import { configMap, matching, policyOf, PolicyScene } from "./policy-scene.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

describe("a policy in force", () => {
  const store = new MemoryStore();
  let scene: PolicyScene;
  const auditFile = join(mkdtempSync(join(tmpdir(), "signet-audit-")), "audit.log");
  before(async () => {
    scene = await PolicyScene.start({ store, settings: { controllers: false, "audit-log-path": auditFile } });
  });
  afterEach(() => scene.clear());
  after(async () => {
    await scene.stop();
    const lines = readFileSync(auditFile, "utf8");
    rmSync(dirname(auditFile), { recursive: true });
    const annotations = [...lines.matchAll(/"annotated\/who":"[^"]*"/g)].map(([text]) => text);
    assert.deepEqual(annotations, ['"annotated/who":"root writes"']);
    assert.match(
      lines,
      /"validation.policy.admission.k8s.io\/validation_failure":"\[\{\\"message\\":\\"never\\",\\"policy\\":\\"soft\\"/,
    );
  });

  it("refuses writes with upstream's message, and lets others pass", async () => {
    await scene.policy("owner", {
      matchConstraints: matching(["configmaps"]),
      validations: [
        { expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: "say whose it is" },
      ],
    });
    const refused = await scene.send("POST", configMaps, configMap("a"));
    assert.deepEqual([refused.code, refused.reason], [422, "Invalid"]);
    const sentence = "ValidatingAdmissionPolicy 'owner' with binding 'owner' denied request: say whose it is";
    assert.equal(refused.message, `configmaps "a" is forbidden: ${sentence}`);
    assert.deepEqual(refused.body["details"], { name: "a", kind: "configmaps", causes: [{ message: sentence }] });
    const labelled = await scene.send("POST", configMaps, configMap("a", { metadata: { labels: { owner: "ada" } } }));
    assert.equal(labelled.status, 201);
    assert.equal((await scene.send("GET", `${configMaps}/a`)).status, 200);
  });

  it("is evaluated for every way to write", async () => {
    await scene.send("POST", configMaps, configMap("fixed", { metadata: { labels: { a: "b" } } }));
    await scene.send("POST", accounts, { metadata: { name: "default" } });
    await scene.policy("nothing", {
      matchConstraints: matching(["configmaps", "serviceaccounts/token"]),
      validations: [
        {
          expression: "request.name != 'fixed' && request.subResource != 'token'",
          messageExpression: "request.operation + ' refused'",
        },
      ],
    });
    const patch = { metadata: { labels: { x: "y" } } };
    const ways: readonly (readonly [method: string, path: string, body: unknown, type: string, operation: string])[] = [
      ["PUT", `${configMaps}/fixed`, configMap("fixed"), "application/json", "UPDATE"],
      ["PATCH", `${configMaps}/fixed`, patch, "application/merge-patch+json", "UPDATE"],
      ["PATCH", `${configMaps}/fixed`, patch, "application/strategic-merge-patch+json", "UPDATE"],
      [
        "PATCH",
        `${configMaps}/fixed?fieldManager=me&force=true`,
        configMap("fixed", { data: { a: "b" } }),
        "application/apply-patch+yaml",
        "UPDATE",
      ],
      [
        "PATCH",
        `${configMaps}/fixed`,
        [{ op: "add", path: "/data", value: { a: "b" } }],
        "application/json-patch+json",
        "UPDATE",
      ],
      ["PUT", `${configMaps}/fixed?dryRun=All`, configMap("fixed"), "application/json", "UPDATE"],
      ["DELETE", `${configMaps}/fixed`, undefined, "", "DELETE"],
      ["DELETE", `${configMaps}?labelSelector=a%3Db`, undefined, "", "DELETE"],
      [
        "POST",
        `${accounts}/default/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: ["a"] } },
        "application/json",
        "CREATE",
      ],
    ];
    for (const [method, path, body, type, operation] of ways) {
      const answer = await scene.send(method, path, body, { type });
      assert.equal(answer.code, 422, `${method} ${path} ${type}: ${answer.message}`);
      assert.match(answer.message, new RegExp(`denied request: ${operation} refused$`));
    }
    await scene.clear();
    await scene.policy("creation", {
      matchConstraints: matching(["configmaps"], { operations: ["CREATE"] }),
      validations: [{ expression: "object.metadata.name != 'new' && oldObject == null" }],
    });
    for (const answer of [
      await scene.send("POST", configMaps, configMap("new")),
      await scene.send("POST", `${configMaps}?dryRun=All`, configMap("new")),
      await scene.send("PATCH", `${configMaps}/new?fieldManager=me`, configMap("new"), {
        type: "application/apply-patch+yaml",
      }),
    ]) {
      assert.match(answer.message, /failed expression: object.metadata.name != 'new' && oldObject == null$/);
    }
    assert.equal((await scene.send("GET", `${configMaps}/new`)).status, 404);
  });

  it("sees the audiences and the account that a token will have, whatever its request leaves out", async () => {
    const shop = `${accounts}/shop`;
    const made = await scene.send("POST", accounts, { metadata: { name: "shop" } });
    assert.equal(made.status, 201);
    await scene.policy("audiences", {
      matchConstraints: matching(["serviceaccounts/token"]),
      validations: [
        { expression: "object.spec.audiences.all(one, one == 'vault')" },
        { expression: "object.metadata.name == 'shop' && object.metadata.uid != ''" },
      ],
    });
    const request = (spec: object) => scene.send("POST", `${shop}/token`, { spec });
    assert.equal((await request({ audiences: ["vault"] })).status, 201);
    for (const spec of [{}, { audiences: [] }, { audiences: null }, { audiences: ["vault", "bank"] }]) {
      const { code, message } = await request(spec);
      assert.deepEqual([code, /failed expression: object.spec.audiences/.test(message)], [422, true], message);
    }
  });

  it("is evaluated for the approval, the status and the deletion of certificate requests", async () => {
    await scene.policy("requests", {
      matchConstraints: matching(["certificatesigningrequests/approval", "certificatesigningrequests/status"], {
        apiGroups: ["certificates.k8s.io"],
      }),
      validations: [{ expression: "request.userInfo.groups.exists(g, g == 'approvers')", message: "not yours" }],
    });
    const list = await scene.send("GET", requests);
    assert.equal(list.status, 200);
    const csr = await scene.send("POST", requests, {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "r" },
      spec: { request: testRequest, signerName: "example.com/x", usages: ["client auth"] },
    });
    assert.equal(csr.status, 201, csr.message);
    for (const subresource of ["approval", "status"]) {
      for (const domain of ["k8s.io", "platform.io"]) {
        const path = `/apis/certificates.${domain}/v1/certificatesigningrequests/r/${subresource}`;
        const answer = await scene.send("PUT", path, { ...csr.body, apiVersion: `certificates.${domain}/v1` });
        assert.match(answer.message, /denied request: not yours$/, path);
      }
    }
    assert.equal((await scene.send("DELETE", `${requests}/r`)).status, 200, "the rule is for subresources");
  });

  it("matches the same objects in either spelling of a group, and in other versions as configured", async () => {
    const events = "/apis/events.k8s.io/v1/namespaces/default/events";
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e", namespace: "default" },
      eventTime: "2026-11-22T00:00:00.000000Z",
      reportingController: "a.b/c",
      reportingInstance: "i",
      action: "Do",
      reason: "Because",
      type: "Normal",
      note: "text",
      regarding: { kind: "ConfigMap", name: "a", namespace: "default" },
    };
    await scene.policy("any", {
      matchConstraints: matching(["events"], { apiGroups: ["*"] }),
      validations: [{ expression: "false", messageExpression: "request.resource.group" }],
    });
    for (const group of ["events.k8s.io", "events.platform.io"]) {
      const path = `/apis/${group}/v1/namespaces/default/events`;
      const { message } = await scene.send("POST", path, { ...event, apiVersion: `${group}/v1` });
      assert.ok(message.endsWith(`denied request: ${group}`), message);
    }
    await scene.clear();
    await scene.policy("spelled", {
      matchConstraints: matching(["events"], { apiGroups: ["events.platform.io"] }),
      validations: [
        {
          expression: "object.note != 'text'",
          messageExpression: "object.apiVersion + ' ' + request.resource.group + ' ' + request.requestResource.group",
        },
      ],
    });
    const asked = await scene.send("POST", events, event);
    assert.match(asked.message, /denied request: events.platform.io\/v1 events.platform.io events.k8s.io$/);
    const core = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "f" },
      involvedObject: { kind: "ConfigMap", name: "a", namespace: "default" },
      message: "text",
      reason: "Because",
      type: "Normal",
    };
    const equivalent = await scene.send("POST", "/api/v1/namespaces/default/events", core);
    assert.match(equivalent.message, /denied request: events\.platform\.io\/v1 events\.platform\.io$/);
    await scene.clear();
    await scene.policy("exact", {
      matchConstraints: matching(["events"], { apiGroups: ["events.platform.io"], matchPolicy: "Exact" }),
      validations: [{ expression: "false", message: "never" }],
    });
    assert.equal((await scene.send("POST", "/api/v1/namespaces/default/events", core)).status, 201);
    assert.match((await scene.send("POST", events, event)).message, /never$/);
  });

  it("cannot be evaded with the other spelling of the group that its rules and conditions name", async () => {
    await scene.policy("condition", {
      matchConstraints: matching(["clusterroles"], { apiGroups: ["rbac.authorization.k8s.io"] }),
      matchConditions: [{ name: "roles", expression: "request.resource.group == 'rbac.authorization.k8s.io'" }],
      validations: [
        {
          expression:
            "object.apiVersion != 'rbac.authorization.k8s.io/v1' || request.kind.group != 'rbac.authorization.k8s.io'",
        },
      ],
    });
    for (const group of ["rbac.authorization.k8s.io", "rbac.authorization.platform.io"]) {
      const role = { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: "r" }, rules: [] };
      const answer = await scene.send("POST", `/apis/${group}/v1/clusterroles?dryRun=All`, role);
      assert.match(answer.message, /'condition' .*denied request/, group);
    }
  });

  it("finds what the server says of a user in either spelling of its key", async () => {
    await scene.send("POST", accounts, { metadata: { name: "robot" } });
    const issued = await scene.send("POST", `${accounts}/robot/token`, { spec: { audiences: [] } });
    const { token } = issued.body["status"] as { readonly token: string };
    const group = "rbac.authorization.k8s.io";
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }];
    await scene.send("POST", `/apis/${group}/v1/clusterroles`, { metadata: { name: "robot" }, rules });
    await scene.send("POST", `/apis/${group}/v1/clusterrolebindings`, {
      metadata: { name: "robot" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "robot" },
      subjects: [{ kind: "ServiceAccount", namespace: "default", name: "robot" }],
    });
    const keys = ["authentication.kubernetes.io", "authentication.platform.io"].map((one) => `${one}/credential-id`);
    await scene.policy("credential", {
      matchConstraints: matching(["configmaps"]),
      validations: keys.map((key) => ({
        expression: `request.userInfo.extra['${key}'].all(one, one.startsWith('JTI='))`,
      })),
    });
    const created = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("written"), { token });
    assert.equal(created.status, 201, created.message);
  });

  it("matches by namespaces, objects, names, operations, scope and exclusions", async () => {
    const passes = async (constraints: Record<string, unknown>, name = "s", labels = {}): Promise<boolean> => {
      await scene.policy("select", { matchConstraints: constraints, validations: [{ expression: "false" }] });
      const answer = await scene.send("POST", `${configMaps}?dryRun=All`, configMap(name, { metadata: { labels } }));
      await scene.clear();
      return answer.status === 201;
    };
    const all = matching(["configmaps"]);
    const ofNamespace = (name: string) => ({ matchLabels: { "kubernetes.io/metadata.name": name } });
    assert.equal(await passes({ ...all, namespaceSelector: ofNamespace("default") }), false);
    assert.equal(await passes({ ...all, namespaceSelector: ofNamespace("other") }), true);
    const dev = { matchExpressions: [{ key: "stage", operator: "In", values: ["dev"] }] };
    assert.equal(await passes({ ...all, objectSelector: dev }, "s", { stage: "dev" }), false);
    assert.equal(await passes({ ...all, objectSelector: dev }), true);
    assert.equal(await passes({ ...all, excludeResourceRules: matching(["*"])["resourceRules"] }), true);
    assert.equal(await passes(matching(["*"])), false);
    assert.equal(await passes(matching(["*/*"])), false);
    for (const others of [["configmaps/status"], ["*/status"], ["secrets"], ["secrets/*", "pods"]]) {
      assert.equal(await passes(matching(others)), true, others.join());
    }
    assert.equal(await passes(matching(["configmaps"], { operations: ["DELETE", "UPDATE"] })), true);
    assert.equal(await passes(matching(["configmaps"], { apiVersions: ["v2"] })), true);
    const rule = { apiGroups: ["*"], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] };
    assert.equal(await passes({ resourceRules: [{ ...rule, resourceNames: ["s"] }] }), false);
    assert.equal(await passes({ resourceRules: [{ ...rule, resourceNames: ["t"] }] }), true);
    assert.equal(await passes({ resourceRules: [{ ...rule, scope: "Cluster" }] }), true);
    assert.equal(await passes({ resourceRules: [{ ...rule, scope: "Namespaced" }] }), false);
  });

  it("matches an object by its labels before a write, too: no write takes an object from it", async () => {
    const labelled = configMap("labelled", { metadata: { labels: { stage: "dev" } } });
    assert.equal((await scene.send("POST", configMaps, labelled)).status, 201);
    await scene.policy("before", {
      matchConstraints: { ...matching(["configmaps"]), objectSelector: { matchLabels: { stage: "dev" } } },
      validations: [{ expression: "false" }],
    });
    const one = `${configMaps}/labelled`;
    assert.equal((await scene.send("PUT", one, configMap("labelled"))).status, 422);
    assert.equal((await scene.send("DELETE", one)).status, 422);
    await scene.clear();
    assert.equal((await scene.send("DELETE", one)).status, 200);
  });

  it("takes Namespaces, and what has no namespace, for objects of the cluster's scope", async () => {
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
    for (const [scope, status] of [
      ["Cluster", 422],
      ["Namespaced", 201],
    ] as const) {
      const rule = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], scope };
      await scene.policy("scoped", {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "false" }],
      });
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "scoped" } };
      assert.equal((await scene.send("POST", "/api/v1/namespaces?dryRun=All", namespace)).status, status, scope);
      assert.equal((await scene.send("POST", roles, { metadata: { name: "r" }, rules: [] })).status, status, scope);
      await scene.clear();
    }
  });

  it("is in force where its binding selects, also without rules for resources", async () => {
    const spec = { matchConstraints: matching(["configmaps"]), validations: [{ expression: "false" }] };
    for (const [namespace, status] of [
      ["default", 422],
      ["other", 201],
    ] as const) {
      const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
      await scene.policy("bound", spec, { matchResources: { namespaceSelector } });
      const answer = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("written"));
      assert.equal(answer.status, status, namespace);
      await scene.clear();
    }
  });

  it("writes its own annotations into the audit log, and refuses a write for which it can't, whatever its binding does", async () => {
    const annotated = async (valueExpression: string, failurePolicy = "Fail"): Promise<number> => {
      const spec = {
        failurePolicy,
        matchConstraints: matching(["configmaps"]),
        auditAnnotations: [{ key: "who", valueExpression }],
      };
      await scene.policy("annotated", spec, { validationActions: ["Audit"] });
      const answer = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("annotated"));
      await scene.clear();
      return answer.status;
    };
    assert.equal(await annotated("' ' + request.userInfo.username + ' writes '"), 201);
    assert.equal(await annotated("null"), 201);
    assert.equal(await annotated("' '"), 201);
    assert.equal(await annotated("string(object.metadata.labels['none'])"), 422);
    assert.equal(await annotated("string(object.metadata.labels['none'])", "Ignore"), 201);
  });

  it("matches a Namespace by its own labels, also when a subresource is written without them, and what has no namespace", async () => {
    const labels = { stage: "dev" };
    const namespace = (name: string, metadata = {}) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, ...metadata },
    });
    assert.equal((await scene.send("POST", "/api/v1/namespaces", namespace("staged", { labels }))).status, 201);
    await scene.policy("staged", {
      matchConstraints: {
        ...matching(["namespaces", "namespaces/*", "clusterroles"], { apiGroups: ["*"] }),
        namespaceSelector: { matchLabels: labels },
      },
      validations: [{ expression: "false" }],
    });
    const create = "/api/v1/namespaces?dryRun=All";
    assert.equal((await scene.send("POST", create, namespace("other"))).status, 201);
    assert.equal((await scene.send("POST", create, namespace("another", { labels }))).status, 422);
    assert.equal((await scene.send("DELETE", "/api/v1/namespaces/staged?dryRun=All")).status, 422);
    for (const subresource of ["finalize", "status"]) {
      const withoutLabels = await scene.send("PUT", `/api/v1/namespaces/staged/${subresource}`, namespace("staged"));
      assert.equal(withoutLabels.status, 422, subresource);
    }
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
    assert.equal((await scene.send("POST", roles, { metadata: { name: "reader" }, rules: [] })).status, 422);
  });

  it("counts where all its conditions hold: one that is false beats one that cannot be evaluated", async () => {
    const outcome = async (conditions: readonly string[], failurePolicy = "Fail"): Promise<string> => {
      await scene.policy("conditions", {
        failurePolicy,
        matchConstraints: matching(["configmaps"]),
        matchConditions: conditions.map((expression, index) => ({ name: `c${index}`, expression })),
        validations: [{ expression: "false", message: "never" }],
      });
      const { status, message } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
      await scene.clear();
      return status === 201 ? "passes" : message.replace(/^.*denied request: /, "");
    };
    const broken = "object.data.missing == 'x'";
    const reason = `expression '${broken}' resulted in error: no such key: data`;
    assert.equal(await outcome(["true", "true"]), "never");
    assert.equal(await outcome(["true", "false"]), "passes");
    assert.equal(await outcome([broken, "false"]), "passes");
    assert.equal(await outcome([broken, "true"]), reason);
    assert.equal(await outcome([broken, broken]), reason);
    const other = "object.data.other == 'x'";
    assert.equal(await outcome([broken, other]), `[${reason}, ${reason.replace(broken, other)}]`);
    assert.equal(await outcome([broken, "true"], "Ignore"), "passes");
  });

  it("says its message where the expression for it gives no text, several lines, or more than 5 KiB", async () => {
    for (const messageExpression of [
      "' '",
      "'a\\nb'",
      `'${"x".repeat(5 * 1024 + 1)}'`,
      "string(object.data.missing)",
    ]) {
      await scene.policy("says", {
        matchConstraints: matching(["configmaps"]),
        validations: [{ expression: "false", message: "never", messageExpression }],
      });
      const { message } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
      assert.match(message, /denied request: never$/, messageExpression.slice(0, 20));
      await scene.clear();
    }
  });

  it("finds no field of a request that is empty, but always a group", async () => {
    const clusterRole = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "x" },
      rules: [],
    };
    const outcome = async (expression: string): Promise<string> => {
      await scene.policy("empty", {
        matchConstraints: matching(["configmaps", "clusterroles"], { apiGroups: ["*"] }),
        validations: [{ expression, message: "not so" }],
      });
      const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
      const [one, other] = [
        await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x")),
        await scene.send("POST", path, clusterRole),
      ];
      await scene.clear();
      return [one, other]
        .map(({ status, message }) =>
          status === 201 ? "passes" : message.replace(/^.*(?:denied request|error): /, ""),
        )
        .join(", ");
    };
    assert.equal(await outcome("request.namespace == ''"), "not so, no such key: namespace");
    assert.equal(await outcome("has(request.namespace)"), "passes, not so");
    assert.equal(await outcome("request.?namespace.orValue('none') == 'default'"), "passes, not so");
    assert.equal(await outcome("request.subResource == ''"), "no such key: subResource, no such key: subResource");
    assert.equal(await outcome("has(request.userInfo.extra)"), "not so, not so");
    assert.equal(await outcome("'x' in request.userInfo.extra"), "no such key: extra, no such key: extra");
    assert.equal(await outcome("has(request.resource.group) && has(request.kind.group)"), "passes, passes");
    assert.equal(await outcome("request.resource.group == ''"), "passes, not so");
  });

  it("tells whether a request used the kind and the resource of the rule that it matched", async () => {
    const isAsRequested = "request.kind == request.requestKind && request.resource == request.requestResource";
    await scene.policy("compares", {
      matchConstraints: matching(["events"]),
      validations: [{ expression: isAsRequested, message: "another version" }],
    });
    const written = async (apiVersion: string, fields: object): Promise<string> => {
      const path = `${apiVersion === "v1" ? "/api" : "/apis"}/${apiVersion}/namespaces/default/events?dryRun=All`;
      const event = { apiVersion, kind: "Event", metadata: { name: "x" }, ...fields };
      const { status, message } = await scene.send("POST", path, event);
      return status === 201 ? "passes" : message.replace(/^.*denied request: /, "");
    };
    const about = { kind: "Node", name: "n", namespace: "default" };
    assert.equal(await written("v1", { involvedObject: about }), "passes");
    const reported = { reportingController: "a.b/c", reportingInstance: "i", action: "a", reason: "r", type: "Normal" };
    const newEvent = { regarding: about, eventTime: "2030-01-01T00:00:00.000000Z", ...reported };
    assert.equal(await written("events.k8s.io/v1", newEvent), "another version");
  });

  it("reads objects, the request, the namespace, variables and what the user may do", async () => {
    await scene.policy("reads", {
      matchConstraints: matching(["configmaps"]),
      matchConditions: [{ name: "users", expression: "request.userInfo.username != 'root' || object.data.size() > 0" }],
      variables: [
        { name: "keys", expression: "object.data.map(k, k)" },
        { name: "count", expression: "size(variables.keys)" },
      ],
      validations: [
        { expression: "variables.count == 2 && variables.keys.all(k, k.matches('^[a-z]+$'))", message: "keys" },
        {
          expression: "namespaceObject.metadata.name == 'default' && namespaceObject.metadata.labels.size() > 0",
          message: "namespace",
        },
        {
          expression:
            "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && !request.dryRun",
          message: "request",
        },
        {
          expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
          message: "secrets",
          reason: "Forbidden",
        },
        {
          expression:
            "authorizer.requestResource.check('create').allowed() && !authorizer.path('/metrics').check('put').allowed() || request.userInfo.username == 'root'",
          message: "path",
        },
        {
          expression:
            "!authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('list').allowed()",
          message: "account",
        },
      ],
    });
    const good = { data: { a: "1", b: "2" } };
    assert.equal((await scene.send("POST", configMaps, configMap("good", good))).status, 201);
    const bad = await scene.send("POST", configMaps, configMap("bad", { data: { a: "1", B: "2" } }));
    assert.match(bad.message, /denied request: keys$/);
    await scene.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "writer" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }],
    });
    await scene.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "writer" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "dev" }],
    });
    const ada = await scene.send("POST", configMaps, configMap("hers", good), { token: "ada" });
    assert.deepEqual([ada.code, ada.reason], [403, "Forbidden"]);
    assert.match(ada.message, /denied request: secrets$/);
  });

  it("asks what a user or an account may do as Kubernetes does, with selectors that cannot be parsed left out", async () => {
    const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }];
    const group = "rbac.authorization.k8s.io";
    await scene.send("POST", `/apis/${group}/v1/clusterroles`, { metadata: { name: "lists-pods" }, rules });
    const bind = (name: string): Promise<unknown> =>
      scene.send("PUT", `/apis/${group}/v1/clusterrolebindings/lists-pods`, {
        metadata: { name: "lists-pods" },
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "lists-pods" },
        subjects: [{ apiGroup: group, kind: "Group", name }],
      });
    const answersTo = async (...questions: readonly string[]): Promise<readonly string[]> => {
      const validations = questions.map((question, index) => ({
        expression: `!authorizer.${question}.allowed()`,
        message: `${index}: yes`,
      }));
      const warning = { validationActions: ["Warn"] };
      await scene.policy("asks", { matchConstraints: matching(["configmaps"]), validations }, warning);
      const { warnings } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("asked"), { token: "ada" });
      await scene.clear();
      return warnings.map((one) => one.replace(/^.*(?:with binding 'asks'|resulted in error): /, ""));
    };
    const pods = "group('').resource('pods')";
    await scene.send("POST", `/apis/${group}/v1/clusterroles`, {
      metadata: { name: "creates" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }],
    });
    await scene.send("POST", `/apis/${group}/v1/clusterrolebindings`, {
      metadata: { name: "creates" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "creates" },
      subjects: [{ apiGroup: group, kind: "User", name: "ada" }],
    });
    const ofAccounts = ["default", "other"].map((where) => `serviceAccount('${where}', 'a.b').${pods}.check('list')`);
    await bind("system:authenticated");
    assert.deepEqual(await answersTo(`${pods}.check('list')`, ...ofAccounts), ["0: yes"]);
    await bind("system:serviceaccounts:default");
    assert.deepEqual(await answersTo(`${pods}.check('list')`, ...ofAccounts), ["1: yes"]);
    await bind("dev");
    const unreadable = ["fieldSelector('a in b')", "labelSelector('a in (')"];
    assert.deepEqual(await answersTo(...unreadable.map((one) => `${pods}.${one}.check('list')`)), ["0: yes", "1: yes"]);
    assert.deepEqual(
      await answersTo(
        `serviceAccount('Default', 'a').${pods}.check('list')`,
        `serviceAccount('default', 'a b').${pods}.check('list')`,
        "group('').resource(' ').check('list')",
        "path(' ').check('get')",
      ),
      [
        "Invalid service account namespace",
        "Invalid service account name",
        "resource must not be empty",
        "path must not be empty",
      ],
    );
  });

  it("warns or annotates the audit event if its binding says so", async () => {
    const spec = {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "false", message: "never" }],
    };
    await scene.policy("soft", spec, { validationActions: ["Warn", "Audit"] });
    const warned = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("warned"));
    assert.equal(warned.status, 201);
    assert.deepEqual(warned.warnings, [
      "Validation failed for ValidatingAdmissionPolicy 'soft' with binding 'soft': never",
    ]);
    assert.match(
      await scene.server.metricsText(),
      /apiserver_validating_admission_policy_check_total\{policy="soft",policy_binding="soft",error_type="no_error",enforcement_action="warn"\} 1/,
    );
  });

  it("reads params from objects, and fails or passes without them as its binding says", async () => {
    const limits = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) =>
      scene.send("POST", configMaps, configMap(name, { data, metadata: { labels } }));
    await limits("limit-one", { largest: "3" }, { limits: "yes" });
    await limits("limit-two", { largest: "5" }, { limits: "yes" });
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: matching(["secrets"]),
      validations: [
        {
          expression: "size(object.metadata.name) <= int(params.data.largest)",
          messageExpression: "'at most ' + params.data.largest",
        },
      ],
    };
    const secret = (name: string) =>
      scene.send("POST", "/api/v1/namespaces/default/secrets?dryRun=All", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name },
      });
    const outcome = async (paramRef: unknown, name: string, paramKind = spec.paramKind): Promise<string> => {
      await scene.policy("limits", { ...spec, paramKind }, { paramRef });
      const { status, message } = await secret(name);
      await scene.clear();
      return status === 201 ? "passes" : message.replace(/^.*denied request: /, "");
    };
    const deny = { parameterNotFoundAction: "Deny" };
    assert.equal(await outcome({ name: "limit-one", ...deny }, "abc"), "passes");
    assert.equal(await outcome({ name: "limit-one", ...deny }, "abcd"), "at most 3");
    assert.equal(await outcome({ selector: { matchLabels: { limits: "yes" } }, ...deny }, "abcd"), "at most 3");
    assert.equal(
      await outcome({ selector: { matchLabels: { limits: "yes" } }, namespace: "default", ...deny }, "abc"),
      "passes",
    );
    assert.equal(await outcome({ name: "none", parameterNotFoundAction: "Allow" }, "abcdef"), "passes");
    const missing =
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert.equal(await outcome({ name: "none", ...deny }, "a"), missing);
    assert.equal(
      await outcome(undefined, "a"),
      "expression 'size(object.metadata.name) <= int(params.data.largest)' resulted in error: no such key: data",
    );
    const ofNamespaces = { apiVersion: "v1", kind: "Namespace" };
    const named = { name: "default", ...deny };
    assert.match(await outcome(named, "a", ofNamespaces), /no such key: data$/);
    assert.equal(
      await outcome({ ...named, namespace: "default" }, "a", ofNamespaces),
      "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
    const unknown = { apiVersion: "example.com/v1", kind: "Limit" };
    const unserved = `failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`;
    assert.equal(await outcome(named, "a", unknown), unserved);
    assert.equal(await outcome(undefined, "a", unknown), unserved);
    assert.match(
      await outcome(named, "a", { apiVersion: "v2", kind: "ConfigMap" }),
      /paramKind: '\/v2, Kind=ConfigMap'$/,
    );
    const ofMany = { selector: { matchLabels: { many: "yes" } }, ...deny };
    for (let index = 0; index < 100; index++) await limits(`many-${index}`, { largest: "1" }, { many: "yes" });
    assert.equal(await outcome(ofMany, "a"), "passes");
    await limits("one-more", { largest: "1" }, { many: "yes" });
    assert.equal(
      await outcome(ofMany, "a"),
      "failed to configure binding: the selector of paramRef finds more than 100 params",
    );
  });

  it("reads params of the namespace that its binding names, which a binding for objects without a namespace must do", async () => {
    const create = configMap("cluster-limit", { data: { largest: "3" } });
    assert.equal((await scene.send("POST", configMaps, create)).status, 201);
    const outcome = async (paramRef: Record<string, unknown>): Promise<string> => {
      const spec = {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: matching(["clusterroles"], { apiGroups: ["*"] }),
        validations: [{ expression: "size(object.metadata.name) <= int(params.data.largest)", message: "too long" }],
      };
      await scene.policy("limit", spec, { paramRef: { parameterNotFoundAction: "Deny", ...paramRef } });
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
      const { message } = await scene.send("POST", roles, { metadata: { name: "four" }, rules: [] });
      await scene.clear();
      return message.replace(/^.*denied request: /, "");
    };
    assert.equal(await outcome({ name: "cluster-limit", namespace: "default" }), "too long");
    const fault =
      "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
    assert.equal(await outcome({ name: "cluster-limit" }), fault);
    assert.equal(await outcome({ selector: {} }), fault);
  });

  it("fails or is ignored, as failurePolicy says, when an expression cannot be evaluated", async () => {
    const spec = {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "object.data.missing == 'x'" }],
    };
    await scene.policy("fails", spec);
    const failed = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    assert.match(
      failed.message,
      /denied request: expression 'object.data.missing == 'x'' resulted in error: no such key: data$/,
    );
    await scene.clear();
    await scene.policy("fails", {
      ...spec,
      variables: [
        { name: "missing", expression: "object.data.missing" },
        { name: "other", expression: "variables.missing + 'y'" },
      ],
      validations: [{ expression: "variables.other != 'x'" }],
    });
    const ofVariables = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    assert.match(
      ofVariables.message,
      /error: composited variable "other" fails to evaluate: composited variable "missing" fails to evaluate: no such key: data$/,
    );
    await scene.clear();
    await scene.policy("ignores", { ...spec, failurePolicy: "Ignore" });
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"))).status, 201);
  });

  it("fails or is ignored, as failurePolicy says, when what another version has stored cannot be compiled", async () => {
    const outcome = async (failurePolicy: string): Promise<string> => {
      await scene.policy("stored", {
        failurePolicy,
        matchConstraints: matching(["configmaps"]),
        validations: [{ expression: "true" }],
      });
      const { entries } = await store.range(everyKey);
      const { key, value, modRevision } =
        entries.find((one) => one.value.includes('"expression":"true"')) ?? assert.fail();
      const broken = Buffer.from(value.toString().replace('"true"', '"true +"'));
      assert.ok((await store.write({ key, value: broken, expectedRevision: modRevision })).isWritten);
      const { status, message } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
      await scene.clear();
      return status === 201 ? "passes" : message;
    };
    assert.match(await outcome("Fail"), /'stored' denied request: failed to configure policy: spec\.validations\[0\]/);
    assert.equal(await outcome("Ignore"), "passes");
  });

  it("is not evaluated for reviews, policies and the server's own writes", async () => {
    await scene.policy("closed", {
      matchConstraints: matching(["*", "*/*"].slice(1), { apiGroups: ["*"] }),
      validations: [{ expression: "false", message: "closed" }],
    });
    assert.match((await scene.send("POST", configMaps, configMap("x"))).message, /closed$/);
    for (const [group, kind] of [
      ["authorization", "SelfSubjectAccessReview"],
      ["authentication", "SelfSubjectReview"],
    ] as const) {
      const body = {
        apiVersion: `${group}.k8s.io/v1`,
        kind,
        spec: { nonResourceAttributes: { path: "/", verb: "get" } },
      };
      assert.equal((await scene.send("POST", `/apis/${group}.k8s.io/v1/${kind.toLowerCase()}s`, body)).status, 201);
    }
    await scene.server.client.request(configMaps, { method: "POST", body: configMap("own") });
  });

  it("does nothing without a binding, and stops when it or its binding is gone or changed", async () => {
    const path = "/apis/admissionregistration.platform.io/v1/validatingadmissionpolicies/brief";
    const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    const send = () => scene.send("POST", `${configMaps}?dryRun=All`, configMap("x"));
    await scene.policy("brief", {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "false", message: "one" }],
    });
    assert.match((await send()).message, /one$/);
    const patch = [{ op: "replace", path: "/spec/validations/0/message", value: "two" }];
    const changed = await scene.send("PATCH", path, patch, { type: "application/json-patch+json" });
    assert.deepEqual(changed.body["status"], { observedGeneration: 2 });
    assert.match((await send()).message, /two$/);
    await scene.send("DELETE", `${bindings}/brief`);
    assert.equal((await send()).status, 201);
    await scene.bind("again", { policyName: "brief", validationActions: ["Deny"] });
    assert.match((await send()).message, /with binding 'again' denied request: two$/);
    await scene.send("DELETE", path);
    assert.equal((await send()).status, 201);
  });

  it("names a fault of its metadata once when its status is written", async () => {
    await scene.policy("reported", {
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "true" }],
    });
    const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/reported/status";
    const type = "application/merge-patch+json";
    const { body } = await scene.send("PATCH", path, { metadata: { uid: "other" } }, { type });
    const message = 'Invalid value: "other": field is immutable';
    assert.deepEqual(body["details"], {
      name: "reported",
      group: "admissionregistration.k8s.io",
      kind: "ValidatingAdmissionPolicy",
      causes: [{ reason: "FieldValueInvalid", message, field: "metadata.uid" }],
    });
  });

  it("cannot block the server: a write that would take too many steps is refused, whatever the policy says", async () => {
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]));
    const spec = (failurePolicy: string) => ({
      failurePolicy,
      matchConstraints: matching(["configmaps"]),
      validations: [
        { expression: "object.data.all(a, object.data.all(b, a != b || object.data[a] == object.data[b]))" },
      ],
    });
    await scene.policy("slow", spec("Fail"));
    const refused = await scene.send("POST", configMaps, configMap("big", { data }));
    assert.match(refused.message, /denied request: validation failed due to running out of cost budget/);
    await scene.clear();
    for (const name of ["a", "b", "c", "d"]) await scene.policy(name, spec("Ignore"));
    const seconds = await cpuSecondsOf(async () => {
      const many = await scene.send("POST", configMaps, configMap("big", { data }));
      assert.equal(many.message, 'configmaps "big" is forbidden: its admission policies take too long');
    });
    assert.ok(seconds < 10, `${seconds} seconds`);
    await scene.clear();
    const doubled = (letter: string) =>
      Array.from({ length: 41 }, (_, index) => ({
        name: `${letter}${index}`,
        expression: index === 0 ? "[1]" : `[variables.${letter}${index - 1}, variables.${letter}${index - 1}]`,
      }));
    await scene.policy("doubled", {
      ...spec("Fail"),
      variables: [...doubled("a"), ...doubled("b")],
      validations: [{ expression: "variables.a40 == variables.b40" }],
    });
    const compared = await scene.send("POST", configMaps, configMap("small"));
    assert.match(compared.message, /running out of cost budget/);
  });

  it("lets others have a turn after each evaluation that has taken long", async (t) => {
    const pauses = new Map<LongWork, number>();
    t.mock.method(LongWork.prototype, "pause", function pause(this: LongWork) {
      pauses.set(this, (pauses.get(this) ?? 0) + 1);
    });
    for (const name of ["a", "b", "c", "d", "e", "f", "g"]) {
      await scene.policy(name, { matchConstraints: matching(["configmaps"]), validations: [{ expression: "true" }] });
    }
    assert.equal((await scene.send("POST", `${configMaps}?dryRun=All`, configMap("any"))).status, 201);
    assert.ok([...pauses.values()].includes(7), "one for each policy");
  });

  it("ends as soon as a write has had too many steps, however many params and bindings a policy has", async () => {
    for (const name of ["p1", "p2", "p3", "p4", "p5", "p6"]) {
      const metadata = { labels: { limits: "yes" } };
      assert.equal((await scene.send("POST", configMaps, configMap(name, { metadata }))).status, 201);
    }
    const binding = {
      paramRef: { selector: { matchLabels: { limits: "yes" } }, parameterNotFoundAction: "Deny" },
      validationActions: ["Warn"],
    };
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "object.data.all(a, object.data.all(b, a + b != params.metadata.name))" }],
    };
    await scene.policy("twice", spec, binding);
    await scene.bind("again", { policyName: "twice", ...binding });
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]));
    const refused = await scene.send("POST", configMaps, configMap("big", { data }));
    assert.equal(refused.message, 'configmaps "big" is forbidden: its admission policies take too long');
    // Each evaluation but the last, which is one too many, has warned.
    assert.equal(refused.warnings.length, 1);
    assert.match(refused.warnings[0] ?? "", /running out of cost budget/);
    await scene.send("DELETE", `${configMaps}?labelSelector=limits`);
  });

  it("reads a key with the name of a built-in property", async () => {
    await scene.policy("named", {
      failurePolicy: "Ignore",
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "!('secret' in object.data)", message: "no secrets" }],
    });
    for (const name of ["constructor", "toString", "__proto__"]) {
      const data = JSON.parse(`{"secret": "s", "${name}": "x"}`) as Record<string, string>;
      const refused = await scene.send("POST", configMaps, configMap("named", { data }));
      assert.match(refused.message, /no secrets$/, name);
    }
  });
});

const testRequest = Buffer.from(
  createCertificateRequestPem({
    privateKey: generatePrivateKey("ECDSA P-256"),
    subject: { commonName: "r", organizations: [] },
    subjectAltNames: noSubjectAltNames,
  }),
).toString("base64");

describe("a policy with an expression that cannot be compiled", () => {
  it("is refused, whatever writes it", async (t) => {
    const scene = await PolicyScene.start();
    t.after(() => scene.stop());
    const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    const policy = (name: string, expression: string) =>
      policyOf(name, { matchConstraints: matching(["configmaps"]), validations: [{ expression }] });
    const created = await scene.send("POST", policies, policy("known", "true"));
    assert.equal(created.status, 201);
    const refused = async (method: string, below: string, body: object, type = ""): Promise<void> => {
      const { code, message } = await scene.send(method, policies + below, body, { type });
      assert.equal(code, 422, message);
      assert.match(message, /spec\.validations\[0\]\.expression: Invalid value: .*compilation failed/s);
    };
    const [fresh, changed] = [policy("new", "object."), policy("known", "object.")];
    const apply = "application/apply-patch+yaml";
    await refused("POST", "", fresh);
    await refused("PATCH", "/new?fieldManager=f", fresh, apply);
    await refused("PUT", "/known", { ...changed, metadata: created.body["metadata"] });
    await refused("PATCH", "/known", changed, "application/merge-patch+json");
    await refused("PATCH", "/known?fieldManager=f&force=true", changed, apply);
  });
});

describe("a policy in force that can't be read any more", () => {
  const store = new ForgetfulStore();
  let scene: PolicyScene;
  before(async () => void (scene = await PolicyScene.start({ store })));
  after(() => scene.stop());

  it("continues to refuse writes when the server has to load all policies again", async () => {
    await scene.policy("never", { matchConstraints: matching(["configmaps"]), validations: [{ expression: "false" }] });
    const { entries } = await store.range(everyKey);
    const keys = entries.map(({ key }) => key).filter((key) => key.includes("validatingadmission"));
    assert.equal(keys.length, 2);
    for (const key of keys) store.unreadable.add(key);
    await store.forget(async () => {});
    assert.equal((await scene.send("GET", configMaps)).status, 200);
    assert.equal((await scene.send("POST", configMaps, configMap("a"))).code, 422);
  });
});
