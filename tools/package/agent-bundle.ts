import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { signetVersionText } from "./signet-version-text.ts";

const root = join(import.meta.dirname, "../..");

/** The agent as one file, and the licences that must be distributed with it. */
export interface AgentBundle {
  /** CommonJS for Node.js 20 and later, because a single executable takes nothing else, and it needs less memory than ES modules. */
  readonly program: string;
  /** The licence of each package in it. */
  readonly licences: string;
}

/** The oldest Node.js that runs the bundle. Debian 13 has it. */
export const oldestNodeMajor = 20;

/** Joins the agent and the packages that it imports. The same sources make the same bytes. */
export async function bundleAgent(): Promise<AgentBundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/signet-agent.ts"],
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "cjs",
    target: `node${oldestNodeMajor}`,
    // Names stay, for stack traces. White space and comments go, because they would take memory in every agent.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none", // the licences go beside it
    logLevel: "error",
    logOverride: { "empty-import-meta": "error" },
    plugins: [signetVersionText],
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error("esbuild wrote nothing");
  return { program: output.text, licences: licencesOf(Object.keys(metafile.inputs)) };
}

/** The names and licence texts of the packages that contain these files. */
function licencesOf(files: readonly string[]): string {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Record<
        string,
        string
      >; // npm's own format
      return `${name} ${version} (${license})\n\n${licenceText(join(root, folder)).trim()}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}

function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(\.|$)/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no licence text, and cannot be handed on`);
  return readFileSync(join(folder, file), "utf8");
}
