import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiRequester } from "../../profiles/api-request.ts";
import type { ApiRequest } from "../../profiles/api-request.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";

let api: ApiRequester;
before(async () => {
  api = await ApiRequester.toNewServer({ profile: "kubernetes" });
  await waitForDefaultAccount(api.server);
});
after(() => api.stop());

const objects = "/api/v1/namespaces/default";

/** The status and the body. */
async function answer(request: ApiRequest): Promise<readonly [number, ReturnType<typeof JSON.parse>]> {
  const answered = await api.send(request);
  return [answered.status, answered.json()];
}

/** Each answer is what kube-apiserver 1.36 answered to the same request. */
describe("a server, like upstream,", () => {
  it("refuses a token for an account with another uid before it checks the lifetime", async () => {
    const [, { metadata: account }] = await answer({ path: `${objects}/serviceaccounts/default` });
    const path = `${objects}/serviceaccounts/default/token`;
    const asked = (uid: string, spec = {}): ApiRequest => ({ method: "POST", path, body: { metadata: { uid }, spec } });
    const [status, { message, details }] = await answer(asked("x", { expirationSeconds: 1 }));
    assert.equal(status, 409);
    assert.match(message, /the UID in the token request \(x\) does not match the UID of the service account \(/);
    assert.deepEqual(details, { name: "default", group: "authentication.k8s.io", kind: "TokenRequest" });
    assert.equal((await answer(asked(account.uid)))[0], 201);
  });

  it("shows the resourceVersion that was sent with a dry run of a create", async () => {
    const body = { metadata: { name: "dry", resourceVersion: "7" } };
    const create = { method: "POST", path: `${objects}/configmaps`, body };
    assert.equal((await answer(create))[0], 400);
    const [status, { metadata }] = await answer({ ...create, path: `${create.path}?dryRun=All` });
    assert.deepEqual([status, metadata.resourceVersion], [201, "7"]);
  });

  it("selects everything by a field selector without field and value", async () => {
    const [status, { items }] = await answer({
      path: `${objects}/serviceaccounts?fieldSelector=%3D,metadata.name%3Ddefault`,
    });
    assert.equal(status, 200);
    assert.deepEqual(
      items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ["default"],
    );
    assert.equal((await answer({ path: `${objects}/serviceaccounts?fieldSelector=!%3D` }))[0], 200);
    const [, { message }] = await answer({ path: `${objects}/serviceaccounts?fieldSelector=metadata.name%3Da%3Db` });
    assert.equal(message, "invalid field selector: unescaped character in value: 61");
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

  it("refuses a timeout that is not a duration, for every user and path except watches", async () => {
    const faults = {
      x: 'invalid duration "x"',
      "1": 'missing unit in duration "1"',
      "1x": 'unknown unit "x" in duration "1x"',
      "1h1.": 'missing unit in duration "1h1."',
      "%C3%A9": 'invalid duration "\\xc3\\xa9"',
      "2562048h": 'invalid duration "2562048h"',
      "2000000h600000h": 'invalid duration "2000000h600000h"',
      "1%0A": 'unknown unit "\\x0a" in duration "1\\x0a"',
    };
    for (const [timeout, fault] of Object.entries(faults)) {
      for (const path of ["/healthz", "/api/v1/pods", "/nowhere"]) {
        const headers = { authorization: "Bearer unknown" };
        const [status, { message }] = await answer({ path: `${path}?timeout=${timeout}`, headers });
        const expected = `invalid timeout specified in the request URL - time: ${fault}`;
        assert.deepEqual([status, message], [400, expected]);
      }
    }
    for (const timeout of ["", "0", "-1s", "1h2m3.5s", ".5h", "1us", "2562047h"]) {
      assert.equal((await api.send({ path: `/version?timeout=${timeout}` })).status, 200);
    }
    const watch = await api.send({ path: `${objects}/configmaps?watch=1&timeoutSeconds=1&timeout=x` });
    assert.equal(watch.status, 200);
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

  it("says of amounts that are no object that they should be a ResourceList", async () => {
    const [status, { message }] = await answer({
      method: "POST",
      path: `${objects}/pods`,
      body: {
        metadata: { name: "odd" },
        spec: { containers: [{ name: "c", image: "i", resources: { limits: "1" } }] },
      },
    });
    const field = "ResourceRequirements.spec.containers.resources.limits";
    assert.deepEqual(
      [status, message],
      [
        400,
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ' +
          `${field} of type v1.ResourceList`,
      ],
    );
  });

  it("shows all metadata of a review in its refusal", async () => {
    const path = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
    const spec = { user: "u", resourceAttributes: { namespace: "default" } };
    const [status, { details }] = await answer({
      method: "POST",
      path,
      body: { metadata: { labels: { a: "b" }, name: "x" }, spec },
    });
    assert.equal(status, 422);
    const shown =
      /^Invalid value: (.*): must be empty except for namespace$/.exec(details.causes[0].message)?.[1] ?? "";
    const { managedFields, ...metadata } = JSON.parse(shown);
    assert.equal(JSON.stringify(metadata), '{"name":"x","namespace":"default","labels":{"a":"b"}}');
    assert.equal(managedFields[0].operation, "Update");
  });

  it("reports that a review's selector was ignored when it cannot be parsed or evaluated", async () => {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const evaluated = async (selector: object): Promise<unknown> => {
      const body = { spec: { resourceAttributes: { verb: "list", resource: "pods", ...selector } } };
      return (await answer({ method: "POST", path, body }))[1].status.evaluationError;
    };
    assert.equal(await evaluated({ labelSelector: { rawSelector: "a in (b)" } }), undefined);
    for (const kind of ["fieldSelector", "labelSelector"]) {
      assert.equal(
        await evaluated({ [kind]: { rawSelector: "a b" } }),
        `spec.resourceAttributes.${kind} ignored due to parse error`,
      );
    }
    const exact = { key: "a", operator: "In", values: ["b"] };
    const several = { key: "a", operator: "NotIn", values: ["b", "c"] };
    const ignored = "ignored due to parse error";
    const field = "spec.resourceAttributes.fieldSelector";
    assert.equal(await evaluated({ fieldSelector: { requirements: [exact] } }), undefined);
    assert.equal(await evaluated({ fieldSelector: { requirements: [several] } }), `${field} ${ignored}`);
    assert.equal(
      await evaluated({ fieldSelector: { requirements: [exact, several] } }),
      `${field} partially ${ignored}`,
    );
    assert.equal(await evaluated({ labelSelector: { requirements: [several] } }), undefined);
  });

  it("answers a review with its metadata only, on request", async () => {
    const [status, body] = await answer({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
      body: { spec: { token: "x" } },
    });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body).sort(), ["apiVersion", "kind", "metadata"]);
    assert.equal(body.kind, "PartialObjectMetadata");
  });

  it("names the requested groups, uid and extra when impersonation names no user", async () => {
    const headers = { "impersonate-group": "g", "impersonate-extra-a": "b" };
    const [status, { message }] = await answer({ path: "/api", headers });
    const groups = 'Groups:[]string{"g"}, Extra:map[string][]string{"a":[]string{"b"}}';
    const expected = `requested &user.DefaultInfo{Name:"", UID:"", ${groups}} without impersonating a user name`;
    assert.deepEqual([status, message], [400, expected]);
  });

  it("quotes control characters as Go does", async () => {
    const body = { metadata: { name: 'a\u0000\u0007"\\\u00a0é' } };
    const [, { details }] = await answer({ method: "POST", path: `${objects}/configmaps`, body });
    const [, { message }] = await answer({ path: `${objects}/configmaps?limit=%00%C3%A9` });
    assert.equal(message, 'strconv.ParseInt: parsing "\\x00é": invalid syntax');
    assert.equal((await answer({ path: `${objects}/configmaps?limit=${"0".repeat(30)}1` }))[0], 200);
    assert.ok(details.causes[0].message.startsWith('Invalid value: "a\\x00\\a\\"\\\\\\u00a0é":'));
    const [, ofSelector] = await answer({ path: `${objects}/serviceaccounts?fieldSelector=%00%C2%A0%3Da` });
    assert.match(ofSelector.message, /^"\\x00\\u00a0" is not a known field selector/);
    const unknown = { metadata: { name: "a" }, "\u007f\u2028": 1 };
    const strict = `${objects}/configmaps?fieldValidation=Strict`;
    const [, ofField] = await answer({ method: "POST", path: strict, body: unknown });
    assert.match(ofField.message, /unknown field "\\x7f\\u2028"$/);
  });

  it("escapes invisible characters in the names of users, roles and nodes that its decisions show", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const invisible = "\u2028\u202e\u00a0";
    const escaped = String.raw`\u2028\u202e\u00a0`;
    const user = `x${invisible}`;
    const asUser = (name: string, group: string): Record<string, string> => ({
      "impersonate-user": Buffer.from(name).toString("latin1"),
      "impersonate-group": group,
    });
    for (const [name, role] of [
      ["invisible", "admin"],
      ["missing", `none${invisible}`],
    ] as const) {
      const body = {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ kind: "User", name: user }],
      };
      assert.equal((await answer({ method: "POST", path: `${rbac}/clusterrolebindings`, body }))[0], 201);
    }
    const reasonFor = async (resource: string): Promise<string> => {
      const spec = { user, resourceAttributes: { verb: "get", resource, namespace: "default" } };
      const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      return (await answer({ method: "POST", path, body: { spec } }))[1].status.reason;
    };
    const allowed = 'RBAC: allowed by ClusterRoleBinding "invisible" of ClusterRole "admin"';
    assert.equal(await reasonFor("configmaps"), `${allowed} to User "x${escaped}"`);
    assert.equal(await reasonFor("nodes"), `RBAC: clusterrole.rbac.authorization.k8s.io "none${escaped}" not found`);
    const rules = [{ apiGroups: [invisible], resources: ["a"], verbs: ["get"] }];
    const role = { method: "POST", path: `${rbac}/namespaces/default/roles`, body: { metadata: { name: "r" }, rules } };
    const [, { message }] = await answer({ ...role, headers: asUser(user, "g") });
    assert.ok(message.includes(`user "x${escaped}" (groups=["g" "system:authenticated"])`), message);
    assert.ok(message.includes(`{APIGroups:["${escaped}"], Resources:["a"], Verbs:["get"]}`), message);
    const node = { method: "POST", path: "/api/v1/nodes", body: { metadata: { name: "n" } } };
    const [, refused] = await answer({ ...node, headers: asUser(`system:node:n${invisible}`, "system:nodes") });
    assert.equal(refused.message, `nodes "n" is forbidden: node "n${escaped}" is not allowed to modify node "n"`);
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

  it("refuses malformed continue tokens and versions in the words of Go", async () => {
    const refusal = async (query: string): Promise<unknown> => {
      const [status, { message }] = await answer({ path: `${objects}/configmaps?${query}` });
      assert.equal(status, 400);
      return message;
    };
    const token = "invalid continue token: continue key is not valid:";
    assert.equal(await refusal("continue=x"), `${token} illegal base64 data at input byte 0`);
    assert.equal(await refusal("continue=ab%3D%3D"), `${token} illegal base64 data at input byte 2`);
    assert.equal(await refusal("continue=e30"), `${token} server does not recognize this encoded version `);
    const other = Buffer.from('{"v":"meta.k8s.io/v2"}').toString("base64url");
    const unknown = `${token} server does not recognize this encoded version meta.k8s.io/v2`;
    assert.equal(await refusal(`continue=${other}`), unknown);
    const version = "invalid resource version: resourceVersion: Invalid value:";
    assert.equal(
      await refusal("resourceVersion=-1"),
      `${version} "-1": strconv.ParseUint: parsing "-1": invalid syntax`,
    );
    const large = "99999999999999999999";
    assert.equal(
      await refusal(`resourceVersion=${large}`),
      `${version} "${large}": strconv.ParseUint: parsing "${large}": value out of range`,
    );
  });

  it("begins a watch without a version with the initial state, and marks its end with a bookmark where these are allowed", async () => {
    const watch = (query: string): ApiRequest => ({
      path: `${objects}/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dabsent&${query}`,
    });
    for (const version of ["", "&resourceVersion=0"]) {
      const answered = await api.send(watch(`allowWatchBookmarks=1${version}`));
      const [bookmark] = answered.bytes.toString().split("\n");
      const { type, object } = JSON.parse(bookmark ?? "");
      assert.deepEqual([type, object.metadata.annotations], ["BOOKMARK", { "k8s.io/initial-events-end": "true" }]);
      assert.equal((await api.send(watch(`continue=x${version}`))).status, 422);
    }
  });

  it("shows the mark of a complete initial state in a table whose rows leave their objects out", async () => {
    const query =
      "watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dabsent&allowWatchBookmarks=1&includeObject=None";
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { bytes } = await api.send({ path: `${objects}/configmaps?${query}`, headers });
    const [bookmark] = bytes.toString().split("\n");
    const [row] = JSON.parse(bookmark ?? "").object.rows;
    assert.deepEqual(
      [row.object.kind, row.object.metadata.annotations],
      ["PartialObjectMetadata", { "k8s.io/initial-events-end": "true" }],
    );
  });

  it("shows a dry run of a create in a table without a resourceVersion", async () => {
    const [, { metadata, rows }] = await answer({
      method: "POST",
      path: `${objects}/configmaps?dryRun=All`,
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
      body: { metadata: { name: "row" } },
    });
    assert.deepEqual([metadata, rows.length], [{}, 1]);
  });

  it("negotiates discovery documents: the aggregated ones by ranges of types, none as another kind", async () => {
    const accepted = "only the following media types are accepted: ";
    const types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    const statusOf = async (path: string, accept: string) => {
      const [status, { message }] = await answer({ path, headers: { accept } });
      return status === 200 ? status : message;
    };
    for (const path of ["/apis", "/apis/rbac.authorization.k8s.io"]) {
      assert.equal(await statusOf(path, "application/*"), 200);
      assert.equal(await statusOf(path, "text/html"), accepted + types);
    }
    for (const path of ["/api", "/api/v1", "/apis", "/apis/rbac.authorization.k8s.io/v1"]) {
      assert.equal(await statusOf(path, "application/json;as=Table;v=v1;g=meta.k8s.io"), accepted + types);
    }
    for (const path of ["/api", "/api/v1"]) {
      const notAcceptable = `406: Not Acceptable\n\nAvailable representations: ${types}`;
      assert.equal(await statusOf(path, "application/*"), notAcceptable);
    }
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

  it("lists in OpenAPI which values a field can have", async () => {
    const [, { components }] = await answer({ path: "/openapi/v3/apis/certificates.k8s.io/v1" });
    const { usages } = components.schemas["io.k8s.api.certificates.v1.CertificateSigningRequestSpec"].properties;
    assert.deepEqual(usages.items.enum.slice(0, 3), ["any", "cert sign", "client auth"]);
    const [, { definitions }] = await answer({ path: "/openapi/v2" });
    const { effect } = definitions["io.k8s.api.core.v1.Taint"].properties;
    assert.deepEqual(effect.enum, ["NoExecute", "NoSchedule", "PreferNoSchedule"]);
  });

  it("describes in OpenAPI a review's conditions on labels and fields by the types that all groups share", async () => {
    const [, { components }] = await answer({ path: "/openapi/v3/apis/authorization.k8s.io/v1" });
    const names = Object.keys(components.schemas).filter((name) => name.endsWith("SelectorRequirement"));
    assert.deepEqual(names.sort(), [
      "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
      "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
    ]);
  });

  it("misses the namespace or the name that a path leaves empty", async () => {
    const told = async (method: string, path: string): Promise<readonly unknown[]> => {
      const body = ["POST", "PUT"].includes(method) ? { metadata: { name: "x" } } : undefined;
      const [status, { message, kind }] = await answer({ method, path, ...(body && { body }) });
      return [status, message ?? kind];
    };
    const accounts = "/api/v1/namespaces//serviceaccounts";
    for (const method of ["GET", "PUT", "DELETE"]) {
      assert.deepEqual(await told(method, `${accounts}/x`), [400, "Namespace parameter required."]);
    }
    assert.deepEqual(await told("DELETE", accounts), [400, "Namespace parameter required."]);
    assert.deepEqual(await told("POST", `${accounts}/x/token`), [400, "Namespace parameter required."]);
    const required = 'ServiceAccount "x" is invalid: metadata.namespace: Required value';
    assert.deepEqual(await told("POST", accounts), [422, required]);
    assert.deepEqual(await told("GET", accounts), [200, "ServiceAccountList"]);
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    for (const path of [`${requests}//approval`, "/api/v1/namespaces//status"]) {
      for (const method of ["GET", "PUT"]) assert.deepEqual(await told(method, path), [400, "name must be provided"]);
    }
    assert.deepEqual(await told("POST", `${objects}/serviceaccounts//token`), [400, "name must be provided"]);
    const unknown = "the server could not find the requested resource";
    for (const path of ["/api/v1/namespaces//namespaces", "/api/v1/namespaces//nodes/x", "/api/v1/serviceaccounts/x"]) {
      assert.deepEqual(await told("GET", path), [404, unknown], path);
    }
    assert.deepEqual(await told("POST", "/api/v1/namespaces//namespaces"), [404, unknown]);
  });

  it("answers null for the rows of an empty table of roles, and an empty list for those of other kinds", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const query = "?labelSelector=of%3Dnothing";
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const rowsOf = async (path: string, method = "GET"): Promise<unknown> =>
      (await answer({ method, path: `${path}${query}`, headers }))[1].rows;
    for (const path of [`${rbac}/clusterroles`, `${rbac}/namespaces/default/roles`]) {
      assert.equal(await rowsOf(path), null);
      assert.equal(await rowsOf(path, "DELETE"), null);
    }
    assert.deepEqual(await rowsOf(`${rbac}/clusterrolebindings`), []);
    assert.deepEqual(await rowsOf(`${objects}/configmaps`), []);
  });

  it("has no table of a namespace's finalizers", async () => {
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const body = { metadata: { name: "default" }, spec: { finalizers: ["kubernetes"] } };
    const path = "/api/v1/namespaces/default";
    assert.equal((await answer({ method: "PUT", path: `${path}/finalize`, headers, body }))[0], 406);
    assert.equal((await answer({ path: `${path}/status`, headers }))[0], 200);
  });

  it("answers a path whose beginning is empty with 404, to authorized users", async () => {
    const paths = [
      "//api/v1/namespaces",
      "/apis//v1/namespaces",
      "/apis/%2Fv1/namespaces/default/configmaps/a",
      "//apis/certificates.k8s.io/v1/certificatesigningrequests",
      "//",
      "//healthz",
    ];
    for (const path of paths) {
      const { status, bytes } = await api.send({ path });
      assert.deepEqual([path, status, bytes.toString()], [path, 404, "404 page not found\n"]);
      assert.equal((await api.send({ path, headers: { "impersonate-user": "nobody" } })).status, 403);
    }
  });

  it("refuses to export an object, whether it exists or not", async () => {
    for (const query of ["export=true", "export", "export=1&resourceVersion=0"]) {
      const [status, { message }] = await answer({ path: `${objects}/configmaps/none?${query}` });
      assert.deepEqual(
        [status, message],
        [400, "the export parameter, deprecated since v1.14, is no longer supported"],
      );
    }
    assert.equal((await answer({ path: "/api/v1/namespaces/default?export=false" }))[0], 200);
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

  it("labels a namespace with its generated name when the name is valid", async () => {
    const create = (metadata: object): ApiRequest => ({
      method: "POST",
      path: "/api/v1/namespaces?dryRun=All",
      body: { metadata },
    });
    const fields = ({ details }: { details: { causes: readonly { field: string }[] } }): string[] =>
      details.causes.map(({ field }) => field);
    const [, { metadata }] = await answer(create({ generateName: "a-" }));
    assert.equal(metadata.labels["kubernetes.io/metadata.name"], metadata.name);
    assert.deepEqual(fields((await answer(create({ generateName: "--" })))[1]), ["metadata.name"]);
    assert.deepEqual(fields((await answer(create({ name: "--" })))[1]), ["metadata.name", "metadata.labels"]);
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

  it("shows unset times of conditions as null", async () => {
    const merge = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
    const conditions = [{ type: "Example", status: "True" }];
    const path = `${objects}/status?dryRun=All`;
    const [, { status }] = await answer({ ...merge, path, body: { status: { conditions } } });
    assert.deepEqual(status.conditions, [{ ...conditions[0], lastTransitionTime: null }]);
    const node = { metadata: { name: "times" }, status: { conditions } };
    const [, created] = await answer({ method: "POST", path: "/api/v1/nodes?dryRun=All", body: node });
    assert.deepEqual(created.status.conditions, [
      { ...conditions[0], lastHeartbeatTime: null, lastTransitionTime: null },
    ]);
  });

  it("names what a role grants beyond its author's permissions: each verb of a path, and aggregation", async () => {
    const group = "rbac.authorization.k8s.io";
    const roles = `/apis/${group}/v1/clusterroles`;
    const metadata = { name: "author" };
    const rules = [{ apiGroups: [group], resources: ["clusterroles"], verbs: ["create"] }];
    await answer({ method: "POST", path: roles, body: { metadata, rules } });
    const roleRef = { apiGroup: group, kind: "ClusterRole", name: "author" };
    const subjects = [{ apiGroup: group, kind: "User", name: "author" }];
    await answer({
      method: "POST",
      path: roles.replace("roles", "rolebindings"),
      body: { metadata, roleRef, subjects },
    });
    const refusal = async (role: object): Promise<unknown> => {
      const headers = { "impersonate-user": "author", "impersonate-group": "a" };
      const body = { metadata: { name: "new" }, ...role };
      const [status, { message }] = await answer({ method: "POST", path: `${roles}?dryRun=All`, headers, body });
      assert.equal(status, 403);
      return message.replace(/^.*? is forbidden: /s, "");
    };
    assert.equal(
      await refusal({
        rules: [
          { nonResourceURLs: ["/b", "/a"], verbs: ["get", "put"] },
          { ...rules[0], verbs: ["get", "list"] },
        ],
      }),
      'user "author" (groups=["a" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        `{APIGroups:["${group}"], Resources:["clusterroles"], Verbs:["get" "list"]}\n` +
        ["a", "b"]
          .flatMap((path) => ["get", "put"].map((verb) => `{NonResourceURLs:["/${path}"], Verbs:["${verb}"]}`))
          .join("\n"),
    );
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
    const words = "must have cluster-admin privileges to use the aggregationRule";
    assert.equal(await refusal({ aggregationRule }), words);
  });

  it("refuses invalid taints and duplicate addresses of a Node", async () => {
    const dryRun = async (method: string, path: string, body: object): Promise<unknown> => {
      const [status, { details, message }] = await answer({ method, path: `/api/v1/nodes${path}?dryRun=All`, body });
      assert.equal(status, 422, message);
      return details.causes.map((one: { field: string; message: string }) => `${one.field}: ${one.message}`);
    };
    const metadata = { name: "tainted" };
    const taint = { key: "a", effect: "NoSchedule" };
    const taints = [taint, { ...taint, value: "b" }, { key: "a" }];
    const shown = '{"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}';
    const faults = [
      `metadata.taints[1]: Duplicate value: ${shown}: taints must be unique by key and effect pair`,
      "metadata.taints[2].effect: Required value",
    ];
    assert.deepEqual(await dryRun("POST", "", { metadata, spec: { taints } }), faults);
    await answer({ method: "POST", path: "/api/v1/nodes", body: { metadata } });
    assert.deepEqual(await dryRun("PUT", "/tainted", { metadata, spec: { taints } }), [...faults, ...faults]);
    for (const wrong of [{ key: "a b" }, { value: "a b" }, { effect: "No" }]) {
      const causes = await dryRun("POST", "", {
        metadata: { name: "new" },
        spec: { taints: [{ ...taint, ...wrong }] },
      });
      assert.ok(String(causes).startsWith(`metadata.taints[0].${Object.keys(wrong).join("")}: `));
    }
    const address = { type: "InternalIP", address: "192.0.2.1" };
    const body = { metadata, status: { addresses: [address, address] } };
    const twice = 'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"192.0.2.1"}';
    assert.deepEqual(await dryRun("PUT", "/tainted/status", body), [twice]);
    const externalID = "spec.externalID: Forbidden: may not be updated";
    assert.deepEqual(await dryRun("PUT", "/tainted", { metadata, spec: { externalID: "x" } }), [externalID]);
  });

  it("names the fields of an Event as its group does, and its kind without the group", async () => {
    const path = "/apis/events.k8s.io/v1/namespaces/default/events";
    const eventTime = "2026-01-01T00:00:00.000000Z";
    const event = {
      metadata: { name: "new" },
      regarding: { kind: "Pod", name: "x", namespace: "default" },
      reason: "Reason",
      type: "Normal",
      action: "Action",
      eventTime,
      reportingController: "example.com/a",
      reportingInstance: "a",
    };
    assert.equal((await answer({ method: "POST", path, body: event }))[0], 201);
    const { action: _, ...body } = { ...event, reportingController: "a b" };
    const [status, { message, details }] = await answer({ method: "PUT", path: `${path}/new`, body });
    assert.equal(status, 422);
    assert.ok(message.startsWith('Event "new" is invalid: [reportingController: Invalid value: "a b": name part'));
    assert.deepEqual([details.kind, details.group], ["Event", undefined]);
    const immutable = (field: string, value: string): object => ({
      reason: "FieldValueInvalid",
      message: `Invalid value: "${value}": field is immutable`,
      field,
    });
    assert.deepEqual(details.causes.slice(2), [immutable("action", ""), immutable("reportingController", "a b")]);
  });

  it("shows <unknown> for an Event without times", async () => {
    const path = `${objects}/events`;
    const involvedObject = { kind: "Pod", name: "x", namespace: "default" };
    await answer({ method: "POST", path, body: { metadata: { name: "unseen" }, involvedObject } });
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const [, { rows }] = await answer({ path: `${path}/unseen`, headers });
    assert.equal(rows[0].cells[0], "<unknown>");
  });

  it("names the wrong finalizer in a request to finalize a Namespace", async () => {
    const path = "/api/v1/namespaces/default/finalize";
    const body = { metadata: { name: "default" }, spec: { finalizers: ["kubernetes", "x"] } };
    const [status, { details }] = await answer({ method: "PUT", path, body });
    assert.deepEqual([status, details.causes[0].field], [422, "spec.finalizers[1]"]);
  });

  it("accepts any name that is valid in a path for an Event of the core group", async () => {
    const involvedObject = { kind: "Pod", name: "x", namespace: "default" };
    const create = (path: string, name: string): ApiRequest => ({
      method: "POST",
      path: `${path}/events?dryRun=All`,
      body: { metadata: { name }, involvedObject },
    });
    assert.equal((await answer(create(objects, "Any Name:1")))[0], 201);
    assert.equal((await answer(create(objects, "a/b")))[0], 422);
    const [, { details }] = await answer(create("/apis/events.k8s.io/v1/namespaces/default", "Any Name:1"));
    assert.equal(details.causes[0].field, "metadata.name");
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

  it("ends a watch with a negative timeout before it begins", async () => {
    const answered = await api.send({ path: `${objects}/configmaps?watch=1&timeoutSeconds=-1` });
    assert.deepEqual([answered.status, answered.bytes.length], [200, 0]);
  });

  it("list everything for version 0, whatever the limit", async () => {
    const path = "/api/v1/namespaces";
    const [, all] = await answer({ path });
    for (const match of ["", "&resourceVersionMatch=NotOlderThan"]) {
      const [status, { items, metadata }] = await answer({ path: `${path}?limit=1&resourceVersion=0${match}` });
      assert.deepEqual([status, items.length, metadata.continue], [200, all.items.length, undefined]);
    }
    assert.equal((await answer({ path: `${path}?limit=1` }))[1].items.length, 1);
  });

  it("take an empty precondition in a query for none", async () => {
    const path = `${objects}/configmaps`;
    await answer({ method: "POST", path, body: { metadata: { name: "unconditional" } } });
    const query = "uid=&resourceVersion=&fieldSelector=metadata.name%3Dunconditional";
    const [status, { items }] = await answer({ method: "DELETE", path: `${path}?${query}` });
    assert.deepEqual([status, items.length], [200, 1]);
  });

  it("refuse to answer a review as a list", async () => {
    const headers = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const [status, { message }] = await answer({ method: "POST", path, body: {}, headers });
    assert.equal(status, 406);
    assert.match(message, /the requested object is not a list \(\*authentication\.SelfSubjectReview\)$/);
  });

  it("leave out of discovery the group and the version that its documents have anyway", async () => {
    const headers = { accept: "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io" };
    const [, { items }] = await answer({ path: "/api", headers });
    const [accounts] = items[0].versions[0].resources.filter((one: object) =>
      Object.values(one).includes("serviceaccounts"),
    );
    assert.deepEqual(accounts.responseKind, { group: "", version: "", kind: "ServiceAccount" });
    const kind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
    assert.deepEqual(accounts.subresources[0].responseKind, kind);
  });

  it("hash in discovery what a kind is stored as", async () => {
    const [, { resources }] = await answer({ path: "/apis/events.k8s.io/v1" });
    assert.equal(resources[0].storageVersionHash, "r2yiGXH7wu8=");
  });

  it("warn of a Secret for TLS whose certificate and key are no pair", async () => {
    const path = `${objects}/secrets`;
    const data = { "tls.crt": "", "tls.key": "" };
    const body = { metadata: { name: "no-pair" }, type: "kubernetes.io/tls", data };
    const warning = '299 - "tls: failed to find any PEM data in certificate input"';
    for (const [method, at] of [
      ["POST", path],
      ["PUT", `${path}/no-pair`],
    ] as const) {
      const { status, headers } = await api.send({ method, path: at, body });
      assert.deepEqual([status < 300, headers["warning"]], [true, warning]);
    }
  });

  it("say of a new Pod how important it is, of which class, and how long it stays on lost nodes", async () => {
    const containers = [{ name: "c", image: "i", resources: { limits: { cpu: "1000m" } } }];
    const body = { metadata: { name: "complete" }, spec: { containers } };
    const [, { metadata, spec, status }] = await answer({ method: "POST", path: `${objects}/pods?dryRun=All`, body });
    assert.deepEqual([metadata.generation, spec.priority, spec.preemptionPolicy], [1, 0, "PreemptLowerPriority"]);
    assert.deepEqual([spec.securityContext, status.qosClass], [{}, "Burstable"]);
    assert.deepEqual(spec.containers[0].resources, { limits: { cpu: "1" }, requests: { cpu: "1" } });
    const toleration = (key: string): object => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    });
    const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    assert.deepEqual(spec.tolerations, keys.map(toleration));
  });

  it("refuse who grants what they do not hold before the role is validated, and by what they sent", async () => {
    const group = "rbac.authorization.k8s.io";
    const roles = `/apis/${group}/v1/namespaces/default/roles`;
    const own = [{ apiGroups: [group], resources: ["roles"], verbs: ["get", "create", "update", "patch"] }];
    const strong = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    const subjects = [{ kind: "User", name: "writer" }];
    const roleRef = { apiGroup: group, kind: "Role", name: "writer" };
    await answer({ method: "POST", path: roles, body: { metadata: { name: "writer" }, rules: own } });
    const bindings = roles.replace("roles", "rolebindings");
    await answer({ method: "POST", path: bindings, body: { metadata: { name: "writer" }, roleRef, subjects } });
    const [, stored] = await answer({
      method: "POST",
      path: roles,
      body: { metadata: { name: "strong" }, rules: strong },
    });
    const asWriter = async (method: string, path: string, body: object): Promise<number> =>
      (await api.send({ method, path, body, headers: { "impersonate-user": "writer" } })).status;
    assert.equal(await asWriter("POST", roles, { metadata: { name: "A/B" }, rules: [...strong, { verbs: [] }] }), 403);
    assert.equal(await asWriter("POST", roles, { metadata: { name: "A/B" }, rules: [] }), 422);
    assert.equal(await asWriter("PUT", `${roles}/strong`, { metadata: { name: "strong" }, rules: strong }), 403);
    assert.equal(await asWriter("PUT", `${roles}/strong`, stored), 200);
  });

  it("let a user who may escalate one role by its name write it by its path, but not create it by a body that names it", async () => {
    const group = "rbac.authorization.k8s.io";
    const place = `/apis/${group}/v1`;
    const rules = [
      { apiGroups: [group], resources: ["clusterroles"], verbs: ["create", "update", "patch"] },
      { apiGroups: [group], resources: ["clusterroles"], verbs: ["escalate"], resourceNames: ["strong"] },
    ];
    await answer({ method: "POST", path: `${place}/clusterroles`, body: { metadata: { name: "escalates" }, rules } });
    const roleRef = { apiGroup: group, kind: "ClusterRole", name: "escalates" };
    const subjects = [{ apiGroup: group, kind: "User", name: "erin" }];
    const bindings = `${place}/clusterrolebindings`;
    await answer({ method: "POST", path: bindings, body: { metadata: { name: "escalates" }, roleRef, subjects } });
    const path = `${place}/clusterroles`;
    const body = {
      apiVersion: `${group}/v1`,
      kind: "ClusterRole",
      metadata: { name: "strong" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
    };
    const byErin = async (request: ApiRequest): Promise<number> =>
      (await answer({ ...request, body, headers: { "impersonate-user": "erin", ...request.headers } }))[0];
    assert.equal(await byErin({ method: "POST", path }), 403);
    assert.equal(await byErin({ method: "PUT", path: `${path}/strong?dryRun=All` }), 201);
    const headers = { "content-type": "application/apply-patch+yaml" };
    assert.equal(await byErin({ method: "PATCH", path: `${path}/strong?fieldManager=erin`, headers }), 201);
    assert.equal(await byErin({ method: "PUT", path: `${path}/strong` }), 200);
  });

  it("read the kind and the apiVersion of a body in any case", async () => {
    const path = `${objects}/configmaps?dryRun=All`;
    const create = async (type: object): Promise<number> =>
      (await answer({ method: "POST", path, body: { ...type, metadata: { name: "cased" } } }))[0];
    assert.equal(await create({ KIND: "ConfigMap", APIVersion: "v1" }), 201);
    assert.equal(await create({ kind: "ConfigMap", Kind: null }), 201);
    assert.equal(await create({ kind: "ConfigMap", Kind: "Secret" }), 400);
    assert.equal(await create({ Kind: 1 }), 400);
  });

  it("read an apiVersion with an empty group or version", async () => {
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

  it("warn of fields of a Node that nothing reads, and of a Pod's name that is no host name", async () => {
    const warningsOf = async (path: string, body: object): Promise<string> =>
      (await api.send({ method: "POST", path: `${path}?dryRun=All`, body })).headers["warning"] ?? "";
    const metadata = { name: "a.b" };
    const node = { metadata, spec: { externalID: "x" } };
    const unused = '299 - "spec.externalID: this field is deprecated, and is unused by Kubernetes"';
    assert.equal(await warningsOf("/api/v1/nodes", node), unused);
    const containers = [{ name: "c", image: "i" }];
    const warning = await warningsOf(`${objects}/pods`, { metadata, spec: { containers } });
    assert.match(warning, /^299 - "metadata\.name: this is used in the Pod's hostname, .*: \[must not contain dots\]"/);
  });

  it("show in a table by which labels a binding of an admission policy selects its params", async () => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const shown = async (paramRef: object): Promise<string> => {
      const spec = {
        ...{ policyName: "none", validationActions: ["Deny"] },
        paramRef: { ...paramRef, parameterNotFoundAction: "Deny" },
      };
      const body = { metadata: { name: "selecting" }, spec };
      const [, { rows }] = await answer({ method: "POST", path: `${path}?dryRun=All`, headers, body });
      return rows[0].cells[2];
    };
    assert.equal(await shown({ name: "p" }), "*/p");
    assert.equal(await shown({ name: "p", namespace: "default" }), "default/p");
    const condition = { key: "d", operator: "In", values: ["e", "f"] };
    assert.equal(
      await shown({
        namespace: "default",
        selector: { matchLabels: { b: "c", a: "" }, matchExpressions: [condition] },
      }),
      "&LabelSelector{MatchLabels:map[string]string{a: ,b: c,},MatchExpressions:[]LabelSelectorRequirement{" +
        "LabelSelectorRequirement{Key:d,Operator:In,Values:[e f],},},}",
    );
  });

  it("answer a client that names the server's version v1 among the parameters of Accept", async () => {
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const asked = async (parameter: string): Promise<number> =>
      (await answer({ path: `${objects}/configmaps`, headers: { accept: `${table};${parameter}` } }))[0];
    assert.equal(await asked("sv=v1"), 200);
    assert.equal(await asked("sv=v2"), 406);
  });
});
