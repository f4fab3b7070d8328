import assert from "node:assert/strict";
import { it } from "node:test";
import pino from "pino";
import { serveFlags } from "../../../src/server/settings/server-config.ts";
import { reloadSettings } from "../../../src/server/settings/reload-settings.ts";

it("a reload applies what can change, names what needs a restart, and refuses what cannot be used", () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const levels: string[] = [];
  const reload = (before: object, read: () => object) =>
    reloadSettings({
      log,
      before: before as Record<string, unknown>,
      read: read as () => Record<string, unknown>,
      apply: (level) => levels.push(level),
    });
  const first = { "log-level": "info", workers: "1", "tls-san": ["a"] };
  const second = reload(first, () => ({ "log-level": "debug", workers: "2", "tls-san": ["a"] }));
  assert.deepEqual(levels, ["debug"]);
  assert.deepEqual([lines[0]?.["applied"], lines[0]?.["needRestart"]], [["log-level"], ["workers"]]);
  // What needs a restart still does: the server runs with the old value.
  assert.deepEqual(second, { ...first, "log-level": "debug" });

  const third = reload(second, () => {
    throw new Error("--workers: 0 is not a number");
  });
  assert.equal(third, second);
  // The files that settings name are read again all the same.
  assert.deepEqual(levels, ["debug", "debug"]);
  assert.deepEqual(
    [lines[1]?.["msg"], lines[1]?.["reason"]],
    ["settings not reloaded", "--workers: 0 is not a number"],
  );
});

for (const [before, after] of [
  ["warn", "info"],
  ["info", "warn"],
] as const) {
  it(`a reload from ${before} to ${after} is logged once, though one of the levels leaves such lines out`, () => {
    const lines: string[] = [];
    const log = pino({ base: null, level: before }, { write: (line: string) => void lines.push(line) });
    reloadSettings({
      log,
      before: { "log-level": before },
      read: () => ({ "log-level": after }),
      apply: (level) => (log.level = level),
    });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /settings read again/);
  });
}

it("a reload applies the settings that say so", () => {
  const reloadable = Object.entries(serveFlags).filter(([, flag]) => "isReloadable" in flag);
  assert.deepEqual(
    reloadable.map(([name]) => name),
    ["log-level"],
  );
});
