import type { ClusterRole } from "./roles.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { clusterRoleResource } from "../resources.ts";

/** Keeps the rules of every aggregated ClusterRole equal to the union of the selected roles' rules. */
export function clusterRoleAggregation({
  aggregateRules,
}: {
  /** The rules that a role should have, given all roles. Undefined when it already has them. */
  aggregateRules(role: ClusterRole, all: Iterable<ClusterRole>): ClusterRole["rules"] | undefined;
}): Controller {
  return {
    name: "clusterrole-aggregation",
    start(context) {
      const { client, informers, names } = context;
      const roles = informers.of(clusterRoleResource(names));
      const queue = controllerQueue(this.name, context, async (name) => {
        const role = roles.get(name);
        if (role?.aggregationRule === undefined) return "nothing to do: the role has no aggregation rule";
        const rules = aggregateRules(role, roles.list());
        if (rules === undefined) return "nothing to do: the rules are current";
        await client.resource(clusterRoleResource(names)).update({ ...role, rules });
        return "updated the rules";
      });
      /** Any change of a role may change what an aggregated role selects. */
      const addAggregating = (): void => {
        for (const role of roles.list()) if (role.aggregationRule !== undefined) queue.add(role.metadata.name ?? "");
      };
      roles.addHandler({ onAdd: addAggregating, onUpdate: addAggregating, onDelete: addAggregating });
      return { queue };
    },
  };
}
