import { validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { nodeLockResource } from "../resources.ts";
import { always, omitEmpty, struct } from "../../../machinery/schema/struct.ts";

const nodeLockSchema = struct(
  "v1.NodeLock",
  "Locks the machine of the same name out: its certificates, the tokens of its Pods and its bootstrap tokens are refused " +
    "while the lock is there, whether there is a Node or not.",
  {
    ...objectFields,
    spec: always(
      2,
      object({
        goType: "v1.NodeLockSpec",
        description: "Why a machine is locked out.",
        fields: { reason: omitEmpty(1, string, "For people.") },
      }),
      "Why the machine is locked out.",
    ),
  },
);

export type NodeLock = Infer<typeof nodeLockSchema>;

export const nodeLocks = (names: Names): ResourceDefinition<NodeLock> =>
  defineResource({
    ...nodeLockResource(names),
    schema: nodeLockSchema,
    validateName: validateDnsSubdomainName,
    columns: [
      nameColumn(names),
      {
        name: "Reason",
        description: "Why the machine is locked out.",
        cell: ({ spec }) => spec.reason ?? "",
      },
      ageColumn(names),
    ],
  });

/** The machines that are locked out, from this process's cache. */
export interface LockedNodes {
  isLocked(node: string): boolean;
  /** The locked machine to which an identity belongs: a node, or a Pod on the node whose token was used. Undefined: none. */
  lockedNodeOf(user: Pick<UserInfo, "username" | "extra">): string | undefined;
}

export function lockedNodes(stores: Stores): LockedNodes {
  const locks = stores.of(nodeLockResource);
  const isLocked = (name: string): boolean => locks.peek({ namespace: "", name }) !== undefined;
  return {
    isLocked,
    lockedNodeOf: (user) => nodesOf(user).find(isLocked),
  };
}

/**
 * The nodes to which an identity belongs. A token that is bound to a Pod or a Node has an extra attribute, whose prefix depends on the
 * naming profile.
 */
function nodesOf({ username, extra }: Pick<UserInfo, "username" | "extra">): readonly string[] {
  const own = nodeNameOf(username);
  const nodes = own === undefined || own === "" ? [] : [own];
  for (const key in extra) {
    if (key.startsWith("authentication.") && key.endsWith("/node-name")) nodes.push(...(extra[key] ?? []));
  }
  return nodes;
}
