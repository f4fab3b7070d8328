/** Who owns which fields of an object, as upstream's structured merge works it out: what the verbs of the registry use. */
export { parseConfiguration } from "./apply-body.ts";
export { applyConfiguration } from "./apply-configuration.ts";
export { trackUpdate } from "./track-update.ts";
export type { FieldWrite } from "./track-update.ts";
