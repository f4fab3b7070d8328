/**
 * Tracks which manager owns which fields of an object, like upstream's structured merge. The verbs of the registry use
 * it.
 */
export { parseConfiguration } from "./apply-body.ts";
export { applyConfiguration } from "./apply-configuration.ts";
export { trackUpdate } from "./track-update.ts";
export type { FieldWrite } from "./track-update.ts";
