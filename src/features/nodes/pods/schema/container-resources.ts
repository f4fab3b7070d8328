import { mapList, mapOf, named, quantity, replacedByPatch, string } from "../../../../machinery/schema/schema.ts";
import type { MapSchema } from "../../../../machinery/schema/schema.ts";
import { omitEmpty, required, struct } from "../../../../machinery/schema/struct.ts";

/** Amounts of resources by name, such as `cpu` and `memory`. */
export const resourceList: MapSchema<Record<string, string>> = { ...mapOf(quantity), goType: "v1.ResourceList" };

const resourceClaim = struct("v1.ResourceClaim", "One of a Pod's resourceClaims.", {
  name: required(1, string, "The claim's name in the Pod."),
  request: omitEmpty(2, string, "The one request of the claim that is meant, else all."),
});

export const resourceRequirements = struct(
  "v1.ResourceRequirements",
  "The resources that a program needs and may use.",
  {
    limits: omitEmpty(1, resourceList, "The maximum amounts."),
    requests: omitEmpty(2, resourceList, "The minimum amounts."),
    claims: omitEmpty(3, replacedByPatch(mapList(resourceClaim, "name")), "The Pod's resourceClaims that it uses."),
  },
);

export const containerResizePolicy = struct("v1.ContainerResizePolicy", "What happens when a resource changes.", {
  resourceName: required(1, named(string, "v1.ResourceName"), "The resource: cpu or memory."),
  restartPolicy: required(2, named(string, "v1.ResourceResizeRestartPolicy"), "NotRequired or RestartContainer."),
});
