import { randomBytes } from "node:crypto";
import { renameSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { flushFolder } from "./atomic-file.ts";

/** Changes the target of a symbolic link. A reader, or a crash at any point, finds either the old or the new target. */
export function replaceLink(link: string, target: string): void {
  const temporary = `${link}.${randomBytes(6).toString("hex")}.new`;
  symlinkSync(target, temporary);
  renameSync(temporary, link);
  flushFolder(dirname(link));
}
