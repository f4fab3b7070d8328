/** Makes `dist`, what the package has in place of `src`; `npm pack` runs this by itself. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeManPages } from "./man-pages.ts";

const root = join(import.meta.dirname, "../..");

// The file of a source that is gone must not be packed.
rmSync(join(root, "dist"), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["--project", "tsconfig.package.json"], { cwd: root, stdio: "inherit" });
if (status !== 0) process.exit(1);
writeManPages(join(root, "dist/man"));
// npm packs modes as they are, and those of a checkout follow the umask of whoever made it.
spawnSync("chmod", ["-R", "u+rwX,go+rX,go-w", "bin", "dist", "package.json", "README.md", "LICENSE"], { cwd: root });
