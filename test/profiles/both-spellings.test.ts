import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { groupNames, kubernetesNames, namesFor, platformNames } from "../../src/machinery/api/names.ts";
import { apiVersionOf } from "../../src/machinery/api/resource-type.ts";
import { servedDefinitions } from "../../src/machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../src/machinery/registry/definition/resource-definition.ts";
import { storedResources } from "../../src/server/served-kinds.ts";
import { profileNames } from "../conformance/profile-names.ts";
import { waitForDefaultAccount } from "../wait-for-default-account.ts";
import { ApiRequester } from "./api-request.ts";
import type { ApiRequest } from "./api-request.ts";
import { sampleFields } from "./sample-objects.ts";

const names = namesFor("platform", { hasUpstreamNames: true });
const patch = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";

/** The same request in upstream's spelling: its groups, and no other word of it. */
const inUpstream = (sent: ApiRequest): ApiRequest => ({
  ...sent,
  path: respelled(sent.path),
  ...(sent.body !== undefined && { body: JSON.parse(respelled(JSON.stringify(sent.body))) }),
});
const respelled = (text: string): string =>
  groupNames.reduce((all, group) => all.replaceAll(`${group}.platform.io`, `${group}.k8s.io`), text);

/** Without what differs from request to request, besides the spelling: in JSON, and in YAML. */
const comparable = (text: string): string =>
  profileNames.kubernetes.inbound(text).replaceAll(/\b(uid|resourceVersion|token)("?: ?)"?[^"\s,}]+"?/g, '$1$2""');

describe("a server with both spellings", () => {
  let api: ApiRequester;
  before(async () => {
    // The clock stands still: times are in both answers, and decide the order of managedFields.
    const startedAt = Date.now();
    api = await ApiRequester.toNewServer({ clock: { now: () => startedAt } });
    await waitForDefaultAccount(api.server);
  });
  after(() => api.stop());

  const sendJson = async (sent: ApiRequest) => (await api.send(sent)).json();

  /** Sends a request in both spellings. Their answers must be the same but for the spelling. Returns both. */
  async function sendInBoth(sent: ApiRequest, { status }: { readonly status: number }) {
    const own = await api.send(sent);
    const upstream = await api.send(inUpstream(sent));
    const what = `${sent.method ?? "GET"} ${sent.path}`;
    assert.equal(own.status, status, `${what}: ${own.bytes.toString()}`);
    assert.equal(upstream.status, status, `${what}: ${upstream.bytes.toString()}`);
    assert.equal(comparable(upstream.bytes.toString()), comparable(own.bytes.toString()), what);
    const foreign = /(authentication|authorization|certificates|coordination|events)\.platform\.io/;
    const asWritten = /apiGroup|managedFields|description/;
    if (!asWritten.test(upstream.bytes.toString())) assert.doesNotMatch(upstream.bytes.toString(), foreign, what);
    return [own, upstream] as const;
  }

  const spelledTwice = storedResources(names)
    .flatMap((stored) => servedDefinitions(stored))
    .filter(({ group }) => group !== names.ownGroup(group) || respelled(group) !== group)
    .filter(({ group }) => group === names.ownGroup(group));

  for (const definition of spelledTwice) {
    describe(`answers the same about ${definition.kind} ${definition.version}`, () => testKind(definition));
  }

  function testKind(definition: ResourceDefinition) {
    const { group, kind, plural, scope, subresources = {} } = definition;
    const apiVersion = apiVersionOf(definition);
    const collection = `/apis/${apiVersion}/${scope === "Namespaced" ? "namespaces/default/" : ""}${plural}`;
    const name = `sample-${definition.version}`;
    const item = `${collection}/${name}`;
    const sample = (metadata: object = {}) => ({
      apiVersion,
      kind,
      metadata: { name, ...metadata },
      ...sampleFields(platformNames, { kind, group }),
    });
    before(async () => {
      assert.equal((await api.send({ method: "POST", path: collection, body: sample() })).status, 201);
    });
    after(() => api.send({ method: "DELETE", path: item }));

    it("to every verb", async () => {
      const accepts = [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      ];
      for (const accept of accepts) {
        await sendInBoth({ path: item, headers: { accept } }, { status: 200 });
        const list = accept.replace("ObjectMetadata", "ObjectMetadataList");
        await sendInBoth({ path: collection, headers: { accept: list } }, { status: 200 });
      }
      const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
      await sendInBoth({ path: `${item}?includeObject=Object`, headers: { accept: table } }, { status: 200 });
      await sendInBoth({ path: `${item}-missing` }, { status: 404 });
      await sendInBoth({ method: "POST", path: collection, body: sample() }, { status: 409 });
      await sendInBoth({ method: "POST", path: collection, body: sample({ name: "bad/name" }) }, { status: 422 });
      const fresh = sample({ name: `${name}-fresh` });
      await sendInBoth({ method: "POST", path: `${collection}?dryRun=All`, body: fresh }, { status: 201 });
      const current = await sendJson({ path: item });
      const changed = { ...current, metadata: { ...current.metadata, labels: { a: "b" } } };
      await sendInBoth({ method: "PUT", path: `${item}?dryRun=All`, body: changed }, { status: 200 });
      const late = { ...changed, metadata: { ...changed.metadata, resourceVersion: "1" } };
      await sendInBoth({ method: "PUT", path: item, body: late }, { status: 409 });
      for (const [type, body] of [
        [patch, { metadata: { labels: { a: "b" } } }],
        ["application/strategic-merge-patch+json", { metadata: { labels: { a: "b" } } }],
        ["application/json-patch+json", [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]],
        [apply, { apiVersion, kind, metadata: { name, labels: { a: "b" } } }],
      ] as const) {
        const path = `${item}?dryRun=All&fieldManager=m`;
        await sendInBoth({ method: "PATCH", path, headers: { "content-type": type }, body }, { status: 200 });
      }
      await sendInBoth({ method: "DELETE", path: `${item}?dryRun=All` }, { status: 200 });
      const all = `${collection}?dryRun=All&fieldSelector=metadata.name%3D${name}`;
      await sendInBoth({ method: "DELETE", path: all }, { status: 200 });
      const foreign = { apiVersion: "v1", kind, metadata: { name } };
      await sendInBoth({ method: "POST", path: collection, body: foreign }, { status: 400 });
      // The path of an unknown version is not served.
      await sendInBoth({ path: item.replace(`/${definition.version}/`, "/v9/") }, { status: 404 });
    });

    it("to every subresource", async () => {
      for (const subresource of Object.keys(subresources)) {
        const path = `${item}/${subresource}`;
        await sendInBoth({ path }, { status: 200 });
        const current = await sendJson({ path });
        await sendInBoth({ method: "PUT", path: `${path}?dryRun=All`, body: current }, { status: 200 });
        const headers = { "content-type": patch };
        await sendInBoth({ method: "PATCH", path: `${path}?dryRun=All`, headers, body: {} }, { status: 200 });
      }
      await sendInBoth({ path: `${item}/nothing` }, { status: 404 });
    });

    it("to a user without permissions", async () => {
      const headers = { "impersonate-user": "nobody-in-particular" };
      for (const [method, path] of [
        ["GET", item],
        ["GET", collection],
        ["DELETE", item],
        ["DELETE", collection],
      ] as const) {
        if (kind === "ClusterTrustBundle" && method === "GET") continue; // everyone may read them
        await sendInBoth({ method, path, headers }, { status: 403 });
      }
      const body = sample({ name: `${name}-fresh` });
      await sendInBoth({ method: "POST", path: collection, headers, body }, { status: 403 });
    });

    it("to a user with a permission in either spelling, for every verb and subresource", async () => {
      const targets = [plural, ...Object.keys(subresources).map((subresource) => `${plural}/${subresource}`)];
      const roles = `/apis/rbac.authorization.k8s.io/v1/clusterroles`;
      const bindings = roles.replace("clusterroles", "clusterrolebindings");
      const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
      for (const ruleGroup of [group, respelled(group)]) {
        const granted = `may-${ruleGroup.replaceAll(".", "-")}-${plural}-${definition.version}`;
        const rules = [{ verbs, apiGroups: [ruleGroup], resources: targets }];
        await api.send({ method: "POST", path: roles, body: { metadata: { name: granted }, rules } });
        const roleRef = { kind: "ClusterRole", name: granted, apiGroup: "rbac.authorization.k8s.io" };
        const subjects = [{ kind: "User", name: granted, apiGroup: "rbac.authorization.platform.io" }];
        const bound = await api.send({
          method: "POST",
          path: bindings,
          body: { metadata: { name: granted }, roleRef, subjects },
        });
        assert.equal(bound.status, 201, bound.bytes.toString());
        const headers = { "impersonate-user": granted };
        for (const target of targets) {
          const [resource, subresource = ""] = target.split("/");
          for (const verb of verbs) {
            for (const requestedGroup of [group, respelled(group)]) {
              const spec = { resourceAttributes: { verb, group: requestedGroup, resource, subresource } };
              const path = "/apis/authorization.platform.io/v1/selfsubjectaccessreviews";
              const body = { spec };
              const review = await sendJson({ method: "POST", path, headers, body });
              assert.equal(review.status.allowed, true, `${ruleGroup}: ${verb} ${target} in ${requestedGroup}`);
            }
          }
        }
        // Through the chain, not only by a review.
        await sendInBoth({ path: collection, headers }, { status: 200 });
        for (const path of [collection, respelled(collection)]) {
          const watched = await api.open({ path: `${path}?watch=true`, headers });
          assert.equal(watched.statusCode, 200);
          watched.destroy();
        }
        await sendInBoth({ method: "DELETE", path: `${item}?dryRun=All`, headers }, { status: 200 });
        for (const role of [roles, bindings]) await api.send({ method: "DELETE", path: `${role}/${granted}` });
      }
    });

    it("to a watch in one spelling for writes in the other", async () => {
      const { metadata } = await sendJson({ path: collection });
      const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`;
      const watched = await api.open({ path: `${respelled(collection)}${query}` });
      const lines = createInterface({ input: watched })[Symbol.asyncIterator]();
      await api.send({
        method: "PATCH",
        path: item,
        headers: { "content-type": patch },
        body: { metadata: { labels: { changed: "yes" } } },
      });
      const event = JSON.parse((await lines.next()).value ?? "null");
      assert.equal(event.type, "MODIFIED");
      assert.equal(event.object.apiVersion, respelled(apiVersion));
      watched.destroy();
    });
  }

  it("lists both spellings in discovery and OpenAPI, upstream's first", async () => {
    const { groups } = await sendJson({ path: "/apis" });
    const served: string[] = groups.map((group: { name: string }) => group.name);
    const firstOwn = served.findIndex((group) => group.endsWith("platform.io"));
    assert.ok(served.slice(firstOwn).every((group) => group.endsWith("platform.io")));
    assert.deepEqual(
      served.slice(0, firstOwn),
      served
        .slice(firstOwn)
        .filter((group) => group !== names.group("signet"))
        .map(respelled),
    );
    for (const group of served.slice(firstOwn).filter((one) => one !== names.group("signet"))) {
      const { versions } = await sendJson({ path: `/apis/${group}` });
      for (const { groupVersion } of versions) {
        const own = await sendJson({ path: `/apis/${groupVersion}` });
        const upstream = await sendJson({ path: `/apis/${respelled(groupVersion)}` });
        for (const one of [...own.resources, ...upstream.resources]) {
          delete one.storageVersionHash;
          // One group alone has them: kubectl warns of names that could mean two resources.
          delete one.shortNames;
        }
        assert.deepEqual(upstream, JSON.parse(respelled(JSON.stringify(own))));
        const described = await sendJson({ path: `/openapi/v3/apis/${respelled(groupVersion)}` });
        assert.doesNotMatch(JSON.stringify(described.paths), new RegExp(group.replaceAll(".", "\\.")));
      }
    }
    const { paths } = await sendJson({ path: "/openapi/v2" });
    const ids = Object.values<Record<string, { operationId?: string }>>(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    );
    assert.equal(new Set(ids).size, ids.length, "every operation has an id of its own");
  });

  it("answers reviews and token requests in the version of their request", async () => {
    const reviews = [
      ["authentication", "SelfSubjectReview", {}],
      ["authentication", "TokenReview", { spec: { token: "x" } }],
      ["authorization", "SelfSubjectAccessReview", { spec: { nonResourceAttributes: { verb: "get", path: "/" } } }],
      ["authorization", "SelfSubjectRulesReview", { spec: { namespace: "default" } }],
      [
        "authorization",
        "SubjectAccessReview",
        { spec: { user: "u", nonResourceAttributes: { verb: "get", path: "/" } } },
      ],
    ] as const;
    for (const [group, kind, fields] of reviews) {
      const apiVersion = `${group}.platform.io/v1`;
      const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
      const [own, upstream] = await sendInBoth(
        { method: "POST", path, body: { apiVersion, kind, ...fields } },
        { status: 201 },
      );
      assert.equal(own.json().apiVersion, apiVersion);
      assert.equal(upstream.json().apiVersion, `${group}.k8s.io/v1`);
      await sendInBoth({ method: "POST", path, body: { kind: "Nonsense" } }, { status: 400 });
    }
    const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const sent = { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: {} };
    const [own, upstream] = await sendInBoth({ method: "POST", path, body: sent }, { status: 201 });
    assert.equal(own.json().apiVersion, "authentication.platform.io/v1");
    assert.equal(upstream.json().apiVersion, "authentication.k8s.io/v1");
    const short = { ...sent, spec: { expirationSeconds: 1 } };
    await sendInBoth({ method: "POST", path, body: short }, { status: 422 });
    const wrong = { ...sent, apiVersion: "authentication.example.com/v1" };
    assert.equal((await api.send({ method: "POST", path, body: wrong })).status, 400);
    const unsaid = await sendJson({ method: "POST", path, body: { spec: {} } });
    assert.equal(unsaid.apiVersion, "authentication.platform.io/v1");
  });

  it("shows a user's extra keys in the spelling of the question, and the rules too", async () => {
    const headers = { "impersonate-user": "ann", "impersonate-extra-authentication.kubernetes.io%2fpod-name": "p" };
    for (const one of [platformNames, kubernetesNames]) {
      const path = `/apis/${one.group("authentication")}/v1/selfsubjectreviews`;
      const { status } = await sendJson({ method: "POST", path, headers, body: {} });
      assert.deepEqual(status.userInfo.extra, { [one.subdomainKey("authentication", "pod-name")]: ["p"] });
      const rulesPath = `/apis/${one.group("authorization")}/v1/selfsubjectrulesreviews`;
      const rules = await sendJson({
        method: "POST",
        path: rulesPath,
        headers,
        body: { spec: { namespace: "default" } },
      });
      const groups = rules.status.resourceRules.flatMap(({ apiGroups }: { apiGroups: string[] }) => apiGroups);
      assert.ok(groups.includes(one.group("authorization")));
      assert.ok(
        !groups.some(
          (group: string) =>
            one.ownGroup(group) !== group || group.endsWith(one === platformNames ? "k8s.io" : "platform.io"),
        ),
      );
    }
  });
});
