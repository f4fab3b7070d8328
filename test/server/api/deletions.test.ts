import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { Answer } from "../in-process.ts";

let server: TestServer;
let api: InProcess;
before(async () => {
  // Without loops nothing brings back a deleted `default` account while a test counts what is left.
  server = await startTestServer({ settings: { controllers: false } });
  api = new InProcess(server);
});

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const leases = "/apis/coordination.platform.io/v1/namespaces/default/leases";
const make = (collection: string, name: string, metadata: object = {}): Promise<Answer> =>
  api.json(collection, { method: "POST", body: { metadata: { name, ...metadata } } });
const finalizers = ["example.com/keeps-it"];

describe("a deletion", () => {
  for (const [title, body, query, expected] of [
    ["asks for dependents to go too", { orphanDependents: false }, "", 202],
    ["asks so in the query", undefined, "?orphanDependents=false", 202],
    ["asks so in a dry run", { orphanDependents: false, dryRun: ["All"] }, "", 202],
    ["asks for orphans", { orphanDependents: true }, "", 200],
    ["names the policy", { propagationPolicy: "Background" }, "", 200],
    ["names the other policy", { propagationPolicy: "Foreground" }, "", 200],
    ["asks for nothing", undefined, "", 200],
  ] as const) {
    it(`of an object that a finalizer keeps is answered ${expected} when it ${title}`, async () => {
      for (const collection of [accounts, leases]) {
        const name = `kept-${title.replaceAll(" ", "-")}`;
        const { kind } = await make(collection, name, { finalizers });
        const answer = await api.send(`${collection}/${name}${query}`, { method: "DELETE", body });
        assert.deepEqual([answer.status, (JSON.parse(String(answer.body)) as Answer).kind], [expected, kind]);
      }
    });
  }

  it("of a namespace that asks for dependents to go too waits for them, as upstream's does", async () => {
    const deleted = async (name: string, body: object): Promise<unknown> => {
      await make("/api/v1/namespaces", name);
      const answer = await api.send(`/api/v1/namespaces/${name}`, { method: "DELETE", body });
      return (JSON.parse(String(answer.body)) as { metadata: { finalizers?: string[] } }).metadata.finalizers;
    };
    assert.deepEqual(await deleted("without-orphans", { orphanDependents: false }), ["foregroundDeletion"]);
    assert.equal(await deleted("in-background", { propagationPolicy: "Background" }), undefined);
  });

  it("of a namespace answers the namespace, also when it removes it", async () => {
    const target = "/api/v1/namespaces/unheld";
    const { kind } = await make("/api/v1/namespaces", "unheld");
    await api.json(`${target}/finalize`, { method: "PUT", body: { metadata: { name: "unheld" }, spec: {} } });
    const remove = async (): Promise<unknown> => (await api.json(target, { method: "DELETE" })).kind;
    assert.deepEqual([await remove(), await remove(), await remove()], [kind, kind, "Status"]);
  });

  it("that removes the object at once is answered 200, whatever the options are", async () => {
    for (const collection of [accounts, leases]) {
      await make(collection, "gone");
      const options = { method: "DELETE", body: { orphanDependents: false } };
      assert.equal((await api.send(`${collection}/gone`, options)).status, 200);
    }
  });

  it("with a failed precondition names the kind, and for a namespace the resource, as upstream does", async () => {
    await make("/api/v1/namespaces", "conditional");
    const { metadata } = await make(leases, "conditional");
    const remove = (target: string, preconditions: object): Promise<Answer> =>
      api.json(target, { method: "DELETE", body: { preconditions } });
    for (const preconditions of [
      { uid: "other" },
      { resourceVersion: "1" },
      { uid: metadata.uid, resourceVersion: "1" },
    ]) {
      const ofLease = await remove(`${leases}/conditional`, preconditions);
      assert.deepEqual(
        [ofLease.code, ofLease.details],
        [409, { name: "conditional", group: "coordination.platform.io", kind: "Lease" }],
      );
      const ofNamespace = await remove("/api/v1/namespaces/conditional", preconditions);
      assert.deepEqual([ofNamespace.code, ofNamespace.details], [409, { name: "conditional", kind: "namespaces" }]);
      assert.match(
        ofNamespace.message,
        /"conditional": Precondition failed: (?:UID|ResourceVersion) in precondition: /,
      );
    }
  });
});

describe("a deletion of a collection in pages", () => {
  it("has a Status with the continue token and the remaining count", async () => {
    await make("/api/v1/namespaces", "paged");
    const collection = "/api/v1/namespaces/paged/serviceaccounts";
    for (const name of ["a", "b", "c", "d", "e"]) await make(collection, name, { labels: { of: "test" } });
    const remove = (query: string): Promise<Answer> => api.json(`${collection}?${query}`, { method: "DELETE" });
    const left: (number | undefined)[] = [];
    let token = "";
    do {
      const page = await remove(
        `limit=2&continue=${token}&fieldSelector=metadata.name!=other`.replace("&continue=&", "&"),
      );
      assert.equal(page.kind, "Status");
      token = page.metadata.continue ?? "";
      left.push(page.metadata.remainingItemCount);
    } while (token !== "");
    assert.deepEqual(left, [undefined, undefined, undefined]);
    const names = ({ items }: Answer): string[] => items.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(await api.json(`${collection}?labelSelector=of=test`)), []);

    for (const name of ["a", "b", "c"]) await make(collection, name);
    const first = await remove("limit=1");
    assert.equal(first.metadata.remainingItemCount, 2);
    const second = await remove(`limit=1&continue=${first.metadata.continue ?? ""}`);
    assert.equal(second.metadata.remainingItemCount, 1);
  });
});

describe("a deletion of a collection at a resourceVersion", () => {
  it("deletes what was there at that version, with preconditions in a body", async () => {
    await make("/api/v1/namespaces", "versioned");
    const collection = "/apis/coordination.platform.io/v1/namespaces/versioned/leases";
    const { metadata } = await make(collection, "before");
    await make(collection, "after");
    const remove = (query: string): Promise<Answer> =>
      api.json(`${collection}?${query}`, { method: "DELETE", body: { kind: "DeleteOptions", apiVersion: "v1" } });
    const names = ({ items }: Answer): string[] => items.map(({ metadata: { name } }) => name);
    const exactly = `resourceVersion=${metadata.resourceVersion}`;
    assert.deepEqual(names(await remove(exactly)), ["before"]);
    assert.deepEqual(names(await remove(exactly)), ["before"], "which is gone by now");
    assert.deepEqual(names(await remove(`${exactly}&resourceVersionMatch=NotOlderThan`)), ["after"]);
    await make(collection, "last");
    assert.deepEqual(names(await remove("resourceVersion=0")), ["last"]);
  });

  it("deletes what is there at that version or later when it names one object, or has a negative limit", async () => {
    await make("/api/v1/namespaces", "current");
    const collection = "/apis/coordination.platform.io/v1/namespaces/current/leases";
    const { metadata } = await make(collection, "first");
    await make(collection, "second");
    await make(collection, "third");
    const remove = async (query: string): Promise<string[]> => {
      const path = `${collection}?resourceVersion=${metadata.resourceVersion}&${query}`;
      const { items } = await api.json(path, { method: "DELETE", body: { kind: "DeleteOptions", apiVersion: "v1" } });
      return items.map((item) => item.metadata.name);
    };
    assert.deepEqual(await remove("fieldSelector=metadata.name%3Dsecond"), ["second"]);
    assert.deepEqual(await remove("limit=-1"), ["first", "third"]);
  });
});

describe("OpenAPI", () => {
  const kinds: readonly (readonly [openApi: string, collection: string, object: object])[] = [
    ["api/v1", accounts, {}],
    ["api/v1", "/api/v1/namespaces/default/configmaps", {}],
    ["api/v1", "/api/v1/namespaces/default/secrets", {}],
    ["apis/coordination.platform.io/v1", leases, {}],
    ["apis/rbac.authorization.platform.io/v1", "/apis/rbac.authorization.platform.io/v1/clusterroles", { rules: [] }],
    [
      "apis/certificates.platform.io/v1beta1",
      "/apis/certificates.platform.io/v1beta1/clustertrustbundles",
      { spec: { trustBundle: "" } },
    ],
  ];

  interface Document {
    readonly paths: Readonly<
      Record<
        string,
        {
          readonly delete: {
            readonly responses: Readonly<
              Record<
                "200",
                { readonly content: { readonly "application/json": { readonly schema: { readonly $ref: string } } } }
              >
            >;
          };
        }
      >
    >;
  }

  for (const [openApi, collection, object] of kinds) {
    it(`says what a deletion of ${collection} answers`, async () => {
      const { paths } = await api.json<Document>(`/openapi/v3/${openApi}`);
      const described = collection.replace("/namespaces/default", "/namespaces/{namespace}");
      const promised = (path: string): string | undefined =>
        paths[path]?.delete.responses["200"].content["application/json"].schema.$ref.split(".").at(-1);
      const body = { metadata: { name: "described", labels: { of: "openapi" } }, ...object };
      const { kind } = await api.json(collection, { method: "POST", body });
      if (kind !== "Status") {
        const one = await api.json(`${collection}/described`, { method: "DELETE" });
        assert.equal(one.kind, promised(`${described}/{name}`));
      }
      const all = await api.json(`${collection}?labelSelector=of=openapi`, { method: "DELETE" });
      assert.equal(all.kind, promised(described));
    });
  }
});

describe("the propagation policy of a deletion", () => {
  const remove = (target: string, propagationPolicy: string): Promise<Answer> =>
    api.json(target, { method: "DELETE", body: { propagationPolicy } });

  it("marks nothing for the garbage collector on an Event, which cannot own anything", async () => {
    const events = "/api/v1/namespaces/default/events";
    for (const propagationPolicy of ["Orphan", "Foreground"]) {
      const name = `kept-${propagationPolicy.toLowerCase()}`;
      const body = { metadata: { name, finalizers }, involvedObject: { namespace: "default" } };
      await api.json(events, { method: "POST", body });
      const { metadata } = await remove(`${events}/${name}`, propagationPolicy);
      assert.deepEqual(metadata.finalizers, finalizers);
      assert.ok(metadata.deletionTimestamp);
    }
  });

  it("changes nothing on a namespace that is being emptied", async () => {
    const target = "/api/v1/namespaces/emptied";
    const body = { metadata: { name: "emptied", finalizers }, spec: { finalizers: ["example.com/empties-it"] } };
    await api.json("/api/v1/namespaces", { method: "POST", body });
    const first = await remove(target, "Orphan");
    assert.deepEqual(first.metadata.finalizers, [...finalizers, "orphan"]);
    const second = await remove(target, "Foreground");
    assert.deepEqual(second.metadata.finalizers, [...finalizers, "orphan"]);
  });
});

describe("a resourceVersion in an update that creates", () => {
  it("is no reason to refuse it, so that a client gets back what it lost", async () => {
    const body = { apiVersion: "coordination.platform.io/v1", kind: "Lease" };
    const put = await api.send(`${leases}/lost`, {
      method: "PUT",
      body: { ...body, metadata: { name: "lost", resourceVersion: "12345" } },
    });
    assert.equal(put.status, 201);
    const { metadata } = JSON.parse(String(put.body)) as Answer;
    assert.notEqual(metadata.resourceVersion, "12345");
    const applied = await api.send(`${leases}/applied?fieldManager=test`, {
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: { ...body, metadata: { name: "applied", resourceVersion: "12345" } },
    });
    assert.equal(applied.status, 201);
  });
});

describe("resourceVersion 0", () => {
  it("is unset on a create and on a PUT that creates", async () => {
    const created = await make(leases, "new", { resourceVersion: "0" });
    assert.equal(created.kind, "Lease");
    const put = await api.send(`${leases}/put`, {
      method: "PUT",
      body: {
        apiVersion: "coordination.platform.io/v1",
        kind: "Lease",
        metadata: { name: "put", resourceVersion: "0" },
      },
    });
    assert.equal(put.status, 201);
    const refused = await make(leases, "other", { resourceVersion: "1" });
    assert.deepEqual(
      [refused.code, refused.message],
      [400, "resourceVersion should not be set on objects to be created"],
    );
  });
});
