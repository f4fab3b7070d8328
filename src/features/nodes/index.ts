export { podResource, nodeResource } from "./resources.ts";
export { podReferences } from "./pods/pod-schema.ts";
export type { Node } from "./nodes/node-schema.ts";
export { asPod, isMirrorPod } from "./pods/pod-object.ts";
export type { PodObject } from "./pods/pod-object.ts";
export { withTokenVolume } from "./pods/token-volume.ts";
