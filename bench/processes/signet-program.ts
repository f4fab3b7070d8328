import { join } from "node:path";

/**
 * The file of the program `signet`, for a process of its own. The whole suite runs the one that `test/global-setup.ts` has
 * bundled. Default: the checkout's sources, of which a change is seen at once.
 */
export const signetProgram = process.env["SIGNET_TEST_PROGRAM"] ?? join(import.meta.dirname, "../../src/main.js");
