/** The packages that an install of Signet has, and under which licence each is: npm run licences */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
}

/** The part of npm's lock file that this program reads. */
interface LockFile {
  readonly packages: Readonly<Record<string, { version: string; license?: string; dev?: boolean; name?: string }>>;
}

const folderPrefix = "node_modules/";

/** The packages that `npm install --omit=dev` installs, on all platforms together, sorted by name. */
export function dependencies(): Dependency[] {
  const text = readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8");
  const { packages } = JSON.parse(text) as LockFile; // npm's own format
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== "" && dev !== true)
    .map(([path, { name, version, license }]) => ({
      name: name ?? path.slice(path.lastIndexOf(folderPrefix) + folderPrefix.length),
      version,
      licence: license ?? "not stated",
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** One line for each package. */
export const licenceList = (): string =>
  dependencies()
    .map(({ name, version, licence }) => `${`${name} ${version}`.padEnd(48)} ${licence}\n`)
    .join("");

if (import.meta.main) process.stdout.write(licenceList());
