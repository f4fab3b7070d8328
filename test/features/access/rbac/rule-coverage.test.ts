import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, oneof, property, record } from "fast-check";
import { runToEnd } from "../../../../src/machinery/api/run-to-end.ts";
import type { PolicyRule } from "../../../../src/features/access/rbac/policy-rule.ts";
import { compareRules, uncoveredRules } from "../../../../src/features/access/rbac/rule-coverage.ts";
import { matchesPath } from "../../../../src/features/access/rbac/path-patterns.ts";
import { ruleAllows } from "../../../../src/features/access/rbac/rbac-authorizer.ts";
import { asks, readPods } from "./rbac-scene.ts";

const compared = (...rules: Parameters<typeof compareRules>) => runToEnd(compareRules(...rules));
const rule = (bent: Partial<PolicyRule>): PolicyRule => ({ ...readPods, ...bent });

describe("the rules that a user holds", () => {
  it("cover the same rules and fewer", () => {
    assert.deepEqual(uncoveredRules([readPods], [readPods]), []);
    assert.deepEqual(uncoveredRules([readPods], [rule({ resourceNames: ["a"] })]), []);
    assert.deepEqual(uncoveredRules([rule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] })], [readPods]), []);
  });

  it("do not cover more rules, and return those that are missing, with the verbs of a resource together", () => {
    assert.deepEqual(
      uncoveredRules([readPods], [rule({ verbs: ["get", "list", "watch"], resources: ["pods", "secrets"] })]),
      [
        { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] },
      ],
    );
  });

  it("return a verb as often as it is wanted for a resource, and a path once", () => {
    const paths = { verbs: ["get"], nonResourceURLs: ["/a"] };
    assert.deepEqual(uncoveredRules([], [readPods, rule({ verbs: ["get", "list"] }), paths, paths]), [
      rule({ verbs: [...(readPods.verbs ?? []), "get", "list"] }),
      paths,
    ]);
    const twice = rule({ apiGroups: ["", ""], verbs: ["get", "list"] });
    assert.deepEqual(uncoveredRules([], [twice]), [rule({ verbs: ["get", "list", "get", "list"] })]);
  });

  it("with names do not cover other names, nor all", () => {
    const held = [rule({ resourceNames: ["x"] })];
    assert.deepEqual(uncoveredRules(held, [rule({ resourceNames: ["x"] })]), []);
    assert.equal(uncoveredRules(held, [readPods]).length, 1);
    assert.deepEqual(uncoveredRules(held, [rule({ resourceNames: ["x", "y"] })]), [rule({ resourceNames: ["y"] })]);
  });

  it("cover a name for each verb by the rules with that verb, whatever others cover for another verb", () => {
    const held = [rule({ resourceNames: ["a"] }), rule({ verbs: ["*"], resourceNames: ["b"] })];
    assert.deepEqual(uncoveredRules(held, [rule({ verbs: ["get", "list"], resourceNames: ["a", "b", "c"] })]), [
      rule({ verbs: ["get", "list"], resourceNames: ["c"] }),
      rule({ verbs: ["list"], resourceNames: ["a"] }),
    ]);
  });

  it("cover together what no single one of them covers", () => {
    const held = [rule({ verbs: ["get"] }), rule({ verbs: ["list"] }), rule({ resources: ["secrets"], verbs: ["*"] })];
    assert.deepEqual(uncoveredRules(held, [rule({ verbs: ["get", "list"], resources: ["pods", "secrets"] })]), []);
  });

  it("cover subresources by */sub, and paths by a star at the end", () => {
    assert.deepEqual(uncoveredRules([rule({ resources: ["*/status"] })], [rule({ resources: ["pods/status"] })]), []);
    assert.equal(uncoveredRules([rule({ resources: ["pods/*"] })], [rule({ resources: ["pods/status"] })]).length, 1);
    const paths = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });
    assert.deepEqual(uncoveredRules([paths("/a/*")], [paths("/a/b", "/a/b/*")]), []);
    assert.equal(uncoveredRules([paths("/a/*")], [paths("/a", "/*", "*")]).length, 3);
  });

  it("do not cover a wildcard that they do not hold", () => {
    const every = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    assert.equal(uncoveredRules([readPods], [every]).length, 1);
  });

  const many = (letter: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${letter}${index}`);
  const shapes: Readonly<Record<string, (count: number) => PolicyRule[]>> = {
    "one rule of many names": (count) => [rule({ verbs: ["get", "list"], resourceNames: many("n", count) })],
    "one rule of many verbs": (count) => [rule({ verbs: many("v", count) })],
    "one rule of many resources": (count) => [rule({ resources: many("r", count) })],
    "a rule for each name": (count) => many("n", count).map((name) => rule({ resourceNames: [name] })),
    "a rule for each verb": (count) => many("v", count).map((verb) => rule({ verbs: [verb] })),
    "a rule for each group": (count) => many("g", count).map((group) => rule({ apiGroups: [group] })),
    "a rule for each resource": (count) => many("r", count).map((resource) => rule({ resources: [resource] })),
    "a rule for each path": (count) => many("/p", count).map((path) => ({ verbs: ["get"], nonResourceURLs: [path] })),
    "a rule for each prefix": (count) =>
      many("/p", count).map((path) => ({ verbs: ["get"], nonResourceURLs: [`${path}/*`] })),
    "the same rule again and again": (count) => many("n", count).map(() => rule({ resourceNames: ["a"] })),
  };
  for (const [shape, rulesOf] of Object.entries(shapes)) {
    it(`are compared in time linear in both: ${shape}`, () => {
      const steps = (count: number): number => {
        const comparison = compared(rulesOf(count), rulesOf(count));
        assert.deepEqual([comparison.uncovered, comparison.isCutShort], [[], false]);
        return comparison.steps;
      };
      assert.ok(steps(20_000) <= 10 * steps(2000) + 100, `${steps(2000)} steps became ${steps(20_000)}`);
      const foreign = compared(rulesOf(20_000), [rule({ resources: ["secrets"] }), ...rulesOf(20_000)]);
      assert.ok(foreign.steps <= 10 * steps(2000) + 100);
    });
  }

  it("cover 200,000 names of one rule, and refuse them in bounded work where they are not held", () => {
    const wanted = [rule({ verbs: ["get", "list", "watch"], resourceNames: many("n", 200_000) })];
    assert.deepEqual(compared(wanted, wanted).uncovered, []);
    const missing = compared([readPods], wanted);
    assert.ok(missing.isCutShort && missing.uncovered.length > 0 && missing.steps < 2000);
  });

  it("leave uncovered, when too much is missing, what was missing so far and every rule from there on", () => {
    const [leases, secret] = [rule({ resources: ["leases"] }), rule({ resources: ["secrets"] })];
    const secrets = { ...secret, resourceNames: many("n", 1000) };
    const { uncovered, isCutShort } = compared([readPods], [leases, readPods, secrets, readPods]);
    const listed = many("n", 999).map((name) => ({ ...secret, resourceNames: [name] }));
    assert.deepEqual([uncovered, isCutShort], [[leases, ...listed, secrets, readPods], true]);
  });

  it("cover a rule of over a thousand permissions only with every verb, group, resource, path and name of it", () => {
    const named = {
      verbs: many("v", 11),
      apiGroups: many("g", 10),
      resources: many("r", 10),
      resourceNames: ["a", "b"],
    };
    const ofPaths = { verbs: many("v", 11), nonResourceURLs: many("/p", 100) };
    for (const wanted of [named, ofPaths]) {
      assert.deepEqual(uncoveredRules([wanted], [wanted]), []);
      for (const [list, [, ...fewer]] of Object.entries(wanted)) {
        assert.notDeepEqual(uncoveredRules([{ ...wanted, [list]: fewer }], [wanted]), [], list);
      }
    }
    const { resourceNames: _names, ...unnamed } = named;
    assert.deepEqual(uncoveredRules([unnamed], [named]), []);
    assert.notDeepEqual(uncoveredRules([named], [unnamed]), []);
  });

  it("are compared with bounded work, however many permissions the lists multiply to", () => {
    const wide = (letter: string) => ({
      verbs: many(letter, 3000),
      apiGroups: many(letter, 3000),
      resources: many(letter, 3000),
      resourceNames: many("n", 3000),
    });
    const narrow = many("w", 2000).map((verb) => ({
      verbs: [verb, ...many("v", 4)],
      apiGroups: many("g", 5),
      resources: many("r", 5),
    }));
    const mostSteps = 1_500_000;
    for (const [held, wanted] of [
      [[readPods], [wide("a"), wide("a"), readPods]],
      [
        [wide("a"), wide("b")],
        [wide("a"), wide("c")],
      ],
      [narrow, narrow],
    ] as const) {
      const { steps, uncovered } = compared(held, wanted);
      assert.ok(steps <= mostSteps && uncovered.length > 0);
    }
    assert.deepEqual(uncoveredRules([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], [wide("a")]), []);
  });

  it("are compared with bounded work also where each has to be looked at, which leaves permissions uncovered that are held", () => {
    const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    const named = (index: number) => rule({ verbs: many("v", 100), resources: [`r${index}`] });
    const ofPaths = (index: number) => ({ verbs: many("v", 10), nonResourceURLs: many(`/p${index}/`, 10) });
    const list = <T>(count: number, make: (index: number) => T): T[] =>
      Array.from({ length: count }, (_, index) => make(index));
    const wide = { verbs: many("w", 11), apiGroups: many("g", 10), resources: many("r", 10) };
    for (const [held, wanted] of [
      // Each path is looked for in each rule of many paths.
      [list(3000, ofPaths), list(100, ofPaths)],
      // Each wanted rule is compared with each held one, whose lists are long,
      [[...list(1000, named), everything], list(20, () => wide)],
      // or covers much of the wanted one.
      [
        [...list(1000, () => rule({ verbs: ["*"], apiGroups: ["other"] })), everything],
        [rule({ verbs: many("v", 2000) })],
      ],
    ] as const) {
      const { isCutShort, uncovered } = compared(held, wanted);
      assert.ok(isCutShort && uncovered.length > 0);
    }
  });

  it("are compared in steps, one for each permission and each held rule", () => {
    const held = many("r", 1000).map((resource) => rule({ resources: [resource] }));
    const wanted = rule({ verbs: many("v", 11), apiGroups: many("g", 10), resources: many("r", 10) });
    let steps = 0;
    for (const _step of compareRules(held, [wanted])) steps += 1;
    assert.equal(
      steps,
      1000 + 1000 + 1001,
      "to index the held ones, to compare each as a whole, until too many are missing",
    );
  });

  it("are found like by a comparison of each with each", () => {
    const some = (...values: string[]) => array(constantFrom(...values), { minLength: 1, maxLength: 3 });
    const anyRule = oneof(
      record({
        verbs: some("get", "list", "watch", "*"),
        apiGroups: some("", "apps", "*"),
        resources: some("pods", "pods/status", "*/status", "*", "pods/*"),
        resourceNames: array(constantFrom("a", "b", "c"), { maxLength: 2 }),
      }),
      record({ verbs: some("get", "*"), nonResourceURLs: some("/a", "/a/*", "/a/b", "/a/b*", "*", "/", "/**") }),
    );
    /** The rule with so many more entries that its lists are searched one by one. */
    const widened = ({ verbs, apiGroups, resources, nonResourceURLs, ...rest }: PolicyRule): PolicyRule => ({
      ...rest,
      verbs: [...(verbs ?? []), ...many("v", 12)],
      ...(apiGroups && { apiGroups: [...apiGroups, ...many("g", 12)] }),
      ...(resources && { resources: [...resources, ...many("r", 12)] }),
      ...(nonResourceURLs && { nonResourceURLs: [...nonResourceURLs, ...many("/p", 12)] }),
    });
    const anyHeld = oneof(anyRule, anyRule.map(widened));
    const includes = (list: readonly string[] | null | undefined, value: string): boolean =>
      list?.includes("*") === true || list?.includes(value) === true;
    const covers = (owner: PolicyRule, one: PolicyRule): boolean => {
      const [verb = ""] = one.verbs ?? [];
      const [path] = one.nonResourceURLs ?? [];
      if (!includes(owner.verbs, verb)) return false;
      if (path !== undefined) return (owner.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, path));
      const [[group = ""] = [], [resource = ""] = [], [name] = []] = [one.apiGroups, one.resources, one.resourceNames];
      const part = resource.includes("/") ? `*${resource.slice(resource.indexOf("/"))}` : resource;
      const names = owner.resourceNames ?? [];
      return (
        includes(owner.apiGroups, group) &&
        (includes(owner.resources, resource) || owner.resources?.includes(part) === true) &&
        (names.length === 0 || (name !== undefined && names.includes(name)))
      );
    };
    const singles = ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) =>
      (verbs ?? []).flatMap((verb): PolicyRule[] => [
        ...nonResourceURLs.map((path) => ({ verbs: [verb], nonResourceURLs: [path] })),
        ...apiGroups.flatMap((group) =>
          resources.flatMap((resource) => {
            const one = { verbs: [verb], apiGroups: [group], resources: [resource] };
            return resourceNames.length === 0
              ? [one]
              : resourceNames.map((name) => ({ ...one, resourceNames: [name] }));
          }),
        ),
      ]);
    const keys = (rules: readonly PolicyRule[]): string[] =>
      [...new Set(rules.flatMap(singles).map((one) => JSON.stringify(one, Object.keys(one).toSorted())))].toSorted();
    check(
      property(array(anyHeld, { maxLength: 4 }), array(anyRule, { maxLength: 3 }), (held, wanted) => {
        const expected = wanted.flatMap(singles).filter((one) => !held.some((owner) => covers(owner, one)));
        assert.deepEqual(keys(uncoveredRules(held, wanted)), keys(expected));
      }),
      { numRuns: 2000 },
    );
  });

  it("allow every request that rules they cover allow", () => {
    const some = (...values: string[]) => array(constantFrom(...values), { minLength: 1, maxLength: 2 });
    const anyRule = record({
      verbs: some("get", "list", "*"),
      apiGroups: some("", "apps", "*"),
      resources: some("pods", "pods/status", "*/status", "*"),
      resourceNames: array(constantFrom("a", "b"), { maxLength: 2 }),
    });
    const anyRequest = record({
      verb: constantFrom("get", "list"),
      group: constantFrom("", "apps"),
      subresource: constantFrom("", "status"),
      name: constantFrom("", "a", "b"),
    });
    check(
      property(array(anyRule, { maxLength: 3 }), anyRule, anyRequest, (held, wanted, request) => {
        const attributes = asks(request);
        if (attributes.kind !== "resource" || !ruleAllows(wanted, attributes)) return true;
        return uncoveredRules(held, [wanted]).length > 0 || held.some((one) => ruleAllows(one, attributes));
      }),
      { numRuns: 2000 },
    );
  });
});
