import type { Stores } from "../../../machinery/registry/stores.ts";
import { decodedText, secretResource } from "../../core/index.ts";
import { nodeResource, podResource } from "../../nodes/index.ts";
import { serviceAccountResource } from "../resources.ts";
import type { ObjectMeta } from "../../../machinery/api/object-meta.ts";

/** The result of looking up an object that a token names. */
export interface FoundObject {
  readonly uid: string;
  /** RFC 3339. Present once the object is being deleted. */
  readonly deletionTimestamp?: string;
}

export interface FoundPod extends FoundObject {
  readonly serviceAccountName: string;
  /** Absent until the Pod is scheduled. */
  readonly nodeName?: string;
}

export interface FoundSecret extends FoundObject {
  /** The decoded `token` of a service account token Secret. */
  readonly token?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface FoundServiceAccount extends FoundObject {
  /** References to the Secrets that were made for the account. */
  readonly secrets?: readonly { readonly name?: string }[];
}

/** Looks up objects in the caches. Results are as fresh as these. */
export interface TokenObjects {
  findServiceAccount(namespace: string, name: string): FoundServiceAccount | undefined;
  findPod(namespace: string, name: string): FoundPod | undefined;
  findSecret(namespace: string, name: string): FoundSecret | undefined;
  findNode(name: string): FoundObject | undefined;
}

const found = ({ uid = "", deletionTimestamp }: ObjectMeta): FoundObject => ({
  uid,
  ...(deletionTimestamp !== undefined && { deletionTimestamp }),
});

/** Looks up the objects that tokens are bound to, in the caches. */
export function tokenObjects(stores: Stores): TokenObjects {
  return {
    findServiceAccount(namespace, name) {
      const account = stores.of(serviceAccountResource).peek({ namespace, name })?.object;
      if (account === undefined) return undefined;
      const { metadata, secrets } = account;
      return { ...found(metadata), ...(secrets !== undefined && { secrets }) };
    },
    findPod(namespace, name) {
      const pod = stores.of(podResource).peek({ namespace, name })?.object;
      if (pod === undefined) return undefined;
      const { serviceAccountName = "", nodeName } = pod.spec ?? {};
      return { ...found(pod.metadata), serviceAccountName, ...(nodeName !== undefined && { nodeName }) };
    },
    findSecret(namespace, name) {
      const secret = stores.of(secretResource).peek({ namespace, name })?.object;
      if (secret === undefined) return undefined;
      const token = secret.data?.["token"];
      const { labels, annotations } = secret.metadata;
      return {
        ...found(secret.metadata),
        ...(token !== undefined && { token: decodedText(token) }),
        ...(labels !== undefined && { labels }),
        ...(annotations !== undefined && { annotations }),
      };
    },
    findNode(name) {
      const node = stores.of(nodeResource).peek({ namespace: "", name });
      return node && found(node.object.metadata);
    },
  };
}
