import { reasonCodes } from "../../pki/revocation-reason.ts";
import type { RevocationReason } from "../../pki/revocation-reason.ts";
import type { Revocation } from "./revocations.ts";

/** What a revocation can name a certificate by. */
export interface CertificateFacts {
  /** The SHA-256 of the DER in lower-case hexadecimal digits. */
  readonly fingerprint: string;
  /** Lower-case hexadecimal digits, without leading zeros. */
  readonly serialNumber: string;
  /** The CA's distinguished name (RFC 4514). */
  readonly issuer: string;
  /** The distinguished name (RFC 4514). */
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
}

/** Since when and why a certificate is revoked, as lists and OCSP say it. */
export interface RevokedCertificate {
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  readonly reason: RevocationReason;
}

/** A certificate that is revoked by its serial number: nothing else need be known of it. */
export interface RevokedSerialNumber extends RevokedCertificate {
  readonly issuer: string;
  readonly serialNumber: string;
  /** When the certificate expires, in milliseconds since the epoch. Infinity: not known. */
  readonly expiresAt: number;
}

/** What is kept of a revocation: little, because there may be many. */
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
 * The revocations of certificates with their times and reasons, for lists and answers to others.
 * `RevokedCredentials` decides on the request path which clients this server refuses; both decide alike.
 */
export class RevokedCertificates {
  /** Nearly all keys have one revocation. */
  readonly #byKey = new Map<string, Entry | readonly Entry[]>();

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
    const others = this.#at(key);
    const entry = entryOf(revocation);
    this.#byKey.set(key, others.length === 0 ? entry : [...others, entry]);
  }

  /** Removes one by its name. */
  remove(revocation: Revocation): void {
    const key = keyOf(revocation);
    if (key === undefined) return;
    const rest = this.#at(key).filter(({ name }) => name !== revocation.metadata.name);
    const [only] = rest;
    if (only === undefined) this.#byKey.delete(key);
    else this.#byKey.set(key, rest.length === 1 ? only : rest);
  }

  /** Since when and why a certificate is revoked. Undefined: it is not. */
  find({ fingerprint, serialNumber, issuer, subject, notBefore }: CertificateFacts): RevokedCertificate | undefined {
    let found: RevokedCertificate | undefined;
    for (const key of [fingerprintKey(fingerprint), serialNumberKey(serialNumber, issuer), subjectKey(subject)]) {
      for (const { issuedBefore, revokedAt, reason } of this.#at(key)) {
        if (notBefore < issuedBefore) found = moreSevere(found, { revokedAt, reason });
      }
    }
    return found;
  }

  /** What revokes a serial number, whether or not anything else is known of the certificate. */
  findSerialNumber({
    serialNumber,
    issuer,
  }: Pick<CertificateFacts, "serialNumber" | "issuer">): RevokedSerialNumber | undefined {
    let found: RevokedSerialNumber | undefined;
    for (const { revokedAt, reason, expiresAt } of this.#at(serialNumberKey(serialNumber, issuer))) {
      const longest = Math.max(expiresAt, found?.expiresAt ?? -Infinity);
      found = { ...moreSevere(found, { revokedAt, reason }), issuer, serialNumber, expiresAt: longest };
    }
    return found;
  }

  /** The certificates that are revoked by their serial numbers. The same may come several times. */
  *serialNumbers(): Generator<RevokedSerialNumber> {
    for (const [key, entries] of this.#byKey) {
      const [, serialNumber, issuer] = /^serial (\S+) ([^]*)$/.exec(key) ?? [];
      if (serialNumber === undefined || issuer === undefined) continue;
      for (const { revokedAt, reason, expiresAt } of listOf(entries)) {
        yield { revokedAt, reason, expiresAt, issuer, serialNumber };
      }
    }
  }

  #at(key: string): readonly Entry[] {
    const found = this.#byKey.get(key);
    return found === undefined ? [] : listOf(found);
  }
}

const listOf = (found: Entry | readonly Entry[]): readonly Entry[] => ("length" in found ? found : [found]);

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

const isReason = (reason: string | undefined): reason is RevocationReason =>
  reason !== undefined && Object.hasOwn(reasonCodes, reason);

/** The revocation that counts of two: a hold may end, so any other reason is more severe; of two equal ones, the earlier. */
export function moreSevere(one: RevokedCertificate | undefined, other: RevokedCertificate): RevokedCertificate {
  if (one === undefined) return other;
  const isHeld = [one, other].map(({ reason }) => reason === "certificateHold");
  if (isHeld[0] !== isHeld[1]) return isHeld[0] === true ? other : one;
  return other.revokedAt < one.revokedAt ? other : one;
}
