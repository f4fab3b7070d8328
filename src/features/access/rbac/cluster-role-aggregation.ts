import { isDeepStrictEqual } from "node:util";
import type { ClusterRole } from "./roles.ts";
import { tooLarge } from "../../../machinery/api/api-error.ts";
import { apiVersionOf } from "../../../machinery/api/resource-type.ts";
import type { ResourceType } from "../../../machinery/api/resource-type.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import type { FollowedObjects } from "../../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { clusterRoleResource } from "../resources.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { labelMatcher, requirementsOf } from "../../../machinery/api/selectors/label-selector.ts";
import type { LabelMatcher, Labels } from "../../../machinery/api/selectors/label-selector.ts";

/** Upstream's field manager. As soon as it applies any rules, other managers lose the field `rules`. */
const fieldManager = "clusterrole-aggregation-controller";

/** Keeps the rules of every aggregated ClusterRole equal to the union of the selected roles' rules, where these have any. */
export const clusterRoleAggregation: Controller = {
  name: "clusterrole-aggregation",
  start: (context) => new ClusterRoleAggregation(context),
};

class ClusterRoleAggregation implements StartedController {
  readonly queue: WorkQueue;
  readonly #context: ControllerContext;
  readonly #resource: ResourceType<ClusterRole>;
  readonly #roles: FollowedObjects<ClusterRole>;
  /** By the roles' names. */
  readonly #labels = new Map<string, Labels | undefined>();
  /** The selectors of aggregated roles, by the roles' names. */
  readonly #selectors = new Map<string, readonly LabelMatcher[]>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#resource = clusterRoleResource(context.names);
    this.#roles = context.informers.of(this.#resource);
    this.queue = controllerQueue(context, { reconcile: (name) => this.#reconcile(name) });
    this.#roles.addHandler({
      onAdd: (role) => {
        this.#remember(role);
        this.#addAggregating(role);
      },
      onUpdate: (role, previous) => {
        this.#remember(role);
        this.#addAggregating(role, previous);
      },
      onDelete: (role) => {
        const { name = "" } = role.metadata;
        this.#labels.delete(name);
        this.#selectors.delete(name);
        this.#addAggregating(role);
      },
    });
  }

  async #reconcile(name: string): Promise<string> {
    const role = this.#roles.get(name);
    if (role?.aggregationRule === undefined) return "nothing to do: the role has no aggregation rule";
    const rules = await aggregateRules(role, { labels: this.#labels, get: (part) => this.#roles.get(part) });
    if (rules === undefined) return "nothing to do: the rules are current";
    await this.#apply(role, rules);
    return "applied the rules";
  }

  async #apply({ metadata }: ClusterRole, rules: readonly PolicyRule[]): Promise<void> {
    const { name = "", uid, resourceVersion } = metadata;
    await this.#context.client.resource(this.#resource).patch(name, {
      type: "apply",
      body: {
        apiVersion: apiVersionOf(this.#resource),
        kind: this.#resource.kind,
        // With uid and version, so that a deleted role is not created again.
        metadata: { name, uid, resourceVersion },
        // An apply without rules does not own the field (upstream's `omitempty`): a role that selects nothing keeps the rules of others.
        ...(rules.length > 0 && { rules }),
      },
      fieldManager,
      isForced: true,
    });
  }

  #remember({ metadata: { name = "", labels }, aggregationRule }: ClusterRole): void {
    this.#labels.set(name, labels);
    if (aggregationRule === undefined) this.#selectors.delete(name);
    else this.#selectors.set(name, matchersOf(aggregationRule));
  }

  /** Queues the aggregated roles that a changed role concerns: itself, and the roles that select it or selected it before. */
  #addAggregating(...versions: readonly ClusterRole[]): void {
    for (const [name, own] of this.#selectors) {
      const isConcerned = versions.some(({ metadata }) => metadata.name === name || matchesAny(own, metadata.labels));
      if (isConcerned) this.queue.add(name);
    }
  }
}

/** The roles among which an aggregated role selects its parts. */
interface KnownRoles {
  /** By the roles' names. */
  readonly labels: ReadonlyMap<string, Labels | undefined>;
  get(name: string): ClusterRole | undefined;
}

/** The most rules of a role: no role with more can be written. */
const maximumRules = 10_000;

/**
 * Computes the rules of an aggregated role: the rules of all other roles that match one of its selectors, without duplicates. They are in
 * the order of the selectors, and for each selector in the order of the roles' names (upstream: the clusterroleaggregation controller).
 * Resolves to undefined when the role has no aggregation rule or already has these rules. Rejects with a 413 ApiError for more rules than
 * a role can have.
 */
export async function aggregateRules(
  { metadata, aggregationRule, rules: current }: ClusterRole,
  { labels, get }: KnownRoles,
): Promise<PolicyRule[] | undefined> {
  if (aggregationRule === undefined) return undefined;
  const rules: PolicyRule[] = [];
  const gathered = new Set<string>();
  const seen = new Set<string>();
  const work = new LongWork();
  for (const isSelected of matchersOf(aggregationRule)) {
    const parts: string[] = [];
    for (const [name, own] of labels) {
      const pause = work.pause();
      if (pause !== undefined) await pause;
      if (name !== metadata.name && !gathered.has(name) && isSelected(own)) parts.push(name);
    }
    for (const name of parts.sort()) {
      gathered.add(name);
      const pause = work.pause();
      if (pause !== undefined) await pause;
      for (const rule of get(name)?.rules ?? []) {
        const key = keyOf(rule);
        if (!seen.has(key)) rules.push(rule);
        seen.add(key);
      }
      if (rules.length > maximumRules) throw tooLarge("the roles that it aggregates have too many rules for one role");
    }
  }
  return isDeepStrictEqual(rules, current ?? []) ? undefined : rules;
}

const matchersOf = ({ clusterRoleSelectors = [] }: NonNullable<ClusterRole["aggregationRule"]>): LabelMatcher[] =>
  clusterRoleSelectors.map((selector) => labelMatcher(requirementsOf(selector)));

const matchesAny = (matchers: readonly LabelMatcher[], labels: Labels | undefined): boolean =>
  matchers.some((isSelected) => isSelected(labels));

const keyOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
