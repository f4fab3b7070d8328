export { token } from "./token-command.ts";
