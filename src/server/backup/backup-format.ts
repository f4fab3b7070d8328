import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { noBytes } from "../../machinery/api/bytes/no-bytes.ts";
import { parseJsonObject } from "../../machinery/api/json/json-object.ts";
import type { JsonObject } from "../../machinery/api/json/json-object.ts";
import type { Profile } from "../../machinery/api/names.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { isObjectKey } from "../../machinery/storage/copy-objects.ts";
import type { CopiedObject } from "../../machinery/storage/copy-objects.ts";

/**
 * A backup is JSON lines, compressed with gzip: a header, the files of the data directory, the objects, and an end with a count and a
 * digest of the lines before it. `zcat FILE | jq` shows it.
 */
export interface BackupHeader {
  readonly format: "signet-backup";
  readonly version: 1;
  /** The version of Signet that wrote it. */
  readonly signet: string;
  readonly time: string;
  readonly profile: Profile;
  /** The revision of the store from which the objects were read. */
  readonly revision: number;
  /** The names of private keys that were left out. */
  readonly withoutKeys: readonly string[];
}

/** No server reaches this revision. A restored store continues above it, and has 48 bits. */
export const largestRevision = 2 ** 47;

/** A file of the data directory. */
export interface BackupFileEntry {
  /** Its path in the data directory, such as `signers/web.key`. */
  readonly file: string;
  readonly text: string;
}

/** The CA of a signer has a colon in its name: `example.com:services.key`. */
const keptFile = /^(?:signers\/)?(?=.{1,255}$)(?:[\w-][\w.:-]*\.(?:crt|key)|client-authorities\.json)$/;

/** Whether a backup holds a file of this name. None is outside the data directory, or too long for a file system. */
export const isKeptFile = (file: string): boolean => keptFile.test(file);

export type BackupItem =
  | { readonly type: "header"; readonly header: BackupHeader }
  | { readonly type: "file"; readonly file: BackupFileEntry }
  | { readonly type: "object"; readonly object: CopiedObject };

interface DamagedBackupOptions extends ErrorOptions {
  /** What to do next. */
  readonly advice?: string;
}

/** A file is not a backup, or a backup is incomplete or changed. The message is for people. */
export class DamagedBackup extends Error {
  override readonly name = "DamagedBackup";

  constructor(
    reason: string,
    { advice = "name a whole file of signet backup", ...options }: DamagedBackupOptions = {},
  ) {
    super(`${reason}; ${advice}`, options);
  }
}

/** Counts the lines and computes their digest. The writer and the reader both do so, and the reader compares. */
class Tally {
  readonly #hash: Hash = createHash("sha256");
  files = 0;
  objects = 0;

  add(line: string, item: BackupItem): void {
    this.#hash.update(line);
    if (item.type === "file") this.files += 1;
    if (item.type === "object") this.objects += 1;
  }

  end(): string {
    return `${JSON.stringify({ end: { files: this.files, objects: this.objects, sha256: this.#hash.digest("hex") } })}\n`;
  }
}

/** The lines of a backup, each with its line break. */
export async function* formatBackup(items: AsyncIterable<BackupItem>): AsyncIterable<string> {
  const tally = new Tally();
  for await (const item of items) {
    const line = `${JSON.stringify(lineOf(item))}\n`;
    tally.add(line, item);
    yield line;
  }
  yield tally.end();
}

/** The JSON form of an item. A value in UTF-8 becomes a text. Other bytes become base64, because a text would change them. */
function lineOf(item: BackupItem): object {
  if (item.type === "header") return item.header;
  if (item.type === "file") return item.file;
  const { key, value } = item.object;
  const text = value.toString("utf8");
  return Buffer.from(text).equals(value) ? { key, value: text } : { key, base64: value.toString("base64") };
}

/**
 * Parses the lines of a backup, without line breaks. Callers must read to the end, because only the end proves that no line is missing or
 * changed. Throws DamagedBackup.
 */
export async function* parseBackup(lines: AsyncIterable<string>): AsyncIterable<BackupItem> {
  const tally = new Tally();
  let isFirst = true;
  let isEnded = false;
  let lastKey = noBytes;
  const files = new Set<string>();
  for await (const line of lines) {
    if (isEnded) throw new DamagedBackup("there is more after its end");
    const fields = parseJsonObject(line);
    if (fields === undefined) throw notABackup();
    if (Object.hasOwn(fields, "end")) {
      if (tally.end() !== `${line}\n`)
        throw new DamagedBackup("its checksum is wrong: it was changed after it was made");
      isEnded = true;
      continue;
    }
    const item = isFirst ? headerOf(fields) : itemOf(fields);
    isFirst = false;
    if (item.type === "object") {
      const key = Buffer.from(item.object.key);
      if (Buffer.compare(lastKey, key) >= 0)
        throw new DamagedBackup("its objects are not in order, or one is twice in it");
      lastKey = key;
    }
    if (item.type === "file") {
      const { file } = item.file;
      if (files.has(file)) throw new DamagedBackup(`it has the file ${JSON.stringify(file)} twice`);
      files.add(file);
    }
    tally.add(`${line}\n`, item);
    yield item;
  }
  if (!isEnded) throw new DamagedBackup("its end is missing: it was not written or copied to the end");
}

function headerOf({ format, version, profile, revision, withoutKeys, signet, time }: JsonObject): BackupItem {
  if (format !== "signet-backup") throw notABackup();
  if (version !== 1) {
    throw new DamagedBackup(`it has version ${JSON.stringify(version)}`, {
      advice: "restore it with the Signet that made it, or a later one",
    });
  }
  const isWhole =
    (profile === "platform" || profile === "kubernetes") &&
    isPlainText(signet) &&
    isPlainText(time) &&
    typeof revision === "number" &&
    Number.isInteger(revision) &&
    revision >= 1 &&
    revision <= largestRevision &&
    Array.isArray(withoutKeys) &&
    withoutKeys.every(isPlainText);
  if (!isWhole) throw new DamagedBackup("its first line is damaged");
  return { type: "header", header: { format: "signet-backup", version, signet, time, profile, revision, withoutKeys } };
}

const notABackup = (): DamagedBackup => new DamagedBackup("it is not a backup of Signet");

/** Whether a value is a text that may be shown on a terminal. */
const isPlainText = (value: unknown): value is string => typeof value === "string" && printable(value) === value;

function itemOf({ file, text, key, value, base64 }: JsonObject): BackupItem {
  if (typeof file === "string" && typeof text === "string") {
    if (!isKeptFile(file)) throw new DamagedBackup(`it has the file ${printable(JSON.stringify(file.slice(0, 300)))}`);
    return { type: "file", file: { file, text } };
  }
  if (typeof key === "string" && isObjectKey(key)) {
    if (typeof value === "string") return { type: "object", object: { key, value: Buffer.from(value) } };
    if (typeof base64 === "string") return { type: "object", object: { key, value: Buffer.from(base64, "base64") } };
  }
  throw new DamagedBackup("one of its lines is damaged");
}
