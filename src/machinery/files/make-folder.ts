import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorCode } from "../api/thrown-error.ts";

/**
 * Creates a folder and its missing parents. Throws the system's error. Node.js's own `recursive` loops forever where
 * the system denies that the parent folder exists, as in /proc.
 */
export function makeFolder(path: string, { mode }: { readonly mode: number }): void {
  const missing: string[] = [];
  for (let folder = resolve(path); isMissing(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Another process has created it at the same moment.
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
}

const isMissing = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) === undefined && dirname(path) !== path;
