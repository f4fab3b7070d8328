import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { configMap, matching, PolicyScene } from "./policy-scene.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const accounts = "/api/v1/namespaces/default/serviceaccounts";

describe("a policy that selects writes", () => {
  let scene: PolicyScene;
  before(async () => void (scene = await PolicyScene.start()));
  afterEach(() => scene.clear());
  after(() => scene.stop());

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
});
