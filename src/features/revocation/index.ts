export { revocationResource } from "./resources.ts";
export { listRevocations, reasonOption, revoke, timeOption } from "./revocation-commands.ts";
export type { RevocationFlags } from "./revocation-commands.ts";
