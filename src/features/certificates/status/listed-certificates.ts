import { LongWork } from "../../../machinery/api/long-work.ts";
import { encodeRevokedEntry } from "../../../pki/certificate-revocation-list.ts";
import { graver } from "../../revocation/index.ts";
import type { RevokedCertificate, RevokedCertificates } from "../../revocation/index.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { shardOf, shards } from "./addresses.ts";
import { recordFacts } from "./record-facts.ts";

/** The revoked certificates of one CA's name: by serial number, in lower-case hexadecimal digits. */
type ListedCertificates = ReadonlyMap<string, RevokedCertificate>;

export interface CollectOptions {
  readonly records: Iterable<IssuedCertificate>;
  readonly revoked: RevokedCertificates;
  /** Certificates that expired before this time are left out. Milliseconds since the epoch. */
  readonly expiredBefore: number;
  readonly work: LongWork;
}

/**
 * Finds what belongs into the lists of all CAs, by the CA's name (RFC 4514): revoked certificates of the inventory, and those
 * that are revoked by a serial number that the inventory does not know.
 */
export async function collectRevoked({
  records,
  revoked,
  expiredBefore,
  work,
}: CollectOptions): Promise<ReadonlyMap<string, ListedCertificates>> {
  const listed = new Map<string, Map<string, RevokedCertificate>>();
  const add = (issuer: string, serialNumber: string, found: RevokedCertificate): void => {
    let ofIssuer = listed.get(issuer);
    if (ofIssuer === undefined) listed.set(issuer, (ofIssuer = new Map()));
    ofIssuer.set(serialNumber, graver(ofIssuer.get(serialNumber), found));
  };
  for (const record of records) {
    const facts = recordFacts(record);
    const found = revoked.find(facts);
    if (found !== undefined && Date.parse(record.spec.notAfter) >= expiredBefore) {
      add(facts.issuer, facts.serialNumber, found);
    }
    const turn = work.pause();
    if (turn !== undefined) await turn;
  }
  for (const { issuer, serialNumber, expiresAt, ...found } of revoked.serialNumbers()) {
    if (expiresAt >= expiredBefore) add(issuer, serialNumber, found);
    const turn = work.pause();
    if (turn !== undefined) await turn;
  }
  return listed;
}

/** Encodes the entries of each part of a list, always in the same order. The parts in their order are the whole list. */
export async function encodeShards(listed: ListedCertificates, work: LongWork): Promise<ReadonlyMap<string, Buffer>> {
  const byShard = new Map(shards.map((shard) => [shard, [] as string[]]));
  const entries = new Map<string, Buffer>();
  for (const [digits, found] of listed) {
    const serialNumber = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
    byShard.get(shardOf(serialNumber))?.push(digits);
    entries.set(digits, encodeRevokedEntry({ serialNumber, ...found }));
    const turn = work.pause();
    if (turn !== undefined) await turn;
  }
  const encoded = new Map<string, Buffer>();
  for (const [shard, serialNumbers] of byShard) {
    const sorted = serialNumbers.toSorted();
    encoded.set(shard, Buffer.concat(sorted.flatMap((digits) => entries.get(digits) ?? [])));
    await work.pause();
  }
  return encoded;
}
