import assert from "node:assert/strict";
import { test } from "node:test";
import { claimPorts } from "../../../bench/processes/free-ports.ts";

test("a process that claims ports gets none that another claims, though their numbers lead to the same range", async () => {
  const first = await claimPorts(7);
  const second = await claimPorts(7);
  const third = await claimPorts(407);
  assert.equal(new Set([first, second, third]).size, 3);
});
