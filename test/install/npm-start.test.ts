import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { temporaryFolder } from "../temporary-folder.ts";

it("a signal that ends npm start ends the server", async () => {
  const folder = temporaryFolder();
  const child = spawn("npm", ["start", "--silent", "--", "--data-dir", join(folder, "data"), "--secure-port", "0"], {
    cwd: join(import.meta.dirname, "../.."),
    stdio: ["ignore", "pipe", "ignore"],
  });
  // The pipe closes when the last process that holds it is gone: npm, and the server.
  const closed = once(child, "close");
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("ready in ")) break;
  child.stdout.resume();
  child.kill("SIGTERM");
  await closed;
  assert.ok(child.exitCode !== null || child.signalCode !== null);
});
