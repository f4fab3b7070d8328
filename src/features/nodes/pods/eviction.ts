import { badRequest, invalid } from "../../../machinery/api/api-error.ts";
import { invalidValue } from "../../../machinery/api/validation/field-error.ts";
import type { Status } from "../../../machinery/api/status.ts";
import { dryRunning } from "../../../machinery/registry/caller.ts";
import { deleteObject } from "../../../machinery/registry/writes/delete-object.ts";
import { checkedDeleteOptions } from "../../../machinery/registry/writes/delete-options.ts";
import type { CreateSubresource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { AnswerCreate } from "../../../machinery/registry/definition/review-definition.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { deleteOptionsSchema, objectFields } from "../../../machinery/schema/meta-schemas.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { pointer, struct } from "../../../machinery/schema/struct.ts";
import { withPodCondition } from "./pod-condition.ts";
import type { Pod } from "./schema/pod-schema.ts";

const evictionSchema = struct("v1.Eviction", "Asks for the deletion of a Pod, as when its node is emptied.", {
  ...objectFields,
  deleteOptions: pointer(2, deleteOptionsSchema, "How the Pod is deleted."),
});

type Eviction = Infer<typeof evictionSchema>;
type DeleteOptions = Infer<typeof deleteOptionsSchema>;

/** The subresource `pods/eviction`. Its group has the same name in both spellings, like the core group. */
export const evictionSubresource: CreateSubresource = {
  type: "create",
  group: "policy",
  version: "v1",
  otherVersions: [{ group: "policy", version: "v1beta1" }],
  kind: "Eviction",
  schema: evictionSchema,
};

/**
 * Deletes a Pod after its status reports the eviction (upstream: `pod/storage.EvictionREST`). This server has no PodDisruptionBudgets, so
 * nothing delays the eviction. Unlike in upstream, the admission rules for deletions apply too: a user who may not delete a Pod may not
 * evict it either.
 */
export function answerEviction(registry: ResourceRegistry<Pod>): AnswerCreate {
  const create: AnswerCreate["create"] = async (object, { namespace, name, now, isDryRun, caller }) => {
    const eviction = object as Eviction; // the registry decoded it with the schema above
    if (eviction.metadata.name !== name) throw badRequest("name in URL does not match name in Eviction object");
    const sent: Partial<DeleteOptions> = eviction.deleteOptions ?? {};
    if (sent.ignoreStoreReadErrorWithClusterBreakingPotential === true) {
      const detail = "can not be set for pod eviction, try after removing the option";
      const field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential";
      const faults = [invalidValue(field, { value: true, detail })];
      throw invalid({ group: evictionSubresource.group, resource: evictionSubresource.kind }, { name, faults });
    }
    const options = checkedDeleteOptions(sent);
    await deleteObject(registry, {
      namespace,
      name,
      options,
      caller: options.isDryRun && !isDryRun ? dryRunning(caller) : caller,
      mark: (pod) => ({ ...pod, status: withPodCondition(pod.status, { ...evicted, now }) }),
    });
    return { object: success };
  };
  return { create };
}

const success: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

const evicted = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
};
