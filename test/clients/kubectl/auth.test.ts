import assert from "node:assert/strict";
import { before, it } from "node:test";
import { bothProfiles, describeKubectl, kubernetesOnly } from "./kubectl-scene.ts";

describeKubectl("kubectl with the token of a service account", bothProfiles, (kubectl) => {
  it("may do what its service account may, and nothing else", async () => {
    await kubectl.output("create serviceaccount robot");
    const group = kubectl.names.group("authentication");
    const path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    const input = JSON.stringify({ apiVersion: `${group}/v1`, kind: "TokenRequest", spec: {} });
    const created = JSON.parse(await kubectl.output(`create --raw ${path} -f -`, { input }));
    const environment = { KUBECONFIG: kubectl.file("robot.kubeconfig", kubeconfigOf(created.status.token)) };
    assert.equal(
      await kubectl.refusal("get secrets", { environment }),
      'Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:default:robot" cannot list resource "secrets" in API group "" in the namespace "default"\n',
    );
    await kubectl.output("apply -f -", { input: secretReader(kubectl.names.group("rbac.authorization")) });
    assert.equal(await kubectl.output("get secrets -o name", { environment }), "");
    const refused = { KUBECONFIG: kubectl.file("wrong.kubeconfig", kubeconfigOf("no.such.token")) };
    assert.match(await kubectl.refusal("get secrets", { environment: refused }), /You must be logged in to the server/);
  });

  const kubeconfigOf = (token: string): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "signet",
          cluster: {
            server: kubectl.server.url,
            "certificate-authority-data": Buffer.from(kubectl.server.caCertificates).toString("base64"),
          },
        },
      ],
      users: [{ name: "robot", user: { token } }],
      contexts: [{ name: "signet", context: { cluster: "signet", user: "robot" } }],
      "current-context": "signet",
    });
});

describeKubectl("kubectl auth", kubernetesOnly, (kubectl) => {
  before(async () => {
    await kubectl.output("create role reader --verb=get --resource=configmaps,pods --resource=pods/log");
    await kubectl.output("create rolebinding readers --role=reader --user=ann --group=staff");
  });

  it("shows who the caller is", async () => {
    assert.deepEqual((await kubectl.table("auth whoami")).slice(0, 3), [
      ["ATTRIBUTE", "VALUE"],
      ["Username", "admin"],
      ["Groups", "[system:masters system:authenticated]"],
    ]);
    const review = JSON.parse(await kubectl.output("auth whoami -o json"));
    assert.equal(review.kind, "SelfSubjectReview");
    assert.match(
      review.status.userInfo.extra["authentication.kubernetes.io/credential-id"][0],
      /^X509SHA256=[0-9a-f]{64}$/,
    );
  });

  it("shows which user a caller acts as", async () => {
    assert.deepEqual(await kubectl.table("auth whoami --as=ann --as-group=staff --as-uid=7"), [
      ["ATTRIBUTE", "VALUE"],
      ["Username", "ann"],
      ["UID", "7"],
      ["Groups", "[staff system:authenticated]"],
    ]);
  });

  it("says what the caller may do", async () => {
    assert.equal(await kubectl.output("auth can-i create secrets"), "yes\n");
    assert.equal(await kubectl.output("auth can-i get pods --as=ann"), "yes\n");
    assert.equal(await kubectl.output("auth can-i get pods --subresource=log --as=bob --as-group=staff"), "yes\n");
    assert.equal(await kubectl.output("auth can-i get /version --as=ann"), "yes\n");
  });

  it("says what the caller may not do", async () => {
    for (const line of ["get pods --as=bob", "get secrets --as=ann", "get pods -A --as=ann", "get /metrics --as=ann"]) {
      const { exitCode, output } = await kubectl.run(`auth can-i ${line}`);
      assert.deepEqual([exitCode, output], [1, "no\n"], line);
    }
  });

  it("lists what the caller may do", async () => {
    const rows = await kubectl.table("auth can-i --list --as=ann");
    assert.deepEqual(rows[0], ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"]);
    for (const resource of ["configmaps", "pods", "pods/log"])
      assert.ok(
        rows.some((row) => row.join() === `${resource},[],[],[get]`),
        resource,
      );
    assert.ok(rows.some((row) => row.join() === "selfsubjectreviews.authentication.k8s.io,[],[],[create]"));
    assert.ok(!rows.some(([resource]) => resource === "secrets"));
  });

  it("reconciles a role with a file, and removes permissions only on request", async () => {
    const verbs = () => kubectl.output("get role keeper -o jsonpath={.rules[*].verbs}");
    const reconcile = async (wanted: string, flags = ""): Promise<string> => {
      const { exitCode, output, errors } = await kubectl.run(`auth reconcile -f - ${flags}`, { input: role(wanted) });
      assert.equal(exitCode, 0, errors);
      assert.equal(output, "role.rbac.authorization.k8s.io/keeper reconciled\n");
      return errors;
    };
    assert.match(await reconcile("[get]"), /reconciliation required create\n\tmissing rules added:/);
    assert.equal(await reconcile("[get]"), "");
    assert.match(await reconcile("[get, list]"), /missing rules added:\n\t\t\{Verbs:\[list\]/);
    await reconcile("[get]");
    assert.equal(await verbs(), '["get"] ["list"]');
    await reconcile("[get]", "--remove-extra-permissions");
    assert.equal(await verbs(), '["get"]');
  });
});

const role = (verbs: string): string => `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: keeper, namespace: default }
rules: [{ apiGroups: [""], resources: [secrets], verbs: ${verbs} }]
`;

const secretReader = (group: string): string => `
apiVersion: ${group}/v1
kind: Role
metadata: { name: secret-reader, namespace: default }
rules: [{ apiGroups: [""], resources: [secrets], verbs: [list] }]
---
apiVersion: ${group}/v1
kind: RoleBinding
metadata: { name: secret-readers, namespace: default }
roleRef: { apiGroup: ${group}, kind: Role, name: secret-reader }
subjects: [{ kind: ServiceAccount, name: robot, namespace: default }]
`;
