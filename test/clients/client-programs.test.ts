/** Every client that is on this machine, against one default server: `npm run clients` shows the same as a table. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { clientPrograms, runProgram, whyNot } from "./client-programs.ts";

describe("on one default server", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });

  for (const { name, suite, bothNames } of clientPrograms) {
    const skip = whyNot(name);
    if (suite !== undefined) {
      it(`${name} does all that its programs try`, { skip }, async () => {
        assert.equal((await runProgram(suite, server.kubeconfigFile)).at(-1), "everything");
      });
    }
    if (bothNames !== undefined) {
      it(`${name} reads, changes and deletes in one spelling what is written in the other`, { skip }, async () => {
        const ways = await runProgram(bothNames, server.kubeconfigFile);
        assert.deepEqual(ways, [
          "written as k8s.io, read as k8s.io",
          "written as k8s.io, read as platform.io",
          "written as platform.io, read as k8s.io",
          "written as platform.io, read as platform.io",
        ]);
      });
    }
  }
});
