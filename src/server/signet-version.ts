import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version in package.json. */
export const signetVersion: string = (
  JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as { version: string }
) // no package is without one
.version;
