import { createHash, randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { computedOnce } from "../machinery/api/computed-once.ts";
import {
  isUnfinishedFile,
  checkReplaceable,
  flushFolder,
  ownershipFault,
  removeUnfinished,
  replaceLink,
  writeFileAtomically,
} from "../machinery/files/atomic-file.ts";
import type { FileOwnership } from "../machinery/files/atomic-file.ts";
import { checkParentFolders } from "../machinery/files/check-parent-folders.ts";
import { linkTarget } from "../machinery/files/link-target.ts";
import { makeFolder } from "../machinery/files/make-folder.ts";
import { readRegularFile } from "../machinery/files/regular-file.ts";
import { fileFailureReason, UnusableFile } from "../machinery/files/unusable-file.ts";
import { encodeJavaKeyStore } from "../pki/java-key-store.ts";
import { encodePkcs12 } from "../pki/pkcs12.ts";
import { parsePrivateKeyPem } from "../pki/keys.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../pki/certificates-pem.ts";
import { formatKeyPair } from "./key-pair.ts";
import type { KeyPair } from "./key-pair.ts";

/** What a file of a folder contains, each as PEM. */
export type FolderPart = "key" | "certificate" | "chain" | "fullChain";

/** Where and how a certificate is written for the program that uses it. */
export type CertificateOutput = { readonly ownership: FileOwnership } & (
  | { /** The key, then the certificate, then its chain. */ readonly type: "pem"; readonly file: string }
  | {
      readonly type: "pkcs12" | "jks";
      readonly file: string;
      readonly alias: string;
      readonly passwordFile: string;
      /** Reads the file. */
      readonly password: () => string;
    }
  /** Links with fixed names into a folder of the newest version. One rename changes all of them. */
  | {
      readonly type: "folder";
      readonly folder: string;
      readonly names: Readonly<Partial<Record<FolderPart, string>>>;
    }
);

/** The name of the link to the newest version, as in the volumes of Kubernetes. */
const currentLink = "..data";
const versionPattern = /^\.\.\d{4}-[\d-]+\.[0-9a-f]{8}$/;

/** The file or folder that people know an output by. */
export const outputPath = (output: CertificateOutput): string =>
  output.type === "folder" ? output.folder : output.file;

/** The folder that an output is written to. */
export const outputFolder = (output: CertificateOutput): string =>
  output.type === "folder" ? output.folder : dirname(output.file);

/** Throws UnusableFile when another user decides where an output is written, or it would replace something else than a file. */
export function checkPlace(output: CertificateOutput): void {
  const folder = outputFolder(output);
  checkParentFolders(folder, output.ownership);
  if (output.type !== "folder") checkReplaceable(output.file);
  else if (existsSync(folder)) checkFolder(folder);
}

/** The contents of an output: the same bytes for the same pair. Secret. */
function contentsOf(output: CertificateOutput, pair: KeyPair): ReadonlyMap<string, Buffer> {
  switch (output.type) {
    case "pem":
      return new Map([[output.file, Buffer.from(formatKeyPair(pair))]]);
    case "folder":
      return new Map(
        Object.entries(output.names).map(([part, name]) => [
          join(output.folder, name),
          // The keys of `names` are parts.
          Buffer.from(partOf(pair, part as FolderPart)),
        ]),
      );
    case "pkcs12":
    case "jks":
      return new Map([[output.file, storeOf(output, pair)]]);
  }
}

type StoreOutput = Extract<CertificateOutput, { readonly type: "pkcs12" | "jks" }>;

/** Deriving the keys of a store takes up to a tenth of a second, and the files are looked at each minute. */
const madeStores = computedOnce(
  (_pair: KeyPair) => new Map<StoreOutput, { readonly password: string; readonly contents: Buffer }>(),
);

function storeOf(output: StoreOutput, pair: KeyPair): Buffer {
  const password = output.password();
  const made = madeStores(pair).get(output);
  if (made?.password === password) return made.contents;
  const encode = output.type === "pkcs12" ? encodePkcs12 : encodeJavaKeyStore;
  const contents = encode({
    alias: output.alias,
    password,
    privateKey: parsePrivateKeyPem(pair.keyPem),
    chain: parseCertificatesPem(pair.certificatePem).map(({ der }) => der),
    createdAt: pair.certificate.notBefore,
  });
  madeStores(pair).set(output, { password, contents });
  return contents;
}

function partOf({ certificate, certificatePem, keyPem }: KeyPair, part: FolderPart): string {
  switch (part) {
    case "key":
      return keyPem;
    case "certificate":
      return encodeCertificatesPem([certificate]);
    case "chain":
      return encodeCertificatesPem(parseCertificatesPem(certificatePem).slice(1));
    case "fullChain":
      return certificatePem;
  }
}

export interface WrittenOutput {
  /** The digest of the contents. */
  readonly digest: string;
  /** False: everything was as it should be already. */
  readonly isChanged: boolean;
}

/**
 * Makes an output what the pair says, unless it is already. A reader, or a crash at any point, finds files that belong
 * together. Throws UnusableFile that names the file.
 */
export function writeCertificateOutput(output: CertificateOutput, pair: KeyPair): WrittenOutput {
  const contents = contentsOf(output, pair);
  const isChanged =
    [...contents].some(([file, bytes]) => !isWritten(file, { bytes, ownership: output.ownership })) ||
    (output.type === "folder" && !hasLinks(output.folder, Object.values(output.names)));
  if (isChanged) checkPlace(output);
  if (isChanged && output.type === "folder") writeVersion(output, contents);
  else if (isChanged) for (const [file, bytes] of contents) writeFile(file, { bytes, ownership: output.ownership });
  const digest = createHash("sha256");
  for (const [file, bytes] of contents) digest.update(file).update("\0").update(bytes);
  return { digest: digest.digest("hex"), isChanged };
}

interface FileContents {
  readonly bytes: Buffer;
  readonly ownership: FileOwnership;
}

function isWritten(file: string, { bytes, ownership }: FileContents): boolean {
  try {
    const found = readRegularFile(file, { largestBytes: bytes.length });
    // Another owner would last until the next renewal, and then the service could not read its key.
    return found?.contents.equals(bytes) === true && ownershipFault(found.status, ownership) === undefined;
  } catch {
    return false; // writing it tells what is wrong
  }
}

function writeFile(file: string, { bytes, ownership }: FileContents): void {
  makeFolder(dirname(file), { mode: 0o755 });
  writeFileAtomically(file, { contents: bytes, ...ownership, isOwnershipKept: true });
  removeUnfinished(file); // they hold keys
}

const hasLinks = (folder: string, names: readonly string[]): boolean =>
  names.every((name) => linkTarget(join(folder, name)) === `${currentLink}/${name}`);

/** Writes all files into a new folder, then makes it the current one, then removes older ones but the last. */
function writeVersion(
  { folder, ownership, names }: Extract<CertificateOutput, { readonly type: "folder" }>,
  contents: ReadonlyMap<string, Buffer>,
): void {
  try {
    makeFolder(folder, { mode: 0o755 });
    checkFolder(folder);
    for (const name of Object.values(names)) checkReplaceable(join(folder, name));
    const previous = linkTarget(join(folder, currentLink));
    const version = `..${new Date().toISOString().replaceAll(/[:.T]/g, "-").slice(0, -1)}.${randomBytes(4).toString("hex")}`;
    try {
      makeFolder(join(folder, version), { mode: 0o755 });
      for (const [file, bytes] of contents) {
        const place = join(folder, version, file.slice(folder.length + 1));
        writeFileAtomically(place, { contents: bytes, ...ownership, isOwnershipKept: true, knownAs: file });
      }
      replaceLink(join(folder, currentLink), version);
    } catch (error) {
      // Each retry makes another one, and they hold keys.
      if (linkTarget(join(folder, currentLink)) !== version) {
        rmSync(join(folder, version), { recursive: true, force: true });
      }
      throw error;
    }
    const wanted = new Set(Object.values(names));
    for (const name of wanted) {
      const target = `${currentLink}/${name}`;
      const link = join(folder, name);
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(target, link);
      else if (linkTarget(link) !== target) replaceLink(link, target);
    }
    for (const name of readdirSync(folder)) {
      const isOldVersion = versionPattern.test(name) && name !== version && name !== previous;
      const isOldLink = linkTarget(join(folder, name))?.startsWith(`${currentLink}/`) === true && !wanted.has(name);
      if (isOldVersion || isOldLink || isUnfinishedFile(name)) {
        rmSync(join(folder, name), { recursive: true, force: true });
      }
    }
    flushFolder(folder);
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    throw new UnusableFile(`cannot write to ${folder}: ${fileFailureReason(error)}`, { cause: error });
  }
}

/** Refuses a folder that another user can write to: that user could choose where the key is written. */
function checkFolder(folder: string): void {
  const { uid, mode } = statSync(folder);
  const user = process.getuid?.();
  if (user === undefined) return; // Windows has no file modes
  if ((uid !== user && uid !== 0) || (mode & 0o022) !== 0) {
    throw new UnusableFile(
      `${folder} can be changed by other users: it must belong to the agent's user, with mode 0755 or less`,
    );
  }
}
