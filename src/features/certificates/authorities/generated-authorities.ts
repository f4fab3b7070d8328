import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { makeFolder } from "../../../machinery/files/folders/make-folder.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { RotatableAuthority } from "./rotatable-authority.ts";
import type { RotationContext } from "./rotatable-authority.ts";

export interface GeneratedAuthoritiesOptions extends RotationContext {
  readonly dataDirectory: string;
  readonly clock: Clock;
}

/** The properties of a CA that does not exist yet. */
interface GeneratedAuthority {
  readonly signerName: string;
  readonly commonName: string;
  readonly lifetimeMilliseconds: number;
}

/** The folder of generated CAs in the data directory. */
export const generatedAuthoritiesFolder = "signers";
/** Colons replace slashes, because neither the domain nor the path of a signer's name has a colon. */
const fileNameOf = (signerName: string): string => signerName.replaceAll("/", ":");
/** The name of the CA whose files have this name, without extension. */
export const signerNameOf = (fileName: string): string => fileName.replaceAll(":", "/");

/** The CAs in the data directory for signers of `--signer-config`. Each is made on first use, and can be rotated like the others. */
export class GeneratedAuthorities {
  readonly #options: GeneratedAuthoritiesOptions;
  /** Every CA that was opened, by the name of its signer. They follow the store until the process ends. */
  readonly #opened = new Map<string, RotatableAuthority>();

  constructor(options: GeneratedAuthoritiesOptions) {
    this.#options = options;
  }

  has(signerName: string): boolean {
    const file = join(this.#options.dataDirectory, generatedAuthoritiesFolder, `${fileNameOf(signerName)}.crt`);
    return this.#opened.has(signerName) || existsSync(file);
  }

  /** Opens the CA of a signer, and makes it on first use. Throws UnusableFile, UsageError or PkiError for files that can't be used. */
  of({ signerName, ...generate }: GeneratedAuthority): RotatableAuthority {
    const known = this.#opened.get(signerName);
    if (known !== undefined) return known;
    const folder = join(this.#options.dataDirectory, generatedAuthoritiesFolder);
    makePrivateFolder(folder);
    const files = { dataDirectory: folder, baseName: fileNameOf(signerName), name: signerName };
    const opened = new RotatableAuthority({ ...this.#options, ...generate, ...files });
    this.#opened.set(signerName, opened);
    return opened;
  }

  /** Whether `signet ca retire` ended the trust in this CA. */
  isRetired(certificate: Certificate): boolean {
    return [...this.#opened.values()].some((authority) => authority.isRetired(certificate));
  }
}

/** The path of the files of each existing CA, without extension, by the name of its signer. */
export function generatedAuthorityFiles(dataDirectory: string): ReadonlyMap<string, string> {
  const folder = join(dataDirectory, generatedAuthoritiesFolder);
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".crt")) : [];
  const names = files.map((file) => file.slice(0, -".crt".length)).toSorted();
  return new Map(names.map((name) => [signerNameOf(name), join(folder, name)]));
}

function makePrivateFolder(folder: string): void {
  makeFolder(folder, { mode: 0o700 });
  // A symbolic link could redirect the keys to another folder.
  if (!lstatSync(folder).isDirectory()) throw new UnusableFile(`${folder} is not a folder: remove it`);
}
