/**
 * Writes the generated pages below docs/reference.
 *
 *   npm run docs:api       docs/reference/api.md and docs/reference/api, from the schemas of the kinds
 *   npm run docs:settings  docs/reference/settings.md and commands.md, from the flags and the commands
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { apiPages } from "./api-pages.ts";
import { commandsPage } from "./commands-page.ts";
import { settingsPage } from "./settings-page.ts";

const folder = join(import.meta.dirname, "../../docs/reference");
const [what] = process.argv.slice(2);

if (what === "api") {
  // Removes pages of kinds that are no longer served.
  rmSync(join(folder, "api"), { recursive: true, force: true });
  writePages(apiPages());
} else if (what === "settings") {
  writePages(
    new Map([
      ["settings.md", settingsPage()],
      ["commands.md", commandsPage()],
    ]),
  );
} else {
  console.error("usage: node tools/reference/write.ts api|settings");
  process.exitCode = 2;
}

function writePages(pages: ReadonlyMap<string, string>): void {
  for (const [path, text] of pages) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
