export { podResource, nodeResource } from "./resources.ts";
export { asPod, podReferences } from "./pods/schema/pod-schema.ts";
export type { Node } from "./nodes/node-schema.ts";
export { isMirrorPod } from "./pods/mirror-pods.ts";
export type { Pod } from "./pods/schema/pod-schema.ts";
export { withTokenVolume } from "./pods/token-volume.ts";
