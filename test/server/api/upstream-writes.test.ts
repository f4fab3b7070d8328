import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiRequest } from "../../profiles/api-request.ts";
import { answer, api, objects } from "./upstream-server.ts";

/** Each answer is what kube-apiserver 1.36 answered to the same request. */
describe("a server whose objects are written, like upstream,", () => {
  it("shows the resourceVersion that was sent with a dry run of a create", async () => {
    const body = { metadata: { name: "dry", resourceVersion: "7" } };
    const create = { method: "POST", path: `${objects}/configmaps`, body };
    assert.equal((await answer(create))[0], 400);
    const [status, { metadata }] = await answer({ ...create, path: `${create.path}?dryRun=All` });
    assert.deepEqual([status, metadata.resourceVersion], [201, "7"]);
  });

  it("shows a structure in a refusal as Go's JSON, which escapes what HTML would read", async () => {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    await answer({ method: "POST", path, body: { metadata: { name: "escaped" }, roleRef } });
    const [status, { message }] = await answer({
      method: "PATCH",
      path: `${path}/escaped`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { roleRef: { name: "a<b>&c" } },
    });
    assert.equal(status, 422);
    assert.ok(message.includes(String.raw`"Name":"a\u003cb\u003e\u0026c"}: cannot change roleRef`), message);
  });

  it("accepts lists of numbers for bytes", async () => {
    const create = (a: unknown): ApiRequest => ({
      method: "POST",
      path: `${objects}/secrets?dryRun=All`,
      body: { metadata: { name: "bytes" }, data: { a } },
    });
    for (const [sent, stored] of [
      [[], ""],
      [[1, null, 255], "AQD/"],
    ]) {
      const [status, { data }] = await answer(create(sent));
      assert.deepEqual([status, data], [201, { a: stored }]);
    }
    for (const [sent, found] of [
      [[256], "number 256"],
      [[1.5], "number 1.5"],
      [["x"], "string"],
    ] as const) {
      const fault = `json: cannot unmarshal ${found} into Go struct field Secret.data of type uint8`;
      const expected = `Secret in version "v1" cannot be handled as a Secret: ${fault}`;
      const [status, { message }] = await answer(create(sent));
      assert.deepEqual([status, message], [400, expected]);
    }
  });

  it("reports wrong types in a strategic merge patch in the words of the converter", async () => {
    const faults = new Map<unknown, string>([
      [{ metadata: { labels: { a: 1 } } }, "cannot convert int64 to string"],
      [{ apiVersion: 1 }, "cannot convert int64 to string"],
      [{ kind: true }, "unrecognized type: string"],
      [{ kind: 1e30 }, "unrecognized type: string"],
      [{ metadata: { labels: { a: true } } }, "unrecognized type: string"],
      [{ metadata: { labels: [] } }, "cannot restore map from slice"],
      [{ metadata: { finalizers: "x" } }, "cannot restore slice from string"],
      [{ metadata: { generation: 1.5 } }, "cannot convert float64 to int64"],
      [{ metadata: { ownerReferences: [1] } }, "cannot restore struct from: int64"],
      [{ metadata: { creationTimestamp: 1 } }, "json: cannot unmarshal number into Go value of type string"],
      [{ immutable: "x" }, "unrecognized type: bool"],
      [{ binaryData: { a: "x" } }, "error decoding from json: illegal base64 data at input byte 0"],
    ]);
    for (const [body, fault] of faults) {
      const [status, { message }] = await answer({
        method: "PATCH",
        path: `${objects}/configmaps/kube-root-ca.crt`,
        headers: { "content-type": "application/strategic-merge-patch+json" },
        body,
      });
      assert.equal(status, 422);
      assert.ok(message.endsWith(`": ${fault}`), message);
    }
  });

  it("warns of a repeated key of YAML at the line of its value, after those in the value", async () => {
    const body = Buffer.from("metadata:\n  name: repeated\ndata:\n  a: b\ndata:\n\n  x: y\n  x: z\n");
    const headers = { "content-type": "application/yaml" };
    const answered = await api.send({ method: "POST", path: `${objects}/configmaps?dryRun=All`, headers, body });
    const repeated = ['line 8: key \\"x\\"', 'line 7: key \\"data\\"'].map(
      (key) => `299 - "${key} already set in map"`,
    );
    assert.equal(answered.headers["warning"], repeated.join(", "));
  });

  it("sorts the warnings of a merge patch, and removes null members of objects in its lists", async () => {
    const patch = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/merge-patch+json" };
      const answered = await api.send({ method: "PATCH", path: `${path}?dryRun=All`, headers, body });
      return [answered.headers["warning"], answered.json()] as const;
    };
    const [warning] = await patch(`${objects}/configmaps/kube-root-ca.crt`, { nope: 1, Data: {}, metadata: { x: 1 } });
    const unknown = ["Data", "metadata.x", "nope"].map((field) => `299 - "unknown field \\"${field}\\""`);
    assert.equal(warning, unknown.join(", "));
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
    const selectors = [{ matchLabels: { a: "b", c: null } }];
    const [, { aggregationRule }] = await patch(role, { aggregationRule: { clusterRoleSelectors: selectors } });
    assert.deepEqual(aggregationRule, { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] });
  });

  it("keeps the managers of an object when an update sends invalid managedFields", async () => {
    const path = `${objects}/configmaps`;
    const metadata = { name: "managed" };
    const [, { metadata: created }] = await answer({ method: "POST", path, body: { metadata, data: { a: "1" } } });
    const sent = { manager: "a", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { x: {} } };
    const body = { metadata: { ...metadata, managedFields: [sent] }, data: { a: "1" } };
    const [status, { metadata: updated }] = await answer({ method: "PUT", path: `${path}/managed`, body });
    assert.equal(status, 200);
    assert.deepEqual(updated.managedFields, created.managedFields);
  });

  it("refuses an impossible name in the words for its path", async () => {
    for (const [name, fault] of [
      ["%25%2E", `"%.": may not contain '%'`],
      ["a%25b", `"a%b": may not contain '%'`],
    ]) {
      for (const method of ["GET", "DELETE"]) {
        const [status, { message }] = await answer({ method, path: `${objects}/configmaps/${name}` });
        assert.deepEqual([status, message], [400, `Name parameter invalid: ${fault}`]);
      }
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: decodeURIComponent(String(name)) } };
      const [status, { message }] = await answer({
        method: "PATCH",
        path: `${objects}/configmaps/${name}?fieldManager=me`,
        headers: { "content-type": "application/apply-patch+yaml" },
        body,
      });
      assert.deepEqual([status, message], [400, `Name parameter invalid: ${fault}`]);
    }
    const role = { metadata: { name: "a%b" }, rules: [] };
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%25b";
    const [status, { message: forRole }] = await answer({ method: "PUT", path, body: role });
    assert.deepEqual([status, forRole], [400, `Name parameter invalid: "a%b": may not contain '%'`]);
    const token = { method: "POST", path: `${objects}/serviceaccounts/a%25b/token`, body: {} };
    assert.equal((await answer(token))[1].message, `Name parameter invalid: "a%b": may not contain '%'`);
    const [, { message }] = await answer({ path: `${objects}/configmaps/a%00` });
    assert.equal(message, 'configmaps "a\\x00" not found');
  });

  it("names the faults of strict decoding in the order of a JSON body, and by name of YAML and of patched objects", async () => {
    const path = `${objects}/configmaps`;
    const told = async (request: ApiRequest): Promise<unknown> => {
      const [, { message }] = await answer({ ...request, path: `${request.path}?fieldValidation=Strict` });
      return message.slice(message.indexOf("strict decoding error: ") + "strict decoding error: ".length);
    };
    const json = '{"z":1,"metadata":{"name":"strict","b":1},"data":{"a":"1","a":"2"},"c":1}';
    assert.equal(
      await told({ method: "POST", path, body: Buffer.from(json), headers: { "content-type": "application/json" } }),
      'unknown field "z", unknown field "metadata.b", duplicate field "data.a", unknown field "c"',
    );
    const yaml = "z: 1\nmetadata: {name: strict, b: 1, a: 1}\nc: 1\n";
    assert.equal(
      await told({ method: "POST", path, body: Buffer.from(yaml), headers: { "content-type": "application/yaml" } }),
      'unknown field "c", unknown field "metadata.a", unknown field "metadata.b", unknown field "z"',
    );
    await answer({ method: "POST", path, body: { metadata: { name: "strict" } } });
    const added = ["/z", "/metadata/b", "/c"].map((member) => ({ op: "add", path: member, value: 1 }));
    const headers = { "content-type": "application/json-patch+json" };
    assert.equal(
      await told({ method: "PATCH", path: `${path}/strict`, body: added, headers }),
      'unknown field "c", unknown field "metadata.b", unknown field "z"',
    );
  });

  it("mentions generated names when an object with both name and prefix already exists", async () => {
    const metadata = { name: "default", generateName: "x" };
    const answered = await api.send({ method: "POST", path: `${objects}/serviceaccounts`, body: { metadata } });
    const { message, details } = answered.json();
    assert.equal(answered.status, 409);
    assert.match(
      message,
      /"default" already exists, the server was not able to generate a unique name for the object$/,
    );
    assert.equal(answered.headers["retry-after"], "1");
    assert.deepEqual(details, { name: "default", kind: "serviceaccounts", retryAfterSeconds: 1 });
  });

  it("shows the beginning of a body that is no YAML, and only its fault in the options of a deletion", async () => {
    const headers = { "content-type": "application/yaml" };
    const path = `${objects}/configmaps`;
    const refusal = async (request: ApiRequest): Promise<string> => (await answer({ ...request, headers }))[1].message;
    const body = Buffer.from("a: *b\n");
    const fault = "yaml: unknown anchor 'b' referenced";
    assert.equal(
      await refusal({ method: "POST", path, body }),
      `the object provided is unrecognized (must be of type ConfigMap): ${fault} (613a202a620a)`,
    );
    assert.equal(await refusal({ method: "DELETE", path: `${path}/any`, body }), fault);
  });

  it("resets the managers of an object by an empty list, and drops those that own no known field", async () => {
    const path = `${objects}/configmaps`;
    const metadata = { name: "reset" };
    await answer({ method: "POST", path, body: { metadata, data: { a: "1" } } });
    const managersAfter = async (managedFields: object[]): Promise<unknown> => {
      const headers = { "content-type": "application/merge-patch+json" };
      const body = { metadata: { managedFields } };
      const [, patched] = await answer({ method: "PATCH", path: `${path}/reset`, headers, body });
      return patched.metadata.managedFields;
    };
    assert.equal(await managersAfter([]), undefined);
    const sent = {
      manager: "a",
      operation: "Update",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": {} },
    };
    assert.deepEqual(await managersAfter([{ ...sent, fieldsV1: {} }]), undefined);
    assert.deepEqual(await managersAfter([{ ...sent, apiVersion: "unknown/v1" }]), undefined);
    assert.deepEqual(await managersAfter([sent]), [sent]);
    const body = { metadata: { ...metadata, managedFields: [] }, data: { a: "2" } };
    const [, { metadata: updated }] = await answer({ method: "PUT", path: `${path}/reset`, body });
    assert.equal(updated.managedFields, undefined);
  });

  it("takes a missing key of an applied list entry as an empty text, and reports that it is required", async () => {
    const headers = { "content-type": "application/apply-patch+yaml" };
    const apply = (path: string, body: object): Promise<readonly [number, ReturnType<typeof JSON.parse>]> =>
      answer({ method: "PATCH", path: `${path}?fieldManager=a&dryRun=All`, headers, body });
    const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "x" }];
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owned", ownerReferences } };
    const [, { message }] = await apply(`${objects}/configmaps/owned`, map);
    const fault = 'metadata.ownerReferences.uid: Invalid value: "": must not be empty';
    assert.equal(message, `ConfigMap "owned" is invalid: ${fault}`);
    const status = { conditions: [{ status: "True" }] };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "applied" }, status };
    const [code, created] = await apply("/api/v1/nodes/applied", node);
    assert.deepEqual([code, created.status.conditions[0].type], [201, ""]);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "applied" }, secrets: [{}] };
    assert.equal((await apply(`${objects}/serviceaccounts/applied`, account))[0], 422);
  });

  it("takes an empty precondition in a query for none", async () => {
    const path = `${objects}/configmaps`;
    await answer({ method: "POST", path, body: { metadata: { name: "unconditional" } } });
    const query = "uid=&resourceVersion=&fieldSelector=metadata.name%3Dunconditional";
    const [status, { items }] = await answer({ method: "DELETE", path: `${path}?${query}` });
    assert.deepEqual([status, items.length], [200, 1]);
  });

  it("reads the kind and the apiVersion of a body in any case", async () => {
    const path = `${objects}/configmaps?dryRun=All`;
    const create = async (type: object): Promise<number> =>
      (await answer({ method: "POST", path, body: { ...type, metadata: { name: "cased" } } }))[0];
    assert.equal(await create({ KIND: "ConfigMap", APIVersion: "v1" }), 201);
    assert.equal(await create({ kind: "ConfigMap", Kind: null }), 201);
    assert.equal(await create({ kind: "ConfigMap", Kind: "Secret" }), 400);
    assert.equal(await create({ Kind: 1 }), 400);
  });

  it("reads an apiVersion with an empty group or version", async () => {
    const create = async (path: string, apiVersion: string): Promise<unknown> => {
      const [status, { apiVersion: shown, message }] = await answer({
        method: "POST",
        path: `${path}?dryRun=All`,
        body: { apiVersion, metadata: { name: "spelled" } },
      });
      return status === 201 ? shown : message;
    };
    for (const apiVersion of ["/v1", "/", ""]) assert.equal(await create(`${objects}/configmaps`, apiVersion), "v1");
    const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    for (const apiVersion of ["coordination.k8s.io/", "/"]) {
      assert.equal(await create(leases, apiVersion), "coordination.k8s.io/v1");
    }
    const other = "the API version in the data (v1) does not match the expected API version (coordination.k8s.io/v1)";
    assert.equal(await create(leases, "/v1"), other);
    const map = { apiVersion: "/v1", kind: "ConfigMap", metadata: { name: "spelled" } };
    const path = `${objects}/configmaps/spelled`;
    for (const [type, query] of [
      ["apply-patch+yaml", "?fieldManager=m"],
      ["merge-patch+json", ""],
      ["strategic-merge-patch+json", ""],
    ] as const) {
      const headers = { "content-type": `application/${type}` };
      const [, { apiVersion }] = await answer({ method: "PATCH", path: `${path}${query}`, headers, body: map });
      assert.equal(apiVersion, "v1", type);
    }
  });

  it("replaces the earlier of repeated keys in YAML, where it merges the objects of repeated members in JSON", async () => {
    const path = `${objects}/configmaps?dryRun=All`;
    const labels = '"metadata":{"name":"repeated","labels":{"a":"1"},"labels":{"b":"2"}}';
    for (const [format, wanted] of [
      ["json", { a: "1", b: "2" }],
      ["yaml", { b: "2" }],
    ] as const) {
      const headers = { "content-type": `application/${format}` };
      const [status, { metadata }] = await answer({ method: "POST", path, headers, body: Buffer.from(`{${labels}}`) });
      assert.deepEqual([status, metadata.labels], [201, wanted]);
      const twice = Buffer.from('{"metadata":{"name":"repeated"},"metadata":{"labels":{"b":"2"}}}');
      assert.equal((await answer({ method: "POST", path, headers, body: twice }))[0], format === "json" ? 201 : 422);
    }
  });

  it("keeps the value of a member that JSON repeats as null, except of pointers, lists, maps and times", async () => {
    const path = `${objects}/serviceaccounts?dryRun=All`;
    const headers = { "content-type": "application/json" };
    const created = async (text: string): Promise<unknown> => {
      const [, { metadata, message, ...rest }] = await answer({
        method: "POST",
        path,
        headers,
        body: Buffer.from(text),
      });
      return message ?? { name: metadata.name, labels: metadata.labels, ...rest };
    };
    const type = { kind: "ServiceAccount", apiVersion: "v1" };
    const kept = { name: "kept", labels: undefined, ...type };
    assert.deepEqual(await created('{"metadata":{"name":"kept","name":null}}'), kept);
    assert.deepEqual(await created('{"metadata":{"name":"kept"},"metadata":null,"metadata":null}'), kept);
    assert.deepEqual(await created('{"metadata":{"name":"kept"},"metadata":{"name":null}}'), kept);
    assert.deepEqual(await created('{"metadata":{"name":"kept","name":null,"name":"last"}}'), {
      ...kept,
      name: "last",
    });
    const emptied = '"labels":{"a":"1"},"labels":null},"secrets":[{"name":"s"}],"secrets":null';
    const pointer = '"automountServiceAccountToken":true,"automountServiceAccountToken":null';
    assert.deepEqual(await created(`{"metadata":{"name":"kept",${emptied},${pointer}}`), kept);
    const refused = await created('{"kind":"X","apiVersion":"v1","kind":null,"metadata":{"name":"kept"}}');
    assert.match(String(refused), /^X in version "v1" cannot be handled as a ServiceAccount/);
  });
});
