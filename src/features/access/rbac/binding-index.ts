import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { RbacObjects } from "./rbac-objects.ts";
import type { RoleBinding } from "./role-bindings.ts";
import { SubjectIndex } from "./subject-index.ts";
import type { Grant } from "./subject-index.ts";

/** The bindings of a namespace while they are gathered. */
interface Gathering {
  readonly index: SubjectIndex;
  /** The names of bindings that changed since the gathering began. The index already has their newest state. */
  readonly changed: Set<string>;
  readonly rest: Iterator<RoleBinding>;
  readonly work: LongWork;
}

/**
 * Finds bindings by their subjects. The bindings of a namespace are gathered when they are first asked for. A later change costs work for
 * the changed binding only, however many others the namespace has.
 */
export class BindingIndex {
  readonly #objects: RbacObjects;
  readonly #namespaces = new Map<string, SubjectIndex>();
  /** By namespace. `end` resolves when all bindings of the namespace are gathered. */
  readonly #gatherings = new Map<string, Gathering & { readonly end: Promise<void> }>();

  constructor(objects: RbacObjects) {
    this.#objects = objects;
    objects.followBindings({
      onLoaded: () => {
        this.#namespaces.clear();
        this.#gatherings.clear();
      },
      onChanged: ({ namespace, name }) => {
        const gathering = this.#gatherings.get(namespace);
        gathering?.changed.add(name);
        gathering?.index.replace(name, objects.getBinding({ namespace, name }));
        const index = this.#namespaces.get(namespace);
        if (index === undefined) return;
        index.replace(name, objects.getBinding({ namespace, name }));
        if (index.isEmpty) this.#namespaces.delete(namespace);
      },
    });
  }

  /** Gathers the bindings of a namespace in turns of the event loop. Undefined: nothing to wait for. */
  prepare(namespace: string): Promise<void> | undefined {
    if (this.#namespaces.has(namespace)) return undefined;
    const known = this.#gatherings.get(namespace);
    if (known !== undefined) return known.end;
    const rest = this.#objects.listBindings(namespace)[Symbol.iterator]();
    const work = new LongWork();
    const first = rest.next();
    // Requests can name any namespace: do not store namespaces without bindings.
    if (first.done === true) return undefined;
    const gathering = { index: new SubjectIndex(), changed: new Set<string>(), rest, work };
    gathering.index.add(first.value);
    const pause = work.pause() ?? gatherMore(gathering);
    if (pause === undefined) {
      this.#namespaces.set(namespace, gathering.index);
      return undefined;
    }
    const end = this.#gatherRest(namespace, { gathering, pause });
    this.#gatherings.set(namespace, { ...gathering, end });
    return end;
  }

  async #gatherRest(
    namespace: string,
    { gathering, pause: first }: { readonly gathering: Gathering; readonly pause: Promise<void> },
  ): Promise<void> {
    const isCurrent = (): boolean => this.#gatherings.get(namespace)?.index === gathering.index;
    try {
      for (let pause: Promise<void> | undefined = first; pause !== undefined; pause = gatherMore(gathering))
        await pause;
      if (isCurrent() && !gathering.index.isEmpty) this.#namespaces.set(namespace, gathering.index);
    } finally {
      if (isCurrent()) this.#gatherings.delete(namespace);
    }
  }

  /** The grants of a user in a namespace; "" has the cluster-wide grants. Without `prepare`, all bindings are gathered in one turn. */
  grants(user: UserInfo, namespace: string): Grant[] {
    let index = this.#namespaces.get(namespace);
    if (index === undefined) {
      index = new SubjectIndex();
      for (const binding of this.#objects.listBindings(namespace)) index.add(binding);
      if (index.isEmpty) return [];
      this.#namespaces.set(namespace, index);
    }
    return index.grants(user);
  }
}

/** Adds bindings to the index until a pause is due. Returns the pause, to be awaited before the next call. Undefined: all are added. */
function gatherMore({ index, changed, rest, work }: Gathering): Promise<void> | undefined {
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    if (!changed.has(next.value.metadata.name ?? "")) index.add(next.value);
    const pause = work.pause();
    if (pause !== undefined) return pause;
  }
  return undefined;
}
