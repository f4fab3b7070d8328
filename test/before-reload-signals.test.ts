import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";

/** Sends the process both signals when it is about to load a module. */
const signalsAt = (module: string): string => `data:text/javascript,
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      if (url.endsWith("/${module}")) for (const signal of ["SIGHUP", "SIGUSR2"]) process.kill(process.pid, signal);
      return next(url, context);
    },
  });`;

describe("a process that still loads its code", () => {
  for (const [entry, words, module] of [
    ["signet.ts", ["agent"], "run-agent-command.ts"],
    ["signet-agent.ts", [], "run-agent-command.ts"],
    ["signet.ts", ["serve"], "program.ts"],
  ] as const) {
    it(`is not ended by the signals that reload settings and renew certificates: ${[entry, ...words].join(" ")}`, () => {
      const file = join(import.meta.dirname, "../src", entry);
      const command = ["--import", signalsAt(module), file, ...words, "--help"];
      const { status, signal, stdout } = spawnSync(process.execPath, command, { encoding: "utf8" });
      assert.deepEqual([signal, status], [null, 0]);
      assert.match(stdout, /^Usage: /);
    });
  }
});
