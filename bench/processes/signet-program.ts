import { join } from "node:path";

/**
 * The file of the program `signet`, for a process of its own. The whole test suite runs the bundle that `test/global-setup.ts`
 * makes. Default: the checkout's sources, so that a change takes effect at once.
 */
export const signetProgram = process.env["SIGNET_TEST_PROGRAM"] ?? join(import.meta.dirname, "../../src/main.js");
