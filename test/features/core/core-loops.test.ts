import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { garbageCollector } from "../../../src/features/core/garbage-collection/garbage-collector.ts";
import type { Handler } from "../../../src/machinery/api/http-message.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { apiVersionOf } from "../../../src/machinery/api/resource-type.ts";
import type { OwnerReference } from "../../../src/machinery/api/object-meta.ts";
import { ManualTime } from "../../manual-time.ts";
import { runLoop } from "../../run-loop.ts";
import { resourceReferences } from "../../resource-references.ts";
import type { ConfigMap } from "../../../src/features/core/config-maps.ts";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";

const references = resourceReferences(platformNames);
let server: TestServer;
before(async () => (server = await startTestServer()));

/** A namespace of a test's own, with its default account there. */
async function makeNamespace(): Promise<string> {
  const name = `test-${randomBytes(4).toString("hex")}`;
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {}, status: {} };
  await server.client.resource(references.namespaces).create(namespace);
  await waitForObject(
    server.client,
    references.serviceAccounts,
    { namespace: name, name: "default" },
    (found) => found !== undefined,
  );
  return name;
}

const configMap = (name: string, metadata: Partial<ConfigMap["metadata"]> = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
});

const ownedBy = ({ metadata }: ConfigMap, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  ...more,
});

const isGone = (found: unknown): boolean => found === undefined;

/** The lines of a metric that begin so. */
async function metric(beginning: string, of: TestServer = server): Promise<readonly string[]> {
  const metrics = String((await new InProcess(of).send("/metrics")).body);
  return metrics.split("\n").filter((line) => line.startsWith(beginning));
}

describe("every namespace", () => {
  test("gets its default service account back after it was deleted", async () => {
    const namespace = await makeNamespace();
    const accounts = server.client.resource(references.serviceAccounts, namespace);
    const { uid } = (await accounts.get("default")).metadata;
    await accounts.delete("default");
    const where = { namespace, name: "default" };
    await waitForObject(
      server.client,
      references.serviceAccounts,
      where,
      (found) => found !== undefined && found.metadata.uid !== uid,
    );
  });

  test("has the root CA, which is corrected when it was changed and restored when it was deleted", async () => {
    const namespace = await makeNamespace();
    const where = { namespace, name: platformNames.rootCaConfigMap };
    const configMaps = server.client.resource(references.configMaps, namespace);
    const isRight = (found: ConfigMap | undefined): boolean => found?.data?.["ca.crt"] === server.caCertificates;
    await waitForObject(server.client, references.configMaps, where, isRight);
    await configMaps.patch(where.name, { body: { data: { "ca.crt": "forged", more: "x" } } });
    await waitForObject(
      server.client,
      references.configMaps,
      where,
      (found) => isRight(found) && found?.data?.["more"] === undefined,
    );
    await configMaps.delete(where.name);
    await waitForObject(server.client, references.configMaps, where, isRight);
  });

  test("has the root CA with its description, which comes back", async () => {
    const namespace = await makeNamespace();
    const where = { namespace, name: platformNames.rootCaConfigMap };
    const isDescribed = (found: ConfigMap | undefined): boolean =>
      (found?.metadata.annotations?.["platform.io/description"] ?? "") !== "";
    await waitForObject(server.client, references.configMaps, where, isDescribed);
    const configMaps = server.client.resource(references.configMaps, namespace);
    await configMaps.patch(where.name, { body: { metadata: { annotations: null } } });
    await waitForObject(server.client, references.configMaps, where, isDescribed);
  });
});

describe("the garbage collector", () => {
  test("deletes a dependent when its last owner is gone, and not before", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const [one, two] = await Promise.all([configMaps.create(configMap("one")), configMaps.create(configMap("two"))]);
    await configMaps.create(configMap("child", { ownerReferences: [ownedBy(one), ownedBy(two)] }));
    const where = { namespace, name: "child" };
    await configMaps.delete("one");
    await waitForObject(
      server.client,
      references.configMaps,
      where,
      (child) => child?.metadata.ownerReferences?.length === 1,
    );
    await configMaps.delete("two");
    await waitForObject(server.client, references.configMaps, where, isGone);
  });

  test("deletes an object whose owner never existed, or was another object of the same name", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const owner = await configMaps.create(configMap("owner"));
    const stale = ownedBy(owner, { uid: "00000000-0000-4000-8000-000000000000" });
    await configMaps.create(configMap("child", { ownerReferences: [stale] }));
    await waitForObject(server.client, references.configMaps, { namespace, name: "child" }, isGone);
    assert.notEqual(await configMaps.find("owner"), undefined);
  });

  test("deletes an object whose owner has a name that no object can have", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    for (const [index, name] of ["..", "a%b", "owner/status"].entries()) {
      const ownerReferences = [ownedBy(configMap(name), { uid: "00000000-0000-4000-8000-000000000000" })];
      await configMaps.create(configMap(`child-${index}`, { ownerReferences }));
      await waitForObject(server.client, references.configMaps, { namespace, name: `child-${index}` }, isGone);
    }
  });

  test("deletes the dependents first in a foreground deletion, and theirs before them", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const below = (owner: ConfigMap): OwnerReference[] => [ownedBy(owner, { blockOwnerDeletion: true })];
    const owner = await configMaps.create(configMap("owner"));
    const middle = await configMaps.create(configMap("middle"));
    await configMaps.create(configMap("child", { ownerReferences: below(middle), finalizers: ["example.com/hold"] }));
    // Last, so that whoever knows this owner knows the child.
    await configMaps.patch("middle", { body: { metadata: { ownerReferences: below(owner) } } });
    await configMaps.delete("owner", { propagationPolicy: "Foreground" });
    const child = { namespace, name: "child" };
    await waitForObject(
      server.client,
      references.configMaps,
      child,
      (found) => found?.metadata.deletionTimestamp !== undefined,
    );
    for (const name of ["owner", "middle"])
      assert.notEqual(await configMaps.find(name), undefined, `${name} waits for its dependent`);
    await configMaps.patch("child", { body: { metadata: { finalizers: null } } });
    await waitForObject(server.client, references.configMaps, { namespace, name: "owner" }, isGone);
  });

  test("deletes objects that own themselves or each other in the foreground", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const [self, one, two] = await Promise.all(
      ["self", "one", "two"].map((name) => configMaps.create(configMap(name))),
    );
    assert.ok(self !== undefined && one !== undefined && two !== undefined);
    for (const [owned, owner] of [
      ["self", self],
      ["one", two],
      ["two", one],
    ] as const) {
      const ownerReferences = [ownedBy(owner, { blockOwnerDeletion: true })];
      await configMaps.patch(owned, { body: { metadata: { ownerReferences } } });
    }
    await configMaps.delete("self", { propagationPolicy: "Foreground" });
    await configMaps.delete("one", { propagationPolicy: "Foreground" });
    for (const name of ["self", "one", "two"]) {
      await waitForObject(server.client, references.configMaps, { namespace, name }, isGone);
    }
  });

  test("asks for a few of an object's many owners and dependents at a time", async () => {
    const settings = { "max-requests-inflight": 40, "max-mutating-requests-inflight": 40 };
    const busy = await startTestServer({ storage: "lmdb", settings });
    const configMaps = busy.client.resource(references.configMaps, "default");
    const where = (name: string) => ({ namespace: "default", name });
    const none = configMap("none");
    const ownerReferences = Array.from({ length: 1000 }, (_, n) => ownedBy(none, { uid: `uid-${n}` }));
    await configMaps.create(configMap("child", { ownerReferences }));
    await waitForObject(busy.client, references.configMaps, where("child"), isGone);
    const owner = await configMaps.create(configMap("owner"));
    const held = { ownerReferences: [ownedBy(owner)] };
    await Promise.all(Array.from({ length: 300 }, (_, n) => configMaps.create(configMap(`held-${n}`, held))));
    await configMaps.delete("owner", { propagationPolicy: "Orphan" });
    await waitForObject(busy.client, references.configMaps, where("owner"), isGone);
    const refused = await metric("apiserver_request_terminations_total{", busy);
    assert.ok(refused.length > 0 && refused.every((line) => line.endsWith(" 0")), refused.join("\n"));
  });

  test("spares an object whose owners are taken away while they are asked for", async () => {
    const quiet = await startTestServer({ settings: { controllers: false } });
    const configMaps = quiet.client.resource(references.configMaps, "default");
    const ownerReferences = [ownedBy(configMap("none"), { uid: "00000000-0000-4000-8000-000000000000" })];
    await configMaps.create(configMap("child", { ownerReferences }));
    const handler: Handler = async (request) => {
      if (request.path.endsWith("/configmaps/none"))
        await configMaps.patch("child", { body: { metadata: { ownerReferences: null } } });
      return quiet.handler(request);
    };
    const collector = garbageCollector({ resources: [references.configMaps] });
    const loop = await runLoop({ ...quiet, handler }, collector, { time: new ManualTime() });
    await loop.queue.whenIdle();
    const child = await configMaps.find("child");
    await loop.stop();
    await quiet.stop();
    assert.notEqual(child, undefined);
    assert.equal(child?.metadata.ownerReferences, undefined);
  });

  test("spares an object whose owner it cannot look for, and deletes one whose owner is in another namespace", async () => {
    const quiet = await startTestServer({ settings: { controllers: false } });
    const configMaps = quiet.client.resource(references.configMaps, "default");
    const clusterRoles = quiet.client.resource(references.clusterRoles);
    // The collector sees objects by their namespaces: those of this one first.
    const first = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" }, spec: {}, status: {} };
    await quiet.client.resource(references.namespaces).create(first);
    const elsewhere = quiet.client.resource(references.configMaps, "a");
    const alone = await elsewhere.create(configMap("alone"));
    // The collector knows this one, because it has an owner itself.
    const known = await elsewhere.create(configMap("known", { ownerReferences: [ownedBy(alone)] }));
    const none = ownedBy(configMap("none"), { uid: "00000000-0000-4000-8000-000000000000" });
    const owners = {
      "of-other-kind": { ...none, kind: "Gadget" },
      "of-other-group": { ...none, apiVersion: "example.com/v1" },
      "of-nobody": none,
      "of-far-owner": ownedBy(alone),
      "of-far-owner-that-is-known": ownedBy(known),
    };
    for (const [name, owner] of Object.entries(owners)) {
      await configMaps.create(configMap(name, { ownerReferences: [owner] }));
    }
    for (const [name, owner] of Object.entries({
      "of-namespaced": none,
      "of-nobody": { ...none, kind: "ClusterRole", apiVersion: apiVersionOf(references.clusterRoles) },
    })) {
      const metadata = { name, ownerReferences: [owner] };
      await clusterRoles.create({ apiVersion: "", kind: "ClusterRole", metadata, rules: [] });
    }
    const collector = garbageCollector({ resources: [references.configMaps, references.clusterRoles] });
    const loop = await runLoop(quiet, collector, { time: new ManualTime() });
    await loop.queue.whenIdle();
    await loop.stop();
    const left = (await configMaps.list()).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(
      left.filter((name) => name?.startsWith("of-")),
      ["of-other-group", "of-other-kind"],
    );
    assert.notEqual(await clusterRoles.find("of-namespaced"), undefined);
    assert.equal(await clusterRoles.find("of-nobody"), undefined);
    await quiet.stop();
  });

  test("removes the owner references of dependents when the owner is deleted with the policy Orphan", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const owner = await configMaps.create(configMap("owner"));
    await configMaps.create(configMap("child", { ownerReferences: [ownedBy(owner)] }));
    await configMaps.delete("owner", { propagationPolicy: "Orphan" });
    await waitForObject(server.client, references.configMaps, { namespace, name: "owner" }, isGone);
    const child = await configMaps.get("child");
    assert.equal(child.metadata.ownerReferences, undefined);
    assert.equal(child.metadata.deletionTimestamp, undefined);
  });

  test("keeps the dependents of an object that it deletes if the object has the finalizer orphan", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const owner = await configMaps.create(configMap("owner"));
    const middle = configMap("middle", { ownerReferences: [ownedBy(owner)], finalizers: ["orphan"] });
    const ownerReferences = [ownedBy(await configMaps.create(middle))];
    await configMaps.create(configMap("child", { ownerReferences }));
    await configMaps.delete("owner");
    await waitForObject(server.client, references.configMaps, { namespace, name: "middle" }, isGone);
    assert.equal((await configMaps.get("child")).metadata.ownerReferences, undefined);
  });

  test("deletes the dependents first of an object that it deletes if the object has the finalizer foregroundDeletion", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const owner = await configMaps.create(configMap("owner"));
    const middle = configMap("middle", { ownerReferences: [ownedBy(owner)], finalizers: ["foregroundDeletion"] });
    const ownerReferences = [ownedBy(await configMaps.create(middle), { blockOwnerDeletion: true })];
    await configMaps.create(configMap("child", { ownerReferences, finalizers: ["example.com/hold"] }));
    await configMaps.delete("owner");
    const isBeingDeleted = (found: ConfigMap | undefined): boolean => found?.metadata.deletionTimestamp !== undefined;
    await waitForObject(server.client, references.configMaps, { namespace, name: "child" }, isBeingDeleted);
    assert.deepEqual((await configMaps.get("middle")).metadata.finalizers, ["foregroundDeletion"]);
    await configMaps.patch("child", { body: { metadata: { finalizers: null } } });
    await waitForObject(server.client, references.configMaps, { namespace, name: "middle" }, isGone);
  });

  test("deletes an object that names its owner wrongly, whether or not the owner has an owner itself", async () => {
    const namespace = await makeNamespace();
    const configMaps = server.client.resource(references.configMaps, namespace);
    const top = await configMaps.create(configMap("top"));
    const owned = await configMaps.create(configMap("owned", { ownerReferences: [ownedBy(top)] }));
    for (const [index, wrong] of [
      ownedBy(top, { name: "other" }),
      ownedBy(owned, { name: "other" }),
      ownedBy(owned, { kind: "Secret" }),
    ].entries()) {
      await configMaps.create(configMap(`child-${index}`, { ownerReferences: [wrong] }));
      await waitForObject(server.client, references.configMaps, { namespace, name: `child-${index}` }, isGone);
    }
    assert.notEqual(await configMaps.find("owned"), undefined);
  });
});

describe("a service account token Secret", () => {
  const secret = (name: string, account = "robot") => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, annotations: { "platform.io/service-account.name": account } },
    type: "platform.io/service-account-token",
  });
  const namespaceWithAccount = async (): Promise<string> => {
    const namespace = await makeNamespace();
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    await server.client.resource(references.serviceAccounts, namespace).create(account);
    return namespace;
  };
  const waitUntilFilled = (where: { readonly namespace: string; readonly name: string }) =>
    waitForObject(server.client, references.secrets, where, (found) => found?.data?.["token"] !== undefined);

  test("is deleted when its account's name is impossible", async () => {
    const namespace = await makeNamespace();
    for (const [index, account] of ["..", "a%b", "default/token"].entries()) {
      await server.client.resource(references.secrets, namespace).create(secret(`none-${index}`, account));
      await waitForObject(server.client, references.secrets, { namespace, name: `none-${index}` }, isGone);
    }
  });

  test("that is immutable does not change, and is not tried again", async () => {
    const namespace = await namespaceWithAccount();
    const secrets = server.client.resource(references.secrets, namespace);
    const retries = 'workqueue_retries_total{name="serviceaccount-token"}';
    const before = await metric(retries);
    assert.equal(before.length, 1);
    await secrets.create({ ...secret("frozen"), immutable: true });
    await secrets.create(secret("filled"));
    await waitUntilFilled({ namespace, name: "filled" });
    assert.equal((await secrets.get("frozen")).data, undefined);
    assert.deepEqual(await metric(retries), before);
  });

  test("gets a token that authenticates as its account until the Secret is deleted", async () => {
    const namespace = await namespaceWithAccount();
    const secrets = server.client.resource(references.secrets, namespace);
    await secrets.create(secret("token"));
    const where = { namespace, name: "token" };
    const filled = await waitUntilFilled(where);
    const token = Buffer.from(filled?.data?.["token"] ?? "", "base64").toString("utf8");
    assert.equal(await reviewedUser(token), `system:serviceaccount:${namespace}:robot`);
    await secrets.delete("token");
    assert.equal(await reviewedUser(token), undefined);
  });

  test("gets its CA and namespace back when they were changed, and keeps its token", async () => {
    const namespace = await namespaceWithAccount();
    const secrets = server.client.resource(references.secrets, namespace);
    await secrets.create(secret("token"));
    const where = { namespace, name: "token" };
    const filled = await waitUntilFilled(where);
    for (const key of ["ca.crt", "namespace"]) {
      await secrets.patch("token", { body: { data: { [key]: "Zm9yZ2Vk" } } });
      const isRight = (found: typeof filled): boolean => found?.data?.[key] === filled?.data?.[key];
      const { data } = (await waitForObject(server.client, references.secrets, where, isRight)) ?? {};
      assert.deepEqual(data, filled?.data);
    }
  });

  test("is deleted when it is of an account that another one of the name has replaced", async () => {
    const namespace = await namespaceWithAccount();
    const stale = secret("stale");
    const annotations = { ...stale.metadata.annotations, "platform.io/service-account.uid": "another" };
    await server.client
      .resource(references.secrets, namespace)
      .create({ ...stale, metadata: { ...stale.metadata, annotations } });
    await waitForObject(server.client, references.secrets, { namespace, name: "stale" }, isGone);
  });

  test("is filled when it leaves its token and its account's uid empty", async () => {
    const namespace = await namespaceWithAccount();
    const empty = secret("empty");
    const annotations = { ...empty.metadata.annotations, "platform.io/service-account.uid": "" };
    await server.client
      .resource(references.secrets, namespace)
      .create({ ...empty, metadata: { ...empty.metadata, annotations }, data: { token: "" } });
    const where = { namespace, name: "empty" };
    await waitForObject(server.client, references.secrets, where, (found) => (found?.data?.["token"] ?? "") !== "");
  });

  test("is no longer listed by its account after it was deleted", async () => {
    const namespace = await namespaceWithAccount();
    const secrets = server.client.resource(references.secrets, namespace);
    const accounts = server.client.resource(references.serviceAccounts, namespace);
    await accounts.patch("robot", { body: { secrets: [{ name: "token" }, { name: "other" }] } });
    await secrets.create(secret("token"));
    await waitUntilFilled({ namespace, name: "token" });
    await secrets.delete("token");
    const where = { namespace, name: "robot" };
    await waitForObject(server.client, references.serviceAccounts, where, (found) => found?.secrets?.length === 1);
    assert.deepEqual((await accounts.get("robot")).secrets, [{ name: "other" }]);
  });

  test("is deleted with its account", async () => {
    const namespace = await namespaceWithAccount();
    await server.client.resource(references.secrets, namespace).create(secret("token"));
    const where = { namespace, name: "token" };
    await waitUntilFilled(where);
    await server.client.resource(references.serviceAccounts, namespace).delete("robot");
    await waitForObject(server.client, references.secrets, where, isGone);
  });

  async function reviewedUser(token: string): Promise<string | undefined> {
    const review = await server.client.request<{ status: { user?: { username?: string } } }>(
      "/apis/authentication.platform.io/v1/tokenreviews",
      { method: "POST", body: { apiVersion: "authentication.platform.io/v1", kind: "TokenReview", spec: { token } } },
    );
    return review.status.user?.username;
  }
});

test("an aggregated ClusterRole has the rules of the roles that it selects, as long as they exist and are selected", async () => {
  const roles = server.client.resource(references.clusterRoles);
  const suffix = randomBytes(4).toString("hex");
  const [whole, later, part] = [`whole-${suffix}`, `later-${suffix}`, `part-${suffix}`];
  const apiVersion = "rbac.authorization.platform.io/v1";
  const readMaps = { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] };
  const key = `example.com/${suffix}`;
  const labels = { [key]: "true" };
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] };
  const create = (name: string) =>
    roles.create({ apiVersion, kind: "ClusterRole", metadata: { name }, rules: null, aggregationRule });
  const becomes = (name: string, verbs: readonly string[]) =>
    waitForObject(server.client, references.clusterRoles, { name }, (found) =>
      isDeepStrictEqual(found?.rules?.flatMap((rule) => rule.verbs) ?? [], verbs),
    );
  await roles.create({ apiVersion, kind: "ClusterRole", metadata: { name: part, labels }, rules: [readMaps] });
  await create(whole);
  await becomes(whole, ["get"]);
  const managers = (await roles.get(whole)).metadata.managedFields ?? [];
  assert.deepEqual(
    managers.filter(({ fieldsV1 = {} }) => "f:rules" in fieldsV1).map((one) => [one.manager, one.operation]),
    [["clusterrole-aggregation-controller", "Apply"]],
  );
  await roles.patch(part, { body: { rules: [{ ...readMaps, verbs: ["list"] }] } });
  await becomes(whole, ["list"]);
  await roles.patch(whole, { body: { rules: null } });
  await becomes(whole, ["list"]);
  // When this one has its rules, the loop has seen its own last write: nothing but the label makes it look again.
  await create(later);
  await becomes(later, ["list"]);
  await roles.patch(part, { body: { metadata: { labels: { [key]: null } } } });
  await becomes(whole, []);
  await roles.patch(part, { body: { metadata: { labels } } });
  await becomes(whole, ["list"]);
  await roles.delete(part);
  await becomes(whole, []);
});

test("an aggregated ClusterRole that selects nothing keeps the rules that were written into it", async () => {
  const roles = server.client.resource(references.clusterRoles);
  const suffix = randomBytes(4).toString("hex");
  const [kept, part, next] = [`kept-${suffix}`, `part-${suffix}`, `next-${suffix}`];
  const [key, apiVersion, kind] = [`example.com/${suffix}`, "rbac.authorization.platform.io/v1", "ClusterRole"];
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }];
  const selecting = (value: string) => ({ clusterRoleSelectors: [{ matchLabels: { [key]: value } }] });
  await roles.create({ apiVersion, kind, metadata: { name: kept }, rules, aggregationRule: selecting("none") });
  await roles.create({ apiVersion, kind, metadata: { name: part, labels: { [key]: "part" } }, rules });
  await roles.create({ apiVersion, kind, metadata: { name: next }, rules: null, aggregationRule: selecting("part") });
  // The loop takes one role after the other: when this one has its rules, the first one has been looked at.
  await waitForObject(server.client, references.clusterRoles, { name: next }, (found) => found?.rules?.length === 1);
  assert.deepEqual((await roles.get(kept)).rules, rules);
});
