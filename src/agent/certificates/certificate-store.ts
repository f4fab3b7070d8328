import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { replaceLink, writeFileAtomically, writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { makeFolder } from "../../machinery/files/folders/make-folder.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import { removeFile } from "../../machinery/files/remove-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { PkiError } from "../../pki/pki-error.ts";
import { formatKeyPair, parseKeyPair } from "./key-pair.ts";
import type { KeyPair } from "./key-pair.ts";

/** When a pair is put into use, and for which specification. */
interface Installation {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The digest of the specification with which the pair was requested. */
  readonly wantedDigest: string;
}

/**
 * The files of one certificate, as a kubelet has them: dated files with key and certificate, and the link `NAME-current.pem` to the file in
 * use. Every file is written completely and then renamed, so that a kill at any point leaves a key and its own certificate. The key of a
 * pending request is kept too, so that a restart continues to wait for it.
 */
export class CertificateStore {
  readonly #directory: string;
  readonly #name: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    makeFolder(directory, { mode: 0o700 });
  }

  /**
   * Forgets the pending key when it is the key in use already, because a kill came between the two writes: the key must not be requested
   * again.
   */
  forgetUsedKey(): void {
    const pending = this.pendingKey();
    if (pending === undefined || pending === "") return;
    if (readUnlessUnusable(this.file)?.startsWith(pending) === true) this.forgetPendingKey();
  }

  /** The file from which other programs may read the pair. Its name does not change with a renewal. */
  get file(): string {
    return join(this.#directory, `${this.#name}-current.pem`);
  }

  /** The pair in use, or undefined. Throws PkiError when the file holds no pair, UnusableFile when other users can read it. */
  read(): KeyPair | undefined {
    const pem = readPrivateFile(this.file);
    return pem === undefined ? undefined : parseKeyPair(pem);
  }

  /** The digest of the specification with which the pair in use was requested. Undefined when it is not known. */
  get wantedDigest(): string | undefined {
    return readUnlessUnusable(this.#wantedDigestFile);
  }

  /** Puts a pair into use and forgets the pending key. The previous pair is kept for programs that are just reading it. */
  install(pair: KeyPair, installation: Installation): void {
    this.#write(pair, installation);
    this.forgetPendingKey();
  }

  /** Writes the pair in use again when somebody has removed its file, or the whole folder. Returns whether the file was missing. */
  restore(pair: KeyPair, installation: Installation): boolean {
    if (existsSync(this.file)) return false;
    this.#write(pair, installation);
    return true;
  }

  #write(pair: KeyPair, { now, wantedDigest }: Installation): void {
    makeFolder(this.#directory, { mode: 0o700 });
    // Empty when an administrator has put a regular file there.
    const previous = basename(linkTarget(this.file) ?? "");
    const dated = `${this.#name}-${new Date(now).toISOString().replaceAll(/[:.T]/g, "-").slice(0, -1)}.pem`;
    // Before the write, because each retry of a failed write makes a new file.
    for (const file of readdirSync(this.#directory)) {
      if (this.#isDated(file) && file !== previous) removeFile(join(this.#directory, file));
    }
    const contents = formatKeyPair(pair);
    writeFileAtomically(join(this.#directory, dated), { contents, mode: 0o600, knownAs: this.file });
    replaceLink(this.file, dated);
    // After the pair, so that a kill between the two leads only to one more renewal. Most renewals do not change the digest, so a full disk
    // then does not keep the pair from use.
    if (this.wantedDigest !== wantedDigest) this.keepWantedDigest(wantedDigest);
  }

  keepWantedDigest(wantedDigest: string): void {
    writePrivateFile(this.#wantedDigestFile, wantedDigest);
  }

  /**
   * The key of the pending request. PEM, secret; "" demands a new key. A key that other users can read, or this user cannot, counts as
   * missing.
   */
  pendingKey(): string | undefined {
    return readUnlessUnusable(this.#pendingFile);
  }

  keepPendingKey(keyPem: string): void {
    makeFolder(this.#directory, { mode: 0o700 });
    writePrivateFile(this.#pendingFile, keyPem);
  }

  forgetPendingKey(): void {
    removeFile(this.#pendingFile);
  }

  /** Forgets the pending key, so that a new key is made: also after a restart, if the demand can be written. */
  demandNewKey(): void {
    try {
      this.keepPendingKey("");
    } catch {
      this.forgetPendingKey();
    }
  }

  get #pendingFile(): string {
    return join(this.#directory, `${this.#name}-pending.key`);
  }

  get #wantedDigestFile(): string {
    return join(this.#directory, `${this.#name}-wanted`);
  }

  /** The name of another certificate may begin with this name. */
  #isDated(file: string): boolean {
    return file.startsWith(`${this.#name}-`) && datePattern.test(file.slice(this.#name.length + 1));
  }
}

/** The names of a folder's files, by the name of their certificate. */
export function storedFiles(directory: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of readdirSync(directory)) {
    const name = filePattern.exec(file)?.[1];
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), file]);
  }
  return found;
}

const date = String.raw`\d{4}(?:-\d\d){5}-\d{3}\.pem`;
const datePattern = new RegExp(`^${date}$`);
const filePattern = new RegExp(`^(.+)-(?:current\\.pem|pending\\.key|wanted|${date})$`);

/** The pair in use. When it cannot be used, returns undefined and calls `onFault` with the reason. */
export function readUsable(store: CertificateStore, onFault: (message: string) => void): KeyPair | undefined {
  try {
    return store.read();
  } catch (error) {
    if (!(error instanceof PkiError || error instanceof UnusableFile)) throw error;
    onFault(error.message);
    return undefined;
  }
}

/** A file that cannot be read counts as missing, whatever the reason, because a new file replaces it. */
function readUnlessUnusable(file: string): string | undefined {
  try {
    return readPrivateFile(file);
  } catch {
    return undefined;
  }
}
