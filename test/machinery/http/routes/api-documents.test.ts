import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serverWith, parsed } from "../chain-under-test.ts";

describe("the documents of the API", () => {
  const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

  it("list groups and resources with their verbs", async () => {
    const { send } = serverWith();
    const group = parsed(await send("GET /apis/certificates.platform.io"));
    const version = { groupVersion: "certificates.platform.io/v1", version: "v1" };
    assert.deepEqual(group, {
      kind: "APIGroup",
      apiVersion: "v1",
      name: "certificates.platform.io",
      versions: [version],
      preferredVersion: version,
    });
    const reviews = parsed(await send("GET /apis/authentication.platform.io/v1/"));
    assert.deepEqual(reviews["resources"], [
      { name: "tokenreviews", singularName: "tokenreview", namespaced: false, kind: "TokenReview", verbs: ["create"] },
    ]);
    const core = parsed(await send("GET /api/v1"))["resources"] as { name: string; group?: string; verbs: string[] }[];
    assert.deepEqual(
      core.map(({ name }) => name),
      ["namespaces", "serviceaccounts", "serviceaccounts/token"],
    );
    assert.equal(core[2]?.group, "authentication.platform.io");
    assert.deepEqual(core[0]?.verbs, [
      "create",
      "delete",
      "deletecollection",
      "get",
      "list",
      "patch",
      "update",
      "watch",
    ]);
  });

  it("are aggregated when any Accept clause asks for it, and answered 304 for a known ETag", async () => {
    const { send } = serverWith();
    const kind = async (accept: string): Promise<unknown> => parsed(await send("GET /api", { accept }))["kind"];
    assert.equal(await kind(`application/json, ${aggregated}`), "APIGroupDiscoveryList");
    for (const version of ["v9", "v2beta1"]) {
      const other = aggregated.replace("v=v2", `v=${version}`);
      assert.equal(await kind(`${other},application/json`), "APIVersions");
      assert.equal((await send("GET /api", { accept: other })).status, 406);
    }
    const first = await send("GET /apis", { accept: aggregated });
    assert.equal(first.headers["content-type"], aggregated);
    const again = await send("GET /apis", { accept: aggregated, "if-none-match": String(first.headers["etag"]) });
    assert.deepEqual([again.status, again.body], [304, ""]);
  });

  it("are refused in types that no route has", async () => {
    const { send } = serverWith();
    const message = async (path: string, accept: string): Promise<unknown> =>
      parsed(await send(`GET ${path}`, { accept }))["message"];
    assert.match(
      String(await message("/openid/v1/jwks", "text/html")),
      /^406: Not Acceptable\n\nAvailable representations: application\/jwk-set\+json, application\/json$/,
    );
    assert.match(String(await message("/api", "text/html")), /^406/);
    assert.equal(
      (await send("GET /openid/v1/jwks", { accept: "*/*" })).headers["content-type"],
      "application/jwk-set+json",
    );
  });

  it("show the version and every path", async () => {
    const { send } = serverWith();
    const answer = await send("GET /version");
    assert.match(String(answer.body), /^\{\n {2}"major": "1",\n/, "indented for every client, as in Kubernetes");
    const version = parsed(answer);
    assert.equal(version["major"], "1");
    assert.match(String(version["gitVersion"]), /^v1\.\d+\.0\+signet-0\.1\.0$/);
    assert.deepEqual(
      [version["emulationMinor"], Number(version["minCompatibilityMinor"]) + 1],
      [version["minor"], Number(version["minor"])],
    );
    const paths = parsed(await send("GET /"))["paths"] as string[];
    for (const path of ["/api", "/apis", "/healthz/ping", "/metrics", "/openapi/v3", "/version"])
      assert.ok(paths.includes(path), path);
  });

  it("are at their own paths only", async () => {
    const { send } = serverWith();
    for (const path of ["/version", "/metrics", "/healthz", "/readyz", "/openapi/v2", "/index.html"]) {
      for (const other of [`${path}x`, path.slice(0, -1), `${path}//`, `/${path}`]) {
        assert.equal((await send(`GET ${other}`)).status, 404, other);
      }
    }
  });

  it("answer every method where upstream's handlers do not look at it", async () => {
    const { send } = serverWith();
    const group = "/apis/certificates.platform.io";
    for (const path of ["/", "/apis", "/apis/", group, `${group}/`, "/openapi/v2", "/openapi/v3", "/metrics"])
      for (const method of ["GET", "HEAD", "POST", "OPTIONS", "PATCH"])
        assert.equal((await send(`${method} ${path}`)).status, 200, `${method} ${path}`);
    for (const path of ["/openapi/v2/", "/openapi/v3/", "/metrics/"])
      assert.equal((await send(`GET ${path}`)).status, 404, path);
  });

  it("are OpenAPI documents under hashes that can be cached forever", async () => {
    const { send } = serverWith();
    const index = parsed(await send("GET /openapi/v3"))["paths"] as Record<string, { serverRelativeURL: string }>;
    const url = index["api/v1"]?.serverRelativeURL ?? "";
    const document = await send(`GET ${url}`);
    assert.equal(parsed(document)["openapi"], "3.0.0");
    assert.match(String(document.headers["cache-control"]), /immutable/);
    const stale = await send("GET /openapi/v3/api/v1?hash=OLD");
    assert.deepEqual([stale.status, stale.headers["location"]], [301, url]);
  });
});
