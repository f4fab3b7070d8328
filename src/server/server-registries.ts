import type { AdmissionRule, Authorize } from "../machinery/api/attributes.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiObject } from "../machinery/api/object-meta.ts";
import { podReferences } from "../features/nodes/pods/pod-references.ts";
import type { Namespace } from "../features/core/namespaces.ts";
import type { ServiceAccount } from "../features/accounts/service-accounts.ts";
import { admissionRules } from "./admission-rules.ts";
import { bindingEscalation } from "../features/access/escalation/binding-escalation.ts";
import type { EscalationOptions } from "../features/access/escalation/escalation.ts";
import { roleEscalation } from "../features/access/escalation/role-escalation.ts";
import { compareRules } from "../features/access/rbac/rule-coverage.ts";
import type { RuleResolver } from "../features/access/rbac/rule-resolver.ts";
import { generateName } from "../machinery/registry/generate-name.ts";
import type { ResourceDefinition } from "../machinery/registry/resource-definition.ts";
import { ResourceRegistry } from "../machinery/registry/resource-registry.ts";
import type { ChangeFeed } from "../machinery/storage/change-feed.ts";
import type { Store } from "../machinery/storage/store.ts";
import type { FindRegistry } from "../features/accounts/look-ups.ts";

/** The registries of everything that is stored, found by plural. */
export class ServerRegistries {
  readonly all: readonly ResourceRegistry[];
  readonly #byPlural: ReadonlyMap<string, ResourceRegistry>;

  constructor(options: {
    readonly definitions: readonly ResourceDefinition[];
    readonly store: Store;
    readonly feed: ChangeFeed;
    readonly admission: readonly AdmissionRule[];
    readonly clock: Clock;
    readonly maximumObjectBytes: number;
  }) {
    const { definitions, ...shared } = options;
    this.all = definitions.map((definition) => new ResourceRegistry({ definition, ...shared }));
    this.#byPlural = new Map(this.all.map((registry) => [registry.definition.plural, registry]));
  }

  /** Loads what is stored, for all of them at once: they share the reading. */
  async start(): Promise<void> {
    await Promise.all(this.all.map((registry) => registry.start()));
  }

  /** Undefined when the copies in memory show every acknowledged write already: they follow the store together. */
  catchUp(): Promise<void> | undefined {
    return this.all[0]?.catchUp();
  }

  /** Rejects when the copies in memory do not come to the store's revision within a bounded time. */
  async waitUntilCurrent(): Promise<void> {
    const [first] = this.all;
    await first?.waitForRevision(await first.store.latestRevision());
  }

  find<T extends ApiObject>(plural: string): ResourceRegistry<T> {
    const registry = this.#byPlural.get(plural);
    if (registry === undefined) throw new RangeError(`nothing is stored as ${plural}`);
    return registry as unknown as ResourceRegistry<T>; // the caller names the type of the plural's kind
  }
}

export interface AdmissionServices {
  readonly names: Names;
  readonly authorize: Authorize;
  readonly apiAudiences: readonly string[];
  readonly registry: FindRegistry;
  readonly definitions: readonly ResourceDefinition[];
  readonly resolver: () => RuleResolver;
}

/** All admission rules. What they look up is what every acknowledged write has left. */
export function openAdmission({
  names,
  authorize,
  apiAudiences,
  registry,
  definitions,
  resolver,
}: AdmissionServices): AdmissionRule[] {
  const current = async <T extends ApiObject>(
    plural: string,
    namespace: string,
    name: string,
  ): Promise<T | undefined> => {
    const found = registry<T>(plural);
    await found.catchUp();
    return found.peek({ namespace, name })?.object;
  };
  const escalation: EscalationOptions = {
    authorize,
    rulesFor: (user, namespace) => resolver().rulesFor(user, namespace),
    compareRules,
  };
  return [
    ...admissionRules({
      names,
      authorize,
      apiAudiences,
      podReferences,
      generateName,
      findNamespace: (name) => current<Namespace>("namespaces", "", name),
      findServiceAccount: (namespace, name) => current<ServiceAccount>("serviceaccounts", namespace, name),
      findPod: (namespace, name) => current("pods", namespace, name),
      findNode: (name) => current("nodes", "", name),
      findResource({ apiVersion, kind }) {
        const definition = definitions.find(
          (one) => one.kind === kind && apiVersion === (one.group === "" ? one.version : `${one.group}/${one.version}`),
        );
        return (
          definition && {
            group: definition.group,
            resource: definition.plural,
            isNamespaced: definition.scope === "Namespaced",
          }
        );
      },
    }),
    roleEscalation(names, escalation),
    bindingEscalation(names, {
      ...escalation,
      rulesOfRole: (roleRef, namespace) => resolver().rulesOfRole(roleRef, namespace),
    }),
  ];
}
