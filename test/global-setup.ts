import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "../tools/package/program-bundle.ts";

/** In node_modules, since the bundle imports packages. */
const cache = join(import.meta.dirname, "../node_modules/.cache");
let folder = "";

/**
 * Runs once before all test files, which inherit the environment. Hundreds of processes run `signet`: as the bundle that is
 * installed, each starts with less than half of the processor time that it takes with the sources. Each run of the tests has a bundle of
 * its own: another one that replaced it would break starts meanwhile.
 */
export async function globalSetup(): Promise<void> {
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "program-"));
  await bundleProgram(folder);
  process.env["SIGNET_TEST_PROGRAM"] = join(folder, "main.js");
}

/** Runs once after all test files. */
export function globalTeardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
