import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { storedResources } from "../../../src/server/served-kinds.ts";
import { compileProtobuf } from "../../../src/machinery/schema/protobuf/protobuf.ts";
import { encodeEnvelope } from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { maximumValues } from "../../../src/machinery/schema/value-limit.ts";
import { hostileScene } from "./hostile/hostile-scene.ts";
import type { HostileRequest, HostileScene } from "./hostile/hostile-scene.ts";
import { collectionOf } from "./hostile/hostile-targets.ts";
import { largeRequests } from "./hostile/large-requests.ts";
import { sampleObject } from "./hostile/sample-objects.ts";

const mebibyte = 2 ** 20;

/** `node test/machinery/http/hostile/measure-blocking.ts` measures the time of the same requests. */
describe("a large body of many small values", () => {
  let scene: HostileScene;
  const post = (target: string, body: unknown, headers: HostileRequest["headers"] = {}): HostileRequest => ({
    method: "POST",
    target,
    body: JSON.stringify(body),
    headers,
  });
  const answerTo = async (request: HostileRequest): Promise<{ status: number; text: string; warnings: string }> => {
    const { status, body, headers } = await scene.send(request);
    return { status, text: String(body), warnings: [headers["warning"] ?? []].flat().join("") };
  };
  before(async () => {
    scene = await hostileScene();
    for (const definition of storedResources(platformNames)) {
      await scene.send(post(collectionOf(definition), sampleObject(definition, "sample")));
    }
  });
  after(() => scene.stop());

  it("gets an answer of at most 1 MiB in addition to the object, and never a 5xx, for every kind and review", async () => {
    for (const { label, ...request } of largeRequests({ bytes: 120_000, stride: 151 })) {
      const { status, text, warnings } = await answerTo(request);
      assert.ok(status < 500, `${status} ${label}: ${text.slice(0, 200)}`);
      assert.ok(
        text.length <= mebibyte + (status < 300 ? request.body.length * 4 : 0),
        `${text.length} bytes: ${label}`,
      );
      assert.ok(warnings.length < 8192, `${warnings.length} bytes of warnings: ${label}`);
    }
  });

  it("is validated until there are a hundred faults, which are shown with a note that there are more", async () => {
    const subjects = Array.from({ length: 10_000 }, () => ({}));
    const binding = {
      apiVersion: "rbac.authorization.platform.io/v1",
      kind: "RoleBinding",
      metadata: { name: "many" },
      subjects,
      roleRef: { apiGroup: "rbac.authorization.platform.io", kind: "Role", name: "x" },
    };
    const { status, text } = await answerTo(
      post("/apis/rbac.authorization.platform.io/v1/namespaces/hostile/rolebindings", binding),
    );
    const { message, details } = JSON.parse(text) as { message: string; details: { causes: unknown[] } };
    assert.equal(status, 422);
    assert.equal(details.causes.length, 100);
    assert.match(message, /too many faults: only the first 100 are shown\]$/);
  });

  it("is refused when it holds more values than any object may, whatever its format", async () => {
    const items = (count: number): string => `[${"0,".repeat(count - 1)}0]`;
    const body = (count: number): string =>
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many"},"x":${items(count)}}`;
    const create = { method: "POST", target: "/api/v1/namespaces/hostile/configmaps?dryRun=All" };
    assert.equal((await answerTo({ ...create, body: body(maximumValues - 10) })).status, 201);
    assert.equal((await answerTo({ ...create, body: body(maximumValues + 10) })).status, 413);
    const yaml = { "content-type": "application/yaml" };
    assert.equal((await answerTo({ ...create, headers: yaml, body: body(maximumValues + 10) })).status, 413);
    assert.equal((await answerTo({ ...create, headers: yaml, body: "a: [" + "1,".repeat(20_000) })).status, 413);
    const protobuf = { "content-type": "application/vnd.kubernetes.protobuf" };
    const empty = Buffer.concat([
      Buffer.from("k8s\0", "latin1"),
      Buffer.from([0x1a, 0]),
      Buffer.alloc(400_000, Buffer.from([0x1a, 0])),
    ]);
    assert.equal((await answerTo({ ...create, headers: protobuf, body: empty })).status, 413);
  });

  describe("with managed fields that hold too many values together", () => {
    const fields = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f:${index}`, {}]));
    const entry = (manager: string, count: number): object => ({
      manager,
      operation: "Update",
      apiVersion: "v1",
      time: "2026-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: fields(count),
    });
    const configMaps = "/api/v1/namespaces/hostile/configmaps";

    it("is refused as protobuf", async () => {
      const schema = storedResources(platformNames).find(({ kind }) => kind === "ConfigMap")?.schema;
      assert.ok(schema);
      const create = (entries: number): HostileRequest => ({
        method: "POST",
        target: `${configMaps}?dryRun=All`,
        headers: { "content-type": "application/vnd.kubernetes.protobuf" },
        body: encodeEnvelope(compileProtobuf(schema), {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name: "many",
            managedFields: Array.from({ length: entries }, (_, index) => entry(`m${index}`, 5000)),
          },
        }),
      });
      assert.equal((await answerTo(create(2))).status, 201);
      assert.equal((await answerTo(create(3))).status, 413);
      assert.equal((await answerTo(create(22))).status, 413);
    });

    it("is refused as a JSON patch that copies them", async () => {
      const patch = (copies: number): HostileRequest => ({
        method: "PATCH",
        target: `${configMaps}/sample?dryRun=All`,
        headers: { "content-type": "application/json-patch+json" },
        body: JSON.stringify([
          { op: "add", path: "/metadata/managedFields", value: [entry("m0", 5000)] },
          ...Array.from({ length: copies }, (_, index) => [
            { op: "copy", from: "/metadata/managedFields/0", path: "/metadata/managedFields/-" },
            { op: "replace", path: `/metadata/managedFields/${index + 1}/manager`, value: `m${index + 1}` },
          ]).flat(),
        ]),
      });
      assert.equal((await answerTo(patch(1))).status, 200);
      assert.equal((await answerTo(patch(6))).status, 413);
    });
  });

  it("is refused above 256 KiB as a review, and above 64 KiB as delete options", async () => {
    const review = { spec: { token: "a".repeat(256 * 1024) } };
    assert.equal((await answerTo(post("/apis/authentication.platform.io/v1/tokenreviews", review))).status, 413);
    const options = post("/api/v1/namespaces/hostile/configmaps/sample?dryRun=All", { uid: "a".repeat(64 * 1024) });
    assert.equal((await answerTo({ ...options, method: "DELETE" })).status, 413);
  });

  it("is shortened in the error when a value is invalid", async () => {
    const long = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "A".repeat(mebibyte) } };
    const { status, text } = await answerTo(post("/api/v1/namespaces/hostile/configmaps", long));
    assert.equal(status, 422);
    assert.match(text, /A{4000,4096}\\"\.\.\. \(1048576 characters\)/);
    assert.ok(text.length < 40_000, String(text.length));
  });

  it("never leads to an answer that cannot be rendered, in any format", async () => {
    for (const accept of ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]) {
      const long = { apiVersion: "v1", kind: "\u0001".repeat(mebibyte), metadata: {} };
      const { status, text } = await answerTo(post("/api/v1/namespaces/hostile/configmaps", long, { accept }));
      assert.equal(status, 400);
      assert.ok(text.length <= mebibyte, String(text.length));
    }
  });
});
