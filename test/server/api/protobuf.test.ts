import { storedResources } from "../../../src/server/served-kinds.ts";
import { describedReviews } from "../../../tools/reference/described-reviews.ts";
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { kubernetesNames } from "../../../src/machinery/api/names.ts";
import {
  compiledPartialMetadataList,
  compiledPartialMetadata,
} from "../../../src/machinery/registry/reads/partial-object-metadata.ts";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { deleteOptionsSchema, statusSchema } from "../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../src/machinery/schema/protobuf/protobuf.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  envelopeEnd,
  envelopeStart,
} from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { bytes, object, string } from "../../../src/machinery/schema/schema.ts";
import type { ObjectSchema } from "../../../src/machinery/schema/schema.ts";
import { tokenRequestSchema } from "../../../src/features/accounts/token-request-schema.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { InProcess } from "../in-process.ts";
import type { Answer } from "../in-process.ts";

const protobuf = "application/vnd.kubernetes.protobuf";
/** `metav1.WatchEvent`: its fields on the wire. */
const watchEvent = object({
  goType: "v1.WatchEvent",
  description: "An event of a watch.",
  fields: {
    type: { number: 1, schema: string, description: "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR." },
    object: {
      number: 2,
      description: "What it is about.",
      schema: object({
        goType: "runtime.RawExtension",
        description: "An object's bytes.",
        fields: { raw: { number: 1, schema: bytes, description: "The envelope." } },
      }),
    },
  },
}) as ObjectSchema;

/** What client-go's typed clients send. */
const preferred = { accept: `${protobuf},application/json` };
const namespaces = "/api/v1/namespaces";
const collection = `${namespaces}/default/configmaps`;

type Typed = { readonly kind: string; readonly apiVersion: string };
const schemaOf = (kind: string): ObjectSchema<Typed> => {
  if (kind === "Status") return statusSchema as ObjectSchema as ObjectSchema<Typed>;
  const found = storedResources(kubernetesNames).find((definition) => definition.kind === kind);
  assert.ok(found, kind);
  return found.schema as ObjectSchema as ObjectSchema<Typed>;
};
/** A body as client-go encodes it: what the schema decodes of the value. */
const encoded = (schema: ObjectSchema<Typed>, value: Typed): Buffer =>
  encodeEnvelope(compileProtobuf(schema), compileDecoder(schema)(value).value);

/** The value of an answer, which must be in protobuf. */
function valueOf(response: HttpResponse, schema: ObjectSchema): Answer {
  assert.equal(response.headers["content-type"], protobuf, String(response.body));
  const { raw, kind, apiVersion } = decodeEnvelope(response.body as Buffer);
  return compileDecoder(schema)({ kind, apiVersion, ...compileProtobuf(schema).decode(raw) }).value as Answer;
}

describe("a client that prefers protobuf", () => {
  let server: TestServer;
  let api: InProcess;
  before(async () => {
    server = await startTestServer({ profile: "kubernetes" });
    await waitForDefaultAccount(server);
    api = new InProcess(server);
  });

  const post = (path: string, body: Buffer, token?: string): Promise<HttpResponse> =>
    api.send(path, {
      method: "POST",
      body,
      headers: { ...preferred, "content-type": protobuf },
      ...(token !== undefined && { token }),
    });
  const configMap = (name: string, data: Readonly<Record<string, string>> = {}): Buffer =>
    encoded(schemaOf("ConfigMap"), { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data } as Typed);

  it("gets every failure as a Status in protobuf", async () => {
    await post(collection, configMap("taken"));
    const failures: readonly (readonly [number, Promise<HttpResponse>])[] = [
      [400, post(collection, Buffer.from("no protobuf"))],
      [401, api.send(collection, { headers: preferred, token: "wrong" })],
      [403, api.send(collection, { headers: preferred, token: "" })],
      [404, api.send(`${collection}/none`, { headers: preferred })],
      [404, api.send("/api/v1/nonesuch", { headers: preferred })],
      [405, api.send(collection, { method: "PUT", headers: preferred })],
      [409, post(collection, configMap("taken"))],
      [415, api.send(`${collection}/taken`, { method: "PATCH", headers: { ...preferred, "content-type": protobuf } })],
      [422, post(collection, configMap("Not A Name"))],
    ];
    for (const [code, answering] of failures) {
      const response = await answering;
      assert.equal(response.status, code);
      const status = valueOf(response, statusSchema);
      assert.deepEqual([status.kind, status.code], ["Status", code]);
      assert.notEqual(status.message, "");
    }
  });

  it("is told whether the envelope or the message in it is faulty, as in upstream", async () => {
    const told = async (body: Buffer): Promise<string> =>
      valueOf(await post(collection, body), statusSchema).message ?? "";
    const cut = configMap("cut").subarray(0, -10);
    assert.match(
      await told(cut),
      /^the object provided is unrecognized \(must be of type ConfigMap\): unexpected EOF \(6b38/,
    );
    const tooShort = Buffer.from([0x0a, 0x05]);
    const start = envelopeStart({ kind: "ConfigMap", apiVersion: "v1" }, tooShort.length);
    assert.equal(
      await told(Buffer.concat([start, tooShort, envelopeEnd])),
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
    );
  });

  it("may send an apiVersion that cannot be read, as if it were left out", async () => {
    const sent = { kind: "ConfigMap", apiVersion: "a/b/c", metadata: { name: "unread" } } as Typed;
    const bytes = encodeEnvelope(compileProtobuf(schemaOf("ConfigMap")), sent);
    const created = valueOf(await post(collection, bytes), schemaOf("ConfigMap"));
    assert.deepEqual([created.kind, created.metadata?.name], ["ConfigMap", "unread"]);
  });

  it("gets a successful Status in protobuf, and may send delete options in protobuf", async () => {
    const made = valueOf(await post(collection, configMap("gone")), schemaOf("ConfigMap"));
    const remove = (uid: string): Promise<HttpResponse> => {
      const options = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } };
      const body = encoded(deleteOptionsSchema as ObjectSchema as ObjectSchema<Typed>, options);
      return api.send(`${collection}/gone`, {
        method: "DELETE",
        body,
        headers: { ...preferred, "content-type": protobuf },
      });
    };
    assert.equal(valueOf(await remove("other"), statusSchema).reason, "Conflict");
    assert.deepEqual(valueOf(await remove(made.metadata.uid), statusSchema).details, {
      name: "gone",
      kind: "configmaps",
      uid: made.metadata.uid,
    });
    const accounts = `${namespaces}/default/serviceaccounts?labelSelector=a`;
    const none = await api.send(accounts, { method: "DELETE", headers: preferred });
    assert.deepEqual([none.status, valueOf(none, statusSchema).kind], [200, "Status"]);
  });

  it("loses no field of what it sends", async () => {
    const data = { a: "", "b.c": "ünï\n" };
    const made = valueOf(await post(collection, configMap("whole", data)), schemaOf("ConfigMap"));
    assert.deepEqual(made.data, data);
    assert.deepEqual(await api.json(`${collection}/whole`), made);
  });

  it("gets metadata alone, and its list, in protobuf", async () => {
    await post(collection, configMap("named"));
    const as = (kind: string) => ({
      accept: `${protobuf};as=${kind};g=meta.k8s.io;v=v1,application/json;as=${kind};g=meta.k8s.io;v=v1`,
    });
    const one = await api.send(`${collection}/named`, { headers: as("PartialObjectMetadata") });
    assert.equal(valueOf(one, compiledPartialMetadata.schema as ObjectSchema).metadata.name, "named");
    const list = await api.send(collection, { headers: as("PartialObjectMetadataList") });
    const { items } = valueOf(list, compiledPartialMetadataList.schema);
    assert.ok(items.some(({ metadata }) => metadata.name === "named"));
  });

  it("gets a table in the next accepted type, since protobuf has no tables", async () => {
    const table = ";as=Table;v=v1;g=meta.k8s.io";
    const response = await api.send(collection, {
      headers: { accept: `${protobuf}${table},application/json${table}` },
    });
    assert.equal((JSON.parse(String(response.body)) as Answer).kind, "Table");
    assert.equal((await api.send(collection, { headers: { accept: `${protobuf}${table}` } })).status, 406);
  });

  it("sends and gets reviews in protobuf", async () => {
    const review = async (kind: string, body: object): Promise<Record<string, unknown>> => {
      const definition = reviews.find((one) => one.kind === kind);
      assert.ok(definition, kind);
      const { group, version, plural, scope } = definition;
      const schema = definition.schema as ObjectSchema as ObjectSchema<Typed>;
      const where = scope === "Namespaced" ? "namespaces/default/" : "";
      const sent = encoded(schema, { kind, apiVersion: `${group}/${version}`, ...body });
      const response = await post(`/apis/${group}/${version}/${where}${plural}`, sent);
      assert.equal(response.status, 201, String(response.body));
      const answer = valueOf(response, schema) as Answer & { readonly status: Record<string, unknown> };
      return answer.status;
    };
    const resourceAttributes = { verb: "get", resource: "pods", namespace: "default" };
    const spec = { user: "u", groups: ["system:masters"], extra: { a: ["b", "c"] }, resourceAttributes };
    assert.equal((await review("TokenReview", { spec: { token: server.adminToken } }))["authenticated"], true);
    assert.match(String((await review("TokenReview", { spec: { token: "x" } }))["error"]), /./);
    assert.equal((await review("SubjectAccessReview", { spec }))["allowed"], true);
    assert.equal((await review("SelfSubjectAccessReview", { spec: { resourceAttributes } }))["allowed"], true);
    assert.equal(
      (await review("LocalSubjectAccessReview", { metadata: { namespace: "default" }, spec }))["allowed"],
      true,
    );
    assert.ok((await review("SelfSubjectRulesReview", { spec: { namespace: "default" } }))["resourceRules"]);
    const { userInfo } = (await review("SelfSubjectReview", {})) as { userInfo: { username: string } };
    assert.equal(userInfo.username, "admin");
  });

  it("gets no boundObjectRef for a token that is not bound", async () => {
    const schema = tokenRequestSchema as ObjectSchema as ObjectSchema<Typed>;
    const body = { kind: "TokenRequest", apiVersion: "authentication.k8s.io/v1", spec: { audiences: ["vault"] } };
    const response = await post(`${namespaces}/default/serviceaccounts/default/token`, encoded(schema, body));
    const sent = compileProtobuf(schema).decode(decodeEnvelope(response.body as Buffer).raw);
    assert.deepEqual(sent["spec"], { audiences: ["vault"], expirationSeconds: 3600 });
  });

  it("reads its watch in protobuf, bookmarks too", async () => {
    const watching = (query: string) => api.watch(`${collection}?watch=1&${query}`, { headers: preferred });
    const initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    await post(collection, configMap("watched"));
    const state = await watching(`${initial}&fieldSelector=metadata.name=watched`);
    await state.until(2);
    assert.deepEqual(framesOf(state.frames), [
      ["ADDED", "ConfigMap", "watched"],
      ["BOOKMARK", "ConfigMap", ""],
    ]);
    state.stop();
  });
});

const reviews = describedReviews(kubernetesNames);

/** Type, kind and name of length-delimited events. */
function framesOf(frames: readonly Buffer[]): string[][] {
  return frames.map((frame) => {
    assert.equal(frame.readUInt32BE(0), frame.length - 4);
    const { type, object } = compileProtobuf(watchEvent).decode(frame.subarray(4)) as {
      type: string;
      object: { raw: string };
    };
    const { kind, raw } = decodeEnvelope(Buffer.from(object.raw, "base64"));
    const { metadata } = compileProtobuf(schemaOf(kind)).decode(raw) as { metadata: { name?: string } };
    return [type, kind, metadata.name ?? ""];
  });
}
