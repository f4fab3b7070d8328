/** Makes `dist`, which the package contains instead of `src`. `npm pack` runs this program by itself. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeManPages } from "./man-pages.ts";
import { bundleProgram, writeTypes } from "./program-bundle.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "dist");

// The output of a removed source file must not be packed.
rmSync(dist, { recursive: true, force: true });
await bundleProgram(dist);
writeTypes(dist);
writeManPages(join(dist, "man"));
// npm packs modes as they are, and the modes of a checkout depend on the umask of its user.
runProgram(["chmod", "-R", "u+rwX,go+rX,go-w", "bin", "dist", "package.json", "README.md", "LICENSE"]);
