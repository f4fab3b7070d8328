import assert from "node:assert/strict";
import { it } from "node:test";
import { bothProfiles, cells, describeKubectl } from "./kubectl-scene.ts";

describeKubectl("kubectl's discovery", bothProfiles, (kubectl) => {
  const groups = () => kubectl.names;

  it("lists the versions of the API", async () => {
    const versions = (await kubectl.output("api-versions")).trim().split("\n");
    assert.deepEqual(
      versions,
      [
        `${groups().group("admissionregistration")}/v1`,
        `${groups().group("authentication")}/v1`,
        `${groups().group("authorization")}/v1`,
        `${groups().group("certificates")}/v1`,
        `${groups().group("certificates")}/v1beta1`,
        `${groups().group("coordination")}/v1`,
        ...(groups().hasUpstreamVersions ? [`${groups().group("events")}/v1`] : []),
        `${groups().group("rbac.authorization")}/v1`,
        `${groups().group("signet")}/v1`,
        `${groups().group("storage")}/v1`,
        "v1",
      ].toSorted(),
    );
  });

  it("lists the kinds", async () => {
    const rows = await kubectl.table("api-resources");
    assert.deepEqual(rows[0], ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]);
    assert.ok(rows.some((row) => row.join() === "serviceaccounts,sa,v1,true,ServiceAccount"));
    const version = `${groups().group("certificates")}/v1`;
    assert.ok(
      rows.some((row) => row.join() === `certificatesigningrequests,csr,${version},false,CertificateSigningRequest`),
    );
  });

  it("lists the verbs of each kind in wide output", async () => {
    const rows = await kubectl.table("api-resources -o wide");
    assert.deepEqual(rows[0]?.slice(-2), ["VERBS", "CATEGORIES"]);
    const row = rows.find(([name]) => name === "serviceaccounts");
    assert.equal(row?.[5], "create,delete,deletecollection,get,list,patch,update,watch");
  });

  it("lists kinds by verb, scope and group, and in order", async () => {
    const named = await kubectl.output("api-resources --verbs=list --namespaced -o name");
    const group = groups().group("rbac.authorization");
    const listed = named.trim().split("\n");
    for (const name of ["configmaps", "pods", "secrets", "serviceaccounts", `roles.${group}`])
      assert.ok(listed.includes(name), name);
    assert.ok(!listed.includes("namespaces"));
    assert.doesNotMatch(named, /reviews/);
    const certificates = await kubectl.output(
      `api-resources --api-group=${groups().group("certificates")} --no-headers --sort-by=name`,
    );
    assert.deepEqual(
      cells(certificates).map(([name]) => name),
      ["certificatesigningrequests", "clustertrustbundles"],
    );
  });

  it("shows the server's version", async () => {
    const { clientVersion, serverVersion } = JSON.parse(await kubectl.output("version -o json"));
    assert.ok(clientVersion.gitVersion);
    assert.match(serverVersion.gitVersion, /^v1\.\d+\.\d+\+signet-/);
  });

  it("shows the server's address with cluster-info", async () => {
    assert.match(await kubectl.output("cluster-info"), /control plane.* is running at .*https:/);
  });

  it("reads any path", async () => {
    assert.equal(await kubectl.output("get --raw /healthz"), "ok");
    assert.match(await kubectl.output("get --raw /readyz?verbose"), /^\[\+\]store ok$[^]*readyz check passed\n$/m);
    assert.match(await kubectl.output("get --raw /metrics"), /^process_resident_memory_bytes \d/m);
    assert.equal(JSON.parse(await kubectl.output("get --raw /openapi/v2")).swagger, "2.0");
    assert.ok(JSON.parse(await kubectl.output("get --raw /openapi/v3")).paths["api/v1"]);
    assert.ok(JSON.parse(await kubectl.output("get --raw /openid/v1/jwks")).keys[0].kid);
    const accounts = JSON.parse(await kubectl.output("get --raw /api/v1/namespaces/default/serviceaccounts?limit=1"));
    assert.equal(accounts.kind, "ServiceAccountList");
    assert.match(await kubectl.refusal("get --raw /nothing"), /the server could not find the requested resource/);
  });

  it("sends any body to any path", async () => {
    const input = '{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"raw"}}';
    const path = "/api/v1/namespaces/default/serviceaccounts";
    assert.equal(JSON.parse(await kubectl.output(`create --raw ${path} -f -`, { input })).metadata.name, "raw");
    const replaced = JSON.parse(await kubectl.output(`replace --raw ${path}/raw -f -`, { input }));
    assert.equal(replaced.metadata.name, "raw");
    assert.equal(JSON.parse(await kubectl.output(`delete --raw ${path}/raw`)).metadata.name, "raw");
  });

  it("shows the kubeconfig that the server wrote, without its key", async () => {
    const shown = await kubectl.output("config view");
    assert.match(shown, /^current-context: signet$/m);
    assert.match(shown, /client-key-data: DATA\+OMITTED/);
    assert.equal(await kubectl.output("config current-context"), "signet\n");
  });

  it("serves the API on a port of the user's own", async () => {
    const proxy = kubectl.follow("proxy --port=0");
    const [, address] = /Starting to serve on (\S+)/.exec(await proxy.next()) ?? [];
    const answer = await fetch(`http://${address}/api/v1/namespaces/default`);
    assert.equal(((await answer.json()) as { metadata: { name: string } }).metadata.name, "default");
    proxy.end();
  });
});
