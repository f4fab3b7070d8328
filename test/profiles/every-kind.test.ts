import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { apiPathOf, apiVersionOf } from "../../src/machinery/api/resource-type.ts";
import { servedDefinitions } from "../../src/machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../src/machinery/registry/definition/resource-definition.ts";
import { storedResources } from "../../src/server/served-kinds.ts";
import { ApiRequester } from "./api-request.ts";
import { sampleFields } from "./sample-objects.ts";

const servers: readonly { readonly title: string; readonly profile: Profile; readonly hasUpstreamNames: boolean }[] = [
  { title: "the default server", profile: "platform", hasUpstreamNames: true },
  { title: "a server with only the document's names", profile: "platform", hasUpstreamNames: false },
  { title: "a server with only upstream's names", profile: "kubernetes", hasUpstreamNames: true },
];
const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";

interface OpenApiSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly group: string; readonly kind: string }[];
}

// At the same time, because a namespace takes five seconds to go away. For the same reason, each test has an object of its own.
describe("every kind", { concurrency: true }, () => {
  for (const { title, profile, hasUpstreamNames } of servers) {
    describe(`of ${title}`, { concurrency: false }, () => {
      const names = namesFor(profile, { hasUpstreamNames });
      let api: ApiRequester;
      before(async () => {
        api = await ApiRequester.toNewServer({
          profile,
          settings: hasUpstreamNames ? {} : { "upstream-names": false },
        });
      });
      after(() => api.stop());

      for (const definition of storedResources(names).flatMap((stored) => servedDefinitions(stored))) {
        if (definition.verbs?.includes("create") === false) {
          it(`${definition.kind} is an empty list`, () => testEmpty(definition));
          continue;
        }
        describe(`${definition.kind} ${apiVersionOf(definition)}`, () => testKind(definition));
      }

      /** A kind whose objects cannot be created. */
      async function testEmpty(definition: ResourceDefinition): Promise<void> {
        const { kind, plural } = definition;
        const path = `${apiPathOf(definition)}/namespaces/default/${plural}`;
        const listed = (await api.send({ path })).json();
        assert.deepEqual([listed.kind, listed.items], [`${kind}List`, []]);
        const body = { apiVersion: apiVersionOf(definition), kind, metadata: { name: "one" } };
        assert.equal((await api.send({ method: "POST", path, body })).status, 405);
        assert.equal((await api.send({ path: `${path}/one` })).status, 404);
      }

      function testKind(definition: ResourceDefinition) {
        const { group, kind, plural, scope, columns, verbs } = definition;
        const apiVersion = apiVersionOf(definition);
        const root = apiPathOf(definition);
        const isNamespaced = scope === "Namespaced";
        const collection = `${root}/${isNamespaced ? "namespaces/default/" : ""}${plural}`;
        const create = (name: string) => {
          const metadata = { name, labels: { sample: name } };
          const fields = sampleFields(names, { kind, group });
          return api.send({ method: "POST", path: collection, body: { apiVersion, kind, metadata, ...fields } });
        };
        const remove = (name: string) =>
          api.send({ method: "DELETE", path: `${collection}/${name}`, body: { gracePeriodSeconds: 0 } });

        it("is created once, read, replaced, patched, applied and deleted", async () => {
          const name = "changed";
          const created = await create(name);
          assert.equal(created.status, 201, created.bytes.toString());
          assert.equal(created.json().kind, kind);
          assert.equal(created.json().apiVersion, apiVersion);
          assert.equal((await create(name)).json().reason, "AlreadyExists");

          const read = await api.send({ path: `${collection}/${name}` });
          assert.deepEqual(read.json(), created.json());

          const changed = { ...read.json(), metadata: { ...read.json().metadata, labels: { sample: "replaced" } } };
          const replaced = await api.send({ method: "PUT", path: `${collection}/${name}`, body: changed });
          assert.equal(replaced.json().metadata.labels.sample, "replaced", replaced.bytes.toString());
          assert.notEqual(replaced.json().metadata.resourceVersion, created.json().metadata.resourceVersion);
          const late = await api.send({ method: "PUT", path: `${collection}/${name}`, body: changed });
          assert.equal(late.json().reason, "Conflict");

          for (const type of ["application/merge-patch+json", "application/strategic-merge-patch+json"]) {
            const body = { metadata: { labels: { patched: type.length.toString() } } };
            const patched = await api.send({
              method: "PATCH",
              path: `${collection}/${name}`,
              headers: { "content-type": type },
              body,
            });
            assert.equal(patched.json().metadata.labels.patched, type.length.toString(), type);
          }
          const applied = await api.send({
            method: "PATCH",
            path: `${collection}/${name}?fieldManager=test`,
            headers: { "content-type": "application/apply-patch+yaml" },
            body: { apiVersion, kind, metadata: { name, labels: { applied: "yes" } } },
          });
          assert.equal(applied.json().metadata.labels.applied, "yes", applied.bytes.toString());
          assert.ok(
            applied.json().metadata.managedFields.some(({ operation }: { operation: string }) => operation === "Apply"),
          );

          assert.equal((await remove(name)).status, 200);
        });

        it("is listed, watched, and served as metadata only", async () => {
          const name = "watched";
          const listed = await api.send({ path: `${collection}?labelSelector=sample=${name}` });
          assert.equal(listed.json().kind, `${kind}List`);
          const { resourceVersion } = listed.json().metadata;
          const response = await api.open({
            path: `${collection}?watch=true&labelSelector=sample=${name}&resourceVersion=${resourceVersion}`,
          });
          const lines = createInterface({ input: response })[Symbol.asyncIterator]();
          const next = async () => JSON.parse((await lines.next()).value ?? "null");

          const created = (await create(name)).json();
          assert.deepEqual(await next(), { type: "ADDED", object: created });
          const one = await api.send({ path: `${collection}/${name}`, headers: { accept: metadataOnly } });
          assert.equal(one.json().kind, "PartialObjectMetadata");
          assert.deepEqual(one.json().metadata, created.metadata);
          const { items } = (await api.send({ path: `${collection}?labelSelector=sample=${name}` })).json();
          const { kind: _kind, apiVersion: _apiVersion, ...item } = created;
          assert.deepEqual(items, [item]);

          await remove(name);
          const events = [await next()];
          // A namespace ends in steps.
          while (events.at(-1).type === "MODIFIED") events.push(await next());
          assert.equal(events.at(-1).type, "DELETED");
          response.destroy();
        });

        it("gets bookmarks of its kind from a watch in each form", async () => {
          const path = `${collection}?watch=true&allowWatchBookmarks=true&labelSelector=sample=none`;
          const bookmark = async (accept: string) => {
            const response = await api.open({ path, headers: { accept } });
            const first = await createInterface({ input: response })[Symbol.asyncIterator]().next();
            response.destroy();
            const { type, object } = JSON.parse(first.value ?? "null");
            assert.equal(type, "BOOKMARK");
            return object;
          };
          const ends = { "k8s.io/initial-events-end": "true" };
          const whole = await bookmark("application/json");
          assert.deepEqual([whole.apiVersion, whole.kind, whole.metadata.annotations], [apiVersion, kind, ends]);
          const partial = await bookmark(metadataOnly);
          assert.deepEqual([partial.kind, partial.metadata.annotations], ["PartialObjectMetadata", ends]);
          const { rows } = await bookmark(table);
          assert.deepEqual(rows[0].object.metadata.annotations, ends);
          assert.equal(rows[0].cells.length, columns.length);
        });

        it("is served as a table", async () => {
          const name = "shown";
          const created = (await create(name)).json();
          const shown = await api.send({
            path: `${collection}?labelSelector=sample=${name}`,
            headers: { accept: table },
          });
          const { columnDefinitions, rows } = shown.json();
          const titles = columnDefinitions.map((column: { name: string }) => column.name);
          assert.deepEqual(
            titles,
            columns.map((column) => column.name),
          );
          assert.equal(rows.length, 1);
          assert.equal(rows[0].cells[titles.indexOf("Name")], name);
          assert.equal(rows[0].object.metadata.uid, created.metadata.uid);
          await remove(name);
        });

        it("is sent and received as protobuf", async () => {
          const name = "binary";
          const created = (await create(name)).json();
          const binary = await api.send({ path: `${collection}/${name}`, headers: { accept: protobuf } });
          assert.equal(binary.headers["content-type"], protobuf);
          assert.equal(binary.bytes.subarray(0, 4).toString("latin1"), "k8s\0");
          assert.ok(binary.bytes.includes(created.metadata.uid));
          const sentBack = await api.send({
            method: "PUT",
            path: `${collection}/${name}`,
            headers: { "content-type": protobuf },
            body: binary.bytes,
          });
          assert.deepEqual(sentBack.json(), created, "nothing is lost and nothing has changed");
          await remove(name);
        });

        it("is named in discovery with its verbs", async () => {
          const { resources } = (await api.send({ path: root })).json();
          const found = resources.find((resource: { name: string }) => resource.name === plural);
          assert.equal(found.kind, kind);
          assert.equal(found.namespaced, isNamespaced);
          assert.deepEqual(found.verbs, verbs?.toSorted() ?? allVerbs);
        });

        it("has its schema and paths in both OpenAPI documents", async () => {
          const third = (await api.send({ path: `/openapi/v3${root}` })).json();
          const path = `${root}/${isNamespaced ? "namespaces/{namespace}/" : ""}${plural}`;
          assert.ok(third.paths[path].post);
          assert.ok(third.paths[`${path}/{name}`].get);
          assert.ok(third.paths[path.replace(root, `${root}/watch`)].get);
          const second = (await api.send({ path: "/openapi/v2" })).json();
          assert.ok(second.paths[path].post);
          for (const schemas of [third.components.schemas, second.definitions]) {
            const schema = Object.values<OpenApiSchema>(schemas).find((one) =>
              one["x-kubernetes-group-version-kind"]?.some((kinds) => kinds.kind === kind && kinds.group === group),
            );
            assert.ok(schema?.properties?.["metadata"]);
            assert.ok(schema.description);
          }
        });
      }
    });
  }
});
