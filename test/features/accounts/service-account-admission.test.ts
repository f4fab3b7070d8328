import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serviceAccountRule } from "../../../src/features/accounts/service-account-admission.ts";
import type { Pod } from "../../../src/features/nodes/pods/schema/pod-schema.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { Names } from "../../../src/machinery/api/names.ts";
import { apiObject, ask, names } from "../admission-scene.ts";

const annotations = { "platform.io/enforce-mountable-secrets": "true" };
const accounts = new Map([
  ["default", { metadata: { name: "default" }, imagePullSecrets: [{ name: "pull" }] }],
  [
    "strict",
    {
      metadata: { name: "strict", annotations },
      secrets: [{ name: "mine" }],
      imagePullSecrets: [{ name: "registry" }],
    },
  ],
  ["upstream", { metadata: { name: "upstream", annotations: { "kubernetes.io/enforce-mountable-secrets": "t" } } }],
  [
    "free",
    {
      metadata: {
        name: "free",
        annotations: {
          "platform.io/enforce-mountable-secrets": "false",
          "kubernetes.io/enforce-mountable-secrets": "yes",
        },
      },
    },
  ],
  ["bare", { metadata: { name: "bare" }, automountServiceAccountToken: false }],
]);
const ruleOf = (understood: Names) =>
  serviceAccountRule({
    names: understood,
    generateName: (prefix) => `${prefix}random`,
    findServiceAccount: (namespace, name) => (namespace === "new" ? made(name) : accounts.get(name)),
    pause: (milliseconds) => {
      pauses.push(milliseconds);
      return Promise.resolve();
    },
  });
const rule = ruleOf(names);

/** Of the namespace `new`, whose account a controller makes while the rule waits. */
const made = (name: string) => (pauses.length < pausesUntilMade ? undefined : accounts.get(name));
const pauses: number[] = [];
let pausesUntilMade = 0;

const create = (spec: object, metadata: object = { name: "p" }, namespace = "ns") =>
  ask(rule, { resource: "pods", namespace, name: "p", object: apiObject({ metadata, spec }) });
const specOf = (answer: unknown): Pod["spec"] => (answer as Pod).spec;
const refused = (message: string) => `403 pods "p" is forbidden: ${message}`;

describe("a pod's service account", () => {
  it("is the default one for a Pod that names no account, and adds its pull secrets", async () => {
    const spec = specOf(await create({ containers: [] }));
    assert.deepEqual(
      [spec.serviceAccountName, spec.serviceAccount, spec.imagePullSecrets],
      ["default", "default", [{ name: "pull" }]],
    );
  });

  it("adds no pull secrets to a Pod with its own", async () => {
    const imagePullSecrets = [{ name: "own" }];
    assert.deepEqual(specOf(await create({ containers: [], imagePullSecrets })).imagePullSecrets, imagePullSecrets);
    assert.ok(!("imagePullSecrets" in specOf(await create({ serviceAccountName: "bare" }))));
  });

  it("is decided when a Pod is made, and not for its subresources, its changes or other groups", async () => {
    const object = apiObject({ metadata: { name: "p" }, spec: {} });
    for (const other of [
      { subresource: "eviction" },
      { operation: "UPDATE" },
      { group: "metrics.example.com" },
      { resource: "nodes" },
    ] as const) {
      assert.equal(await ask(rule, { resource: "pods", namespace: "ns", name: "p", object, ...other }), object);
    }
  });

  it("must exist", async () => {
    assert.equal(
      await create({ serviceAccountName: "absent" }),
      refused('error looking up service account ns/absent: serviceaccount "absent" not found'),
    );
  });

  it("is awaited for a limited time when it is the default one", async () => {
    const createInNew = (spec: object) => {
      pauses.length = 0;
      return create(spec, undefined, "new");
    };
    pausesUntilMade = 3;
    assert.equal(specOf(await createInNew({})).serviceAccountName, "default");
    assert.deepEqual(pauses, [10, 20, 40]);
    assert.match(String(await createInNew({ serviceAccountName: "strict" })), /"strict" not found/);
    assert.deepEqual(pauses, []);
    pausesUntilMade = Infinity;
    assert.match(String(await createInNew({})), /"default" not found/);
    assert.equal(pauses.length, 7);
  });

  it("can limit the Secrets that the Pod uses", async () => {
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
    const allowed = {
      volumes: [{ name: "v", secret: { secretName: "mine" } }],
      imagePullSecrets: [{ name: "registry" }],
    };
    assert.equal(specOf(await create({ serviceAccountName: "strict", ...allowed })).serviceAccountName, "strict");
  });

  it("limits Secrets under either name of the annotation, and only where it is true", async () => {
    const spec = { volumes: [{ name: "v", secret: { secretName: "other" } }] };
    const createAs = (serviceAccountName: string) =>
      ask(ruleOf(namesFor("platform", { hasUpstreamNames: true })), {
        ...{ resource: "pods", namespace: "ns", name: "p" },
        object: apiObject({ metadata: { name: "p" }, spec: { serviceAccountName, ...spec } }),
      });
    for (const name of ["strict", "upstream"]) {
      assert.match(String(await createAs(name)), /does not reference that secret$/);
    }
    assert.equal(specOf(await createAs("free")).serviceAccountName, "free");
  });

  it("can limit the Secrets that images are pulled with, which have a list of their own", async () => {
    assert.equal(
      await create({ serviceAccountName: "strict", imagePullSecrets: [{ name: "registry" }, { name: "mine" }] }),
      refused(
        'imagePullSecrets[1].name="mine" is not allowed because service account strict does not reference that imagePullSecret',
      ),
    );
    const mounted = { volumes: [{ name: "v", secret: { secretName: "registry" } }] };
    assert.match(String(await create({ serviceAccountName: "strict", ...mounted })), /does not reference that secret$/);
  });

  it("gives the containers a token, unless the pod, or else the account, disables it", async () => {
    const mountPath = "/var/run/secrets/platform.io/serviceaccount";
    const name = "platform-api-access-random";
    const spec = specOf(await create({ containers: [{ name: "c" }], initContainers: [{ name: "i" }] }));
    const mount = { name, readOnly: true, mountPath };
    assert.deepEqual(spec.containers, [{ name: "c", volumeMounts: [mount] }]);
    assert.deepEqual(spec.initContainers, [{ name: "i", volumeMounts: [mount] }]);
    const fieldRef = { apiVersion: "v1", fieldPath: "metadata.namespace" };
    const sources = [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "platform-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef }] } },
    ];
    assert.deepEqual(spec.volumes, [{ name, projected: { defaultMode: 420, sources } }]);

    const volumesOf = async (more: object): Promise<number> =>
      (specOf(await create({ containers: [{ name: "c" }], ...more })).volumes ?? []).length;
    assert.equal(await volumesOf({ automountServiceAccountToken: false }), 0);
    assert.equal(await volumesOf({ serviceAccountName: "bare" }), 0);
    assert.equal(await volumesOf({ serviceAccountName: "bare", automountServiceAccountToken: true }), 1);
  });

  it("mounts no token where the Pod mounts something, and no second one", async () => {
    const mountPath = "/var/run/secrets/platform.io/serviceaccount";
    const own = { name: "c", volumeMounts: [{ name: "own", mountPath }] };
    const spec = specOf(await create({ containers: [own], volumes: [{ name: "own" }] }));
    assert.deepEqual([spec.containers, spec.volumes], [[own], [{ name: "own" }]]);
    const volumes = [{ name: "platform-api-access-mine" }];
    const other = specOf(await create({ containers: [{ name: "c" }], volumes }));
    assert.deepEqual(other.volumes, volumes);
    assert.equal(other.containers?.[0]?.volumeMounts?.[0]?.name, "platform-api-access-mine");
  });

  it("is not added to a mirror pod", async () => {
    const mirror = { name: "p", annotations: { "platform.io/config.mirror": "x" } };
    assert.equal(specOf(await create({}, mirror)).serviceAccountName, undefined);
    assert.equal(
      await create({ serviceAccountName: "default" }, mirror),
      refused("a mirror pod may not reference service accounts"),
    );
  });

  it("gives a mirror pod neither its Secrets nor its tokens", async () => {
    const mirror = { name: "p", annotations: { "platform.io/config.mirror": "x" } };
    const mounting = (source: object) => create({ volumes: [{ name: "v", ...source }] }, mirror);
    assert.equal(await mounting({ secret: { secretName: "s" } }), refused("a mirror pod may not reference secrets"));
    assert.equal(
      await mounting({ projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }),
      refused("a mirror pod may not use ServiceAccountToken volume projections"),
    );
  });
});
