import { runToEnd } from "../../../machinery/api/run-to-end.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { ComparisonWork, TooMuchWork } from "./comparison-work.ts";
import { HeldRules, sizesOf } from "./held-rules.ts";

/** The result of comparing the rules that a user wants to grant with those that the user holds. */
interface RuleComparison {
  /** The permissions that the user does not hold. Permissions for resources that differ only in their verbs are joined. */
  readonly uncovered: readonly PolicyRule[];
  /**
   * True when the comparison exceeded the limit of one request. `uncovered` then contains the remaining rules as a
   * whole.
   */
  readonly isCutShort: boolean;
  /** The number of steps: linear in both lists of rules, and never much above the limit. */
  readonly steps: number;
}

/** The most missing permissions that are listed separately. */
const maximumMissing = 1000;
/** A rule whose lists multiply to more permissions is first compared as a whole. */
const manyPermissions = 1000;

/**
 * Returns the permissions of `wanted` that no rule of `held` covers (upstream: `validation.Covers` and `CompactRules`).
 * Clients write both lists, and the lists inside rules multiply. So the work is limited, and everything beyond the
 * limit counts as not held. Yields between its steps.
 */
export function* compareRules(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): Generator<undefined, RuleComparison> {
  const work = new ComparisonWork();
  const missing: PolicyRule[] = [];
  let compared = 0;
  try {
    const index = new HeldRules(work);
    yield* index.add(held);
    for (const rule of wanted) {
      yield* addMissing(missing, { rule, index });
      compared += 1;
    }
    return { uncovered: compact(missing), isCutShort: false, steps: work.steps };
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error;
    return { uncovered: [...compact(missing), ...wanted.slice(compared)], isCutShort: true, steps: work.steps };
  }
}

/** The permissions of `wanted` that `held` does not cover. */
export const uncoveredRules = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] =>
  runToEnd(compareRules(held, wanted)).uncovered;

function* addMissing(
  missing: PolicyRule[],
  { rule, index }: { readonly rule: PolicyRule; readonly index: HeldRules },
): Generator<undefined, void> {
  const add = (single: PolicyRule): void => {
    if (missing.length >= maximumMissing) throw new TooMuchWork();
    missing.push(single);
  };
  const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames = [] } = rule;
  const verbs = rule.verbs ?? [];
  if (sizesOf(rule).permissions > manyPermissions && (yield* index.hasRuleAbove(rule))) return;
  const missingNames = index.missingNames(resourceNames);
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        yield;
        const names = missingNames({ verb, group, resource });
        if (names === "none") continue;
        const one = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (names === "every") add(one);
        else for (const name of names) add({ ...one, resourceNames: [name] });
      }
    }
  }
  for (const path of nonResourceURLs) {
    for (const verb of verbs) {
      yield;
      if (!index.coversPath(verb, path)) add({ verbs: [verb], nonResourceURLs: [path] });
    }
  }
}

/**
 * Joins rules of resources that differ only in their verbs, in order of first appearance (upstream: `CompactRules`). A verb that two of
 * these rules have appears twice.
 */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, { readonly rest: Omit<PolicyRule, "verbs">; readonly verbs: string[] }>();
  for (const { verbs, ...rest } of rules) {
    const key = JSON.stringify([rest.nonResourceURLs && verbs, rest]);
    const known = joined.get(key);
    if (known === undefined) joined.set(key, { rest, verbs: [...(verbs ?? [])] });
    else if (rest.nonResourceURLs === undefined) known.verbs.push(...(verbs ?? []));
  }
  return [...joined.values()].map(({ rest, verbs }) => ({ ...rest, verbs }));
}
