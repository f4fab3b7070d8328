import type { Names } from "./api/names.ts";
import type { ApiObject } from "./api/object-meta.ts";
import type { Flags } from "./command-line/flag.ts";
import type { ResourceDefinition } from "./registry/resource-definition.ts";

/**
 * What a feature declares before anything runs. The other half of a feature, what it brings once it is connected to the
 * stores, is the function beside it in the same `feature.ts`. The features' public faces are `feature.ts` for the server,
 * `index.ts` for other features, `resources.ts` for clients (agent, loops) and `commands.ts` for the command line.
 */
export interface Feature {
  readonly name: string;
  /** Stored kinds, under the names of one profile. */
  readonly kinds: readonly Kind[];
  /** Settings, as flags of `signet serve` and keys of its configuration file. */
  readonly flags: Flags;
}

/** A stored kind, under the names of one profile. */
export type Kind = (names: Names) => ResourceDefinition;

/** A registry gives a definition only objects that were decoded with its own schema: the type of the objects may be forgotten. */
export const kind =
  <T extends ApiObject>(define: (names: Names) => ResourceDefinition<T>): Kind =>
  (names) =>
    define(names) as unknown as ResourceDefinition;
