export { requestToken, token } from "./token-command.ts";
