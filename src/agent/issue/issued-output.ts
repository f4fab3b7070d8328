import { lstatSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { flushFolder } from "../../machinery/files/atomic-file.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { makeFolder } from "../../machinery/files/folders/make-folder.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import type { CertificateOutput, FolderPart } from "../files/certificate-output.ts";

/** The files of `signet certificates issue`. Without `keyOut`, everything is in `out`. */
export interface IssuedFiles {
  readonly out: string;
  readonly keyOut: string | undefined;
  readonly chainOut: string | undefined;
}

/** Where the files of a certificate are written, and the links that lead there. */
export interface IssuedOutput {
  readonly output: CertificateOutput;
  /**
   * Makes the missing links, and returns their names. Call it before the output is written. Throws UnusableFile, or the system's error,
   * when a link cannot be made, or when something else is in its place.
   */
  link(): readonly string[];
}

const ownership = { mode: 0o600 };

/**
 * Where the files are written. One file is replaced by a rename. Several files are links into a folder in `stateFolder`, where one rename
 * changes all of them. Throws UsageError when something else is in the place of a link, because two files cannot be replaced at the same
 * moment.
 */
export function issuedOutput({ out, keyOut, chainOut }: IssuedFiles, stateFolder: string): IssuedOutput {
  if (keyOut === undefined) return { output: { type: "pem", file: resolve(out), ownership }, link: () => [] };
  const folder = join(stateFolder, "files");
  const parts: readonly (readonly [flag: string, file: string, part: FolderPart])[] = [
    ["out", out, chainOut === undefined ? "fullChain" : "certificate"],
    ["key-out", keyOut, "key"],
    ...(chainOut === undefined ? [] : [["chain-out", chainOut, "chain"] as const]),
  ];
  const links = parts.map(([flag, file, part]) => ({
    flag,
    file: resolve(file),
    target: relative(dirname(resolve(file)), join(folder, `${part}.pem`)),
  }));
  if (new Set(links.map(({ file }) => file)).size < links.length) {
    throw new UsageError("--out, --key-out, --chain-out: name a file of its own for each");
  }
  for (const { flag, file, target } of links) {
    if (!isMissing(file) && linkTarget(file) !== target) {
      throw new UsageError(
        `--${flag}: ${file} is there already, and several files cannot be replaced at the same moment: ` +
          `move it away, or leave out --key-out to write one file`,
      );
    }
  }
  return {
    output: {
      type: "folder",
      folder,
      names: Object.fromEntries(parts.map(([, , part]) => [part, `${part}.pem`])),
      ownership,
    },
    link() {
      const missing = links.filter(({ file }) => isMissing(file));
      for (const { file, target } of missing) {
        makeFolder(dirname(file), { mode: 0o755 });
        symlinkSync(target, file);
        flushFolder(dirname(file));
      }
      const replaced = links.find(({ file, target }) => linkTarget(file) !== target);
      if (replaced !== undefined) {
        throw new UnusableFile(`${replaced.file} is not the link to ${replaced.target} any more: move it away`);
      }
      return missing.map(({ file }) => file);
    },
  };
}

/** The folder, beside the certificate, with the keys and what a later run needs to continue. */
export const stateFolderOf = (name: string, { out }: IssuedFiles): string =>
  join(dirname(resolve(out)), `.signet-${basename(name)}`);

const isMissing = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) === undefined;
