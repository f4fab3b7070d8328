import type { NodeObjects } from "../authorization/node.ts";
import { resourcePrefix } from "../registry/storage-key.ts";
import type { Pod } from "../resources/pod-schema.ts";
import { prefixEnd } from "../storage/store.ts";
import { followRegistry } from "./follow-registry.ts";
import type { FindRegistry } from "./look-ups.ts";

/** Which Pods are on which node, kept from the copy in memory. Call after the registries have started. */
export function nodeObjects(registry: FindRegistry): NodeObjects {
  const pods = registry<Pod>("pods");
  const start = resourcePrefix(pods.definition);
  const range = { start, end: prefixEnd(start) };
  const podsByNode = new Map<string, Map<string, Pod>>();

  const put = (key: string, pod: Pod): void => {
    const { nodeName } = pod.spec;
    if (nodeName === undefined) return;
    let onNode = podsByNode.get(nodeName);
    if (onNode === undefined) podsByNode.set(nodeName, (onNode = new Map()));
    onNode.set(key, pod);
  };
  const remove = (key: string, pod: Pod): void => {
    const { nodeName = "" } = pod.spec;
    const onNode = podsByNode.get(nodeName);
    onNode?.delete(key);
    if (onNode?.size === 0) podsByNode.delete(nodeName);
  };
  followRegistry(pods, {
    onLoaded() {
      podsByNode.clear();
      for (const { key, object } of pods.cache.range(range)) put(key, object);
    },
    onEvent(event) {
      if (event.previous !== undefined) remove(event.key, event.previous.object);
      if (event.type === "put") put(event.key, event.object.object);
    },
  });

  return {
    isReferenced(node, { resource, namespace, name }) {
      const onNode = [...(podsByNode.get(node)?.values() ?? [])];
      return onNode.some(
        (pod) => pod.metadata.namespace === namespace && referencedNames(pod)[resource].includes(name),
      );
    },
    nodeOfPod: (namespace, name) => pods.peek({ namespace, name })?.object.spec.nodeName,
  };
}

type Referenced = Readonly<Record<"secrets" | "configmaps" | "serviceaccounts", readonly string[]>>;

/** What a Pod's spec refers to, wherever it may stand. */
function referencedNames({ spec }: Pod): Referenced {
  const secrets: string[] = [];
  const configmaps: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || depth > longestPath) return;
    for (const [key, field] of Object.entries(value)) {
      if (typeof field === "object" && field !== null) {
        const named = field as { readonly name?: unknown; readonly secretName?: unknown };
        if (secretFields.has(key)) pushName(secrets, named.name ?? named.secretName);
        if (configMapFields.has(key)) pushName(configmaps, named.name);
      }
      visit(field, depth + 1);
    }
  };
  visit(spec, 0);
  for (const { name } of (spec.imagePullSecrets ?? []) as readonly { name?: string }[]) pushName(secrets, name);
  return {
    secrets,
    configmaps,
    serviceaccounts: spec.serviceAccountName === undefined ? [] : [spec.serviceAccountName],
  };
}

/** Deep enough for every reference that a Pod can hold, and an end for those who nest without one. */
const longestPath = 12;
const secretFields = new Set(["secret", "secretRef", "secretKeyRef", "nodePublishSecretRef"]);
const configMapFields = new Set(["configMap", "configMapRef", "configMapKeyRef"]);

function pushName(names: string[], name: unknown): void {
  if (typeof name === "string") names.push(name);
}
