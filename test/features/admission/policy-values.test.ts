import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { takeTurnForEachLook, turnsDuring } from "../../turns-during.ts";
import { configMap, matching, PolicyScene } from "./policy-scene.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const accounts = "/api/v1/namespaces/default/serviceaccounts";

describe("an expression of a policy in force", () => {
  let scene: PolicyScene;
  before(async () => void (scene = await PolicyScene.start()));
  afterEach(() => scene.clear());
  after(() => scene.stop());

  it("sees the audiences and the account that a token will have, whatever its request leaves out", async () => {
    const shop = `${accounts}/shop`;
    const made = await scene.send("POST", accounts, { metadata: { name: "shop" } });
    assert.equal(made.status, 201);
    await scene.policy("audiences", {
      matchConstraints: matching(["serviceaccounts/token"]),
      validations: [
        { expression: "object.spec.audiences.all(one, one == 'vault')" },
        { expression: "object.metadata.name == 'shop' && object.metadata.uid != ''" },
      ],
    });
    const request = (spec: object) => scene.send("POST", `${shop}/token`, { spec });
    assert.equal((await request({ audiences: ["vault"] })).status, 201);
    for (const spec of [{}, { audiences: [] }, { audiences: null }, { audiences: ["vault", "bank"] }]) {
      const { code, message } = await request(spec);
      assert.deepEqual([code, /failed expression: object.spec.audiences/.test(message)], [422, true], message);
    }
  });

  it("finds no field of a request that is empty, but always a group", async () => {
    const clusterRole = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "x" },
      rules: [],
    };
    const outcome = async (expression: string): Promise<string> => {
      await scene.policy("empty", {
        matchConstraints: matching(["configmaps", "clusterroles"], { apiGroups: ["*"] }),
        validations: [{ expression, message: "not so" }],
      });
      const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
      const [one, other] = [
        await scene.send("POST", `${configMaps}?dryRun=All`, configMap("x")),
        await scene.send("POST", path, clusterRole),
      ];
      await scene.clear();
      return [one, other]
        .map(({ status, message }) =>
          status === 201 ? "passes" : message.replace(/^.*(?:denied request|error): /, ""),
        )
        .join(", ");
    };
    assert.equal(await outcome("request.namespace == ''"), "not so, no such key: namespace");
    assert.equal(await outcome("has(request.namespace)"), "passes, not so");
    assert.equal(await outcome("request.?namespace.orValue('none') == 'default'"), "passes, not so");
    assert.equal(await outcome("request.subResource == ''"), "no such key: subResource, no such key: subResource");
    assert.equal(await outcome("has(request.userInfo.extra)"), "not so, not so");
    assert.equal(await outcome("'x' in request.userInfo.extra"), "no such key: extra, no such key: extra");
    assert.equal(await outcome("has(request.resource.group) && has(request.kind.group)"), "passes, passes");
    assert.equal(await outcome("request.resource.group == ''"), "passes, not so");
  });

  it("reads objects, the request, the namespace, variables and what the user may do", async () => {
    await scene.policy("reads", {
      matchConstraints: matching(["configmaps"]),
      matchConditions: [{ name: "users", expression: "request.userInfo.username != 'root' || object.data.size() > 0" }],
      variables: [
        { name: "keys", expression: "object.data.map(k, k)" },
        { name: "count", expression: "size(variables.keys)" },
      ],
      validations: [
        { expression: "variables.count == 2 && variables.keys.all(k, k.matches('^[a-z]+$'))", message: "keys" },
        {
          expression: "namespaceObject.metadata.name == 'default' && namespaceObject.metadata.labels.size() > 0",
          message: "namespace",
        },
        {
          expression:
            "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && !request.dryRun",
          message: "request",
        },
        {
          expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
          message: "secrets",
          reason: "Forbidden",
        },
        {
          expression:
            "authorizer.requestResource.check('create').allowed() && !authorizer.path('/metrics').check('put').allowed() || request.userInfo.username == 'root'",
          message: "path",
        },
        {
          expression:
            "!authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('list').allowed()",
          message: "account",
        },
      ],
    });
    const good = { data: { a: "1", b: "2" } };
    assert.equal((await scene.send("POST", configMaps, configMap("good", good))).status, 201);
    const bad = await scene.send("POST", configMaps, configMap("bad", { data: { a: "1", B: "2" } }));
    assert.match(bad.message, /denied request: keys$/);
    await scene.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "writer" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }],
    });
    await scene.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "writer" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "dev" }],
    });
    const ada = await scene.send("POST", configMaps, configMap("hers", good), { token: "ada" });
    assert.deepEqual([ada.code, ada.reason], [403, "Forbidden"]);
    assert.match(ada.message, /denied request: secrets$/);
  });

  it("asks what a user or an account may do as Kubernetes does, with selectors that cannot be parsed left out", async () => {
    const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }];
    const group = "rbac.authorization.k8s.io";
    await scene.send("POST", `/apis/${group}/v1/clusterroles`, { metadata: { name: "lists-pods" }, rules });
    const bind = (name: string): Promise<unknown> =>
      scene.send("PUT", `/apis/${group}/v1/clusterrolebindings/lists-pods`, {
        metadata: { name: "lists-pods" },
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "lists-pods" },
        subjects: [{ apiGroup: group, kind: "Group", name }],
      });
    const answersTo = async (...questions: readonly string[]): Promise<readonly string[]> => {
      const validations = questions.map((question, index) => ({
        expression: `!authorizer.${question}.allowed()`,
        message: `${index}: yes`,
      }));
      const warning = { validationActions: ["Warn"] };
      await scene.policy("asks", { matchConstraints: matching(["configmaps"]), validations }, warning);
      const { warnings } = await scene.send("POST", `${configMaps}?dryRun=All`, configMap("asked"), { token: "ada" });
      await scene.clear();
      return warnings.map((one) => one.replace(/^.*(?:with binding 'asks'|resulted in error): /, ""));
    };
    const pods = "group('').resource('pods')";
    await scene.send("POST", `/apis/${group}/v1/clusterroles`, {
      metadata: { name: "creates" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }],
    });
    await scene.send("POST", `/apis/${group}/v1/clusterrolebindings`, {
      metadata: { name: "creates" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "creates" },
      subjects: [{ apiGroup: group, kind: "User", name: "ada" }],
    });
    const ofAccounts = ["default", "other"].map((where) => `serviceAccount('${where}', 'a.b').${pods}.check('list')`);
    await bind("system:authenticated");
    assert.deepEqual(await answersTo(`${pods}.check('list')`, ...ofAccounts), ["0: yes"]);
    await bind("system:serviceaccounts:default");
    assert.deepEqual(await answersTo(`${pods}.check('list')`, ...ofAccounts), ["1: yes"]);
    await bind("dev");
    const unreadable = ["fieldSelector('a in b')", "labelSelector('a in (')"];
    assert.deepEqual(await answersTo(...unreadable.map((one) => `${pods}.${one}.check('list')`)), ["0: yes", "1: yes"]);
    assert.deepEqual(
      await answersTo(
        `serviceAccount('Default', 'a').${pods}.check('list')`,
        `serviceAccount('default', 'a b').${pods}.check('list')`,
        "group('').resource(' ').check('list')",
        "path(' ').check('get')",
      ),
      [
        "Invalid service account namespace",
        "Invalid service account name",
        "resource must not be empty",
        "path must not be empty",
      ],
    );
  });

  it("reads params from objects, and fails or passes without them as its binding says", async () => {
    const limits = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) =>
      scene.send("POST", configMaps, configMap(name, { data, metadata: { labels } }));
    await limits("limit-one", { largest: "3" }, { limits: "yes" });
    await limits("limit-two", { largest: "5" }, { limits: "yes" });
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: matching(["secrets"]),
      validations: [
        {
          expression: "size(object.metadata.name) <= int(params.data.largest)",
          messageExpression: "'at most ' + params.data.largest",
        },
      ],
    };
    const secret = (name: string) =>
      scene.send("POST", "/api/v1/namespaces/default/secrets?dryRun=All", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name },
      });
    const outcome = async (paramRef: unknown, name: string, paramKind = spec.paramKind): Promise<string> => {
      await scene.policy("limits", { ...spec, paramKind }, { paramRef });
      const { status, message } = await secret(name);
      await scene.clear();
      return status === 201 ? "passes" : message.replace(/^.*denied request: /, "");
    };
    const deny = { parameterNotFoundAction: "Deny" };
    assert.equal(await outcome({ name: "limit-one", ...deny }, "abc"), "passes");
    assert.equal(await outcome({ name: "limit-one", ...deny }, "abcd"), "at most 3");
    assert.equal(await outcome({ selector: { matchLabels: { limits: "yes" } }, ...deny }, "abcd"), "at most 3");
    assert.equal(
      await outcome({ selector: { matchLabels: { limits: "yes" } }, namespace: "default", ...deny }, "abc"),
      "passes",
    );
    assert.equal(await outcome({ name: "none", parameterNotFoundAction: "Allow" }, "abcdef"), "passes");
    const missing =
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert.equal(await outcome({ name: "none", ...deny }, "a"), missing);
    assert.equal(
      await outcome(undefined, "a"),
      "expression 'size(object.metadata.name) <= int(params.data.largest)' resulted in error: no such key: data",
    );
    const ofNamespaces = { apiVersion: "v1", kind: "Namespace" };
    const named = { name: "default", ...deny };
    assert.match(await outcome(named, "a", ofNamespaces), /no such key: data$/);
    assert.equal(
      await outcome({ ...named, namespace: "default" }, "a", ofNamespaces),
      "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
    const unknown = { apiVersion: "example.com/v1", kind: "Limit" };
    const unserved = `failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`;
    assert.equal(await outcome(named, "a", unknown), unserved);
    assert.equal(await outcome(undefined, "a", unknown), unserved);
    assert.match(
      await outcome(named, "a", { apiVersion: "v2", kind: "ConfigMap" }),
      /paramKind: '\/v2, Kind=ConfigMap'$/,
    );
    const ofMany = { selector: { matchLabels: { many: "yes" } }, ...deny };
    for (let index = 0; index < 100; index++) await limits(`many-${index}`, { largest: "1" }, { many: "yes" });
    assert.equal(await outcome(ofMany, "a"), "passes");
    await limits("one-more", { largest: "1" }, { many: "yes" });
    assert.equal(
      await outcome(ofMany, "a"),
      "failed to configure binding: the selector of paramRef finds more than 100 params",
    );
  });

  it("lets other requests run while a selector looks for its params", async (t) => {
    for (let index = 0; index < 100; index++) await scene.send("POST", configMaps, configMap(`other-${index}`));
    const turnsOfWrite = (): Promise<number> =>
      turnsDuring(() => scene.send("POST", `${configMaps}?dryRun=All`, configMap("written")));
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "true" }],
    };
    const selector = { matchLabels: { found: "none" } };
    await scene.policy("selects", spec, { paramRef: { selector, parameterNotFoundAction: "Allow" } });
    await turnsOfWrite();
    const { allInOneTurn } = takeTurnForEachLook(t);
    const slow = await turnsOfWrite();
    allInOneTurn();
    assert.ok(slow >= 100, String(slow));
  });

  it("reads params of the namespace that its binding names, which a binding for objects without a namespace must do", async () => {
    const create = configMap("cluster-limit", { data: { largest: "3" } });
    assert.equal((await scene.send("POST", configMaps, create)).status, 201);
    const outcome = async (paramRef: Record<string, unknown>): Promise<string> => {
      const spec = {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: matching(["clusterroles"], { apiGroups: ["*"] }),
        validations: [{ expression: "size(object.metadata.name) <= int(params.data.largest)", message: "too long" }],
      };
      await scene.policy("limit", spec, { paramRef: { parameterNotFoundAction: "Deny", ...paramRef } });
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All";
      const { message } = await scene.send("POST", roles, { metadata: { name: "four" }, rules: [] });
      await scene.clear();
      return message.replace(/^.*denied request: /, "");
    };
    assert.equal(await outcome({ name: "cluster-limit", namespace: "default" }), "too long");
    const fault =
      "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
    assert.equal(await outcome({ name: "cluster-limit" }), fault);
    assert.equal(await outcome({ selector: {} }), fault);
  });

  it("reads a key with the name of a built-in property", async () => {
    await scene.policy("named", {
      failurePolicy: "Ignore",
      matchConstraints: matching(["configmaps"]),
      validations: [{ expression: "!('secret' in object.data)", message: "no secrets" }],
    });
    for (const name of ["constructor", "toString", "__proto__"]) {
      const data = JSON.parse(`{"secret": "s", "${name}": "x"}`) as Record<string, string>;
      const refused = await scene.send("POST", configMaps, configMap("named", { data }));
      assert.match(refused.message, /no secrets$/, name);
    }
  });
});
