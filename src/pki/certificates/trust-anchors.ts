import { parseCertificate } from "./certificate.ts";
import { eachPemBlock } from "../pem.ts";
import type { PemBlock } from "../pem.ts";
import { orPkiError, PkiError } from "../pki-error.ts";

export const maximumTrustBundleBytes = 1024 * 1024;

/** The most faults. A bad entry costs as much time as a good one, and the largest bundle has room for 17,000 bad entries. */
const maximumFaults = 1000;

/**
 * Validates a ClusterTrustBundle's `spec.trustBundle`: at least one anchor, no duplicates, and every block is a `CERTIFICATE` without
 * headers that parses and has the CA flag. Returns the faults of the entries, at most a thousand. If every entry is valid, returns the
 * faults of the bundle as a whole (upstream: certificates' validateTrustBundle). `maximumTrustBundleBytes` limits the size. Yields before
 * each entry, because thousands of entries take long.
 */
export function* findAnchorFaults(pem: string): Generator<undefined, string[]> {
  const faults: string[] = [];
  const indicesByAnchor = new Map<string, number[]>();
  let count = 0;
  for (const block of eachPemBlock(pem)) {
    yield;
    if (faults.length === maximumFaults) break;
    const index = count++;
    const fault = entryFault(block);
    if (fault !== undefined) {
      faults.push(`entry ${index} ${fault}`);
      continue;
    }
    const anchor = block.bytes.toString("latin1");
    const indices = indicesByAnchor.get(anchor);
    if (indices === undefined) indicesByAnchor.set(anchor, [index]);
    else indices.push(index);
  }
  // A bad entry may be the cause of a missing or duplicate anchor, so report the entries first.
  if (faults.length > 0) return faults;
  if (count === 0) return ["at least one trust anchor must be provided"];
  for (const indices of indicesByAnchor.values()) {
    if (indices.length > 1) faults.push(`duplicate trust anchor (indices [${indices.join(" ")}])`);
  }
  return faults;
}

function entryFault({ type, headers, bytes }: PemBlock): string | undefined {
  if (type !== "CERTIFICATE") return `has bad block type: ${type}`;
  if (headers.size > 0) return "has PEM block headers";
  const certificate = orPkiError(() => parseCertificate(bytes));
  if (certificate instanceof PkiError) return "does not parse as X.509";
  return certificate.isCA ? undefined : "does not have the CA bit set";
}
