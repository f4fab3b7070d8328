import { lstatSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile, replaceLink } from "../machinery/files/atomic-file.ts";
import { makeFolder } from "../machinery/files/make-folder.ts";
import { readPrivateFile } from "../machinery/files/private-file.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import { PkiError } from "../pki/pki-error.ts";
import { formatKeyPair, parseKeyPair } from "./key-pair.ts";
import type { KeyPair } from "./key-pair.ts";

/** Which of a node's two certificates. */
export type CertificateName = "client" | "serving";

/**
 * One certificate of the agent on disk, as a kubelet keeps its own: dated files with key and certificate, and the link
 * `NAME-current.pem` to the one in use. Every file is written whole and then renamed, so that a kill at any point leaves a
 * pair that fits. The key of a request that is on its way is kept too: a restart goes on waiting for it.
 */
export class CertificateStore {
  readonly #directory: string;
  readonly #name: CertificateName;

  constructor(directory: string, name: CertificateName) {
    this.#directory = directory;
    this.#name = name;
    makeFolder(directory, { mode: 0o700 });
    for (const file of readdirSync(directory)) {
      // What a kill left in the middle of a write.
      if (file.startsWith(`${name}-`) && file.endsWith(".new")) rmSync(join(directory, file), { force: true });
    }
  }

  /** The file that others may read the pair from: it stays the same through renewals. */
  get file(): string {
    return join(this.#directory, `${this.#name}-current.pem`);
  }

  /** The pair in use, or undefined. Throws PkiError when the file holds none, UnusableFile when others can read it. */
  read(): KeyPair | undefined {
    const pem = readPrivateFile(this.file);
    return pem === undefined ? undefined : parseKeyPair(pem);
  }

  /** Makes a pair the one in use and forgets the pending key. The pair before it is kept for those that have it open. */
  install(pair: KeyPair, now: number): void {
    const previous = linkTarget(this.file);
    const dated = `${this.#name}-${new Date(now).toISOString().replaceAll(/[:.T]/g, "-").slice(0, -1)}.pem`;
    writePrivateFile(join(this.#directory, dated), formatKeyPair(pair));
    replaceLink(this.file, dated);
    this.forgetPendingKey();
    for (const file of readdirSync(this.#directory)) {
      if (this.#isDated(file) && file !== dated && file !== previous) rmSync(join(this.#directory, file));
    }
  }

  /** The key of the request that is on its way. PEM, a secret: one that others could read is none, and a new one is made. */
  pendingKey(): string | undefined {
    try {
      return readPrivateFile(this.#pendingFile);
    } catch (error) {
      if (error instanceof UnusableFile) return undefined;
      throw error;
    }
  }

  keepPendingKey(keyPem: string): void {
    writePrivateFile(this.#pendingFile, keyPem);
  }

  forgetPendingKey(): void {
    rmSync(this.#pendingFile, { force: true });
  }

  get #pendingFile(): string {
    return join(this.#directory, `${this.#name}-pending.key`);
  }

  #isDated(file: string): boolean {
    return file.startsWith(`${this.#name}-`) && /-\d{4}-[\d-]+\.pem$/.test(file);
  }
}

/** Undefined when there is no link: somebody may have put a file in its place. */
const linkTarget = (file: string): string | undefined =>
  lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(file) : undefined;

/** The pair in use; one that cannot be used counts as none, and `onFault` is told why. */
export function readUsable(store: CertificateStore, onFault: (message: string) => void): KeyPair | undefined {
  try {
    return store.read();
  } catch (error) {
    if (!(error instanceof PkiError || error instanceof UnusableFile)) throw error;
    onFault(error.message);
    return undefined;
  }
}
