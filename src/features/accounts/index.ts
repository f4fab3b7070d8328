export { serviceAccountResource } from "./resources.ts";
export { token } from "./commands.ts";
