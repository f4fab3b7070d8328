import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { endsWithParent } from "../../bench/processes/ends-with-parent.ts";
import { cloneWithChanges } from "./clone-with-changes.ts";

const root = join(import.meta.dirname, "../..");

/** The block that the README asks to paste, and the output that it promises after npm's own lines. */
export function frontPage(): { readonly block: string; readonly output: string } {
  const [, block = "", output = ""] =
    /```sh\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  return { block, output };
}

export const shells = { bash: ["bash", "--norc"], zsh: ["zsh", "-f"] } as const;

/** The PATH of a user without a checkout: `node` is the machine's own. */
export const ownPath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

export interface Pasted {
  /** What was printed after npm's own lines. */
  readonly output: string;
  /** The whole output, for an error message. */
  readonly transcript: string;
  /** What `npm pack` made. */
  readonly tarball: string;
  /** The folder with `node_modules` and the files that the block wrote. Undefined: the block failed before the install. */
  readonly folder: string | undefined;
  remove(): void;
}

/**
 * Pastes the block into a shell, in a new clone of this repository with the changes of this working tree. Nothing is
 * replaced: npm installs from its cache, else from the registry. `programs` is a folder with a `node` and `npm`; default:
 * the machine's own.
 */
export function pasteFrontPage(shell: readonly string[], { programs }: { readonly programs?: string } = {}): Pasted {
  const place = mkdtempSync(join(tmpdir(), "signet-front-page-"));
  const remove = (): void => rmSync(place, { recursive: true, force: true });
  try {
    return { ...pasteInto(place, { shell, programs }), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

interface Paste {
  readonly shell: readonly string[];
  readonly programs: string | undefined;
}

function pasteInto(place: string, { shell, programs }: Paste): Omit<Pasted, "remove"> {
  const checkout = join(place, "the checkout");
  const temporary = join(place, "tmp");
  mkdirSync(temporary);
  cloneWithChanges(root, checkout);
  const [program, ...args] = [...endsWithParent, ...shell];
  const { stdout, stderr } = spawnSync(program ?? "", args, {
    cwd: checkout,
    input: `${frontPage().block}kill $!\nwait\n`,
    encoding: "utf8",
    timeout: 600_000,
    env: {
      PATH: programs === undefined ? ownPath : `${programs}${delimiter}${ownPath}`,
      HOME: process.env["HOME"] ?? place,
      TMPDIR: temporary,
      npm_config_prefer_offline: "true",
      npm_config_update_notifier: "false",
    },
  });
  const folder = readdirSync(temporary)
    .map((name) => join(temporary, name))
    .find((one) => existsSync(join(one, "node_modules")));
  const log = join(folder ?? temporary, "signet.log");
  return {
    output: stdout.slice(Math.max(0, stdout.indexOf("certificate request ann created"))),
    transcript: `${stdout}${stderr}${existsSync(log) ? readFileSync(log, "utf8") : ""}`,
    tarball: join(checkout, readdirSync(checkout).find((name) => name.endsWith(".tgz")) ?? ""),
    folder,
  };
}
