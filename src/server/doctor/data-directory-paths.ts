import { existsSync, statSync } from "node:fs";
import { generatedAuthoritiesFolder } from "../../features/certificates/authorities/generated-authorities.ts";
import { join } from "node:path";
import { namesIn } from "../data-directory/data-directory-files.ts";

const folders = ["", generatedAuthoritiesFolder, "store"];

/** The files of a data directory, by their paths relative to it. */
export function dataDirectoryPaths(directory: string): string[] {
  return (
    namesIn(directory, folders)
      // A running server replaces files, and removes its temporary files. A link may be circular.
      .filter((path) => existsSync(join(directory, path)))
      .filter((path) => statSync(join(directory, path), { throwIfNoEntry: false })?.isFile() === true)
      .toSorted()
  );
}
