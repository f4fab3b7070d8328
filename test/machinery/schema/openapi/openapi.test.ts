import assert from "node:assert/strict";
import { test } from "node:test";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { openApiV2, openApiV3 } from "../../../../src/machinery/schema/openapi/openapi.ts";
import type { OpenApiSchema } from "../../../../src/machinery/schema/openapi/openapi-definitions.ts";
import { encodeOpenApiV2 } from "../../../../src/machinery/schema/openapi/openapi-v2-protobuf.ts";
import { ProtobufReader } from "../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { sampleApi } from "../sample-api.ts";

const core = openApiV3(sampleApi, { group: "", version: "v1" });
const certificates = openApiV3(sampleApi, { group: "certificates.k8s.io", version: "v1" });
const everything = openApiV2(sampleApi);

const property = (schemas: Readonly<Record<string, OpenApiSchema>>, name: string, field: string): OpenApiSchema =>
  schemas[name]?.properties?.[field] ?? {};

/** Every reference of a document. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => (key === "$ref" ? [String(member)] : referencesIn(member)));
}

test("definitions have upstream's names", () => {
  const names = Object.keys(everything.definitions);
  for (const name of [
    "io.k8s.api.certificates.v1.CertificateSigningRequestSpec",
    "io.k8s.api.core.v1.ServiceAccountList",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
  ]) {
    assert.ok(names.includes(name), name);
  }
});

test("definitions of the platform profile start with its domain", () => {
  const { definitions } = openApiV2({ ...sampleApi, names: platformNames });
  assert.ok(Object.keys(definitions).every((name) => name.startsWith("io.platform.")));
});

/** The paths of every empty list in a document. */
function emptyListsIn(value: unknown, path = ""): string[] {
  if (Array.isArray(value) && value.length === 0) return [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => emptyListsIn(member, `${path}/${key}`));
}

test("a document holds no empty list, which Go's reader would lose when it writes the document again", () => {
  for (const { security, ...document } of [core, certificates, everything]) {
    assert.deepEqual(emptyListsIn(document), []);
    assert.deepEqual(emptyListsIn(security), ["/0/BearerToken"]); // it has no scopes, and Go keeps that
  }
});

test("every reference leads to a definition", () => {
  for (const { document, prefix, names } of [
    { document: core, prefix: "#/components/schemas/", names: core.components.schemas },
    { document: certificates, prefix: "#/components/schemas/", names: certificates.components.schemas },
    { document: everything, prefix: "#/definitions/", names: everything.definitions },
  ]) {
    const references = referencesIn(document);
    assert.ok(references.length > 0);
    for (const reference of references) {
      assert.ok(reference.startsWith(prefix) && Object.hasOwn(names, reference.slice(prefix.length)), reference);
    }
  }
});

test("a kind and its list have the group, version and kind extension", () => {
  const definition = core.components.schemas["io.k8s.api.core.v1.ServiceAccount"];
  assert.deepEqual(definition?.["x-kubernetes-group-version-kind"], [
    { group: "", version: "v1", kind: "ServiceAccount" },
  ]);
});

test("lists declare how they merge", () => {
  const conditions = property(
    everything.definitions,
    "io.k8s.api.certificates.v1.CertificateSigningRequestStatus",
    "conditions",
  );
  assert.deepEqual(conditions, {
    description: "A sample.",
    type: "array",
    items: { $ref: "#/definitions/io.k8s.api.certificates.v1.CertificateSigningRequestCondition" },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "x-kubernetes-patch-merge-key": "type",
    "x-kubernetes-patch-strategy": "merge",
  });
  const finalizers = property(everything.definitions, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers");
  assert.equal(finalizers["x-kubernetes-list-type"], "set");
  assert.equal(finalizers["x-kubernetes-patch-strategy"], "merge");
});

test("scalars have their formats", () => {
  const spec = "io.k8s.api.certificates.v1.CertificateSigningRequestSpec";
  const metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
  const { definitions } = everything;
  assert.equal(property(definitions, spec, "expirationSeconds").format, "int32");
  assert.equal(property(definitions, spec, "request").format, "byte");
  assert.equal(property(definitions, metadata, "generation").format, "int64");
  const time = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
  assert.equal(property(definitions, metadata, "creationTimestamp").$ref, `#/definitions/${time}`);
  assert.equal(definitions[time]?.format, "date-time");
});

test("a set of fields has the name that kubectl explain shows", () => {
  const entry = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";
  const fields = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
  const { definitions } = everything;
  assert.equal(property(definitions, entry, "fieldsV1").$ref, `#/definitions/${fields}`);
  assert.equal(definitions[fields]?.type, "object");
});

test("required fields are listed", () => {
  assert.deepEqual(everything.definitions["io.k8s.api.certificates.v1.CertificateSigningRequest"]?.required, ["spec"]);
});

test("a version 3 document describes its own group and version only", () => {
  assert.deepEqual(Object.keys(core.paths), [
    "/api/v1/namespaces/{namespace}/serviceaccounts",
    "/api/v1/namespaces/{namespace}/serviceaccounts/{name}",
    "/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
    "/api/v1/serviceaccounts",
    "/api/v1/watch/namespaces/{namespace}/serviceaccounts",
    "/api/v1/watch/namespaces/{namespace}/serviceaccounts/{name}",
    "/api/v1/watch/serviceaccounts",
  ]);
  assert.deepEqual(Object.keys(certificates.paths), [
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/approval",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/status",
    "/apis/certificates.k8s.io/v1/watch/certificatesigningrequests",
    "/apis/certificates.k8s.io/v1/watch/certificatesigningrequests/{name}",
  ]);
});

test("the paths of watches answer events, and take what a list takes", () => {
  const list = everything.paths["/api/v1/serviceaccounts"]?.get;
  const watch = everything.paths["/api/v1/watch/serviceaccounts"]?.get;
  assert.equal(watch?.["x-kubernetes-action"], "watchlist");
  assert.deepEqual(watch?.parameters, list?.parameters);
  assert.deepEqual(watch?.produces, list?.produces);
  assert.deepEqual(watch?.responses["200"]?.schema, {
    $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
  });
});

test("a review has only the create operation", () => {
  const path = everything.paths["/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"];
  assert.deepEqual(Object.keys(path ?? {}).sort(), ["parameters", "post"]);
});

test("a patch accepts every patch format and has the fieldValidation parameter", () => {
  const patch = everything.paths["/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}"]?.patch;
  assert.deepEqual(patch?.consumes, [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
  ]);
  assert.ok(patch?.parameters?.some(({ name }) => name === "fieldValidation"));
  assert.deepEqual(patch?.["x-kubernetes-group-version-kind"], {
    group: "certificates.k8s.io",
    version: "v1",
    kind: "CertificateSigningRequest",
  });
});

test("operation ids and tags are upstream's, and ids are unique", () => {
  const operations = Object.values(everything.paths).flatMap(({ get, put, post, patch, delete: remove }) =>
    [get, put, post, patch, remove].filter((operation) => operation !== undefined),
  );
  const ids = operations.map(({ operationId }) => operationId);
  const tags = new Set(operations.flatMap((operation) => operation.tags));
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes("readCoreV1NamespacedServiceAccount"));
  assert.ok(ids.includes("listCoreV1ServiceAccountForAllNamespaces"));
  assert.ok(ids.includes("patchCertificatesV1CertificateSigningRequestApproval"));
  assert.ok(ids.includes("createCoreV1NamespacedServiceAccountToken"));
  assert.ok(ids.includes("deleteCoreV1CollectionNamespacedServiceAccount"));
  assert.ok(ids.includes("watchCoreV1NamespacedServiceAccount"));
  assert.ok(ids.includes("watchCoreV1NamespacedServiceAccountList"));
  assert.ok(ids.includes("watchCoreV1ServiceAccountListForAllNamespaces"));
  assert.ok(tags.has("core_v1") && tags.has("certificates_v1"));
});

test("a program that is written from a document sends its token in the header Authorization", () => {
  const schemes = [core.components.securitySchemes, everything.securityDefinitions];
  for (const { BearerToken } of schemes)
    assert.deepEqual([BearerToken?.in, BearerToken?.name], ["header", "authorization"]);
  for (const { security } of [core, everything]) assert.deepEqual(security, [{ BearerToken: [] }]);
});

test("the protobuf document holds the same paths, definitions and security", async () => {
  const document = new ProtobufReader(await encodeOpenApiV2(everything, () => undefined));
  const names = new Map<number, string[]>();
  while (document.nextField()) {
    const { field } = document;
    if (![8, 9, 12, 13].includes(field)) continue;
    const list = document.message();
    while (list.nextField()) {
      assert.equal(list.field, field === 8 ? 2 : 1); // in `Paths`, 1 is for extensions
      const entry = list.message();
      entry.nextField();
      names.set(field, [...(names.get(field) ?? []), entry.string()]);
    }
  }
  assert.deepEqual(
    [...names],
    [
      [8, Object.keys(everything.paths)],
      [9, Object.keys(everything.definitions)],
      [12, ["BearerToken"]],
      [13, ["BearerToken"]],
    ],
  );
});
