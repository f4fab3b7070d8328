import type { ApiObject } from "../../machinery/api/object-meta.ts";
import type { NamedResourceType } from "../../machinery/api/resource-type.ts";
import { followRegistry } from "../../machinery/registry/reads/follow-registry.ts";
import { resourcePrefix, resourceRange } from "../../machinery/registry/stored/storage-key.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import type { ValidatingAdmissionPolicyBinding } from "./policies/validating-admission-policy-bindings.ts";
import type { ValidatingAdmissionPolicy } from "./policies/policy-schema.ts";
import { policyBindingResource, policyResource } from "./resources.ts";

/** A policy with at least one binding. */
export interface PolicyInForce {
  readonly policy: ValidatingAdmissionPolicy;
  readonly bindings: readonly ValidatingAdmissionPolicyBinding[];
}

/** The stored policies and bindings. */
export class KnownPolicies {
  readonly #policies = new Map<string, ValidatingAdmissionPolicy>();
  readonly #bindings = new Map<string, ValidatingAdmissionPolicyBinding>();
  readonly #onChanged: () => void;
  #inForce: readonly PolicyInForce[] | undefined;

  /** Loads all stored policies and bindings before it returns. `onChanged` is called after each later change. */
  constructor(stores: Stores, onChanged: () => void) {
    this.#onChanged = () => {};
    this.#follow(stores, { resource: policyResource, known: this.#policies });
    this.#follow(stores, { resource: policyBindingResource, known: this.#bindings });
    this.#onChanged = onChanged;
  }

  /** Whether there is any binding. Called for each write. */
  get areBound(): boolean {
    return this.#bindings.size > 0;
  }

  /** The policies with bindings, in the order of their names. */
  inForce(): readonly PolicyInForce[] {
    return (this.#inForce ??= this.#bound());
  }

  #bound(): PolicyInForce[] {
    const byPolicy = Map.groupBy(this.#bindings.values(), ({ spec }) => spec.policyName ?? "");
    return [...byPolicy]
      .flatMap(([name, bindings]) => {
        const policy = this.#policies.get(name);
        return policy === undefined ? [] : [{ policy, bindings: bindings.toSorted(byName) }];
      })
      .toSorted((one, other) => byName(one.policy, other.policy));
  }

  #follow<T extends ApiObject>(
    stores: Stores,
    { resource, known }: { readonly resource: NamedResourceType<T>; readonly known: Map<string, T> },
  ): void {
    const registry = stores.of(resource);
    const start = resourcePrefix(registry.definition);
    const changed = (): void => {
      this.#inForce = undefined;
      this.#onChanged();
    };
    followRegistry(registry, {
      onLoaded() {
        // Read all objects first: if one can't be read, the known objects stay in force.
        const objects = registry.cache.range(resourceRange(registry.definition)).map(({ object }) => object);
        known.clear();
        for (const object of objects) known.set(object.metadata.name ?? "", object);
        changed();
      },
      onEvent(event) {
        if (event.type === "put") known.set(event.object.object.metadata.name ?? "", event.object.object);
        else known.delete(event.key.slice(start.length));
        changed();
      },
    });
  }
}

const byName = (one: ApiObject, other: ApiObject): number =>
  (one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1;
