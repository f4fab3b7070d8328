import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { it } from "node:test";
import { eventually } from "./eventually.ts";

const root = resolve(import.meta.dirname, "../..");

it("a process explains its requests and loops in the debug log, and to a module that is loaded with --import", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-explained-"));
  const hook = ["--import", import.meta.resolve("../../examples/slow-requests.ts")];
  const serve = ["serve", "--data-dir", folder, "--secure-port", "0", "--log-level", "debug"];
  const child = spawn(process.execPath, [...hook, join(root, "src/main.js"), ...serve], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, SLOW_MICROSECONDS: "0" },
  });
  const ended = once(child, "exit");
  try {
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    // The loops' own requests are explained as everybody's are.
    await eventually("all lines", () =>
      [/"msg":"request"/, /"msg":"loop"/, /^slow: POST /m, /^ {2}store \d+ µs revision \d+$/m].every((line) =>
        line.test(output),
      ),
    );
    const line = output.split("\n").find((text) => text.includes('"msg":"loop"')) ?? "";
    assert.deepEqual(Object.keys(JSON.parse(line)), [
      ...["level", "time", "controller", "key", "outcome", "microseconds", "msg"],
    ]);
  } finally {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});
