import type { CertificateIdentity } from "../../machinery/authentication/presented-credential.ts";
import { reasonCodes } from "../../pki/revocation/revocation-reason.ts";
import type { RevocationReason } from "../../pki/revocation/revocation-reason.ts";
import type { Revocation } from "./revocations.ts";

/** The facts by which a revocation can name a certificate. */
export type CertificateFacts = Omit<CertificateIdentity, "type">;

/** The time and reason of a certificate's revocation, for revocation lists and OCSP. */
export interface RevokedCertificate {
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  readonly reason: RevocationReason;
}

/** A certificate that is revoked by its serial number. Nothing else need be known about it. */
export interface RevokedSerialNumber extends RevokedCertificate {
  readonly issuer: string;
  readonly serialNumber: string;
  /** When the certificate expires, in milliseconds since the epoch. Infinity: unknown. */
  readonly expiresAt: number;
}

/** The part of a revocation that is kept in memory: little, because there may be many. */
interface Entry extends RevokedCertificate {
  /** The revocation's own name. */
  readonly name: string;
  /** Only certificates whose validity starts before this are revoked. */
  readonly issuedBefore: number;
  readonly expiresAt: number;
}

const fingerprintKey = (fingerprint: string): string => `fingerprint ${fingerprint}`;
const serialNumberKey = (serialNumber: string, issuer: string): string => `serial ${serialNumber} ${issuer}`;
const subjectKey = (subject: string): string => `subject ${subject}`;

/**
 * The revocations of certificates with their times and reasons, for revocation lists and OCSP. `RevokedCredentials` decides which clients
 * this server refuses; both come to the same decisions.
 */
export class RevokedCertificates {
  /** The revocations by key. Nearly all keys have one. Several are in a map by their names. */
  readonly #byKey = new Map<string, Entry | Map<string, Entry>>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  clear(): void {
    this.#byKey.clear();
  }

  /** Ignores revocations of tokens. */
  add(revocation: Revocation): void {
    const key = keyOf(revocation);
    if (key === undefined) return;
    const entry = entryOf(revocation);
    const known = this.#byKey.get(key);
    if (known === undefined) this.#byKey.set(key, entry);
    else if (known instanceof Map) known.set(entry.name, entry);
    else this.#byKey.set(key, new Map([known, entry].map((one) => [one.name, one])));
  }

  /** Removes a revocation by its name. */
  remove(revocation: Revocation): void {
    const key = keyOf(revocation);
    if (key === undefined) return;
    const known = this.#byKey.get(key);
    const { name = "" } = revocation.metadata;
    const wasThere = known instanceof Map ? known.delete(name) : known?.name === name;
    const isLast = !(known instanceof Map) || known.size === 0;
    if (wasThere && isLast) this.#byKey.delete(key);
  }

  /** The time and reason of a certificate's revocation. Undefined: it is not revoked. */
  find({ fingerprint, serialNumber, issuer, subject, notBefore }: CertificateFacts): RevokedCertificate | undefined {
    let found: Entry | undefined;
    for (const key of [fingerprintKey(fingerprint), serialNumberKey(serialNumber, issuer), subjectKey(subject)]) {
      for (const entry of this.#at(key)) {
        if (notBefore < entry.issuedBefore) found = moreSevere(found, entry);
      }
    }
    return found && { revokedAt: found.revokedAt, reason: found.reason };
  }

  /** The revocation of a serial number, of which nothing else need be known. */
  findSerialNumber({
    serialNumber,
    issuer,
  }: Pick<CertificateFacts, "serialNumber" | "issuer">): RevokedSerialNumber | undefined {
    let found: Entry | undefined;
    let expiresAt = -Infinity;
    for (const entry of this.#at(serialNumberKey(serialNumber, issuer))) {
      found = moreSevere(found, entry);
      expiresAt = Math.max(expiresAt, entry.expiresAt);
    }
    return found && { revokedAt: found.revokedAt, reason: found.reason, issuer, serialNumber, expiresAt };
  }

  /** All certificates that are revoked by their serial numbers. May contain duplicates. */
  *serialNumbers(): Generator<RevokedSerialNumber> {
    for (const [key, entries] of this.#byKey) {
      const [, serialNumber, issuer] = /^serial (\S+) ([^]*)$/.exec(key) ?? [];
      if (serialNumber === undefined || issuer === undefined) continue;
      for (const { revokedAt, reason, expiresAt } of entriesOf(entries)) {
        yield { revokedAt, reason, expiresAt, issuer, serialNumber };
      }
    }
  }

  #at(key: string): Iterable<Entry> {
    const found = this.#byKey.get(key);
    return found === undefined ? [] : entriesOf(found);
  }
}

const entriesOf = (found: Entry | Map<string, Entry>): Iterable<Entry> =>
  found instanceof Map ? found.values() : [found];

function keyOf({ spec: { certificate } }: Revocation): string | undefined {
  if (certificate === undefined) return undefined;
  const { fingerprint, serialNumber, issuer = "", subject = "" } = certificate;
  if (fingerprint !== undefined) return fingerprintKey(fingerprint);
  return serialNumber === undefined ? subjectKey(subject) : serialNumberKey(serialNumber, issuer);
}

function entryOf({ metadata, spec }: Revocation): Entry {
  const timeOf = (text: string | undefined): number => (text === undefined ? Infinity : Date.parse(text));
  return {
    name: metadata.name ?? "",
    revokedAt: Date.parse(metadata.creationTimestamp ?? ""),
    reason: isReason(spec.reason) ? spec.reason : "unspecified",
    issuedBefore: timeOf(spec.certificate?.issuedBefore),
    expiresAt: timeOf(spec.expirationTimestamp),
  };
}

/** The serial number that a revocation names. Undefined: it names certificates in another way. */
export function revokedSerialNumber(revocation: Revocation): RevokedSerialNumber | undefined {
  const { serialNumber, issuer = "" } = revocation.spec.certificate ?? {};
  if (serialNumber === undefined) return undefined;
  const { revokedAt, reason, expiresAt } = entryOf(revocation);
  return { revokedAt, reason, issuer, serialNumber, expiresAt };
}

const isReason = (reason: string | undefined): reason is RevocationReason =>
  reason !== undefined && Object.hasOwn(reasonCodes, reason);

/**
 * Returns which of two revocations counts. Any other reason is more severe than a hold, which may end. Otherwise, the earlier one counts.
 */
export function moreSevere<T extends RevokedCertificate>(one: T | undefined, other: T): T {
  if (one === undefined) return other;
  const isHeld = one.reason === "certificateHold";
  if (isHeld !== (other.reason === "certificateHold")) return isHeld ? other : one;
  return other.revokedAt < one.revokedAt ? other : one;
}
