import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuthorizationAttributes } from "../../../../src/machinery/api/attributes.ts";
import { AccessChecks } from "../../../../src/features/admission/evaluation/access-checks.ts";

describe("an expression that asks authorizers", () => {
  it("is evaluated again until each of its questions has an answer, and asks each one once", async () => {
    const asked: string[] = [];
    const checks = new AccessChecks(async ({ verb }) => {
      asked.push(verb);
      return { decision: verb === "get" ? "allow" : "noOpinion", reason: "" };
    });
    const user = { username: "ada", groups: [], extra: {} };
    const question = (verb: string): AuthorizationAttributes => ({ kind: "path", user, verb, path: "/metrics" });
    // An expression continues after a question that fails: the other side of an "or" may hold.
    const answered = (verb: string): string => {
      try {
        return checks.check(question(verb)).decision;
      } catch {
        return "unknown";
      }
    };
    assert.deepEqual(await checks.evaluated(() => ["get", "put", "get"].map(answered)), [
      "allow",
      "noOpinion",
      "allow",
    ]);
    assert.deepEqual(asked, ["get", "put"]);
  });
});
