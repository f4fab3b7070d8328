import { atomicList, mapList, named, quantity, string, uniqueList } from "../../../machinery/schema/schema.ts";
import { nullable, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";

export const podResourceClaimStatus = struct("v1.PodResourceClaimStatus", "A claim that was made for a Pod.", {
  name: required(1, string, "The claim's name in the Pod."),
  resourceClaimName: pointer(2, string, "The ResourceClaim that was made."),
});

const containerExtendedResourceRequest = struct(
  "v1.ContainerExtendedResourceRequest",
  "A container's extended resource and the request for it.",
  {
    containerName: required(1, string, "The container."),
    resourceName: required(2, string, "The extended resource."),
    requestName: required(3, string, "The request of the claim."),
  },
);

export const podExtendedResourceClaimStatus = struct(
  "v1.PodExtendedResourceClaimStatus",
  "The claim that was made for extended resources.",
  {
    requestMappings: required(
      1,
      atomicList(containerExtendedResourceRequest),
      "Which request of the claim is for which container.",
    ),
    resourceClaimName: required(2, string, "The ResourceClaim that was made."),
  },
);

const nodeAllocatableMappedResources = struct(
  "v1.NodeAllocatableMappedResources",
  "What devices of a claim stand for.",
  {
    name: required(1, named(string, "v1.ResourceName"), "The resource."),
    quantity: nullable(2, quantity, "How much of it.", { isRequired: true }),
  },
);

const nodeAllocatableOverheadResources = struct(
  "v1.NodeAllocatableOverheadResources",
  "What devices of a claim take besides.",
  {
    name: required(1, named(string, "v1.ResourceName"), "The resource."),
    perPod: pointer(2, quantity, "How much for the Pod."),
    perContainer: pointer(3, quantity, "How much for each container."),
  },
);

export const nodeAllocatableResourceClaimStatus = struct(
  "v1.NodeAllocatableResourceClaimStatus",
  "What a claim took of a node's own resources.",
  {
    resourceClaimName: required(1, string, "The ResourceClaim."),
    containers: omitEmpty(2, uniqueList(string), "The containers that use it."),
    mapping: omitEmpty(4, mapList(nodeAllocatableMappedResources, "name"), "What its devices stand for."),
    overhead: omitEmpty(5, mapList(nodeAllocatableOverheadResources, "name"), "What its devices take besides."),
  },
);
