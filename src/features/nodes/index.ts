export { podResource, nodeResource } from "./resources.ts";
