export { serviceAccountResource } from "./resources.ts";
