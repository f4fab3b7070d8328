export { serviceAccountResource } from "./resources.ts";
export { token } from "./token-command.ts";
