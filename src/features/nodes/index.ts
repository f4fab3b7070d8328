export { podResource, nodeResource } from "./resources.ts";
export { podReferences } from "./pods/pod-references.ts";
