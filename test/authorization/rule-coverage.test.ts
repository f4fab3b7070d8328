import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, property, record } from "fast-check";
import type { PolicyRule } from "../../src/api/rbac.ts";
import { uncoveredRules } from "../../src/authorization/rule-coverage.ts";
import { ruleAllows } from "../../src/authorization/rule-matching.ts";
import { asks, readPods } from "./rbac-scene.ts";

const rule = (bent: Partial<PolicyRule>): PolicyRule => ({ ...readPods, ...bent });

describe("rules that somebody holds", () => {
  it("cover the same and less", () => {
    assert.deepEqual(uncoveredRules([readPods], [readPods]), []);
    assert.deepEqual(uncoveredRules([readPods], [rule({ resourceNames: ["a"] })]), []);
    assert.deepEqual(uncoveredRules([rule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] })], [readPods]), []);
  });

  it("do not cover more, and tell what is missing, verbs of one resource together", () => {
    assert.deepEqual(
      uncoveredRules([readPods], [rule({ verbs: ["get", "list", "watch"], resources: ["pods", "secrets"] })]),
      [
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] },
        { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
      ],
    );
  });

  it("with names do not cover other names, nor all", () => {
    const held = [rule({ resourceNames: ["x"] })];
    assert.deepEqual(uncoveredRules(held, [rule({ resourceNames: ["x"] })]), []);
    assert.equal(uncoveredRules(held, [readPods]).length, 1);
    assert.deepEqual(uncoveredRules(held, [rule({ resourceNames: ["x", "y"] })]), [rule({ resourceNames: ["y"] })]);
  });

  it("add up", () => {
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

  it("are compared in bounded time, however many permissions the lists multiply to", () => {
    const many = (letter: string): string[] => Array.from({ length: 3000 }, (_, index) => `${letter}${index}`);
    const huge = { verbs: many("v"), apiGroups: many("g"), resources: many("r"), resourceNames: many("n") };
    assert.equal(uncoveredRules([readPods], [huge, huge, readPods]).length > 0, true);
    assert.deepEqual(uncoveredRules([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], [huge]), []);
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
