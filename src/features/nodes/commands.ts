export { bootstrapToken } from "./bootstrap/bootstrap-token-command.ts";
export { node } from "./lock/node-command.ts";
