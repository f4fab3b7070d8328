import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version in package.json. */
export const signetVersion: string = packageDescription().version;

function packageDescription(): { readonly version: string } {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return JSON.parse(text) as { version: string }; // every package has a version
}
