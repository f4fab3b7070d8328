import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { signetVersionText } from "./signet-version-text.ts";

const root = join(import.meta.dirname, "../..");

/** What `signet/...` imports, by its path below `src` and `dist`. */
const libraries = ["client", "pki", "signing", "testing"].map((name) => `library/${name}`);

/**
 * Writes the program and what others import from it as JavaScript. What is loaded together is one file: a start that reads a few
 * files instead of hundreds takes less time and memory. Packages stay what they are, in node_modules. The same sources make
 * the same bytes.
 */
export async function bundleProgram(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [
      { in: "src/main.js", out: "main" },
      ...libraries.map((name) => ({ in: `src/${name}.ts`, out: name })),
    ],
    bundle: true,
    splitting: true,
    packages: "external",
    outdir: folder,
    chunkNames: "modules/[name]-[hash]",
    platform: "node",
    format: "esm",
    target: "es2024",
    // So that the log's stack traces say where something failed.
    minify: false,
    logLevel: "error",
    plugins: [signetVersionText],
  });
}

/** Writes the types of what others import. Throws an Error with the compiler's output. */
export function writeTypes(folder: string): void {
  const { status, stdout, error } = spawnSync("tsc", ["--project", "tsconfig.package.json", "--outDir", folder], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error("the types cannot be written", { cause: error ?? stdout });
}
