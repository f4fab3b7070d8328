export { revocationResource } from "./resources.ts";
