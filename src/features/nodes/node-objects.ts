import { isMirrorPod } from "./pods/mirror-pods.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { NodeObjects } from "./node-authorizer.ts";
import { podReferences } from "./pods/schema/pod-schema.ts";
import type { Pod } from "./pods/schema/pod-schema.ts";
import { followRegistry } from "../../machinery/registry/reads/follow-registry.ts";
import { readableObjects } from "../../machinery/registry/reads/readable-objects.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { podResource } from "./resources.ts";

/** The resources that a Pod makes readable for its node, by the kind of the reference. */
const referencedResources = { Secret: "secrets", ConfigMap: "configmaps", ServiceAccount: "serviceaccounts" } as const;

interface ReferencedObject {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Tracks which objects the Pods of each node refer to, from the cached Pods. Call after the registries have started.
 */
export function nodeObjects(names: Names, stores: Stores): NodeObjects {
  const pods = stores.of(podResource);
  const referencedByNode = new Map<string, ReferencedObjects>();

  const put = (pod: Pod): void => {
    const { nodeName } = pod.spec;
    if (nodeName === undefined) return;
    let objects = referencedByNode.get(nodeName);
    if (objects === undefined) referencedByNode.set(nodeName, (objects = new ReferencedObjects()));
    for (const object of referencedBy(pod, names)) objects.add(object);
  };
  const remove = (pod: Pod): void => {
    const { nodeName = "" } = pod.spec;
    const objects = referencedByNode.get(nodeName);
    if (objects === undefined) return;
    for (const object of referencedBy(pod, names)) objects.remove(object);
    if (objects.isEmpty) referencedByNode.delete(nodeName);
  };
  followRegistry(pods, {
    onLoaded() {
      referencedByNode.clear();
      for (const { object } of readableObjects(pods)) put(object);
    },
    onEvent(event) {
      if (event.previous !== undefined) remove(event.previous.object);
      if (event.type === "put") put(event.object.object);
    },
  });

  return {
    isRelated: (node, object) =>
      object.resource === "pods"
        ? pods.peek(object)?.object.spec.nodeName === node
        : referencedByNode.get(node)?.has(object) === true,
  };
}

/**
 * The objects that a Pod makes readable for its node. None for a mirror Pod: its node creates it and could name any
 * object. Admission already refuses references in mirror Pods; this is a second check (upstream: `Graph.AddPod`).
 */
function referencedBy(pod: Pod, names: Names): ReferencedObject[] {
  if (isMirrorPod(pod, names)) return [];
  const { namespace = "" } = pod.metadata;
  return podReferences(pod).flatMap(({ kind, name }) =>
    name !== "" && Object.hasOwn(referencedResources, kind)
      ? [{ resource: referencedResources[kind as keyof typeof referencedResources], namespace, name }] // the key was checked
      : [],
  );
}

/** Counts the references to each object, which stays readable until the last reference is removed. */
class ReferencedObjects {
  readonly #counts = new Map<string, number>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  has(object: ReferencedObject): boolean {
    return this.#counts.has(keyOf(object));
  }

  add(object: ReferencedObject): void {
    const key = keyOf(object);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  remove(object: ReferencedObject): void {
    const key = keyOf(object);
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}

/** A unique key, because resources and namespaces have no slash. */
const keyOf = ({ resource, namespace, name }: ReferencedObject): string => `${resource}/${namespace}/${name}`;
