import type { Names } from "../api/names.ts";
import { listOf, secretsOf } from "./pod-object.ts";
import type { PodObject } from "./pod-object.ts";

export interface NodeIdentity {
  readonly node: string;
  /** The uid of the node's Node, where it is registered. */
  readonly uid: string | undefined;
  readonly names: Names;
}

/**
 * Why a node may not create a Pod, or undefined. It may only mirror Pods that it runs from its own files: on itself, owned
 * by its Node, and without a reference to anything that it could not read otherwise (upstream: `admitPodCreate`).
 */
export function nodePodFault(pod: PodObject, { node, uid, names }: NodeIdentity): string | undefined {
  const quoted = JSON.stringify(node);
  const mirror = names.key("config.mirror");
  if (!Object.hasOwn(pod.metadata.annotations ?? {}, mirror)) {
    return `pod does not have ${JSON.stringify(mirror)} annotation, node ${quoted} can only create mirror pods`;
  }
  if (pod.spec.nodeName !== node) return `node ${quoted} can only create pods with spec.nodeName set to itself`;
  return ownerFault(pod, { node, uid, names }) ?? referenceFault(pod, node);
}

function ownerFault(pod: PodObject, { node, uid }: NodeIdentity): string | undefined {
  const quoted = JSON.stringify(node);
  const [owner, ...others] = pod.metadata.ownerReferences ?? [];
  if (others.length > 0) return `node ${quoted} can only create pods with a single owner reference set to itself`;
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
    return `node ${quoted} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `node ${quoted} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) {
    return `node ${quoted} must not set blockOwnerDeletion on an owner reference`;
  }
  return owner.uid === uid ? undefined : `node ${node} UID mismatch: expected ${owner.uid} got ${uid ?? ""}`;
}

/** Volumes that name no API object. Any other one might, in a field that is not known here. */
const harmlessVolumes = new Set([
  "name",
  "hostPath",
  "emptyDir",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "nfs",
  "glusterfs",
  "flocker",
  "downwardAPI",
  "fc",
  "azureDisk",
  "vsphereVolume",
  "quobyte",
  "photonPersistentDisk",
  "portworxVolume",
  "image",
]);

function referenceFault(pod: PodObject, node: string): string | undefined {
  const { spec } = pod;
  const hasOpenVolumes = listOf(spec.volumes).some((volume) =>
    Object.keys(volume).some((key) => !harmlessVolumes.has(key)),
  );
  const references = new Map([
    ["serviceaccounts", (spec.serviceAccountName ?? "") !== "" || (spec.serviceAccount ?? "") !== ""],
    ["secrets", secretsOf(pod).length > 0 || listOf(spec.imagePullSecrets).length > 0],
    ["configmaps", readsConfigMaps(pod)],
    ["resourceclaims", listOf(spec.resourceClaims).length > 0],
    ["volumes of other objects", hasOpenVolumes],
  ]);
  for (const [resource, isReferenced] of references) {
    if (isReferenced) return `node ${JSON.stringify(node)} can not create pods that reference ${resource}`;
  }
  return undefined;
}

const readsConfigMaps = ({ spec }: PodObject): boolean =>
  [...listOf(spec.initContainers), ...listOf(spec.containers)].some(
    ({ env, envFrom }) =>
      listOf(env).some(({ valueFrom }) => valueFrom?.configMapKeyRef !== undefined) ||
      listOf(envFrom).some(({ configMapRef }) => configMapRef !== undefined),
  );
