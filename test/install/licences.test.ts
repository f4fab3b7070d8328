import assert from "node:assert/strict";
import { it } from "node:test";
import { dependencies } from "../../tools/package/licences.ts";

/** Licences that ask for no more than their text and the authors' names. */
const permissive = new Set(["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"]);

it("every package that an install brings is under a licence that lets anyone use and pass it on", () => {
  const installed = dependencies();
  assert.ok(installed.some(({ name }) => name === "lmdb"));
  assert.deepEqual(
    installed.filter(({ licence }) => !permissive.has(licence)),
    [],
  );
});
