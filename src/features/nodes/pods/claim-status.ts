import { atomicList, mapList, named, object, quantity, string, uniqueList } from "../../../machinery/schema/schema.ts";

export const podResourceClaimStatus = object({
  goType: "v1.PodResourceClaimStatus",
  description: "A claim that was made for a Pod.",
  fields: {
    name: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The claim's name in the Pod.",
    },
    resourceClaimName: {
      number: 2,
      schema: string,
      presence: "pointer",
      description: "The ResourceClaim that was made.",
    },
  },
});

const containerExtendedResourceRequest = object({
  goType: "v1.ContainerExtendedResourceRequest",
  description: "A container's extended resource and the request for it.",
  fields: {
    containerName: { number: 1, schema: string, presence: "always", isRequired: true, description: "The container." },
    resourceName: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The extended resource.",
    },
    requestName: {
      number: 3,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The request of the claim.",
    },
  },
});

export const podExtendedResourceClaimStatus = object({
  goType: "v1.PodExtendedResourceClaimStatus",
  description: "The claim that was made for extended resources.",
  fields: {
    requestMappings: {
      number: 1,
      schema: atomicList(containerExtendedResourceRequest),
      presence: "always",
      isRequired: true,
      description: "Which request of the claim is for which container.",
    },
    resourceClaimName: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The ResourceClaim that was made.",
    },
  },
});

const nodeAllocatableMappedResources = object({
  goType: "v1.NodeAllocatableMappedResources",
  description: "What devices of a claim stand for.",
  fields: {
    name: {
      number: 1,
      schema: named(string, "v1.ResourceName"),
      presence: "always",
      isRequired: true,
      description: "The resource.",
    },
    quantity: { number: 2, schema: quantity, presence: "nullable", description: "How much of it." },
  },
});

const nodeAllocatableOverheadResources = object({
  goType: "v1.NodeAllocatableOverheadResources",
  description: "What devices of a claim take besides.",
  fields: {
    name: {
      number: 1,
      schema: named(string, "v1.ResourceName"),
      presence: "always",
      isRequired: true,
      description: "The resource.",
    },
    perPod: { number: 2, schema: quantity, presence: "pointer", description: "How much for the Pod." },
    perContainer: { number: 3, schema: quantity, presence: "pointer", description: "How much for each container." },
  },
});

export const nodeAllocatableResourceClaimStatus = object({
  goType: "v1.NodeAllocatableResourceClaimStatus",
  description: "What a claim took of a node's own resources.",
  fields: {
    resourceClaimName: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The ResourceClaim.",
    },
    containers: { number: 2, schema: uniqueList(string), description: "The containers that use it." },
    mapping: {
      number: 4,
      schema: mapList(nodeAllocatableMappedResources, "name"),
      description: "What its devices stand for.",
    },
    overhead: {
      number: 5,
      schema: mapList(nodeAllocatableOverheadResources, "name"),
      description: "What its devices take besides.",
    },
  },
});
