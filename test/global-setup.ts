import { join } from "node:path";
import { bundleProgram } from "../tools/package/program-bundle.ts";

const folder = join(import.meta.dirname, "../node_modules/.cache/program");

/**
 * Runs once before all test files, which inherit the environment. Hundreds of processes run `signet`: as the bundle that is
 * installed, each starts with less than half of the processor time that it takes with the sources.
 */
export async function globalSetup(): Promise<void> {
  await bundleProgram(folder);
  process.env["SIGNET_TEST_PROGRAM"] = join(folder, "main.js");
}
