import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { notFound, unauthorized } from "../../../src/machinery/api/api-error.ts";
import { CommandFailure, SeveralFailures } from "../../../src/machinery/command-line/command-failure.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { forEachName } from "../../../src/machinery/command-line/for-each-name.ts";

describe("the work of a command for each of several names", () => {
  /** The names that were tried, and what was thrown. */
  async function outcomeOf(
    failureOf: Readonly<Record<string, unknown>>,
  ): Promise<{ tried: string[]; thrown: unknown }> {
    const tried: string[] = [];
    const work = async (name: string): Promise<void> => {
      tried.push(name);
      await Promise.resolve();
      if (name in failureOf) throw failureOf[name];
    };
    const thrown = await forEachName(["a", "b", "c"], work).catch((error: unknown) => error);
    return { tried, thrown };
  }
  const missing = notFound({ group: "", resource: "roles" }, "a");

  it("continues after a name that the server refuses, and throws the refusal", async () => {
    assert.deepEqual(await outcomeOf({ a: missing }), { tried: ["a", "b", "c"], thrown: missing });
  });

  it("continues after a refusal that was explained", async () => {
    const explained = new CommandFailure("there is no a", { exit: "refused", cause: missing });
    assert.deepEqual(await outcomeOf({ a: explained }), { tried: ["a", "b", "c"], thrown: explained });
  });

  it("continues after a name whose wait is over", async () => {
    const pending = new CommandFailure("a has no certificate yet", { exit: "pending" });
    assert.deepEqual(await outcomeOf({ a: pending }), { tried: ["a", "b", "c"], thrown: pending });
  });

  it("continues after a name that was not confirmed", async () => {
    const unconfirmed = new UsageError("a is not approved");
    assert.deepEqual(await outcomeOf({ a: unconfirmed }), { tried: ["a", "b", "c"], thrown: unconfirmed });
  });

  it("throws all refusals when there are several", async () => {
    const { thrown } = await outcomeOf({ a: missing, c: missing });
    assert.ok(thrown instanceof SeveralFailures);
    assert.deepEqual(thrown.failures, [missing, missing]);
  });

  it("ends when the server is gone or does not know the caller, and throws the refusals before that too", async () => {
    for (const end of [
      new CommandFailure("cannot reach the server", { exit: "unreachable", cause: new Error("refused") }),
      unauthorized(),
    ]) {
      assert.deepEqual(await outcomeOf({ a: end }), { tried: ["a"], thrown: end });
      const { tried, thrown } = await outcomeOf({ a: missing, b: end });
      assert.deepEqual(
        [tried, (thrown as SeveralFailures).failures],
        [
          ["a", "b"],
          [missing, end],
        ],
      );
    }
  });
});
