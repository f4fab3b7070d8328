import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { computedOnce } from "../../machinery/api/computed-once.ts";
import { checkReplaceable, writeFileAtomically } from "../../machinery/files/atomic-file.ts";
import { ownershipFault } from "../../machinery/files/file-ownership.ts";
import { removeUnfinished } from "../../machinery/files/unfinished-files.ts";
import type { FileOwnership } from "../../machinery/files/file-ownership.ts";
import { checkParentFolders } from "../../machinery/files/folders/check-parent-folders.ts";
import { makeGuardedFolder } from "../../machinery/files/folders/make-guarded-folder.ts";
import { readRegularFile } from "../../machinery/files/regular-file.ts";
import { encodeJavaKeyStore } from "../../pki/key-stores/java-key-store.ts";
import { encodePkcs12 } from "../../pki/key-stores/pkcs12.ts";
import { parsePrivateKeyPem } from "../../pki/keys/keys.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { formatKeyPair } from "../certificates/key-pair.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { checkFolder, hasLinks, writeVersion } from "./versioned-folder.ts";

/** The contents of a file in a folder, in PEM. */
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

/** The file or folder that people know an output by. */
export const outputPath = (output: CertificateOutput): string =>
  output.type === "folder" ? output.folder : output.file;

/** The folder that an output is written to. */
export const outputFolder = (output: CertificateOutput): string =>
  output.type === "folder" ? output.folder : dirname(output.file);

/** Throws UnusableFile when another user could change where an output is written, or when it would replace something other than a file. */
export function checkPlace(output: CertificateOutput): void {
  const folder = outputFolder(output);
  checkParentFolders(folder, output.ownership);
  if (output.type !== "folder") checkReplaceable(output.file);
  else if (existsSync(folder)) checkFolder(folder, Object.values(output.names));
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

/**
 * The contents of stores by their pair, because deriving the keys of a store takes up to a tenth of a second, and the files are checked
 * every minute.
 */
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

interface WrittenOutput {
  /** The digest of the contents. */
  readonly digest: string;
  /** Whether something was written. False: everything was right already. */
  readonly isChanged: boolean;
}

/**
 * Writes a pair to an output, unless it is there already. At any moment, even after a crash, readers find files that belong together.
 * Throws UnusableFile that names the file.
 */
export function writeCertificateOutput(output: CertificateOutput, pair: KeyPair): WrittenOutput {
  const contents = contentsOf(output, pair);
  const isChanged =
    [...contents].some(([file, bytes]) => !isWritten(file, { bytes, ownership: output.ownership })) ||
    (output.type === "folder" && !hasLinks(output.folder, Object.values(output.names)));
  if (isChanged && output.type === "folder") {
    const byName = new Map([...contents].map(([file, bytes]) => [relative(output.folder, file), bytes]));
    writeVersion(output.folder, { contents: byName, ownership: output.ownership });
  } else if (isChanged) for (const [file, bytes] of contents) writeFile(file, { bytes, ownership: output.ownership });
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
    // Also compares the owner: a wrong owner would stay until the next renewal, and the service could then not read its key.
    return found?.contents.equals(bytes) === true && ownershipFault(found.status, ownership) === undefined;
  } catch {
    return false; // the write tells what is wrong
  }
}

function writeFile(file: string, { bytes, ownership }: FileContents): void {
  makeGuardedFolder(dirname(file), { mode: 0o755, uid: ownership.uid });
  writeFileAtomically(file, { contents: bytes, ...ownership, isOwnershipKept: true });
  removeUnfinished(file); // unfinished files hold keys
}
