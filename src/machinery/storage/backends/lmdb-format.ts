import { getLastVersion } from "lmdb";
import type { Database, RootDatabase } from "lmdb";
import { jsonFields } from "../../api/json/json-object.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";

/** Format 1 has no checksums. The first write into a store of format 1 converts it to format 2. */
const formatVersion = 2;
const readableVersions: readonly unknown[] = [1, formatVersion];

/** The part of an environment that has the format. */
interface FormatTables {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** See LmdbEnvironment. */
  readonly meta: Database<Buffer, string>;
}

/** The format that a store records, as JSON; undefined before the store is first opened. */
export const storedFormat = ({ meta }: Pick<FormatTables, "meta">): string | undefined =>
  meta.get("format")?.toString();

/** Checks the format of a store, and writes that of a new one. Throws for another version, and for another profile. */
export function checkFormat(
  { root, meta }: FormatTables,
  { profile, firstRevision }: { readonly profile: string; readonly firstRevision: number },
): void {
  const stored = root.transactionSync(() => {
    const format = storedFormat({ meta });
    if (format !== undefined) return format;
    const compacted = firstRevision === 1 ? 0 : firstRevision;
    meta.putSync("revision", noBytes, firstRevision);
    meta.putSync("compacted", noBytes, compacted);
    meta.putSync("swept", noBytes, compacted);
    meta.putSync("format", encodeFormat(profile), formatVersion);
    return undefined;
  });
  checkProfile(stored, profile);
}

/** Throws when the stored format belongs to another profile, or has another version. */
export function checkProfile(stored: string | undefined, profile: string): void {
  if (stored === undefined) return;
  const found = String(profileOf(stored));
  if (found !== profile) {
    throw new Error(
      `the store has the names of the profile ${found}, not ${profile}: start with --profile ${found}, or with another --data-dir`,
    );
  }
}

/** The profile in the stored format. Throws when the format has another version. */
export function profileOf(stored: string): unknown {
  const { version, profile } = jsonFields(JSON.parse(stored));
  if (!readableVersions.includes(version)) {
    throw new Error(`the store has format ${String(version)}; this version reads ${readableVersions.join(" and ")}`);
  }
  return profile;
}

const encodeFormat = (profile: unknown): Buffer => Buffer.from(JSON.stringify({ version: formatVersion, profile }));

/**
 * Returns the format to write with the first records that this version adds to a store of format 1: older versions, which know only format
 * 1, then refuse the store. Undefined: the store has the newest format already.
 */
export function newFormat({ meta }: Pick<FormatTables, "meta">): FormatRecord | undefined {
  const stored = meta.getBinaryFast("format");
  if (stored === undefined || getLastVersion() === formatVersion) return undefined;
  return { value: encodeFormat(profileOf(stored.toString("utf8", 0, stored.length))), version: formatVersion };
}

/** The record's LMDB version is the format's. */
interface FormatRecord {
  readonly value: Buffer;
  readonly version: number;
}
