export { bootstrapToken } from "./bootstrap/bootstrap-token-command.ts";
