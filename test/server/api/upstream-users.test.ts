import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiRequest } from "../../profiles/api-request.ts";
import { answer, api, objects } from "./upstream-server.ts";

/** Each answer is what kube-apiserver 1.36 answered to the same request. */
describe("a server that is asked who may do what, like upstream,", () => {
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

  it("refuses to answer a review as a list", async () => {
    const headers = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const [status, { message }] = await answer({ method: "POST", path, body: {}, headers });
    assert.equal(status, 406);
    assert.match(message, /the requested object is not a list \(\*authentication\.SelfSubjectReview\)$/);
  });

  it("refuses who grants what they do not hold before the role is validated, and by what they sent", async () => {
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

  it("lets a user who may escalate one role by its name write it by its path, but not create it by a body that names it", async () => {
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
});
