/** Who owns which fields of an object, as upstream's structured merge works it out: what the verbs of the registry use. */
export { parseConfiguration } from "./apply-body.ts";
export type { AppliedKind } from "./apply-body.ts";
export { applyConfiguration } from "./apply-configuration.ts";
export type { Application } from "./apply-configuration.ts";
export { keepTimesOfUnchanged, trackUpdate } from "./track-update.ts";
export type { FieldWrite, UpdateTracking } from "./track-update.ts";
