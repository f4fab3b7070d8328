import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { endsWithParent } from "../../bench/ends-with-parent.ts";

const root = join(import.meta.dirname, "../..");

/** The block that the README asks to paste, and what it says is printed after npm's own lines. */
export function frontPage(): { readonly block: string; readonly output: string } {
  const [, block = "", output = ""] =
    /```sh\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  return { block, output };
}

export const shells = { bash: ["bash", "--norc"], zsh: ["zsh", "-f"] } as const;

export interface Pasted {
  /** What was printed after npm's own lines. */
  readonly output: string;
  /** Everything, for a message. */
  readonly transcript: string;
  /** The files that the block left in its new folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Pastes the block into a shell, in a new clone of this repository's last commit, with this working tree's README. Nothing
 * is replaced: npm installs from its cache, else from the registry. `programs` is a folder with a `node` and `npm`;
 * default: the machine's own.
 */
export function pasteFrontPage(shell: readonly string[], { programs }: { readonly programs?: string } = {}): Pasted {
  const place = mkdtempSync(join(tmpdir(), "signet-front-page-"));
  try {
    const checkout = join(place, "the checkout");
    const temporary = join(place, "tmp");
    mkdirSync(temporary);
    spawnSync("git", ["clone", "--quiet", root, checkout]);
    const [program, ...args] = [...endsWithParent, ...shell];
    const ownPath = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
    const { stdout, stderr } = spawnSync(program ?? "", args, {
      cwd: checkout,
      input: `${frontPage().block}kill $!\nwait\n`,
      encoding: "utf8",
      timeout: 600_000,
      env: {
        PATH: [...(programs === undefined ? [] : [programs]), ...ownPath].join(delimiter),
        HOME: process.env["HOME"] ?? place,
        TMPDIR: temporary,
        npm_config_prefer_offline: "true",
        npm_config_update_notifier: "false",
      },
    });
    const files: Record<string, string> = {};
    for (const entry of readdirSync(temporary, { recursive: true, withFileTypes: true })) {
      if (entry.isFile() && /^(?:ann\.|robot\.|signet\.log)/.test(entry.name)) {
        files[entry.name] = readFileSync(join(entry.parentPath, entry.name), "utf8");
      }
    }
    const fromTheRequestOn = stdout.slice(Math.max(0, stdout.indexOf("certificate request ann created")));
    return { output: fromTheRequestOn, transcript: `${stdout}${stderr}${files["signet.log"] ?? ""}`, files };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
