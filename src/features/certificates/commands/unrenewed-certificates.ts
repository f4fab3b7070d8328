import type { Names } from "../../../machinery/api/names.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { keyTypeOf } from "../../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { latestRecall } from "../bundles/recall.ts";
import type { ClusterTrustBundle } from "../bundles/cluster-trust-bundles.ts";
import type { RevokedCertificates } from "../../revocation/index.ts";
import { recordFacts } from "../inventory/certificate-record.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { ownSignerName } from "../signer-names.ts";
import { joinsNodes } from "../signers/well-known-signers.ts";

interface Recalls {
  readonly names: Names;
  readonly bundles: readonly ClusterTrustBundle[];
  readonly revoked: RevokedCertificates;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The records of valid certificates that their signer has recalled and that nobody has renewed, in their order. A certificate is renewed
 * when its requester has a newer one of that signer with the same names. Revoked certificates are left out.
 */
export function unrenewedCertificates(
  records: readonly IssuedCertificate[],
  { names, bundles, revoked, now }: Recalls,
): IssuedCertificate[] {
  const ofSigners = Map.groupBy(bundles, ({ spec }) => ownSignerName(names, spec.signerName ?? ""));
  const recalls = new Map([...ofSigners].map(([signerName, own]) => [signerName, latestRecall(own, { names, now })]));
  const recallOf = ({ spec }: IssuedCertificate): number => recalls.get(ownSignerName(names, spec.signerName)) ?? 0;
  const newest = new Map<string, IssuedCertificate>();
  for (const record of records) {
    if (recallOf(record) === 0 || revoked.find(recordFacts(record)) !== undefined) continue;
    const key = renewalKeyOf(record, names);
    if (issuedAt(record) >= issuedAt(newest.get(key))) newest.set(key, record);
  }
  const unreplaced = new Set(newest.values());
  return records.filter(
    (record) => issuedAt(record) < recallOf(record) && Date.parse(record.spec.notAfter) > now && unreplaced.has(record),
  );
}

/** The time of issue: when the record was created, because a signer may backdate the certificate itself. */
const issuedAt = (record: IssuedCertificate | undefined): number =>
  Date.parse(record?.metadata.creationTimestamp ?? "") || 0;

/**
 * Identifies who requested a certificate, for which names and for which purpose: a program may have two certificates, with keys of two
 * types or for different usages. For certificates of nodes, the requester does not count, because a node requests its first with a
 * bootstrap token.
 */
function renewalKeyOf({ spec }: IssuedCertificate, names: Names): string {
  const { username, subject, dnsNames, ipAddresses, emailAddresses, uris } = spec;
  const signerName = ownSignerName(names, spec.signerName);
  const requester = joinsNodes(names, signerName) ? "" : username;
  return JSON.stringify([signerName, requester, subject, dnsNames, ipAddresses, emailAddresses, uris, purposeOf(spec)]);
}

/** The type of the certificate's key, and its extended usages. Undefined when the record has no readable certificate. */
function purposeOf({ certificate = "" }: IssuedCertificate["spec"]): unknown {
  const parsed = orPkiError(() => parseCertificatesPem(Buffer.from(certificate, "base64")));
  if (parsed instanceof PkiError || parsed[0] === undefined) return undefined;
  const [{ publicKey, extendedKeyUsages }] = parsed;
  return [keyTypeOf(publicKey), extendedKeyUsages];
}
