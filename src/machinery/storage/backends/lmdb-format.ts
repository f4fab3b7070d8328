import type { Database, RootDatabase } from "lmdb";
import { jsonFields } from "../../api/json-object.ts";

const formatVersion = 1;

/** The part of an environment that has the format. */
interface FormatTables {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** See LmdbEnvironment. */
  readonly meta: Database<Buffer, string>;
}

/** What a store says of itself; undefined before it is first opened. */
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
    const nothing = Buffer.alloc(0);
    const compacted = firstRevision === 1 ? 0 : firstRevision;
    meta.putSync("revision", nothing, firstRevision);
    meta.putSync("compacted", nothing, compacted);
    meta.putSync("swept", nothing, compacted);
    meta.putSync("format", Buffer.from(JSON.stringify({ version: formatVersion, profile })), 1);
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
  if (version !== formatVersion) {
    throw new Error(`the store has format ${String(version)}; this version reads format ${formatVersion}`);
  }
  return profile;
}
