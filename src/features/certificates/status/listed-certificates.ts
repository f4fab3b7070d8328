import { noBytes } from "../../../machinery/api/bytes/no-bytes.ts";
import type { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { encodeRevokedEntry } from "../../../pki/revocation/certificate-revocation-list.ts";
import { moreSevere, RevokedCertificates, revokedSerialNumber } from "../../revocation/index.ts";
import type { Revocation, RevokedCertificate, RevokedSerialNumber } from "../../revocation/index.ts";
import { recordFacts } from "../inventory/certificate-record.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { shardOf, shards } from "./addresses.ts";

interface Line extends RevokedCertificate {
  /** When the certificate expires, in milliseconds since the epoch. Infinity: unknown. */
  readonly expiresAt: number;
  /** The number of the last full search that found the certificate. */
  readonly seenIn: number;
  /** The DER of the list entry as Latin-1 text, which takes less memory than a buffer. */
  readonly encoded: string;
}

/** A part of a list. Its lines are by serial number, in lower-case hexadecimal digits. */
interface Part {
  readonly lines: Map<string, Line>;
  /** Undefined after the lines have changed. */
  encoded: Buffer | undefined;
}

/** The encoded entries for the list of one CA's name. The parts, in their order, make up the whole list. */
export interface EncodedList {
  /** The parts by the names of `shards`. A part that has not changed is the same buffer as before. */
  readonly parts: ReadonlyMap<string, Buffer>;
  readonly whole: Buffer;
}

const noEntries: EncodedList = { parts: new Map(), whole: noBytes };

/**
 * The revoked certificates of all CAs: certificates in the inventory, and serial numbers that the inventory does not know. Encoded lines
 * are kept. A revocation by serial number, the usual kind, encodes one line. Other kinds of revocation need a search through the inventory:
 * one search for all of them since the last search.
 */
export class ListedCertificates {
  readonly #revoked = new RevokedCertificates();
  readonly #byIssuer = new Map<string, ReadonlyMap<string, Part>>();
  readonly #encoded = new Map<string, EncodedList>();
  #isSearchDue = true;
  #searches = 0;
  #encodedLines = 0;

  /** The number of lines that were encoded so far. */
  get encodedLines(): number {
    return this.#encodedLines;
  }

  /** Whether there are revocations. Without any, no certificate belongs on a list. */
  get hasRevocations(): boolean {
    return !this.#revoked.isEmpty;
  }

  /** Whether a list changes. */
  addRevocation(revocation: Revocation): boolean {
    if (revocation.spec.certificate === undefined) return false;
    this.#revoked.add(revocation);
    const revoked = revokedSerialNumber(revocation);
    if (revoked === undefined) this.#isSearchDue = true;
    else this.#put(revoked);
    return true;
  }

  /** Whether a list changes. */
  removeRevocation(revocation: Revocation): boolean {
    if (revocation.spec.certificate === undefined) return false;
    this.#revoked.remove(revocation);
    // Another revocation may name the same certificate.
    this.#isSearchDue = true;
    return true;
  }

  /**
   * Adds the certificate to its list if it is revoked: a subject may be revoked before it gets this certificate. Returns whether a list
   * changes.
   */
  addRecord(record: IssuedCertificate): boolean {
    const facts = recordFacts(record);
    const found = this.#revoked.find(facts);
    if (found === undefined) return false;
    const { issuer, serialNumber } = facts;
    this.#put({ ...found, issuer, serialNumber, expiresAt: Date.parse(record.spec.notAfter) });
    return true;
  }

  /**
   * Searches the inventory if a search is due, in turns of the event loop. Removes certificates from the lists that expired before
   * `expiredBefore`, in milliseconds since the epoch. Rejects like `records`; the next call then searches again.
   */
  async refresh(options: RefreshOptions): Promise<void> {
    if (!this.#isSearchDue) return;
    this.#isSearchDue = false; // a revocation during the search makes a search due again
    try {
      await this.#search(options);
    } catch (error) {
      this.#isSearchDue = true;
      throw error;
    }
  }

  /** Makes a search due for the next `refresh`, because certificates may have expired. */
  searchAgain(): void {
    this.#isSearchDue = true;
  }

  async #search({ records, expiredBefore, work }: RefreshOptions): Promise<void> {
    this.#searches++;
    await work.each(records(), (record) => this.addRecord(record));
    await work.each(this.#revoked.serialNumbers(), (revoked) => this.#put(revoked));
    for (const [issuer, parts] of this.#byIssuer) {
      await work.each(parts.values(), (part) => {
        for (const [serialNumber, { seenIn, expiresAt }] of part.lines) {
          if (seenIn === this.#searches && expiresAt >= expiredBefore) continue;
          part.lines.delete(serialNumber);
          part.encoded = undefined;
          this.#encoded.delete(issuer);
        }
      });
      // Revocations may name any issuer, so issuers that no revocation names any more must not stay.
      if ([...parts.values()].every(({ lines }) => lines.size === 0)) this.#byIssuer.delete(issuer);
    }
  }

  /** The entries for a CA's name (RFC 4514), always in the same order. Returns the same object while nothing has changed. */
  async encoded(issuer: string, work: LongWork): Promise<EncodedList> {
    const known = this.#encoded.get(issuer);
    if (known !== undefined) return known;
    const ofIssuer = this.#byIssuer.get(issuer);
    if (ofIssuer === undefined) return noEntries;
    const parts = new Map<string, Buffer>();
    await work.each(ofIssuer, ([shard, part]) => {
      part.encoded ??= encodePart(part);
      parts.set(shard, part.encoded);
    });
    const list = { parts, whole: Buffer.concat([...parts.values()]) };
    // Lines that were added during the encoding are for the next list.
    const isCurrent =
      this.#byIssuer.get(issuer) === ofIssuer &&
      [...ofIssuer].every(([shard, { encoded }]) => encoded === parts.get(shard));
    if (isCurrent) this.#encoded.set(issuer, list);
    return list;
  }

  #put(found: RevokedSerialNumber): void {
    const { issuer, serialNumber } = found;
    const bytes = Buffer.from(serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`, "hex");
    const part = this.#partOf(issuer, shardOf(bytes));
    const known = part.lines.get(serialNumber);
    // A line that only an earlier search has found may be outdated.
    const other = known?.seenIn === this.#searches ? known : undefined;
    const { revokedAt, reason } = moreSevere<RevokedCertificate>(other, found);
    const expiresAt = Math.max(other?.expiresAt ?? -Infinity, found.expiresAt);
    const isSame = known?.revokedAt === revokedAt && known.reason === reason;
    const encoded = isSame ? known.encoded : this.#encode({ serialNumber: bytes, revokedAt, reason });
    part.lines.set(serialNumber, { revokedAt, reason, expiresAt, seenIn: this.#searches, encoded });
    if (isSame) return;
    part.encoded = undefined;
    this.#encoded.delete(issuer);
  }

  #encode(entry: Parameters<typeof encodeRevokedEntry>[0]): string {
    this.#encodedLines++;
    return encodeRevokedEntry(entry).toString("latin1");
  }

  #partOf(issuer: string, shard: string): Part {
    let parts = this.#byIssuer.get(issuer);
    if (parts === undefined) {
      parts = new Map(shards.map((one) => [one, { lines: new Map<string, Line>(), encoded: undefined }]));
      this.#byIssuer.set(issuer, parts);
    }
    const part = parts.get(shard);
    if (part === undefined) throw new Error(`there is no part ${shard}`);
    return part;
  }
}

interface RefreshOptions {
  readonly records: () => Iterable<IssuedCertificate>;
  readonly expiredBefore: number;
  readonly work: LongWork;
}

const encodePart = ({ lines }: Part): Buffer =>
  Buffer.from(
    [...lines]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { encoded }]) => encoded)
      .join(""),
    "latin1",
  );
