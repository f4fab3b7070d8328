import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it, test } from "node:test";
import { envelopeEnd, envelopeStart } from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { ProtobufWriter } from "../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { InProcess } from "../in-process.ts";
import type { Answer } from "../in-process.ts";

let server: TestServer;
let api: InProcess;
before(async () => {
  server = await startTestServer();
  await waitForDefaultAccount(server);
  api = new InProcess(server);
});

const namespace = "/api/v1/namespaces/default";

type Body = Answer & { readonly spec: Record<string, unknown>; readonly secrets?: unknown; readonly rules?: unknown };

interface OpenApiSchema {
  readonly properties: Readonly<Record<string, { readonly "x-kubernetes-patch-strategy"?: string }>>;
}

const patch = (target: string, type: string, body: unknown): Promise<Body> =>
  api.json<Body>(target, { method: "PATCH", body, headers: { "content-type": `application/${type}` } });
const strategic = (target: string, body: object): Promise<Body> => patch(target, "strategic-merge-patch+json", body);
const apply = (target: string, manager: string, body: unknown, query = ""): Promise<Body> =>
  patch(`${target}?fieldManager=${manager}${query}`, "apply-patch+yaml", body);

describe("a strategic merge patch", () => {
  const pod = (name: string) => ({
    metadata: { name, labels: { a: "1" }, finalizers: ["example.com/a", "example.com/b", "example.com/c"] },
    spec: {
      containers: [{ name: "one", image: "x", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] }],
    },
  });
  const make = (name: string): Promise<Body> => api.json(`${namespace}/pods`, { method: "POST", body: pod(name) });

  it("reports the fields that it does not know in the order of their names", async () => {
    await make("unknown");
    const { message } = await strategic(`${namespace}/pods/unknown?fieldValidation=Strict`, {
      metadata: { z: 1 },
      a: 1,
    });
    assert.match(message ?? "", /strict decoding error: unknown field "a", unknown field "metadata\.z"$/);
  });

  it("merges lists by their keys, deletes by $patch and clears with null", async () => {
    const account = {
      metadata: { name: "keyed", labels: { a: "1", b: "2" } },
      secrets: [{ name: "a" }, { name: "b" }],
    };
    await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: account });
    const { secrets, metadata } = await strategic(`${namespace}/serviceaccounts/keyed`, {
      metadata: { labels: { a: null, c: "3" }, annotations: { a: null, b: "2" } },
      secrets: [{ name: "a", $patch: "delete" }, { name: "c" }],
    });
    assert.deepEqual(secrets, [{ name: "c" }, { name: "b" }]);
    const { labels, annotations } = metadata as { labels?: unknown; annotations?: unknown };
    assert.deepEqual([labels, annotations], [{ b: "2", c: "3" }, { b: "2" }]);
  });

  it("deletes values from a list of values, and orders the rest", async () => {
    await make("values");
    const { metadata } = await strategic(`${namespace}/pods/values`, {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["example.com/b"],
        "$setElementOrder/finalizers": ["example.com/c", "example.com/a"],
      },
    });
    assert.deepEqual((metadata as { finalizers?: unknown }).finalizers, ["example.com/c", "example.com/a"]);
  });

  it("orders entries by $setElementOrder and keeps only what $retainKeys lists", async () => {
    const account = {
      metadata: { name: "ordered", labels: { a: "1", b: "2" } },
      secrets: [{ name: "a" }, { name: "b" }],
    };
    await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: account });
    const { secrets, metadata } = await strategic(`${namespace}/serviceaccounts/ordered`, {
      "$setElementOrder/secrets": [{ name: "c" }, { name: "b" }, { name: "a" }],
      metadata: { labels: { $retainKeys: ["b", "c"], c: "3" } },
      secrets: [{ name: "c" }],
    });
    assert.deepEqual(secrets, [{ name: "c" }, { name: "b" }, { name: "a" }]);
    assert.deepEqual((metadata as { labels?: unknown }).labels, { b: "2", c: "3" });
  });

  it("keeps only the keys of a list entry that $retainKeys lists", async () => {
    const ready = { type: "Ready", status: "True", reason: "Started", message: "It runs." };
    const times = { lastHeartbeatTime: null, lastTransitionTime: null };
    const pressure = { type: "MemoryPressure", status: "False", ...times };
    await api.json("/api/v1/nodes", {
      method: "POST",
      body: { metadata: { name: "retained" }, status: { conditions: [ready, pressure] } },
    });
    const { status } = (await strategic("/api/v1/nodes/retained/status", {
      status: { conditions: [{ type: "Ready", status: "False", $retainKeys: ["type", "status"] }] },
    })) as unknown as { status: { conditions: unknown } };
    assert.deepEqual(status.conditions, [{ type: "Ready", status: "False", ...times }, pressure]);
  });

  it("is described by OpenAPI: which lists it merges, and which of them by $retainKeys", async () => {
    const { components } = await api.json<{ components: { schemas: Record<string, OpenApiSchema> } }>(
      "/openapi/v3/api/v1",
    );
    const podSpec = components.schemas["io.platform.api.core.v1.PodSpec"];
    assert.equal(podSpec?.properties["volumes"]?.["x-kubernetes-patch-strategy"], "merge,retainKeys");
    assert.equal(podSpec?.properties["containers"]?.["x-kubernetes-patch-strategy"], "merge");
  });

  it("with an unknown directive is refused with the field", async () => {
    await make("directive");
    const answer = await strategic(`${namespace}/pods/directive`, { metadata: { labels: { $patch: "explode" } } });
    assert.ok(answer.code === 400 || answer.code === 422, String(answer.code));
    assert.match(answer.message, /\$patch|patch type/i);
  });
});

describe("server-side apply", () => {
  const target = (name: string): string => `${namespace}/configmaps/${name}`;
  const configuration = (name: string, data: object): object => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data,
  });
  const owners = ({ metadata }: Answer): string[] =>
    (metadata.managedFields ?? []).map(({ manager, operation, subresource = "" }) =>
      [manager, operation, subresource].filter((word) => word !== "").join(" "),
    );

  it("reads JSON and YAML alike", async () => {
    const fromJson = await apply(target("both"), "me", configuration("both", { a: "1" }));
    const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: both\ndata:\n  a: '1'\n";
    const fromYaml = await apply(target("both"), "me", yaml);
    assert.deepEqual(fromYaml, fromJson);
    const refused = await apply(target("both"), "me", "data: [");
    assert.deepEqual([refused.code, refused.message.startsWith("error decoding YAML: ")], [400, true]);
  });

  it("names the object of the path in a refusal, also when the configuration has no name", async () => {
    const { code, message } = await apply(target("nameless"), "me", { apiVersion: "v1", kind: "ConfigMap", data: "x" });
    assert.deepEqual(
      [code, message],
      [422, 'ConfigMap "nameless" is invalid: data: Invalid value: expected map, got string'],
    );
  });

  it("names the owners of fields that it would change, takes them over by force, and gives up fields that it leaves out", async () => {
    await apply(target("shared"), "first", configuration("shared", { a: "1", b: "1" }));
    const refused = await apply(target("shared"), "second", configuration("shared", { a: "2" }));
    assert.deepEqual([refused.code, refused.reason], [409, "Conflict"]);
    assert.deepEqual(
      refused.details.causes?.map(({ field, message }) => [field, message]),
      [[".data.a", 'conflict with "first"']],
    );
    const forced = await apply(target("shared"), "second", configuration("shared", { a: "2" }), "&force=true");
    assert.deepEqual(forced.data, { a: "2", b: "1" });
    const left = await apply(target("shared"), "first", configuration("shared", {}));
    assert.deepEqual(left.data, { a: "2" });
    // Managers without fields are not listed. The first one still owns its fields.
    assert.ok(owners(left).includes("second Apply"));
  });

  it("takes over from updates what has the same value, and conflicts where it differs", async () => {
    const body = { metadata: { name: "updated" }, data: { a: "1", b: "1" } };
    await api.json(`${namespace}/configmaps?fieldManager=writer`, { method: "POST", body });
    const same = await apply(target("updated"), "me", configuration("updated", { a: "1" }));
    assert.deepEqual(owners(same).sort(), ["me Apply", "writer Update"]);
    const other = await apply(target("updated"), "me", configuration("updated", { b: "2" }));
    assert.equal(other.code, 409);
    assert.match(other.details.causes?.[0]?.message ?? "", /^conflict with "writer" using v1/);
  });

  it("tracks ownership through a subresource separately", async () => {
    const pod = { metadata: { name: "owned" }, spec: { containers: [{ name: "c", image: "i" }] } };
    const made = await api.json<Body>(`${namespace}/pods?fieldManager=writer`, { method: "POST", body: pod });
    const status = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
    const changed = await patch(`${namespace}/pods/owned/status?fieldManager=agent`, "merge-patch+json", status);
    assert.deepEqual(owners(made), ["writer Update"]);
    assert.deepEqual(owners(changed).sort(), ["agent Update status", "writer Update"]);
    const [entry] = (changed.metadata.managedFields ?? []).filter(({ manager }) => manager === "agent");
    assert.deepEqual(Object.keys(entry?.fieldsV1 ?? {}), ["f:status"]);
    const applied = await apply(`${namespace}/pods/owned/status`, "other", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "owned" },
      status: { phase: "Failed" },
    });
    assert.equal(applied.code, 409);
  });

  it("takes a number for a quantity and for a port, and refuses values of another type", async () => {
    interface Sent {
      readonly cpu: unknown;
      readonly port: unknown;
      readonly seconds: unknown;
    }
    const pod = ({ cpu, port, seconds }: Sent): Promise<Body> =>
      apply(`${namespace}/pods/numbers`, "me", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "numbers" },
        spec: {
          terminationGracePeriodSeconds: seconds,
          containers: [
            { name: "c", image: "i", resources: { limits: { cpu } }, readinessProbe: { httpGet: { port } } },
          ],
        },
      });
    const made = await pod({ cpu: 1, port: 8080, seconds: 30 });
    assert.equal(made.kind, "Pod", made.message);
    const { details } = await pod({ cpu: true, port: false, seconds: "30" });
    assert.deepEqual(
      details.causes?.map(({ field, message }) => `${field}: ${message}`),
      [
        "spec.terminationGracePeriodSeconds: Invalid value: expected integer, got string",
        'spec.containers[name="c"].resources.limits.cpu: Invalid value: expected string or number, got bool',
        'spec.containers[name="c"].readinessProbe.httpGet.port: Invalid value: expected string or number, got bool',
      ],
    );
  });

  it("through a subresource creates nothing", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "missing" }, status: { phase: "Failed" } };
    assert.equal((await apply(`${namespace}/pods/missing/status`, "me", pod)).code, 404);
    assert.equal((await api.json(`${namespace}/pods/missing`)).code, 404);
  });

  it("is for the object and the version that it names", async () => {
    const { metadata } = await apply(target("named"), "me", configuration("named", { a: "1" }));
    const { uid, resourceVersion } = metadata;
    const named = (given: object): Promise<Body> =>
      apply(target("named"), "me", {
        ...configuration("named", { a: "2" }),
        metadata: { name: "named", ...given },
      });
    assert.equal((await named({ uid: "another" })).code, 422);
    assert.deepEqual((await named({ uid, resourceVersion })).data, { a: "2" });
    assert.equal((await named({ resourceVersion })).code, 409);
  });

  it("needs a manager, which is no longer than 128 characters and printable; others may leave it out", async () => {
    const body = configuration("managed", { a: "1" });
    const refusal = async (manager: string): Promise<string> => {
      const { code, message } = await apply(target("managed"), encodeURIComponent(manager), body);
      return `${code} ${message}`;
    };
    assert.match(await refusal(""), /^422 PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value/);
    assert.match(await refusal("x".repeat(129)), /^422 .*fieldManager: Too long: may not be more than 128 bytes/);
    assert.match(await refusal("a\nb"), /^422 .*fieldManager: Invalid value: "a\\nb": invalid character U\+000A/);
    assert.equal((await apply(target("managed"), "x".repeat(128), body)).kind, "ConfigMap");
    const updated = await patch(target("managed"), "merge-patch+json", { data: { b: "1" } });
    assert.ok(owners(updated).includes("tester Update"));
    const long = await patch(`${target("managed")}?fieldManager=${"x".repeat(129)}`, "merge-patch+json", {});
    assert.equal(long.code, 422);
    const forced = await patch(`${target("managed")}?force=true`, "merge-patch+json", {});
    assert.match(forced.message, /force: Forbidden: may not be specified for non-apply patch/);
  });
});

describe("a JSON patch", () => {
  it("of more than 10,000 operations is too large, and a failed one changes nothing", async () => {
    const body = { metadata: { name: "operated" }, data: { a: "1" } };
    await api.json(`${namespace}/configmaps`, { method: "POST", body });
    const test = { op: "test", path: "/data/a", value: "1" };
    const operate = (operations: readonly object[]): Promise<Body> =>
      patch(`${namespace}/configmaps/operated`, "json-patch+json", operations);
    const { code, message } = await operate(Array.from({ length: 10_001 }, () => test));
    const refusal = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert.deepEqual([code, message], [413, refusal]);
    assert.deepEqual((await operate(Array.from({ length: 10_000 }, () => test))).data, { a: "1" });
    const replace = { op: "replace", path: "/data/a", value: "2" };
    assert.equal((await operate([replace, { ...test, value: "3" }])).code, 422);
    assert.deepEqual((await api.json(`${namespace}/configmaps/operated`)).data, { a: "1" });
  });

  it("reports the fields that it does not know in the order that it has them", async () => {
    await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: { metadata: { name: "unknown" } } });
    const { message } = await patch(`${namespace}/serviceaccounts/unknown?fieldValidation=Strict`, "json-patch+json", [
      { op: "add", path: "/secrets", value: [{ name: "a", z: 1, b: 1 }] },
    ]);
    assert.match(
      message ?? "",
      /strict decoding error: unknown field "secrets\[0\]\.z", unknown field "secrets\[0\]\.b"$/,
    );
  });
});

describe("the times of a condition", () => {
  it("that a strategic merge patch leaves out are set as for a new condition", async () => {
    const collection = "/apis/certificates.platform.io/v1/certificatesigningrequests";
    const request = readFileSync(new URL("../../conformance/fixtures/csr-ecdsa.pem", import.meta.url)).toString(
      "base64",
    );
    const spec = { request, signerName: "example.com/signer", usages: ["client auth"] };
    await api.json(collection, { method: "POST", body: { metadata: { name: "timed" }, spec } });
    const then = "2020-02-03T04:05:06Z";
    const target = `${collection}/timed/approval`;
    interface Conditions {
      readonly conditions: readonly Readonly<Record<"type" | "lastUpdateTime" | "lastTransitionTime", string>>[];
    }
    const merged = async (condition: object): Promise<Conditions["conditions"]> => {
      const body = { status: { conditions: [condition] } };
      return ((await strategic(target, body)) as unknown as { readonly status: Conditions }).status.conditions;
    };
    const times = { lastUpdateTime: then, lastTransitionTime: then };
    const custom = { type: "Custom", status: "True", reason: "x", message: "x" };
    await merged({ ...custom, ...times });
    await merged({ type: "Approved", status: "True", ...times });
    const [approved, untouched] = (await merged({ type: "Approved", reason: "Again" })).toSorted((left, right) =>
      left.type < right.type ? -1 : 1,
    );
    assert.notEqual(approved?.lastUpdateTime, then);
    assert.equal(approved?.lastTransitionTime, then);
    assert.deepEqual([untouched?.lastUpdateTime, untouched?.lastTransitionTime], [then, then]);
    const changed = (await merged({ type: "Custom", status: "False" })).find(({ type }) => type === "Custom");
    assert.notEqual(changed?.lastTransitionTime, then);
    const kept = (await merged({ type: "Custom", lastUpdateTime: then })).find(({ type }) => type === "Custom");
    assert.equal(kept?.lastUpdateTime, then);
  });
});

describe("a patch of kind and apiVersion", () => {
  const target = `${namespace}/configmaps/typed`;
  for (const [type, without, other] of [
    [
      "json-patch+json",
      (member: string) => [{ op: "remove", path: `/${member}` }],
      (member: string) => [{ op: "replace", path: `/${member}`, value: "Other" }],
    ],
    ["merge-patch+json", (member: string) => ({ [member]: null }), (member: string) => ({ [member]: "Other" })],
  ] as const) {
    it(`may remove the kind, which the path names, but not the version (${type})`, async () => {
      await api.json(`${namespace}/configmaps`, { method: "POST", body: { metadata: { name: "typed" } } });
      const { kind, metadata } = await patch(target, type, without("kind"));
      assert.deepEqual([kind, metadata.name], ["ConfigMap", "typed"]);
      const refused = await patch(target, type, without("apiVersion"));
      assert.deepEqual([refused.code, refused.reason], [400, "BadRequest"]);
      for (const member of ["kind", "apiVersion"]) {
        assert.equal((await patch(target, type, other(member))).code, 422, member);
      }
    });
  }

  it("counts array indices from the end when they are negative", async () => {
    const account = { metadata: { name: "indexed" }, secrets: [{ name: "a" }, { name: "b" }] };
    await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: account });
    const { secrets } = await patch(`${namespace}/serviceaccounts/indexed`, "json-patch+json", [
      { op: "test", path: "/secrets/-1/name", value: "b" },
      { op: "add", path: "/secrets/-1", value: { name: "c" } },
      { op: "remove", path: "/secrets/-3" },
    ]);
    assert.deepEqual(secrets, [{ name: "b" }, { name: "c" }]);
  });
});

describe("creations of one name at the same time", () => {
  const many = Array.from({ length: 20 }, (_, index) => `m${index}`);

  it("create one object by all applies", async () => {
    const target = `${namespace}/configmaps/raced`;
    const configuration = (key: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "raced" },
      data: { [key]: "x" },
    });
    await Promise.all(many.map((manager) => apply(target, manager, configuration(manager))));
    const { data } = await api.json<{ data: Readonly<Record<string, string>> }>(target);
    assert.deepEqual(Object.keys(data).sort(), many.toSorted());
  });

  it("create one object by all PUTs, with the contents of the last", async () => {
    const target = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/raced";
    const put = (label: string): Promise<Body> =>
      api.json(target, { method: "PUT", body: { metadata: { name: "raced", labels: { by: label } }, rules: [] } });
    const uids = (await Promise.all(many.map(put))).map(({ metadata }) => (metadata as { uid?: string }).uid);
    assert.equal(new Set(uids).size, 1);
  });
});

describe("an integer that JavaScript cannot keep exactly", () => {
  const beyond = "9007199254740993";
  const faultAt = (field: string): object => ({
    code: 422,
    details: { causes: [{ reason: "FieldValueInvalid", field }] },
  });
  const answerTo = async (target: string, method: string, body: string | Buffer, type = "json"): Promise<unknown> => {
    const { body: answer } = await api.send(target, {
      method,
      body,
      headers: { "content-type": `application/${type}`, accept: "application/json" },
    });
    return JSON.parse(String(answer));
  };

  it("is refused in each format and kind of write, with its field", async () => {
    const configMaps = `${namespace}/configmaps`;
    const body = `{"metadata":{"name":"large","generation":${beyond}}}`;
    assert.partialDeepStrictEqual(await answerTo(configMaps, "POST", body), faultAt("metadata.generation"));
    assert.partialDeepStrictEqual(await answerTo(configMaps, "POST", body, "yaml"), faultAt("metadata.generation"));
    const pods = `${namespace}/pods`;
    const spec = (seconds: string): string =>
      `{"metadata":{"name":"slow"},"spec":{"containers":[{"name":"c","image":"i"}],"terminationGracePeriodSeconds":${seconds}}}`;
    const field = "spec.terminationGracePeriodSeconds";
    assert.partialDeepStrictEqual(await answerTo(pods, "POST", spec(beyond)), faultAt(field));
    assert.equal((await api.send(pods, { method: "POST", body: spec("9007199254740991") })).status, 201);
    const status = `{"status":{"observedGeneration":${beyond}}}`;
    for (const type of ["merge-patch+json", "strategic-merge-patch+json"]) {
      const answer = await answerTo(`${pods}/slow/status`, "PATCH", status, type);
      assert.partialDeepStrictEqual(answer, faultAt("status.observedGeneration"));
    }
    const operations = `[{"op":"add","path":"/status/observedGeneration","value":${beyond}}]`;
    const patched = await answerTo(`${pods}/slow/status`, "PATCH", operations, "json-patch+json");
    assert.partialDeepStrictEqual(patched, faultAt("status.observedGeneration"));
    const applied = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"slow"},${status.slice(1)}`;
    const answer = await answerTo(
      `${pods}/slow/status?fieldManager=m&force=true`,
      "PATCH",
      applied,
      "apply-patch+yaml",
    );
    assert.partialDeepStrictEqual(answer, faultAt("status.observedGeneration"));
    const options = await answerTo(`${pods}/slow`, "DELETE", `{"gracePeriodSeconds":${beyond}}`);
    assert.partialDeepStrictEqual(options, faultAt("gracePeriodSeconds"));
  });

  it("is refused in protobuf", async () => {
    const writer = new ProtobufWriter();
    // Object { metadata: 1 }, ObjectMeta { name: 1, generation: 7 }, from the end to the start.
    writer.messageField(1, () => {
      writer.varintField(7, 2 ** 62);
      writer.stringField(1, "large");
    });
    const message = writer.finish();
    const start = envelopeStart({ apiVersion: "v1", kind: "ConfigMap" }, message.length);
    const body = Buffer.concat([start, message, envelopeEnd]);
    const answer = await answerTo(`${namespace}/configmaps`, "POST", body, "vnd.kubernetes.protobuf");
    assert.partialDeepStrictEqual(answer, faultAt("metadata.generation"));
  });

  it("is told of in the words of the field's own limit, where it has one", async () => {
    const body = '{"spec":{"expirationSeconds":1152921504606846976}}';
    const answer = await answerTo(`${namespace}/serviceaccounts/default/token`, "POST", body);
    const fault = "Invalid value: 1152921504606846976: may not specify a duration larger than 2^32 seconds";
    assert.ok(JSON.stringify(answer).includes(fault));
  });

  it("is kept in a quantity, also by a patch", async () => {
    const body = `{"metadata":{"name":"exact"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"memory":${beyond}}}}]}}`;
    const answer = await answerTo(`${namespace}/pods`, "POST", body);
    assert.match(JSON.stringify(answer), new RegExp(`"memory":"${beyond}"`));
    const operations = `[{"op":"add","path":"/status/allocatable","value":{}},{"op":"add","path":"/status/allocatable/memory","value":${beyond}}]`;
    await api.json("/api/v1/nodes", { method: "POST", body: { metadata: { name: "exact" } } });
    const patched = await answerTo("/api/v1/nodes/exact/status", "PATCH", operations, "json-patch+json");
    assert.partialDeepStrictEqual(patched, { status: { allocatable: { memory: beyond } } });
  });
});

test("who owns the fields of an object does not depend on the keys that others send", async () => {
  const key = 'k:{"name":"registry"}';
  const textOfKey = JSON.stringify(key).slice(1, 1 + key.length);
  const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { kind } = await api.json(review, { method: "POST", body: { unknown: { ".": {}, [textOfKey]: {} } } });
  assert.equal(kind, "SelfSubjectReview");
  const account = { metadata: { name: "owned" }, secrets: [{ name: "registry" }] };
  await api.json(`${namespace}/serviceaccounts`, { method: "POST", body: account });
  const change = { metadata: { labels: { a: "b" } } };
  const { metadata } = await patch(`${namespace}/serviceaccounts/owned`, "merge-patch+json", change);
  const secrets = { ".": {}, [key]: {} };
  assert.partialDeepStrictEqual(metadata.managedFields, [{ fieldsV1: { "f:secrets": secrets } }]);
});
