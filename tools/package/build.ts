/** Makes `dist`, what the package has in place of `src`; `npm pack` runs this by itself. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeManPages } from "./man-pages.ts";
import { bundleProgram, writeTypes } from "./program-bundle.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "dist");

// The file of a source that is gone must not be packed.
rmSync(dist, { recursive: true, force: true });
await bundleProgram(dist);
writeTypes(dist);
writeManPages(join(dist, "man"));
// npm packs modes as they are, and those of a checkout follow the umask of whoever made it.
runProgram(["chmod", "-R", "u+rwX,go+rX,go-w", "bin", "dist", "package.json", "README.md", "LICENSE"]);
