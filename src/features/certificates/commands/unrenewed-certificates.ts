import type { Names } from "../../../machinery/api/names.ts";
import { recallOf } from "../bundles/recall.ts";
import type { ClusterTrustBundle } from "../bundles/cluster-trust-bundles.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { ownSignerName } from "../signer-names.ts";
import { joinsNodes } from "../signers/well-known-signers.ts";

interface Recalls {
  readonly names: Names;
  readonly bundles: readonly ClusterTrustBundle[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The records of the valid certificates that were issued before their signer recalled them, without those after which the same requester
 * has got another one of that signer with the same names. What is left was not renewed yet, or never will be. Keeps the order.
 */
export function unrenewedCertificates(
  records: readonly IssuedCertificate[],
  { names, bundles, now }: Recalls,
): IssuedCertificate[] {
  const recalls = new Map<string, number>();
  for (const bundle of bundles) {
    const signerName = ownSignerName(names, bundle.spec.signerName ?? "");
    const time = recallOf(bundle, names);
    // Agents do not follow one in the future.
    if (time <= now) recalls.set(signerName, Math.max(recalls.get(signerName) ?? 0, time));
  }
  const newest = new Map<string, IssuedCertificate>();
  for (const record of records) {
    const owner = ownerOf(record, names);
    if (issuedAt(record) >= issuedAt(newest.get(owner))) newest.set(owner, record);
  }
  return records.filter(
    (record) =>
      issuedAt(record) < (recalls.get(ownSignerName(names, record.spec.signerName)) ?? 0) &&
      Date.parse(record.spec.notAfter) > now &&
      newest.get(ownerOf(record, names)) === record,
  );
}

/** When it was recorded: a signer may let it begin long before. */
const issuedAt = (record: IssuedCertificate | undefined): number =>
  Date.parse(record?.metadata.creationTimestamp ?? "") || 0;

/** Who asks for a certificate, and for which names. A node's first client certificate was requested with a bootstrap token. */
function ownerOf({ spec }: IssuedCertificate, names: Names): string {
  const { username, subject, dnsNames, ipAddresses, emailAddresses, uris } = spec;
  const signerName = ownSignerName(names, spec.signerName);
  const requester = joinsNodes(names, signerName) ? "" : username;
  return JSON.stringify([signerName, requester, subject, dnsNames, ipAddresses, emailAddresses, uris]);
}
