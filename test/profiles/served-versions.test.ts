import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { ApiRequester } from "./api-request.ts";

const anchors = readFileSync(new URL("../conformance/fixtures/ca1.pem", import.meta.url), "utf8");
const versions = ["v1beta1", "v1"] as const;
const other = { v1beta1: "v1", v1: "v1beta1" } as const;
const apply = "application/apply-patch+yaml";

describe("a trust bundle, which is one object in both of its versions,", () => {
  let api: ApiRequester;
  before(async () => {
    api = await ApiRequester.toNewServer({ profile: "kubernetes" });
  });
  after(() => api.stop());

  const group = "certificates.k8s.io";
  const collection = (version: string): string => `/apis/${group}/${version}/clustertrustbundles`;
  const bundle = (version: string, name: string, metadata: object = {}) => ({
    apiVersion: `${group}/${version}`,
    kind: "ClusterTrustBundle",
    metadata: { name, ...metadata },
    spec: { trustBundle: anchors },
  });

  for (const version of versions) {
    it(`is created in ${version}, and read, replaced and deleted in ${other[version]}`, async () => {
      const name = `made-in-${version}`;
      const created = await api.send({ method: "POST", path: collection(version), body: bundle(version, name) });
      assert.equal(created.status, 201);
      assert.equal(created.json().apiVersion, `${group}/${version}`);

      const path = `${collection(other[version])}/${name}`;
      const read = (await api.send({ path })).json();
      assert.deepEqual(read, { ...created.json(), apiVersion: `${group}/${other[version]}` });
      assert.equal(read.metadata.managedFields[0].apiVersion, `${group}/${version}`, "as it was written");

      const same = await api.send({ method: "PUT", path, body: read });
      assert.equal(same.json().metadata.resourceVersion, read.metadata.resourceVersion, "nothing has changed");
      const wrong = await api.send({ method: "PUT", path, body: created.json() });
      assert.match(
        wrong.json().message,
        new RegExp(
          `\\(${group}/${version}\\) does not match the expected API version \\(${group}/${other[version]}\\)`,
        ),
      );
      const deleted = await api.send({ method: "DELETE", path });
      assert.equal(deleted.json().details.group, group);
      assert.equal((await api.send({ path: `${collection(version)}/${name}` })).status, 404);
    });

    it(`keeps the owners of fields that were applied in ${version} when ${other[version]} is used`, async () => {
      const name = `applied-in-${version}`;
      const send = (at: "v1" | "v1beta1", manager: string, label: string) =>
        api.send({
          method: "PATCH",
          path: `${collection(at)}/${name}?fieldManager=${manager}`,
          headers: { "content-type": apply },
          body: bundle(at, name, { labels: { team: label } }),
        });
      assert.equal((await send(version, "one", "a")).status, 201);
      const conflict = await send(other[version], "two", "b");
      assert.equal(conflict.status, 409);
      assert.match(conflict.json().message, /conflict with "one"/);
      const again = (await send(other[version], "one", "c")).json();
      assert.equal(again.metadata.labels.team, "c");
      assert.deepEqual(
        again.metadata.managedFields.map((entry: { manager: string; apiVersion: string }) => entry.apiVersion),
        [`${group}/${other[version]}`],
        "one owner, under the version that it used last",
      );
      await api.send({ method: "DELETE", path: `${collection(version)}/${name}` });
    });

    it(`is shown in ${version} by a watch in ${version}, whichever version was written`, async () => {
      const { metadata } = (await api.send({ path: collection(version) })).json();
      const watch = await api.open({
        path: `${collection(version)}?watch=true&resourceVersion=${metadata.resourceVersion}`,
      });
      const lines = createInterface({ input: watch })[Symbol.asyncIterator]();
      for (const writer of versions) {
        const name = `written-in-${writer}`;
        await api.send({ method: "POST", path: collection(writer), body: bundle(writer, name) });
        const { type, object } = JSON.parse((await lines.next()).value ?? "null");
        assert.deepEqual([type, object.apiVersion, object.metadata.name], ["ADDED", `${group}/${version}`, name]);
        await api.send({ method: "DELETE", path: `${collection(writer)}/${name}` });
        assert.equal(JSON.parse((await lines.next()).value ?? "null").type, "DELETED");
      }
      watch.destroy();
    });
  }

  it("has a deprecation warning only in the older version", async () => {
    for (const [version, warning] of [
      ["v1", undefined],
      ["v1beta1", `299 - "${group}/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in v1.40+"`],
    ] as const) {
      const { headers } = await api.send({ path: collection(version) });
      assert.equal(headers["warning"], warning);
    }
  });
});
