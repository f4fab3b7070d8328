import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { runProgram } from "./run-program.ts";
import { signetVersionText } from "./signet-version-text.ts";

const root = join(import.meta.dirname, "../..");

/** The source files behind the imports of `signet/...`, as package.json exports them. */
function librarySources(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, string | { "signet-source": string }>;
  }; // npm's format
  return Object.values(exports).flatMap((one) => (typeof one === "string" ? [] : [one["signet-source"]]));
}

/**
 * Writes the program and its public modules as JavaScript. Modules that are loaded together are one file, because a start that
 * reads a few files instead of hundreds takes less time and memory. Packages stay unbundled in node_modules. The same sources make
 * the same bytes.
 */
export async function bundleProgram(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/main.js", ...librarySources()],
    outbase: "src",
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

/** Writes the types of the public modules. Throws an Error with the compiler's output. */
export function writeTypes(folder: string): void {
  runProgram(["tsc", "--project", "tsconfig.package.json", "--outDir", folder]);
}
