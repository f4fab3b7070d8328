import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import { notFound } from "../../../machinery/api/api-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { Reference } from "../../../machinery/schema/references.ts";
import { isMirrorPod } from "../pods/mirror-pods.ts";
import type { Pod } from "../pods/schema/pod-schema.ts";
import { podReferences } from "../pods/schema/pod-schema.ts";

interface RequestingNode {
  readonly node: string;
  readonly names: Names;
  findNode(name: string): ApiObject | undefined | Promise<ApiObject | undefined>;
}

/**
 * Why a node may not create a Pod, or undefined. A node may only create mirror Pods of its static Pods: on itself, owned by its Node, and
 * without references to objects that it could not read otherwise (upstream: `admitPodCreate`). Rejects with a 404 when its Node does not
 * exist.
 */
export async function nodePodFault(pod: Pod, identity: RequestingNode): Promise<string | undefined> {
  const { node, names } = identity;
  const quoted = goQuoted(node);
  if (!isMirrorPod(pod, names)) {
    const mirror = names.key("config.mirror");
    return `pod does not have ${goQuoted(mirror)} annotation, node ${quoted} can only create mirror pods`;
  }
  if (pod.spec.nodeName !== node) return `node ${quoted} can only create pods with spec.nodeName set to itself`;
  return (await ownerFault(pod, identity)) ?? referenceFault(podReferences(pod), node);
}

async function ownerFault(pod: Pod, { node, findNode }: RequestingNode): Promise<string | undefined> {
  const quoted = goQuoted(node);
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
  const found = await findNode(node);
  if (found === undefined) throw notFound({ group: "", resource: "nodes" }, node);
  const { uid = "" } = found.metadata;
  return owner.uid === uid ? undefined : `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
}

/** The fault of a mirror Pod with references: its node could read every object that it refers to. */
function referenceFault([reference]: readonly Reference[], node: string): string | undefined {
  if (reference === undefined) return undefined;
  const kind = reference.kind.toLowerCase();
  const resource = kind.endsWith("s") ? kind : `${kind}s`;
  return `node ${goQuoted(node)} can not create pods that reference ${resource} (via ${reference.path})`;
}
