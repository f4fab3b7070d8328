import { rmSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "../tools/package/program-bundle.ts";

/** In node_modules, since the bundle imports packages. Each run of the tests has its own, because replacing a bundle breaks starts. */
const folder = join(import.meta.dirname, `../node_modules/.cache/program-${process.pid}`);

/**
 * Runs once before all test files, which inherit the environment. Hundreds of processes run `signet`: as the bundle that is
 * installed, each starts with less than half of the processor time that it takes with the sources.
 */
export async function globalSetup(): Promise<void> {
  await bundleProgram(folder);
  process.env["SIGNET_TEST_PROGRAM"] = join(folder, "main.js");
}

/** Runs once after all test files. */
export function globalTeardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
