import { lstatSync, readlinkSync } from "node:fs";

/** The path that a symbolic link has, as it was written. Undefined where there is nothing, or something that is no link. */
export const linkTarget = (path: string): string | undefined =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
