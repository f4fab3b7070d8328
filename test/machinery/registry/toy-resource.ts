import type { AdmissionRule } from "../../../src/machinery/api/attributes.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import type { Clock } from "../../../src/machinery/api/clock.ts";
import type { Caller } from "../../../src/machinery/registry/caller.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { nameColumn } from "../../../src/machinery/registry/definition/columns.ts";
import { createObject } from "../../../src/machinery/registry/writes/create-object.ts";
import { decodeObject } from "../../../src/machinery/registry/writes/decode-object.ts";
import { defineResource } from "../../../src/machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../src/machinery/registry/definition/resource-definition.ts";
import { ResourceRegistry } from "../../../src/machinery/registry/resource-registry.ts";
import type { RegistryOptions } from "../../../src/machinery/registry/resource-registry.ts";
import type { StoredObject } from "../../../src/machinery/registry/stored/stored-object.ts";
import { validateDnsSubdomainName } from "../../../src/machinery/api/validation/name-validation.ts";
import { invalidValue } from "../../../src/machinery/api/validation/field-error.ts";
import { objectFields } from "../../../src/machinery/schema/meta-schemas.ts";
import { object, string } from "../../../src/machinery/schema/schema.ts";
import type { Infer } from "../../../src/machinery/schema/schema.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";

const toySchema = object({
  goType: "v1.Toy",
  description: "A toy.",
  fields: {
    ...objectFields,
    color: { number: 2, schema: string, description: "Its color." },
    state: { number: 3, schema: string, description: "Whether it is broken." },
  },
});

export type Toy = Infer<typeof toySchema>;

/** A kind that uses many features: `color` belongs to the object, `state` to the subresource of that name. */
export const toys: ResourceDefinition<Toy> = defineResource<Toy>({
  group: "toys.example.com",
  version: "v1",
  kind: "Toy",
  plural: "toys",
  scope: "Namespaced",
  schema: toySchema,
  validateName: validateDnsSubdomainName,
  prepareForCreate: ({ state: _state, ...toy }) => toy,
  prepareForUpdate: ({ state: _state, ...next }, { previous: { state } }) => ({
    ...next,
    ...(state !== undefined && { state }),
  }),
  validate: ({ color }) =>
    color === "invisible" ? [invalidValue("color", { value: color, detail: "must be seen" })] : [],
  warningsOnCreate: ({ color }) => (color === "beige" ? ["color: beige is dull"] : []),
  answersDeletedObject: true,
  selectableFields: { color: ({ color = "" }) => color },
  columns: [nameColumn(platformNames), { name: "Color", description: "Its color.", cell: ({ color = "" }) => color }],
  subresources: {
    state: {
      type: "update",
      prepareForUpdate: ({ state }, { previous }) => ({ ...previous, ...(state !== undefined && { state }) }),
    },
  },
});

export interface ToyBox {
  readonly store: MemoryStore;
  readonly registry: ResourceRegistry<Toy>;
  readonly warnings: string[];
  readonly caller: Caller;
  readonly dryCaller: Caller;
  /** Creates a toy in namespace `box`. */
  add(name: string, more?: { readonly color?: string; readonly metadata?: object }): Promise<StoredObject<Toy>>;
  decoded(value: object): Toy;
}

type ToyRegistryOptions = Partial<RegistryOptions<Toy>> & Pick<RegistryOptions<Toy>, "store">;

/** A registry that nobody observes. It is not started. */
export const toyRegistry = (given: ToyRegistryOptions): ResourceRegistry<Toy> =>
  new ResourceRegistry<Toy>({
    definition: toys,
    feed: new ChangeFeed({ store: given.store }),
    admission: () => [],
    clock: systemClock,
    maximumObjectBytes: 1_572_864,
    onWritten: () => undefined,
    onRefused: () => undefined,
    ...given,
  });

export const toyClock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5) };

/** A registry of toys, over an empty store if none is given. */
export async function toyBox({
  admission = [],
  definition = toys,
  clock = toyClock,
  historyLength = 1000,
  store = new MemoryStore(),
  feed = new ChangeFeed({ store }),
}: {
  readonly admission?: readonly AdmissionRule[];
  readonly definition?: ResourceDefinition<Toy>;
  readonly clock?: Clock;
  readonly historyLength?: number;
  readonly store?: MemoryStore;
  readonly feed?: ChangeFeed;
} = {}): Promise<ToyBox> {
  const registry = toyRegistry({
    definition,
    store,
    feed,
    admission: () => admission,
    clock,
    historyLength,
    futureWaitMilliseconds: 1,
  });
  await registry.start();
  const warnings: string[] = [];
  const caller: Caller = {
    user: { username: "child", groups: [], extra: {} },
    isDryRun: false,
    signal: new AbortController().signal,
    warn: (warning) => warnings.push(warning),
  };
  const decoded = (value: object): Toy =>
    decodeObject(registry, { value: { kind: "Toy", apiVersion: "toys.example.com/v1", ...value } }).object;
  return {
    store,
    registry,
    warnings,
    caller,
    dryCaller: { ...caller, isDryRun: true },
    decoded,
    add: (name, { metadata, ...more } = {}) =>
      createObject(registry, {
        object: decoded({ metadata: { name, ...metadata }, ...more }),
        namespace: "box",
        manager: "test",
        caller,
      }),
  };
}

/** For `assert.rejects`: an ApiError with this code, and a message that holds these words. */
export const apiError =
  (code: number, words = "") =>
  (error: unknown): boolean =>
    error instanceof Error && "code" in error && error.code === code && error.message.includes(words);
