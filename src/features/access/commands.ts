export { whoami } from "./whoami-command.ts";
