import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { storedResources } from "../../../src/server/served-kinds.ts";
import { hostileBodies } from "./hostile/hostile-bodies.ts";
import { hostileJsonPatches, hostileMergePatches } from "./hostile/hostile-patches.ts";
import {
  collectionOf,
  dryRunPatch,
  groupPath,
  hostileNames,
  hostileQueries,
  sampleTargetsOf,
} from "./hostile/hostile-targets.ts";
import { hostileScene } from "./hostile/hostile-scene.ts";
import type { HostileRequest, HostileScene } from "./hostile/hostile-scene.ts";
import { hostileValues, pathsOf, pathsOfValue, withValueAt } from "./hostile/hostile-values.ts";
import { sampleObject, sampleReviews } from "./hostile/sample-objects.ts";

// An object of a kind that is only read cannot be sent.
const kinds = storedResources(platformNames).filter(({ verbs }) => verbs?.includes("create") ?? true);

describe("hostile input", () => {
  let scene: HostileScene;
  before(async () => {
    scene = await hostileScene();
    for (const definition of kinds) {
      const body = JSON.stringify(sampleObject(definition, "sample"));
      const { status } = await scene.send({ method: "POST", target: collectionOf(definition), body });
      assert.equal(status, 201, definition.kind);
    }
  });
  after(async () => {
    await scene.stop();
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  afterEach(() => assert.deepEqual(scene.takeFaults(), []));

  for (const definition of kinds) {
    const { kind, schema } = definition;
    const collection = collectionOf(definition);
    const targets = sampleTargetsOf(definition);
    const [object] = targets;
    const isPlain = kind === "ConfigMap" || kind === "ClusterTrustBundle";
    // All kinds have the same metadata: two of them try every value there.
    const paths = [...pathsOf(schema, 6)].filter(
      ([first], index) => isPlain || first !== "metadata" || index % 5 === 0,
    );

    // What reads a request knows no kind, so two kinds get them all. Each other one gets a third, and its neighbours the rest.
    const share = isPlain ? 1 : 3;
    let count = kinds.indexOf(definition);
    const tryOut = async (request: HostileRequest): Promise<void> => {
      if (count++ % share === 0) await scene.tryOut(request);
    };

    it(`is refused in every field of a ${kind}`, async () => {
      const sample = sampleObject(definition, "sample");
      const stride = isPlain ? 2 : Math.max(5, Math.ceil(paths.length / 12));
      let turn = 0;
      for (const path of paths) {
        for (const value of hostileValues) {
          const target = targets[turn % targets.length] ?? object;
          const created = withValueAt(sampleObject(definition, "other"), path, value);
          const body = JSON.stringify(withValueAt({}, path, value));
          const applied = JSON.stringify({ kind, apiVersion: sample.apiVersion, ...JSON.parse(body) });
          const operations = JSON.stringify([{ op: "add", path: `/${path.join("/")}`, value }]);
          const requests: readonly HostileRequest[] = [
            { method: "POST", target: `${collection}?dryRun=All`, body: JSON.stringify(created) },
            { method: "PUT", target: `${target}?dryRun=All`, body: JSON.stringify(withValueAt(sample, path, value)) },
            dryRunPatch(target, "merge", body),
            dryRunPatch(target, "strategic", body),
            dryRunPatch(target, "json", operations),
            dryRunPatch(target, "apply", applied),
            dryRunPatch(`${collection}/other`, "apply", JSON.stringify(created)),
          ];
          for (const request of requests) if (turn++ % stride === 0) await scene.tryOut(request);
        }
      }
    });

    it(`is refused as the body of a request for a ${kind}`, async () => {
      // Long bodies fail while they are parsed, which no kind has a part in.
      for (const body of isPlain ? hostileBodies : hostileBodies.filter(({ length }) => length < 10_000)) {
        for (const contentType of ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]) {
          const headers = { "content-type": contentType };
          await tryOut({ method: "POST", target: `${collection}?dryRun=All`, body, headers });
          await tryOut({ method: "PUT", target: `${object}?dryRun=All`, body, headers });
          await tryOut({ method: "DELETE", target: `${object}?dryRun=All`, body, headers });
          await tryOut({ method: "DELETE", target: `${collection}?dryRun=All`, body, headers });
        }
        for (const type of ["json", "merge", "strategic", "apply"] as const) {
          await tryOut(dryRunPatch(object, type, body));
        }
      }
    });

    it(`is refused as a patch of a ${kind}`, async () => {
      for (const operations of hostileJsonPatches)
        await tryOut(dryRunPatch(object, "json", JSON.stringify(operations)));
      for (const body of hostileMergePatches) {
        for (const type of ["merge", "strategic"] as const) await tryOut(dryRunPatch(object, type, body));
      }
    });

    it(`is refused in the query of a ${kind}`, async () => {
      for (const query of hostileQueries) {
        const dry = `dryRun=All&${query}`;
        await tryOut({ method: "GET", target: `${collection}?${query}` });
        await tryOut({ method: "GET", target: `${collection}?watch=1&${query}` });
        await tryOut({ method: "GET", target: `${object}?${query}` });
        const body = JSON.stringify(sampleObject(definition, "other"));
        await tryOut({ method: "POST", target: `${collection}?${dry}`, body });
        await tryOut({ method: "DELETE", target: `${object}?${dry}` });
        await tryOut({ method: "DELETE", target: `${collection}?${dry}` });
        await tryOut(dryRunPatch(`${object}?${query}`, "merge", "{}"));
      }
    });

    it(`is refused as the name of a ${kind}`, async () => {
      for (const name of hostileNames) {
        for (const target of [`${collection}/${name}`, `${object}/${name}`, `${groupPath(definition)}/${name}`]) {
          await tryOut({ method: "GET", target });
          await tryOut({ method: "PUT", target: `${target}?dryRun=All`, body: "{}" });
          await tryOut({ method: "DELETE", target: `${target}?dryRun=All` });
          await tryOut(dryRunPatch(target, "merge", "{}"));
        }
        const decoded = sampleObject(definition, decodedOrSame(name));
        await tryOut({ method: "POST", target: `${collection}?dryRun=All`, body: JSON.stringify(decoded) });
        await tryOut(dryRunPatch(`${collection}/${name}`, "apply", JSON.stringify(decoded)));
      }
    });
  }

  for (const { target, review } of sampleReviews) {
    it(`is refused in every field of a ${review.kind}`, async () => {
      for (const path of pathsOfValue(review)) {
        for (const value of hostileValues) {
          await scene.tryOut({ method: "POST", target, body: JSON.stringify(withValueAt(review, path, value)) });
        }
      }
      for (const body of hostileBodies) await scene.tryOut({ method: "POST", target, body });
      for (const query of hostileQueries) {
        await scene.tryOut({ method: "POST", target: `${target}?${query}`, body: JSON.stringify(review) });
      }
    });
  }

  it("is refused in paths and headers", async () => {
    for (const name of hostileNames) {
      for (const target of [
        `/${name}`,
        `/api/${name}`,
        `/apis/${name}/v1/x`,
        `/apis/${name}`,
        `/api/v1/namespaces/${name}`,
      ]) {
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]) {
          await scene.tryOut({ method, target });
        }
      }
      await scene.tryOut({ method: "GET", target: `/api/v1/namespaces/${name}/pods/x` });
      for (const header of [
        "accept",
        "content-type",
        "authorization",
        "impersonate-user",
        "impersonate-extra-a",
        "user-agent",
      ]) {
        const headers = { [header]: decodedOrSame(name) };
        await scene.tryOut({ method: "GET", target: "/api/v1/namespaces/hostile/secrets", headers });
        const body = JSON.stringify({ kind: "Secret", apiVersion: "v1", metadata: { name: "headers" } });
        const target = "/api/v1/namespaces/hostile/secrets?dryRun=All";
        await scene.tryOut({ method: "POST", target, headers, body });
      }
    }
  });
});

function decodedOrSame(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
