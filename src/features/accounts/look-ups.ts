import type { BootstrapSecret } from "../nodes/bootstrap/bootstrap-tokens.ts";
import type { ApiObject, ObjectMeta } from "../../machinery/api/object-meta.ts";
import type { ResourceRegistry } from "../../machinery/registry/resource-registry.ts";
import type { Pod } from "../nodes/pods/pod-schema.ts";
import type { Secret } from "../core/secrets.ts";
import type { FoundObject, TokenObjects } from "./tokens/tokens.ts";

/** Returns the registry of a stored resource, by its plural. `T` is the type of its objects. */
export type FindRegistry = <T extends ApiObject>(plural: string) => ResourceRegistry<T>;

const found = ({ uid = "", deletionTimestamp }: ObjectMeta): FoundObject => ({
  uid,
  ...(deletionTimestamp !== undefined && { deletionTimestamp }),
});

/** Look-ups for verifying tokens, from the caches. */
export function tokenObjects(registry: FindRegistry): TokenObjects {
  return {
    findServiceAccount(namespace, name) {
      const account = registry("serviceaccounts").peek({ namespace, name });
      return account && found(account.object.metadata);
    },
    findPod(namespace, name) {
      const pod = registry<Pod>("pods").peek({ namespace, name })?.object;
      if (pod === undefined) return undefined;
      const { serviceAccountName = "", nodeName } = pod.spec ?? {};
      return { ...found(pod.metadata), serviceAccountName, ...(nodeName !== undefined && { nodeName }) };
    },
    findSecret(namespace, name) {
      const secret = registry<Secret>("secrets").peek({ namespace, name })?.object;
      if (secret === undefined) return undefined;
      const token = secret.data?.["token"];
      return {
        ...found(secret.metadata),
        ...(token !== undefined && { token: Buffer.from(token, "base64").toString("utf8") }),
      };
    },
    findNode(name) {
      const node = registry("nodes").peek({ namespace: "", name });
      return node && found(node.object.metadata);
    },
  };
}

/** The Secrets of bootstrap tokens. */
export function bootstrapSecrets(registry: FindRegistry) {
  return (namespace: string, name: string): BootstrapSecret | undefined => {
    const secret = registry<Secret>("secrets").peek({ namespace, name })?.object;
    if (secret === undefined) return undefined;
    const { deletionTimestamp } = secret.metadata;
    return {
      type: secret.type ?? "",
      data: secret.data ?? {},
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    };
  };
}
