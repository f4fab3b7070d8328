import { parseCertificate, type Certificate } from "./certificate.ts";
import { decodePemBlocks } from "./pem.ts";
import { PkiError } from "./pki-error.ts";

export const maximumTrustBundleBytes = 1024 * 1024;

/**
 * The rules of a ClusterTrustBundle's `spec.trustBundle`: at least one anchor, every block a `CERTIFICATE` without headers
 * that parses and has the CA flag, none twice. Returns the faults of all entries, or, when every entry is good by itself,
 * those of the whole (upstream: certificates' validateTrustBundle). How large a bundle may be is `maximumTrustBundleBytes`.
 */
export function validateTrustAnchors(pem: string): string[] {
  const faults: string[] = [];
  const indicesByAnchor = new Map<string, number[]>();
  const blocks = decodePemBlocks(pem);
  for (const [index, block] of blocks.entries()) {
    if (block.type !== "CERTIFICATE") {
      faults.push(`entry ${index} has bad block type: ${block.type}`);
      continue;
    }
    if (block.headers.size > 0) {
      faults.push(`entry ${index} has PEM block headers`);
      continue;
    }
    const certificate = tryParse(block.bytes);
    if (certificate === undefined) {
      faults.push(`entry ${index} does not parse as X.509`);
      continue;
    }
    if (!certificate.isCA) {
      faults.push(`entry ${index} does not have the CA bit set`);
      continue;
    }
    const anchor = block.bytes.toString("latin1");
    const indices = indicesByAnchor.get(anchor);
    if (indices === undefined) indicesByAnchor.set(anchor, [index]);
    else indices.push(index);
  }
  // A bad entry may be the cause of a missing or a double anchor: one fault at a time.
  if (faults.length > 0) return faults;
  if (blocks.length === 0) return ["at least one trust anchor must be provided"];
  for (const indices of indicesByAnchor.values()) {
    if (indices.length > 1) faults.push(`duplicate trust anchor (indices [${indices.join(" ")}])`);
  }
  return faults;
}

function tryParse(der: Buffer): Certificate | undefined {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

/** The certificates of a PEM text, blocks of other types left out. Throws PkiError when one does not parse. */
export const parseCertificatesPem = (pem: string | Uint8Array): Certificate[] =>
  decodePemBlocks(pem)
    .filter(({ type }) => type === "CERTIFICATE")
    .map(({ bytes }) => parseCertificate(bytes));
