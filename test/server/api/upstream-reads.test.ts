import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiRequest } from "../../profiles/api-request.ts";
import { answer, api, objects } from "./upstream-server.ts";

/** Each answer is what kube-apiserver 1.36 answered to the same request. */
describe("a server whose objects are read, like upstream,", () => {
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

  it("shows Go's zero time as the creation of the mark in a table of roles", async () => {
    const query = "watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dabsent&allowWatchBookmarks=1";
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { bytes } = await api.send({ path: `/apis/rbac.authorization.k8s.io/v1/clusterroles?${query}`, headers });
    const [bookmark] = bytes.toString().split("\n");
    assert.deepEqual(JSON.parse(bookmark ?? "").object.rows[0].cells, ["", "0001-01-01T00:00:00Z"]);
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

  it("ends a watch with a negative timeout before it begins", async () => {
    const answered = await api.send({ path: `${objects}/configmaps?watch=1&timeoutSeconds=-1` });
    assert.deepEqual([answered.status, answered.bytes.length], [200, 0]);
  });

  it("lists everything for version 0, whatever the limit", async () => {
    const path = "/api/v1/namespaces";
    const [, all] = await answer({ path });
    for (const match of ["", "&resourceVersionMatch=NotOlderThan"]) {
      const [status, { items, metadata }] = await answer({ path: `${path}?limit=1&resourceVersion=0${match}` });
      assert.deepEqual([status, items.length, metadata.continue], [200, all.items.length, undefined]);
    }
    assert.equal((await answer({ path: `${path}?limit=1` }))[1].items.length, 1);
  });

  it("leaves out of discovery the group and the version that its documents have anyway", async () => {
    const headers = { accept: "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io" };
    const [, { items }] = await answer({ path: "/api", headers });
    const [accounts] = items[0].versions[0].resources.filter((one: object) =>
      Object.values(one).includes("serviceaccounts"),
    );
    assert.deepEqual(accounts.responseKind, { group: "", version: "", kind: "ServiceAccount" });
    const kind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
    assert.deepEqual(accounts.subresources[0].responseKind, kind);
  });

  it("hashes in discovery what a kind is stored as", async () => {
    const [, { resources }] = await answer({ path: "/apis/events.k8s.io/v1" });
    assert.equal(resources[0].storageVersionHash, "r2yiGXH7wu8=");
  });

  it("shows in a table by which labels a binding of an admission policy selects its params", async () => {
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

  it("answers a client that names the server's version v1 among the parameters of Accept", async () => {
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const asked = async (parameter: string): Promise<number> =>
      (await answer({ path: `${objects}/configmaps`, headers: { accept: `${table};${parameter}` } }))[0];
    assert.equal(await asked("sv=v1"), 200);
    assert.equal(await asked("sv=v2"), 406);
  });
});
