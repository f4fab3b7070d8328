import assert from "node:assert/strict";
import { before, it } from "node:test";
import { decodeJwt } from "jose";
import { bothProfiles, describeKubectl, kubernetesOnly } from "./kubectl-scene.ts";

describeKubectl("kubectl create", bothProfiles, (kubectl) => {
  before(async () => {
    await kubectl.output("create namespace fleet");
  });

  it("creates a namespace, once", async () => {
    assert.equal(await kubectl.output("create namespace depot"), "namespace/depot created\n");
    assert.equal(
      await kubectl.refusal("create namespace depot"),
      'Error from server (AlreadyExists): namespaces "depot" already exists\n',
    );
  });

  it("creates a service account", async () => {
    assert.equal(await kubectl.output("create serviceaccount robot -n fleet"), "serviceaccount/robot created\n");
  });

  it("refuses an invalid object in the server's words", async () => {
    const refusal = await kubectl.refusal("create serviceaccount No_Good -n fleet");
    assert.match(refusal, /ServiceAccount "No_Good" is invalid: metadata\.name: Invalid value: "No_Good": /);
  });

  it("creates nothing with --dry-run=server", async () => {
    const tried = JSON.parse(await kubectl.output("create sa ghost -n fleet --dry-run=server -o json"));
    assert.match(tried.metadata.uid, /^[0-9a-f-]{36}$/);
    await kubectl.refusal("get sa ghost -n fleet");
  });

  it("creates secrets from literals, files and keys", async () => {
    const certificate = kubectl.file("tls.crt", kubectl.server.caCertificates);
    assert.equal(
      await kubectl.output("create secret generic door -n fleet --from-literal=key=opensesame"),
      "secret/door created\n",
    );
    assert.equal(await kubectl.output("get secret door -n fleet -o jsonpath={.data.key}"), "b3BlbnNlc2FtZQ==");
    await kubectl.output(`create secret generic files -n fleet --from-file=ca=${certificate} --type=example.com/ca`);
    assert.equal(await kubectl.output("get secret files -n fleet -o jsonpath={.type}"), "example.com/ca");
  });

  it("creates secrets for registries", async () => {
    await kubectl.output(
      "create secret docker-registry images -n fleet --docker-server=r.example --docker-username=u --docker-password=p",
    );
    const type = await kubectl.output("get secret images -n fleet -o jsonpath={.type}");
    assert.equal(type, "kubernetes.io/dockerconfigjson");
  });

  it("creates ConfigMaps from literals and files", async () => {
    const file = kubectl.file("colours.txt", "red\ngreen\n");
    await kubectl.output(`create configmap settings -n fleet --from-literal=a=1 --from-file=${file}`);
    assert.deepEqual(JSON.parse(await kubectl.output("get configmap settings -n fleet -o jsonpath={.data}")), {
      a: "1",
      "colours.txt": "red\ngreen\n",
    });
  });

  it("creates from standard input, with a name that the server makes", async () => {
    const input = '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"generateName":"robot-"}}';
    assert.match(
      await kubectl.output("create -n fleet -f -", { input }),
      /^serviceaccount\/robot-[a-z0-9]{5} created$/m,
    );
  });

  it("refuses fields that a kind does not have", async () => {
    const input = '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"odd"},"colour":"red"}';
    assert.match(
      await kubectl.refusal("create -n fleet -f -", { input }),
      /strict decoding error: unknown field "colour"/,
    );
    const warned = await kubectl.run("create -n fleet -f - --validate=warn", { input });
    assert.equal(warned.exitCode, 0);
    assert.match(warned.errors, /^Warning: unknown field "colour"$/m);
  });
});

describeKubectl("kubectl create of what has no PATCH", bothProfiles, (kubectl) => {
  it("asks for a review that a file describes, after its look for a CustomResourceDefinition", async () => {
    for (const [group, kind, spec] of [
      ["authentication", "TokenReview", { token: "no.such.token" }],
      ["authorization", "SelfSubjectAccessReview", { resourceAttributes: { verb: "get", resource: "secrets" } }],
    ] as const) {
      const input = JSON.stringify({ apiVersion: `${kubectl.names.group(group)}/v1`, kind, spec });
      const answer = JSON.parse(await kubectl.output("create -o json -f -", { input }));
      assert.equal(answer.status.allowed ?? answer.status.authenticated ?? false, group === "authorization");
    }
  });

  it("finds no CustomResourceDefinitions, and no type of that name", async () => {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert.deepEqual(JSON.parse(await kubectl.output(`get --raw ${path}`)).items, []);
    assert.match(await kubectl.refusal(`get --raw ${path}?watch=true`), /NotFound/);
    assert.match(await kubectl.refusal(`get --raw ${path} --as ann`), /Forbidden/);
    assert.match(await kubectl.refusal("get customresourcedefinitions"), /doesn't have a resource type/);
  });
});

describeKubectl("kubectl create, by upstream's groups", kubernetesOnly, (kubectl) => {
  before(async () => {
    await kubectl.output("create serviceaccount robot");
    await kubectl.output("create secret generic door --from-literal=key=opensesame");
  });

  const json = async (line: string) => JSON.parse(await kubectl.output(`${line} -o json`));

  it("creates roles for resources and subresources", async () => {
    const role = await json("create role reader --verb=get,list --resource=configmaps,pods/log --resource-name=a");
    assert.deepEqual(role.rules, [
      { apiGroups: [""], resourceNames: ["a"], resources: ["configmaps", "pods/log"], verbs: ["get", "list"] },
    ]);
    const approver = await json("create role approver --verb=update --resource=csr/approval");
    assert.deepEqual(approver.rules[0].apiGroups, ["certificates.k8s.io"]);
  });

  it("creates cluster roles for paths", async () => {
    const role = await json("create clusterrole scraper --verb=get --non-resource-url=/metrics");
    assert.deepEqual(role.rules, [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
  });

  it("creates aggregated cluster roles", async () => {
    await kubectl.output("create clusterrole part --verb=get --resource=nodes");
    await kubectl.output("create clusterrole whole --aggregation-rule=team=fleet");
    await kubectl.output("label clusterrole part team=fleet");
    await kubectl.output("wait clusterrole/whole --for=jsonpath={.rules[0].resources[0]}=nodes --timeout=20s");
  });

  it("creates bindings", async () => {
    const binding = await json("create rolebinding readers --role=reader --user=ann --serviceaccount=default:robot");
    assert.deepEqual(binding.roleRef, { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" });
    assert.deepEqual(binding.subjects, [
      { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" },
      { kind: "ServiceAccount", name: "robot", namespace: "default" },
    ]);
    assert.equal(
      await kubectl.output("create clusterrolebinding scrapers --clusterrole=scraper --group=staff"),
      "clusterrolebinding.rbac.authorization.k8s.io/scrapers created\n",
    );
  });

  it("creates TLS secrets", async () => {
    const config = JSON.parse(await kubectl.output("config view --raw -o json"));
    const { "client-certificate-data": certificate, "client-key-data": key } = config.users[0].user;
    kubectl.file("tls.crt", Buffer.from(certificate, "base64").toString());
    kubectl.file("tls.key", Buffer.from(key, "base64").toString());
    assert.equal((await json("create secret tls web --cert=tls.crt --key=tls.key")).type, "kubernetes.io/tls");
  });

  it("creates tokens", async () => {
    const token = decodeJwt((await kubectl.output("create token robot")).trim());
    assert.equal(token.sub, "system:serviceaccount:default:robot");
    assert.deepEqual(token.aud, ["https://kubernetes.default.svc"]);
    assert.equal((token.exp ?? 0) - (token.iat ?? 0), 3600);
  });

  it("creates tokens for an audience and a time", async () => {
    const token = decodeJwt(
      (await kubectl.output("create token robot --audience=a --audience=b --duration=20m")).trim(),
    );
    assert.deepEqual(token.aud, ["a", "b"]);
    assert.equal((token.exp ?? 0) - (token.iat ?? 0), 1200);
  });

  it("creates tokens that are bound to an object", async () => {
    const request = await json("create token robot --bound-object-kind=Secret --bound-object-name=door");
    assert.deepEqual(request.spec.boundObjectRef, { apiVersion: "v1", kind: "Secret", name: "door" });
    const claims = decodeJwt(request.status.token)["kubernetes.io"] as { secret: { name: string } };
    assert.equal(claims.secret.name, "door");
  });

  it("reports why a token cannot be created", async () => {
    assert.match(await kubectl.refusal("create token nobody"), /serviceaccounts "nobody" not found/);
    assert.match(
      await kubectl.refusal("create token robot --duration=5m"),
      /may not specify a duration less than 10 minutes/,
    );
    const bound = "create token robot --bound-object-kind=Secret --bound-object-name";
    assert.match(await kubectl.refusal(`${bound}=gate`), /secrets "gate" not found/);
    assert.match(
      await kubectl.refusal(`${bound}=door --bound-object-uid=other`),
      /the UID in the bound object reference/,
    );
  });
});
