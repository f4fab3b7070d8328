import { hash } from "node:crypto";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { ConfigMap } from "../../core/index.ts";

/**
 * Revocation lists are stored as ConfigMaps, so that every server of an installation serves the same bytes without needing the CA's key. A
 * list that is too large for one object is in several. The first also has the CA's certificate.
 */
const prefix = "revocation-list-";
/** Small, because each operation on an object blocks the event loop, and far below every limit on the size of an object. */
const chunkBytes = 128 * 1024;
const maximumChunks = 256;
/** Larger than every time in seconds by which a list could be numbered. */
const maximumNumber = 2 ** 46;

const keys = { list: "list", issuer: "ca.crt" } as const;

/** The name of the first ConfigMap of a CA's list, or of a part of it. */
export const storedListName = (id: string, shard: string | undefined): string =>
  shard === undefined ? prefix + id : `${prefix}${id}-${shard}`;

const chunkName = (name: string, index: number): string => (index === 0 ? name : `${name}-chunk-${index}`);

/** The list to which a ConfigMap belongs. Undefined for other ConfigMaps. */
export function parseStoredListName(
  name: string,
): { readonly name: string; readonly id: string; readonly shard: string | undefined } | undefined {
  const match = /^(revocation-list-([0-9a-f]{40})(?:-([0-9a-f]))?)(?:-chunk-\d{1,3})?$/.exec(name);
  return match === null ? undefined : { name: match[1] ?? "", id: match[2] ?? "", shard: match[3] };
}

interface StoredList {
  /** The number of the list that was last written. */
  readonly number: number;
  /** The list in DER. Undefined while some of its ConfigMaps are missing. */
  readonly der: Buffer | undefined;
  /** The digest that the DER must have. */
  readonly sha256: string;
  /** The DER of the CA's certificate. */
  readonly issuer: Buffer;
}

type FindConfigMap = (name: string) => ConfigMap | undefined;

/** Reads a list in turns of the event loop. Undefined when it does not exist. The content is not checked. */
export async function readStoredList(name: string, find: FindConfigMap): Promise<StoredList | undefined> {
  const head = find(name);
  if (head === undefined) return undefined;
  const { number, chunks, sha256 = "" } = head.data ?? {};
  const bytes = ({ binaryData }: ConfigMap, key: string): Buffer => Buffer.from(binaryData?.[key] ?? "", "base64");
  const parts: Buffer[] = [];
  const work = new LongWork();
  for (let index = 0; index < Math.min(Number(chunks), maximumChunks); index++) {
    const chunk = find(chunkName(name, index));
    if (chunk === undefined || chunk.data?.["sha256"] !== sha256) break;
    parts.push(bytes(chunk, keys.list));
    await work.pause();
  }
  const der = Buffer.concat(parts);
  const isWhole = parts.length === Number(chunks) && hash("sha256", der, "hex") === sha256;
  const read = Number(number);
  return {
    number: Number.isSafeInteger(read) && read < maximumNumber ? read : 0,
    der: isWhole ? der : undefined,
    sha256,
    issuer: bytes(head, keys.issuer),
  };
}

/** A text that changes with every write to a list's ConfigMaps. Empty without the first of them. Undefined while others are missing. */
export function storedListVersion(name: string, find: FindConfigMap): string | undefined {
  const chunks = Math.min(Number(find(name)?.data?.["chunks"]), maximumChunks);
  const versions: string[] = [];
  for (let index = 0; index < chunks; index++) {
    const version = find(chunkName(name, index))?.metadata.resourceVersion;
    if (version === undefined) return undefined;
    versions.push(version);
  }
  return versions.join();
}

/** The ConfigMaps of a list by name, including those that a shorter list no longer uses. */
export function storedChunks(name: string, find: FindConfigMap): ReadonlyMap<string, ConfigMap> {
  const found = new Map<string, ConfigMap>();
  for (let index = 0; index < maximumChunks; index++) {
    const chunk = find(chunkName(name, index));
    if (chunk !== undefined) found.set(chunkName(name, index), chunk);
  }
  return found;
}

/** The ConfigMaps of a list, in the order in which they must be written: readers wait for the last. */
export function* storedListObjects({
  name,
  namespace,
  list: { number, der, issuer },
}: {
  readonly name: string;
  readonly namespace: string;
  readonly list: Pick<StoredList, "number" | "issuer"> & { readonly der: Buffer };
}): Generator<ConfigMap> {
  const sha256 = hash("sha256", der, "hex");
  const count = Math.max(1, Math.ceil(der.length / chunkBytes));
  for (let index = count - 1; index >= 0; index--) {
    const list = der.subarray(index * chunkBytes, (index + 1) * chunkBytes).toString("base64");
    const isHead = index === 0;
    yield {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: chunkName(name, index), namespace },
      data: { sha256, ...(isHead && { number: String(number), chunks: String(count) }) },
      binaryData: { [keys.list]: list, ...(isHead && { [keys.issuer]: issuer.toString("base64") }) },
    };
  }
}
