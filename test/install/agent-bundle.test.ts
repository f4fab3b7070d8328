import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleAgent, oldestNodeMajor } from "../../tools/package/agent-bundle.ts";

/** JavaScript's newer functions, with the first Node.js that has them. The build changes syntax for an older one, but no functions. */
const newerFunctions: Readonly<Record<string, number>> = {
  "Array.fromAsync": 22,
  "Atomics.pause": 24,
  "Error.isError": 24,
  "Iterator.from": 22,
  "Map.groupBy": 21,
  "Object.groupBy": 21,
  "Promise.try": 24,
  "Promise.withResolvers": 22,
  "RegExp.escape": 24,
  "Uint8Array.fromBase64": 25,
  "Uint8Array.fromHex": 25,
};

test("the agent's bundle calls no function that the oldest Node.js of its package lacks", async () => {
  const { program } = await bundleAgent();
  const missing = Object.entries(newerFunctions).filter(([, since]) => since > oldestNodeMajor);
  assert.deepEqual(
    missing.map(([name]) => name).filter((name) => program.includes(`${name}(`)),
    [],
  );
});
