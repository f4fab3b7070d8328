import { LongWork } from "../../../machinery/api/long-work.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";
import { configMapResource } from "../../core/index.ts";
import { RevokedCertificates, revocationResource } from "../../revocation/index.ts";
import { clockSkewMilliseconds } from "../authorities/cluster-authority.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { issuedCertificateResource } from "../resources.ts";
import type { RevocationSettings } from "../settings.ts";
import { authorityId, listAddress, maySignLists, shards, statusPath } from "./addresses.ts";
import { recordFacts } from "./record-facts.ts";
import { parseStoredListName, readStoredList, storedListName, storedListObjects } from "./stored-list.ts";

export interface RevocationListPublisherOptions {
  readonly settings: RevocationSettings;
  /** The CAs that sign now. */
  readonly authorities: () => readonly SigningAuthority[];
}

const everything = "lists";
/** A revocation is rarely alone. */
const settlingMilliseconds = 1000;
/** A list is signed again at least this often, so that each expired certificate is on one list after its end. */
const longestRefreshMilliseconds = 30 * 60_000;
/** Under a storm of revocations, this part of the time goes into finding and encoding them. */
const busyShare = 1 / 10;
const longestPauseMilliseconds = 60_000;
/** More would not be a DER value that our reader reads. A certificate of a sharded list is in a smaller one. */
const maximumListBytes = 15 * 1024 * 1024;

/**
 * Signs a revocation list for each CA, and stores it for all servers to serve. Only the process that runs the loops does so:
 * one list has one number and one content everywhere. The numbers grow whatever happens to the process, the clock or the store.
 */
export function revocationListPublisher({ settings, authorities }: RevocationListPublisherOptions): Controller {
  const refreshMilliseconds = Math.min(longestRefreshMilliseconds, settings.listLifetimeMilliseconds / 4);
  return {
    name: "revocation-list-publisher",
    start(context) {
      const { client, clock, informers, log, names } = context;
      const namespace = names.namespaces.system;
      const revocations = informers.of(revocationResource(names));
      const records = informers.of(issuedCertificateResource(names));
      const configMaps = informers.of(configMapResource(names));
      const writer = client.resource(configMapResource(names), namespace);
      const revoked = new RevokedCertificates();
      const unable = new Set<string>();

      const publish = async (stored: ListToPublish): Promise<boolean> => {
        const { authority, id, shard, entries } = stored;
        const name = storedListName(id, shard);
        const find = (one: string) => configMaps.get(`${namespace}/${one}`);
        const previous = await readStoredList(name, find);
        const { parseRevocationList, signRevocationList } = await import("../../../pki/certificate-revocation-list.ts");
        const now = clock.now();
        const issuer = authority.certificate.der;
        if (previous?.der !== undefined && previous.issuer.equals(issuer)) {
          const list = parseRevocationList(previous.der);
          const ageMilliseconds = now - clockSkewMilliseconds - list.thisUpdate;
          // Negative: the clock was set back, and others might take the list for one of the future.
          const isYoung = ageMilliseconds > -clockSkewMilliseconds && ageMilliseconds < refreshMilliseconds;
          const isAsLong =
            list.nextUpdate - list.thisUpdate === settings.listLifetimeMilliseconds + clockSkewMilliseconds;
          if (isYoung && isAsLong && list.entries.equals(entries)) return false;
        }
        if (entries.length > maximumListBytes) {
          const problem = "the revocation list would be too large, so it is not published";
          log.error({ controller: "revocation-list-publisher", ca: id, bytes: entries.length }, problem);
          return false;
        }
        // After a restore from a backup the previous number is an old one. The time is not.
        const number = Math.max((previous?.number ?? 0) + 1, Math.floor(now / 1000));
        const thisUpdate = Math.floor((now - clockSkewMilliseconds) / 1000) * 1000;
        const nextUpdate = thisUpdate + clockSkewMilliseconds + settings.listLifetimeMilliseconds;
        const distributionPoint = `${settings.url}${statusPath}${listAddress(id, shard)}`;
        const der = signRevocationList(
          { entries, number, thisUpdate, nextUpdate, ...(shard !== undefined && { distributionPoint }) },
          authority,
        );
        const work = new LongWork();
        for (const object of storedListObjects({ name, namespace, list: { number, der, issuer } })) {
          const { metadata, data = {}, binaryData = {} } = object;
          const existing = find(metadata.name ?? "");
          // With the version that was read: of two writers one fails, and starts again from the other's number.
          if (existing === undefined) await writer.create(object);
          else await writer.update({ ...existing, data, binaryData });
          await work.pause();
        }
        return true;
      };

      let isDue = false;
      let isSynced = false;
      let notBefore = 0;
      const soon = (): void => {
        if (isDue || !isSynced) return;
        isDue = true;
        const pauseMilliseconds = Math.max(settlingMilliseconds, notBefore - clock.now());
        // No longer, also when the clock was set back.
        queue.addAfter(everything, Math.min(longestPauseMilliseconds, pauseMilliseconds));
      };
      const queue = controllerQueue(this.name, context, async () => {
        isDue = false;
        const { collectRevoked, encodeShards } = await import("./listed-certificates.ts");
        const work = new LongWork();
        const expiredBefore = clock.now() - refreshMilliseconds;
        const listed = await collectRevoked({ records: records.list(), revoked, expiredBefore, work });
        let busyMilliseconds = work.busyMilliseconds;
        let written = 0;
        for (const authority of distinct(authorities())) {
          const { certificate } = authority;
          const id = authorityId(certificate);
          if (!maySignLists(certificate)) {
            const problem =
              "this CA's key usage lacks cRLSign, so verifiers would not accept its revocation list and none is published: " +
              "replace its certificate as docs/revocation.md says";
            if (!unable.has(id)) log.error({ controller: this.name, ca: certificate.subject.commonName }, problem);
            unable.add(id);
            continue;
          }
          const issuerName = formatDistinguishedName(certificate.subject);
          const encoding = new LongWork();
          const parts = await encodeShards(listed.get(issuerName) ?? new Map(), encoding);
          busyMilliseconds += encoding.busyMilliseconds;
          // Once certificates name a part, it must be there for as long as they are valid.
          const isSharded =
            settings.isSharded || configMaps.get(`${namespace}/${storedListName(id, "0")}`) !== undefined;
          const lists: ListToPublish[] = [
            { authority, id, shard: undefined, entries: Buffer.concat([...parts.values()]) },
            ...(isSharded ? shards : []).map((shard) => ({
              authority,
              id,
              shard,
              entries: parts.get(shard) ?? Buffer.alloc(0),
            })),
          ];
          for (const list of lists) {
            if (await publish(list)) written++;
          }
        }
        notBefore = clock.now() + Math.min(longestPauseMilliseconds, busyMilliseconds / busyShare);
        queue.addAfter(everything, refreshMilliseconds);
        return `published ${written} revocation lists`;
      });

      revocations.addHandler({
        onAdd(revocation) {
          revoked.add(revocation);
          if (revocation.spec.certificate !== undefined) soon();
        },
        onDelete(revocation) {
          revoked.remove(revocation);
          if (revocation.spec.certificate !== undefined) soon();
        },
      });
      records.addHandler({
        // A subject may be revoked before it gets this certificate.
        onAdd: (record) => void (revoked.find(recordFacts(record)) !== undefined && soon()),
      });
      configMaps.addHandler({
        onDelete: ({ metadata }) =>
          void (metadata.namespace === namespace && parseStoredListName(metadata.name ?? "") !== undefined && soon()),
      });
      return {
        queue,
        onSynced() {
          isSynced = true;
          queue.add(everything);
        },
      };
    },
  };
}

interface ListToPublish {
  readonly authority: SigningAuthority;
  readonly id: string;
  readonly shard: string | undefined;
  readonly entries: Buffer;
}

/** Several signers may have the same CA. */
const distinct = (authorities: readonly SigningAuthority[]): readonly SigningAuthority[] => [
  ...new Map(authorities.map((authority) => [authorityId(authority.certificate), authority])).values(),
];
