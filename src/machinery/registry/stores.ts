import type { AdmissionRule } from "../api/attributes.ts";
import { andThen } from "../api/maybe-promise.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { Names } from "../api/names.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { apiVersionOf } from "../api/resource-type.ts";
import type { NamedResourceType, ResourceType } from "../api/resource-type.ts";
import { StoredTexts } from "./stored/stored-texts.ts";
import type { ObjectName } from "./stored/storage-key.ts";
import { ResourceRegistry } from "./resource-registry.ts";
import type { RegistryOptions } from "./resource-registry.ts";
import type { Waiter } from "./caller.ts";
import type { ResourceDefinition } from "./definition/resource-definition.ts";

export interface StoresOptions extends Omit<
  RegistryOptions<ApiObject>,
  "definition" | "admission" | "texts" | "stored"
> {
  readonly names: Names;
  readonly definitions: readonly ResourceDefinition[];
}

/**
 * The registries of all stored resources, found by the type of the resource.
 *
 * Registries run admission rules, admission rules call authorizers, and authorizers read registries. This class breaks the cycle:
 * registries can be read as soon as `start` has finished, and written after `admitThrough` was called with every rule.
 */
export class Stores {
  readonly registries: readonly ResourceRegistry[];
  readonly definitions: readonly ResourceDefinition[];
  readonly #names: Names;
  readonly #byType: ReadonlyMap<string, ResourceRegistry>;
  #admission: readonly AdmissionRule[] | undefined;

  constructor({ names, definitions, ...given }: StoresOptions) {
    const { store } = given;
    const texts = store.valueAt && new StoredTexts({ valueAt: (write) => store.valueAt?.(write) });
    const shared = { texts, ...given };
    const admission = (): readonly AdmissionRule[] => this.admission;
    this.#names = names;
    this.definitions = definitions;
    this.registries = definitions.map((definition) => new ResourceRegistry({ definition, admission, ...shared }));
    this.#byType = new Map(this.registries.map((registry) => [keyOf(registry.definition), registry]));
  }

  /** Loads the stored objects of all registries at once: they share one read. */
  async start(): Promise<void> {
    await Promise.all(this.registries.map((registry) => registry.start()));
  }

  /** Sets the admission rules, in order. Writes are possible from now on. */
  admitThrough(rules: readonly AdmissionRule[]): void {
    if (this.#admission !== undefined) throw new TypeError("the admission rules are known already");
    this.#admission = rules;
  }

  /** The admission rules, in order. Throws before `admitThrough`, because nothing may be written without them. */
  get admission(): readonly AdmissionRule[] {
    if (this.#admission === undefined)
      throw new TypeError("nothing can be written before the admission rules are known");
    return this.#admission;
  }

  of<T extends ApiObject>(type: NamedResourceType<T>): ResourceRegistry<T> {
    return this.#storing(type(this.#names)) as unknown as ResourceRegistry<T>; // the key is that of T's resource
  }

  /** The registry that serves a resource in the given version. */
  serving(type: ResourceType): ResourceRegistry {
    const registry = this.#storing(type).versions.find(({ apiVersion }) => apiVersion === apiVersionOf(type));
    if (registry === undefined) throw new RangeError(`${type.plural} are not served as ${apiVersionOf(type)}`);
    return registry;
  }

  #storing(type: ResourceType): ResourceRegistry {
    const registry = this.#byType.get(keyOf(type));
    if (registry === undefined) throw new RangeError(`${type.plural} are not stored here`);
    return registry;
  }

  /** Finds an object, with every acknowledged write applied. Undefined when it does not exist. */
  findCurrent<T extends ApiObject>(type: NamedResourceType<T>, where: ObjectName): MaybePromise<T | undefined> {
    const registry = this.of(type);
    return andThen(registry.waitForFreshCache(), () => registry.peek(where)?.object);
  }

  /** Waits until all caches have every acknowledged write. They follow the store together. Undefined: they have already. */
  waitForFreshCache(waiter?: Waiter): Promise<void> | undefined {
    return this.registries[0]?.waitForFreshCache(waiter);
  }

  /** Waits until all caches have reached the store's revision. Rejects after a time limit. */
  async waitUntilCurrent(): Promise<void> {
    const [first] = this.registries;
    await first?.waitForRevision(await first.store.latestRevision());
  }
}

const keyOf = ({ group, plural }: Pick<ResourceType, "group" | "plural">): string => `${group}/${plural}`;
