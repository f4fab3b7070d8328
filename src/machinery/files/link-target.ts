import { lstatSync, readlinkSync } from "node:fs";

/** The target of a symbolic link, as it was written. Undefined if the path does not exist or is not a symbolic link. */
export const linkTarget = (path: string): string | undefined =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
