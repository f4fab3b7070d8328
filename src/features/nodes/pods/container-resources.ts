import { keyedList, mapOf, named, object, quantity, string } from "../../../machinery/schema/schema.ts";

/** Resources by name: `cpu`, `memory`. */
export const resourceList = mapOf(quantity);

const resourceClaim = object({
  goType: "v1.ResourceClaim",
  description: "One of a Pod's resourceClaims.",
  fields: {
    name: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The claim's name in the Pod.",
    },
    request: { number: 2, schema: string, description: "The one request of the claim that is meant, else all." },
  },
});

export const resourceRequirements = object({
  goType: "v1.ResourceRequirements",
  description: "What a program needs, and may use at most.",
  fields: {
    limits: { number: 1, schema: resourceList, description: "At most this." },
    requests: { number: 2, schema: resourceList, description: "At least this." },
    claims: {
      number: 3,
      schema: keyedList(resourceClaim, "name"),
      description: "The Pod's resourceClaims that it uses.",
    },
  },
});

export const containerResizePolicy = object({
  goType: "v1.ContainerResizePolicy",
  description: "What a change of a resource takes.",
  fields: {
    resourceName: {
      number: 1,
      schema: named(string, "v1.ResourceName"),
      presence: "always",
      isRequired: true,
      description: "The resource: cpu or memory.",
    },
    restartPolicy: {
      number: 2,
      schema: named(string, "v1.ResourceResizeRestartPolicy"),
      presence: "always",
      isRequired: true,
      description: "NotRequired or RestartContainer.",
    },
  },
});
