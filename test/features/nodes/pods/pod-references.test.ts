import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { podReferences, podSchema } from "../../../../src/features/nodes/pods/schema/pod-schema.ts";
import type { Field, Schema } from "../../../../src/machinery/schema/schema.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { ForgetfulStore } from "../../../machinery/registry/forgetful-store.ts";
import { InProcess } from "../../../server/in-process.ts";
import { keptStore } from "../../../server/kept-store.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";

interface FoundField {
  readonly path: readonly string[];
  readonly field: Field;
}

/** Every field of a schema, with its path: `[]` means an item of a list. */
function fieldsOf(schema: Schema, path: readonly string[] = []): FoundField[] {
  if (schema.type === "array") return fieldsOf(schema.items, [...path, "[]"]);
  if (schema.type === "map") return fieldsOf(schema.values, [...path, "{}"]);
  if (schema.type !== "object") return [];
  return Object.entries(schema.fields).flatMap(([name, field]) => [
    { path: [...path, name], field },
    ...fieldsOf(field.schema, [...path, name]),
  ]);
}

const textOf = ({ path }: FoundField): string => path.join(".").replaceAll(".[]", "[]");
const marked = fieldsOf(podSchema).filter(({ field }) => field.refersTo !== undefined);
const allContainers = ["initContainers", "containers", "ephemeralContainers"];

/** What upstream's visitors know (`VisitPodSecretNames`, `VisitPodConfigmapNames`, `HasAPIObjectReference`). */
const known = [
  "spec.serviceAccountName",
  "spec.serviceAccount",
  "spec.imagePullSecrets",
  "spec.resourceClaims",
  "spec.resourceClaims[].resourceClaimTemplateName",
  ...allContainers.flatMap((containers) =>
    [
      "env[].valueFrom.secretKeyRef",
      "env[].valueFrom.configMapKeyRef",
      "envFrom[].secretRef",
      "envFrom[].configMapRef",
    ].map((rest) => `spec.${containers}[].${rest}`),
  ),
  ...[
    "secret",
    "configMap",
    "persistentVolumeClaim",
    "ephemeral",
    "azureFile",
    "glusterfs",
    "csi",
    "csi.nodePublishSecretRef",
    ...["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"].map((one) => `${one}.secretRef`),
    ...["secret", "configMap", "serviceAccountToken", "clusterTrustBundle", "podCertificate"].map(
      (one) => `projected.sources[].${one}`,
    ),
  ].map((rest) => `spec.volumes[].${rest}`),
];

/** A value with nothing but one field, which refers to `name` where it says a name. */
function valueWith(schema: Schema, [step, ...rest]: readonly string[], field: Field, name: string): unknown {
  if (step === undefined) return referring(schema, field, name);
  if (schema.type === "array") return [valueWith(schema.items, rest, field, name)];
  if (schema.type !== "object") throw new TypeError(`no way to ${step}`);
  const next = schema.fields[step];
  if (next === undefined) throw new TypeError(`no field ${step}`);
  const named = schema.fields["name"]?.isRequired === true ? { name: "n" } : {};
  return { ...named, [step]: valueWith(next.schema, rest, field, name) };
}

function referring(schema: Schema, field: Field, name: string): unknown {
  if (schema.type === "array") return [referring(schema.items, field, name)];
  if (schema.type !== "object") return name;
  const { nameIn } = field.refersTo ?? {};
  const isNamed = schema.fields["name"]?.isRequired === true && nameIn !== "name";
  return { ...(isNamed && { name: "n" }), ...(nameIn !== undefined && { [nameIn]: name }) };
}

const hasEphemeral = (found: FoundField): boolean => found.path.includes("ephemeralContainers");

describe("the schema of a Pod", () => {
  it("marks every reference that upstream knows", () => {
    assert.deepEqual(
      known.filter((path) => !marked.some((one) => textOf(one) === path)),
      [],
    );
  });

  it("marks every field that looks like one", () => {
    const looks =
      /(secretref|secretname|secretkeyref|configmap\w*|claimname|serviceaccount\w*|pullsecrets|endpoints)$/i;
    const isWithinMarked = (path: string): boolean =>
      marked.some((one) => path.startsWith(textOf(one)) && /^($|[.[])/.test(path.slice(textOf(one).length)));
    const forgotten = fieldsOf(podSchema)
      .filter(({ field }) => field.schema.type !== "boolean")
      .map(textOf)
      .filter((path) => path.startsWith("spec.") && looks.test(path) && !isWithinMarked(path));
    assert.deepEqual(forgotten, []);
  });

  it("has no untyped part in its spec, where a reference could hide", () => {
    const open = fieldsOf(podSchema).filter(({ path, field }) => path[0] === "spec" && field.schema.type === "any");
    assert.deepEqual(
      open.map(textOf).filter((path) => !path.endsWith("fieldsV1")),
      [],
    );
  });

  it("lets the reader find each reference, with its name and path", () => {
    for (const one of marked) {
      const pod = valueWith(podSchema, one.path, one.field, "target");
      const found = podReferences({ apiVersion: "v1", kind: "Pod", metadata: {}, ...(pod as object) });
      const path = textOf(one).replaceAll("[]", "[0]") + (one.field.schema.type === "array" ? "[0]" : "");
      const reference = found.find((candidate) => candidate.path === path);
      assert.equal(reference?.kind, one.field.refersTo?.kind, path);
      const isNamed = one.field.schema.type === "string" || one.field.refersTo?.nameIn !== undefined;
      assert.equal(reference?.name, isNamed ? "target" : "", path);
    }
  });
});

const nodeUser = { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" };

describe("a reference of a Pod", () => {
  const collection = "/api/v1/namespaces/default/pods";
  const contents = { Secret: "secrets", ConfigMap: "configmaps", ServiceAccount: "serviceaccounts" } as const;
  let server: TestServer;
  let api: InProcess;
  let nodeUid = "";
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
    api = new InProcess(server);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    nodeUid = (await api.json("/api/v1/nodes", { method: "POST", body: node })).metadata.uid;
    for (const [kind, resource] of Object.entries(contents)) {
      for (const name of ["target", "other", "default"]) {
        const body = { apiVersion: "v1", kind, metadata: { name } };
        await api.send(`/api/v1/namespaces/default/${resource}`, { method: "POST", body });
      }
    }
  });

  /** A Pod on n1 with one reference, valid as to its other fields. */
  function podWith(one: FoundField, metadata: object): object {
    const { spec } = valueWith(podSchema, one.path, one.field, "target") as { spec: Record<string, unknown> };
    const complete = { containers: [{ name: "c", image: "i" }], nodeName: "n1", automountServiceAccountToken: false };
    const withImages = (spec["containers"] as object[] | undefined)?.map((item) => ({ ...item, image: "i" }));
    const inits = (spec["initContainers"] as object[] | undefined)?.map((item) => ({ ...item, image: "i" }));
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", ...metadata },
      spec: {
        ...complete,
        ...spec,
        ...(withImages && { containers: withImages }),
        ...(inits && { initContainers: inits }),
      },
    };
  }

  /** Every object that the node may read, as `resource/name`. */
  async function readable(): Promise<string[]> {
    const found: string[] = [];
    for (const resource of Object.values(contents)) {
      for (const name of ["target", "other", "default"]) {
        const { status } = await api.send(`/api/v1/namespaces/default/${resource}/${name}`, { headers: nodeUser });
        if (status === 200) found.push(`${resource}/${name}`);
      }
    }
    return found;
  }

  it("makes a mirror Pod that no node may create, and that gives no access when others create it", async () => {
    const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: nodeUid, controller: true };
    const mirror = { annotations: { [names.key("config.mirror")]: "x" }, ownerReferences: [owner] };
    const plain = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", ...mirror } };
    const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
    const allowed = await api.send(collection, { method: "POST", headers: nodeUser, body: { ...plain, spec } });
    assert.equal(allowed.status, 201, String(allowed.body));
    assert.deepEqual(await readable(), []);
    await api.send(`${collection}/p`, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
    for (const one of marked) {
      const body = podWith(one, mirror);
      const refused = await api.json(collection, { method: "POST", headers: nodeUser, body });
      assert.equal(refused.code, 403, `${textOf(one)}: ${refused.message}`);
      // An administrator may make one of the kinds that only nodes are refused; even then it opens nothing.
      await api.send(collection, { method: "POST", body });
      assert.deepEqual(await readable(), [], textOf(one));
      await api.send(`${collection}/p`, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
    }
  });

  it("lets the Pod's node read exactly its object, until the Pod is gone", async () => {
    for (const one of marked.filter((found) => !hasEphemeral(found))) {
      const created = await api.send(collection, { method: "POST", body: podWith(one, {}) });
      assert.equal(created.status, 201, `${textOf(one)}: ${String(created.body)}`);
      const { kind = "", nameIn } = one.field.refersTo ?? {};
      const isNamed = nameIn !== undefined || one.field.schema.type === "string";
      const resource = Object.hasOwn(contents, kind) ? contents[kind as keyof typeof contents] : undefined;
      const account = kind === "ServiceAccount" && isNamed ? "target" : "default";
      const expected = [
        ...(resource !== undefined && resource !== "serviceaccounts" && isNamed ? [`${resource}/target`] : []),
        `serviceaccounts/${account}`,
      ];
      assert.deepEqual(await readable(), expected, textOf(one));
      await api.send(`${collection}/p`, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
      assert.deepEqual(await readable(), [], `${textOf(one)} after the Pod`);
    }
  });

  it("lets the node read an object as long as one of its Pods refers to it, whatever its other Pods do", async () => {
    const referring: Readonly<Record<string, readonly string[]>> = {
      p: ["target"],
      q: ["target", "other"],
      r: ["other"],
    };
    for (const [name, secrets] of Object.entries(referring)) {
      const envFrom = secrets.map((secret) => ({ secretRef: { name: secret } }));
      const spec = { nodeName: "n1", containers: [{ name: "c", image: "i", envFrom }] };
      const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
      assert.equal((await api.send(collection, { method: "POST", body })).status, 201);
    }
    const both = ["secrets/target", "secrets/other", "serviceaccounts/default"];
    assert.deepEqual(await readable(), both);
    const readableAfter = async (gone: string): Promise<string[]> => {
      await api.send(`${collection}/${gone}`, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
      return readable();
    };
    assert.deepEqual(await readableAfter("q"), both);
    assert.deepEqual(await readableAfter("p"), ["secrets/other", "serviceaccounts/default"]);
    assert.deepEqual(await readableAfter("r"), []);
  });

  it("of a new Pod's ephemeral container is refused for every user", async () => {
    for (const one of marked.filter(hasEphemeral)) {
      const answer = await api.json(collection, { method: "POST", body: podWith(one, {}) });
      assert.equal(answer.code, 422);
      assert.match(answer.message, /spec\.ephemeralContainers: Forbidden: cannot be set on create/);
    }
  });

  it("to a Secret must be among those of an account that limits them", async () => {
    const strict = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "strict", annotations: { [names.key("enforce-mountable-secrets")]: "true" } },
      secrets: [{ name: "mine" }],
    };
    await api.send("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: strict });
    for (const one of marked.filter(({ field }) => field.refersTo?.kind === "Secret")) {
      const { spec, ...rest } = podWith(one, {}) as { spec: object };
      const body = { ...rest, spec: { ...spec, serviceAccountName: "strict" } };
      const answer = await api.json(collection, { method: "POST", body });
      assert.equal(answer.code, 403, `${textOf(one)}: ${answer.message}`);
      assert.match(answer.message, /"target" is not allowed because service account strict does not reference that/);
    }
  });

  it("cannot become readable or unreadable by later writes", async () => {
    const annotation = names.key("config.mirror");
    const spec = {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "target" } }] }],
    };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", annotations: { a: "b" } }, spec };
    await api.send(collection, { method: "POST", body: pod });
    for (const path of [`${collection}/p`, `${collection}/p/status`]) {
      const headers = { "content-type": "application/merge-patch+json" };
      const body = { metadata: { annotations: { [annotation]: "x" } } };
      const answer = await api.json(path, { method: "PATCH", headers, body });
      assert.equal(answer.code, 422, path);
      assert.match(answer.message, /may not add mirror pod annotation/);
    }
    const owners = [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }];
    const status = await api.send(`${collection}/p/status`, {
      method: "PATCH",
      headers: { ...nodeUser, "content-type": "application/merge-patch+json" },
      body: { metadata: { ownerReferences: owners }, status: { phase: "Running" } },
    });
    assert.equal(status.status, 200, String(status.body));
    const kept = await api.json<{ metadata: { ownerReferences?: unknown }; status: { phase: string } }>(
      `${collection}/p`,
    );
    assert.deepEqual([kept.metadata.ownerReferences, kept.status.phase], [undefined, "Running"]);
  });
});

describe("a Pod from before a restart of the server", () => {
  it("still lets its node read what it refers to, and nothing else", async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), "signet-pod-references-"));
    const store = keptStore(new MemoryStore());
    const start = (): Promise<TestServer> =>
      startTestServer({ dataDirectory, store, settings: { controllers: false } });
    const namespace = "/api/v1/namespaces/default";
    const first = await start();
    const spec = {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "target" } }] }],
    };
    for (const [resource, body] of [
      ["serviceaccounts", { metadata: { name: "default" } }],
      ["secrets", { metadata: { name: "target" } }],
      ["secrets", { metadata: { name: "other" } }],
      ["pods", { metadata: { name: "p" }, spec }],
    ] as const) {
      const created = await new InProcess(first).send(`${namespace}/${resource}`, { method: "POST", body });
      assert.equal(created.status, 201);
    }
    await first.stop();

    const second = await start();
    const read = async (name: string): Promise<number> =>
      (await new InProcess(second).send(`${namespace}/secrets/${name}`, { headers: nodeUser })).status;
    assert.deepEqual([await read("target"), await read("other")], [200, 403]);
    await second.stop();
    rmSync(dataDirectory, { recursive: true });
  });
});

describe("a Pod that cannot be read any more", () => {
  it("opens nothing to its node, because nobody knows what it refers to", async () => {
    const store = new ForgetfulStore();
    const api = new InProcess(await startTestServer({ store, settings: { controllers: false } }));
    const namespace = "/api/v1/namespaces/default";
    const spec = {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "target" } }] }],
    };
    for (const [resource, body] of [
      ["serviceaccounts", { metadata: { name: "default" } }],
      ["secrets", { metadata: { name: "target" } }],
      ["pods", { metadata: { name: "p" }, spec }],
    ] as const)
      assert.equal((await api.send(`${namespace}/${resource}`, { method: "POST", body })).status, 201);
    const read = async (): Promise<number> =>
      (await api.send(`${namespace}/secrets/target`, { headers: nodeUser })).status;
    assert.equal(await read(), 200);

    const key = "/registry/pods/default/p";
    const [stored] = (await store.range({ start: key, end: `${key}\0` })).entries;
    assert.ok(stored);
    store.unreadable.add(key);
    await store.forget(async () => {
      await store.write({ key, value: stored.value, expectedRevision: stored.modRevision });
    });
    assert.equal(await read(), 403);
  });
});
