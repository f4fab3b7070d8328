/** Makes `dist`, what the package has in place of `src`; `npm pack` runs this by itself. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

// The file of a source that is gone must not be packed.
rmSync(join(root, "dist"), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["--project", "tsconfig.package.json"], { cwd: root, stdio: "inherit" });
process.exitCode = status === 0 ? 0 : 1;
