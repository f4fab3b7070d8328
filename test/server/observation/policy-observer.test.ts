import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import { policyObserver } from "../../../src/server/observation/policy-observer.ts";

describe("The metrics of admission policies", () => {
  it("keep the 500 series that changed last, however many policies come and go", async () => {
    const registry = new Registry();
    const { onChecked } = policyObserver(registry);
    const refuse = (policy: string): void =>
      onChecked({ policy, binding: "all", error: "no_error", action: "deny", seconds: 0.01 });
    for (let count = 1; count <= 500; count++) refuse(`policy-${count}`);
    refuse("policy-1");
    refuse("policy-501");

    const lines = (await registry.metrics()).split("\n");
    const shown = (name: string): string[] => lines.filter((line) => line.startsWith(name));
    assert.equal(shown("apiserver_validating_admission_policy_check_total{").length, 500);
    assert.equal(shown("apiserver_validating_admission_policy_check_duration_seconds_count{").length, 500);
    assert.deepEqual(
      ["policy-1", "policy-2", "policy-501"].map(
        (policy) => lines.filter((line) => line.includes(`"${policy}"`)).length > 0,
      ),
      [true, false, true],
    );
    assert.match(lines.find((line) => line.includes('_check_total{policy="policy-1"')) ?? "", / 2$/);
  });
});
