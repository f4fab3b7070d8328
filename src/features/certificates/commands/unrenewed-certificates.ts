import type { Names } from "../../../machinery/api/names.ts";
import { latestRecall } from "../bundles/recall.ts";
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
  const ofSigners = Map.groupBy(bundles, ({ spec }) => ownSignerName(names, spec.signerName ?? ""));
  const recalls = new Map([...ofSigners].map(([signerName, own]) => [signerName, latestRecall(own, { names, now })]));
  const newest = new Map<string, IssuedCertificate>();
  for (const record of records) {
    const owner = ownerOf(record, names);
    if (issuedAt(record) >= issuedAt(newest.get(owner))) newest.set(owner, record);
  }
  const unreplaced = new Set(newest.values());
  return records.filter(
    (record) =>
      issuedAt(record) < (recalls.get(ownSignerName(names, record.spec.signerName)) ?? 0) &&
      Date.parse(record.spec.notAfter) > now &&
      unreplaced.has(record),
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
