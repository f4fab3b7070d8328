import { randomBytes } from "node:crypto";
import { renameSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { flushFolder } from "./atomic-file.ts";

/** Points a symbolic link at another target so that a reader, or a crash at any point, finds the old target or the new. */
export function replaceLink(link: string, target: string): void {
  const temporary = `${link}.${randomBytes(6).toString("hex")}.new`;
  symlinkSync(target, temporary);
  renameSync(temporary, link);
  flushFolder(dirname(link));
}
