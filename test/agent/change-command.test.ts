import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ChangeCommand } from "../../src/agent/change-command.ts";
import { eventually } from "../end-to-end/eventually.ts";

test("the command for changes runs one at a time, with what changed in its environment and not in its text", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "signet-change-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const log: string[] = [];
  const write = (_fields: unknown, message: string): void => void log.push(message);
  const out = join(folder, "out");
  const command = new ChangeCommand(
    `test ! -e '${folder}/busy' && touch '${folder}/busy' && printf '%s|%s\\n' "$SIGNET_CHANGE" "$SIGNET_CHANGED_FILE" >> '${out}' && rm '${folder}/busy'`,
    { info: write, warn: write, error: write },
  );
  const hostile = `$(touch '${folder}/injected'); "x`;
  command.changed({ change: "trust-bundle", file: hostile });
  command.changed({ change: "client-certificate", file: "/one" });
  command.changed({ change: "client-certificate", file: "/one" });
  await eventually("both runs", () => log.length === 2);
  assert.equal(readFileSync(out, "utf8"), `trust-bundle|${hostile}\nclient-certificate|/one\n`);
  assert.ok(!existsSync(join(folder, "injected")));
  assert.ok(log.every((line) => line === "ran the command for changes"));
});

test("a command that fails is told of, and runs again with the next change", async () => {
  const log: string[] = [];
  const write = (_fields: unknown, message: string): void => void log.push(message);
  const command = new ChangeCommand("exit 3", { info: write, warn: write, error: write });
  for (const runs of [1, 2]) {
    command.changed({ change: "trust-bundle", file: "/f" });
    await eventually(`run ${runs}`, () => log.length === runs);
  }
  assert.equal(log[1], "the command for changes ended with code 3");
});
