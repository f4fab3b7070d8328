import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

export interface InstalledPackage {
  /** What `npm publish` would send. */
  readonly archive: string;
  /** With all that it needs, Node.js included. */
  readonly folder: string;
  /** The program's file. */
  readonly main: string;
}

/** Packs the checkout as npm does, and installs it in a folder. */
export function installPackage(scratch: string): InstalledPackage {
  const npm = (words: readonly string[], cwd: string): unknown =>
    execFileSync("npm", words, { cwd, stdio: ["ignore", "ignore", "ignore"] });
  npm(["pack", "--pack-destination", scratch], join(import.meta.dirname, "../.."));
  const [name = ""] = readdirSync(scratch).filter((file) => file.endsWith(".tgz"));
  const archive = join(scratch, name);
  const folder = join(scratch, "installed");
  npm(["install", "--no-audit", "--no-fund", "--prefix", folder, archive], scratch);
  return { archive, folder, main: join(folder, "node_modules/signet/dist/main.js") };
}
