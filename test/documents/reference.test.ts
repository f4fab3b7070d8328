import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { apiPages } from "../../tools/reference/api-pages.ts";
import { commandsPage } from "../../tools/reference/commands-page.ts";
import { settingsPage } from "../../tools/reference/settings-page.ts";

const folder = join(import.meta.dirname, "../../docs/reference");
const written = (path: string): string => readFileSync(join(folder, path), "utf8");

describe("the reference", () => {
  it("matches the schemas: run `npm run docs:api` after a change", () => {
    for (const [path, text] of apiPages()) assert.equal(written(path), text, path);
  });

  it("has no kind that docs/serves.md does not name", () => {
    const serves = readFileSync(join(folder, "../serves.md"), "utf8");
    const kinds = [...written("api.md").matchAll(/^\| \[(\w+)\]/gm)].map(([, kind = ""]) => kind);
    assert.ok(kinds.length > 20, "there are kinds");
    assert.deepEqual(
      kinds.filter((kind) => !new RegExp(`\\b${kind}\\b`).test(serves)),
      [],
    );
  });

  it("has pages only for served kinds", () => {
    const pages = new Set(apiPages().keys());
    assert.deepEqual(
      readdirSync(join(folder, "api")).filter((file) => !pages.has(`api/${file}`)),
      [],
    );
  });

  it("matches the flags: run `npm run docs:settings` after a change", () => {
    assert.equal(written("settings.md"), settingsPage());
  });

  it("matches the commands: run `npm run docs:settings` after a change", () => {
    assert.equal(written("commands.md"), commandsPage());
  });
});
