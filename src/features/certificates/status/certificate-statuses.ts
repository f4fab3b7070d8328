import { RecentlyUsed } from "../../../machinery/api/recently-used.ts";
import { followInTurns } from "../../../machinery/registry/reads/follow-in-turns.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { fingerprintOf, serialNumberHex } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { issuerFault, keyIdsMatch } from "../../../pki/certificates/certificate-chain.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import type { CertificateStatus } from "../../../pki/revocation/ocsp-response.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { RevokedCertificates } from "../../revocation/index.ts";
import type { Revocation } from "../../revocation/index.ts";
import { recordFacts } from "../inventory/certificate-record.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";

const maximumIssuerFaults = 10_000;

/** The status of each certificate that this server knows: from the inventory and the revocations, both in memory. */
export class CertificateStatuses {
  readonly #records: ResourceRegistry<IssuedCertificate>;
  readonly #revoked = new RevokedCertificates();
  /** The names of the records with a serial number. Nearly every number has one record. */
  readonly #bySerialNumber = new Map<string, string | readonly string[]>();
  /**
   * Why a CA did not issue a certificate, by both fingerprints. Empty: it did. Kept because strangers ask, and the check of a signature
   * takes up to 3 ms.
   */
  readonly #issuerFaults = new RecentlyUsed<string>({ maximumEntries: maximumIssuerFaults });
  readonly #following: readonly (() => Promise<void>)[];

  constructor(stores: {
    readonly records: ResourceRegistry<IssuedCertificate>;
    readonly revocations: ResourceRegistry<Revocation>;
  }) {
    this.#records = stores.records;
    this.#following = [
      followInTurns(stores.records, {
        clear: () => this.#bySerialNumber.clear(),
        add: ({ object }) => this.#add(object),
        remove: ({ object }) => this.#remove(object),
      }),
      followInTurns(stores.revocations, {
        clear: () => this.#revoked.clear(),
        add: ({ object }) => this.#revoked.add(object),
        remove: ({ object }) => this.#revoked.remove(object),
      }),
    ];
  }

  /** Resolves when `of` knows all records and revocations that existed at the start. */
  async ready(): Promise<void> {
    for (const ready of this.#following) await ready();
  }

  /**
   * The status of a certificate of this CA. A certificate that was signed elsewhere with the CA's key is unknown, unless its serial number
   * was revoked.
   */
  of(issuer: Certificate, serialNumber: Buffer): CertificateStatus {
    // A negative number: no certificate of this server has one.
    if ((serialNumber[0] ?? 0) >= 0x80) return { type: "unknown" };
    const digits = serialNumberHex({ serialNumber });
    const issuerName = formatDistinguishedName(issuer.subject);
    const record = this.#recordOf(issuer, { digits, issuerName });
    const found =
      record === undefined
        ? this.#revoked.findSerialNumber({ serialNumber: digits, issuer: issuerName })
        : this.#revoked.find(recordFacts(record));
    if (found !== undefined) return { type: "revoked", revokedAt: found.revokedAt, reason: found.reason };
    return { type: record === undefined ? "unknown" : "good" };
  }

  #recordOf(
    issuer: Certificate,
    { digits, issuerName }: { readonly digits: string; readonly issuerName: string },
  ): IssuedCertificate | undefined {
    const names = this.#bySerialNumber.get(digits) ?? [];
    for (const name of typeof names === "string" ? [names] : names) {
      const record = this.#records.peek({ namespace: "", name })?.object;
      if (record?.spec.issuer === issuerName && this.#isOfKey(record, issuer)) return record;
    }
    return undefined;
  }

  #add({ metadata, spec }: IssuedCertificate): void {
    const { name = "" } = metadata;
    const others = this.#bySerialNumber.get(spec.serialNumber);
    this.#bySerialNumber.set(spec.serialNumber, others === undefined ? name : [others, name].flat());
  }

  #remove({ metadata, spec }: IssuedCertificate): void {
    const rest = [this.#bySerialNumber.get(spec.serialNumber) ?? []].flat().filter((name) => name !== metadata.name);
    const [only] = rest;
    if (only === undefined) this.#bySerialNumber.delete(spec.serialNumber);
    else this.#bySerialNumber.set(spec.serialNumber, rest.length === 1 ? only : rest);
  }

  /**
   * Whether a CA's key signed a recorded certificate. An earlier CA may have had the same name, and the same key under another identifier.
   * A record without the certificate itself counts as signed by this key.
   */
  #isOfKey({ spec }: IssuedCertificate, issuer: Certificate): boolean {
    if (spec.certificate === undefined) return true;
    const [leaf] = parseCertificatesPem(Buffer.from(spec.certificate, "base64"));
    if (leaf === undefined || keyIdsMatch(leaf, issuer)) return true;
    const both = `${fingerprintOf(leaf)} ${fingerprintOf(issuer)}`;
    let fault = this.#issuerFaults.get(both);
    if (fault === undefined) this.#issuerFaults.set(both, (fault = issuerFault(leaf, issuer) ?? ""));
    return fault === "";
  }
}
