import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { followRegistry } from "../../../machinery/registry/follow-registry.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import type { StoredObject } from "../../../machinery/registry/stored-object.ts";
import { resourceRange } from "../../../machinery/registry/storage-key.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";
import type { CertificateStatus } from "../../../pki/ocsp-response.ts";
import { parseCertificatesPem } from "../../../pki/certificates-pem.ts";
import { RevokedCertificates } from "../../revocation/index.ts";
import type { Revocation } from "../../revocation/index.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { recordFacts } from "./listed-certificates.ts";

/** What this server knows of each certificate: from the inventory and the revocations, both in memory. */
export class CertificateStatuses {
  readonly #records: ResourceRegistry<IssuedCertificate>;
  readonly #revoked = new RevokedCertificates();
  /** The names of the records of a serial number. Nearly all have one. */
  readonly #bySerialNumber = new Map<string, string | readonly string[]>();
  readonly #loadings: readonly Loading[];

  constructor(stores: {
    readonly records: ResourceRegistry<IssuedCertificate>;
    readonly revocations: ResourceRegistry<Revocation>;
  }) {
    this.#records = stores.records;
    const loadings: [Loading, Loading] = [new Loading(), new Loading()];
    const [ofRecords, ofRevocations] = loadings;
    this.#loadings = loadings;
    followRegistry(stores.records, {
      onLoaded: () => {
        this.#bySerialNumber.clear();
        ofRecords.start(stores.records, (record) => this.#add(record));
      },
      onEvent: (event) => {
        // A record never changes.
        if (event.type === "delete") this.#remove(event.previous.object);
        else if (event.previous === undefined) this.#add(event.object.object);
      },
    });
    followRegistry(stores.revocations, {
      onLoaded: () => {
        this.#revoked.clear();
        ofRevocations.start(stores.revocations, (revocation) => this.#revoked.add(revocation));
      },
      onEvent: (event) => {
        // Nor does what a revocation says.
        if (event.type === "delete") this.#revoked.remove(event.previous.object);
        else if (event.previous === undefined) this.#revoked.add(event.object.object);
      },
    });
  }

  /** Resolves when `of` knows everything that there was at the start. */
  async ready(): Promise<void> {
    for (const loading of this.#loadings) {
      let { done } = loading;
      await done;
      // Another reading may have taken its place.
      while (done !== loading.done) await (done = loading.done);
    }
  }

  /**
   * The status of a certificate of this CA. A certificate that was signed with the CA's key elsewhere is not known, unless
   * its serial number was revoked.
   */
  of(issuer: Certificate, serialNumber: Buffer): CertificateStatus {
    // Negative, which no certificate of ours is.
    if ((serialNumber[0] ?? 0) >= 0x80) return { type: "unknown" };
    const digits = serialNumber.toString("hex").replace(/^0+(?=.)/, "");
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
      if (record?.spec.issuer === issuerName && isOfKey(record, issuer)) return record;
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
}

/**
 * Reads the objects of a registry in several turns of the event loop, so that a server with very many of them starts at once.
 * An object that is added in between comes as an event; one that is deleted in between is left out.
 */
class Loading {
  done: Promise<void> = Promise.resolve();
  #count = 0;

  /** Takes the place of a reading that is not done yet. */
  start<T extends Revocation | IssuedCertificate>(registry: ResourceRegistry<T>, add: (object: T) => void): void {
    const stored = registry.cache.snapshot(resourceRange(registry.definition));
    this.done = this.#read(stored, (one) => {
      const now = registry.cache.get(one.key);
      if (now === undefined) return;
      // One of the same name may have taken its place.
      if (now.revision === one.revision || now.object.metadata.uid === one.object.metadata.uid) add(now.object);
    });
    // The callers of ready() get the failure. Without one, it must not be an unhandled rejection.
    this.done.catch(() => {});
  }

  async #read<T extends ApiObject>(stored: Iterable<StoredObject<T>>, take: (one: StoredObject<T>) => void) {
    const own = ++this.#count;
    const work = new LongWork();
    for (const one of stored) {
      if (own !== this.#count) return;
      take(one);
      const turn = work.pause();
      if (turn !== undefined) await turn;
    }
  }
}

/** An earlier CA may have had the same name. Records without the certificate itself do not tell. */
function isOfKey({ spec }: IssuedCertificate, { subjectKeyId }: Certificate): boolean {
  if (spec.certificate === undefined || subjectKeyId === undefined) return true;
  const [leaf] = parseCertificatesPem(Buffer.from(spec.certificate, "base64"));
  return leaf?.authorityKeyId === undefined || leaf.authorityKeyId.equals(subjectKeyId);
}
