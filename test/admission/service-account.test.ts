import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serviceAccountRule } from "../../src/admission/service-account.ts";
import type { PodObject } from "../../src/admission/pod-object.ts";
import { apiObject, ask, names } from "./admission-scene.ts";

const annotations = { "platform.io/enforce-mountable-secrets": "true" };
const accounts = new Map([
  ["default", { metadata: { name: "default" }, imagePullSecrets: [{ name: "pull" }] }],
  ["strict", { metadata: { name: "strict", annotations }, secrets: [{ name: "mine" }] }],
]);
const rule = serviceAccountRule({ names, findServiceAccount: (_namespace, name) => accounts.get(name) });

const create = (spec: object, metadata: object = { name: "p" }) =>
  ask(rule, { resource: "pods", namespace: "ns", name: "p", object: apiObject({ metadata, spec }) });
const specOf = (answer: unknown): PodObject["spec"] => (answer as PodObject).spec;
const refused = (message: string) => `403 pods "p" is forbidden: ${message}`;

describe("a pod's service account", () => {
  it("is the default one when none is named, and gives its pull secrets", async () => {
    const spec = specOf(await create({ containers: [] }));
    assert.deepEqual(
      [spec.serviceAccountName, spec.serviceAccount, spec.imagePullSecrets],
      ["default", "default", [{ name: "pull" }]],
    );
  });

  it("must exist", async () => {
    assert.equal(
      await create({ serviceAccountName: "absent" }),
      refused('error looking up service account ns/absent: serviceaccount "absent" not found'),
    );
  });

  it("can limit the secrets that the pod uses", async () => {
    const uses: readonly (readonly [object, string])[] = [
      [{ volumes: [{ name: "v", secret: { secretName: "other" } }] }, "volume with"],
      [
        { containers: [{ name: "c", env: [{ name: "E", valueFrom: { secretKeyRef: { name: "other" } } }] }] },
        "container c with envVar E referencing",
      ],
      [
        { initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "other" } }] }] },
        "init container i with envFrom referencing",
      ],
    ];
    for (const [spec, use] of uses) {
      assert.equal(
        await create({ serviceAccountName: "strict", ...spec }),
        refused(
          `${use} secret.secretName="other" is not allowed because service account strict does not reference that secret`,
        ),
      );
    }
    const allowed = { volumes: [{ name: "v", secret: { secretName: "mine" } }] };
    assert.equal(specOf(await create({ serviceAccountName: "strict", ...allowed })).serviceAccountName, "strict");
  });

  it("is not confused by volumes and variables that are none", async () => {
    const odd = { volumes: [null, 1, "x"], containers: [{ name: "c", env: {}, envFrom: null }] };
    assert.equal(specOf(await create({ serviceAccountName: "strict", ...odd })).serviceAccountName, "strict");
  });

  it("is none for a pod that mirrors a node's file", async () => {
    const mirror = { name: "p", annotations: { "platform.io/config.mirror": "x" } };
    assert.equal(specOf(await create({}, mirror)).serviceAccountName, undefined);
    assert.equal(
      await create({ serviceAccountName: "default" }, mirror),
      refused("a mirror pod may not reference service accounts"),
    );
  });
});
