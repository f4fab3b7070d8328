import { LongWork } from "../../../machinery/api/long-work.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { fingerprintOf } from "../../../pki/certificate.ts";
import { formatDistinguishedName } from "../../../pki/distinguished-name.ts";
import { configMapResource } from "../../core/index.ts";
import { revocationResource } from "../../revocation/index.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { issuedCertificateResource } from "../resources.ts";
import type { RevocationSettings } from "../settings.ts";
import { authorityId, maySignLists, shards } from "./addresses.ts";
import { ListWriter } from "./list-writer.ts";
import { ListedCertificates } from "./listed-certificates.ts";
import { ListsWithoutKeys } from "./lists-without-keys.ts";
import { parseStoredListName, storedListName } from "./stored-list.ts";

export interface RevocationListPublisherOptions {
  readonly settings: RevocationSettings;
  /** The CAs whose keys are here: those that sign now, and those of earlier and later rotations. */
  readonly authorities: () => readonly SigningAuthority[];
}

const everything = "lists";
const authoritiesKey = "authorities";
/** How often to look for new CAs: certificates name their lists at once. */
const lookMilliseconds = 2000;
/** A revocation is rarely alone. */
const settlingMilliseconds = 1000;
/** A list is signed again at least this often, so that each expired certificate is on one list after its end. */
const longestRefreshMilliseconds = 30 * 60_000;
/** Under a storm of revocations, this part of the time goes into finding and encoding them. */
const busyShare = 1 / 10;
const longestPauseMilliseconds = 60_000;

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
      const writer = new ListWriter({ names, client, configMaps, settings, refreshMilliseconds, clock, log });
      const unable = new Set<string>();
      const withoutKeys = new ListsWithoutKeys(log);
      const listed = new ListedCertificates();

      let isDue = false;
      let isSynced = false;
      let notBefore = 0;
      let searchAt = 0;
      let published = "";
      let encodedLines = 0;
      const soon = (): void => {
        if (isDue || !isSynced) return;
        isDue = true;
        const pauseMilliseconds = Math.max(settlingMilliseconds, notBefore - clock.now());
        // No longer, also when the clock was set back.
        queue.addAfter(everything, Math.min(longestPauseMilliseconds, pauseMilliseconds));
      };
      const publishAll = async (): Promise<string> => {
        isDue = false;
        const current = distinct(authorities());
        published = fingerprints(current);
        const work = new LongWork();
        const now = clock.now();
        if (Math.abs(now - searchAt) >= refreshMilliseconds) {
          searchAt = now;
          listed.searchAgain();
        }
        await listed.refresh({ records: () => records.list(), expiredBefore: now - refreshMilliseconds, work });
        let busyMilliseconds = work.busyMilliseconds;
        let written = 0;
        for (const authority of current) {
          const { certificate } = authority;
          const id = authorityId(certificate);
          if (!maySignLists(certificate)) {
            const fault =
              "this CA's key usage lacks cRLSign, so verifiers would not accept its revocation list and none is published: " +
              "replace its certificate as docs/revocation.md says";
            if (!unable.has(id)) log.error({ controller: this.name, ca: certificate.subject.commonName }, fault);
            unable.add(id);
            continue;
          }
          const encoding = new LongWork();
          const { whole, parts } = await listed.encoded(formatDistinguishedName(certificate.subject), encoding);
          busyMilliseconds += encoding.busyMilliseconds;
          // Once certificates name a part, it must be there for as long as they are valid.
          const isSharded =
            settings.isSharded || configMaps.get(`${namespace}/${storedListName(id, "0")}`) !== undefined;
          if (await writer.write({ authority, shard: undefined, entries: whole })) written++;
          for (const shard of isSharded ? shards : []) {
            if (await writer.write({ authority, shard, entries: parts.get(shard) ?? Buffer.alloc(0) })) written++;
          }
        }
        const signed = new Set(current.map(({ certificate }) => authorityId(certificate)));
        await withoutKeys.look({ configMaps, namespace, signed, now: clock.now() });
        notBefore = clock.now() + Math.min(longestPauseMilliseconds, busyMilliseconds / busyShare);
        queue.addAfter(everything, refreshMilliseconds);
        const encoded = listed.encodedLines - encodedLines;
        encodedLines = listed.encodedLines;
        return `published ${written} revocation lists; encoded ${encoded} entries`;
      };
      const queue = controllerQueue(this.name, context, async (key) => {
        if (key === everything) return publishAll();
        queue.addAfter(authoritiesKey, lookMilliseconds);
        if (fingerprints(distinct(authorities())) === published) return "nothing to do: the CAs are the same";
        soon();
        return "will publish the lists of other CAs";
      });

      revocations.addHandler({
        onAdd: (revocation) => void (listed.addRevocation(revocation) && soon()),
        onDelete: (revocation) => void (listed.removeRevocation(revocation) && soon()),
      });
      records.addHandler({
        isInterested: () => listed.hasRevocations,
        onAdd: (record) => void (listed.addRecord(record) && soon()),
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
          queue.addAfter(authoritiesKey, lookMilliseconds);
        },
      };
    },
  };
}

/** Several signers may have the same CA. Of two certificates of one key, the one that signs now counts: it is given first. */
function distinct(authorities: readonly SigningAuthority[]): readonly SigningAuthority[] {
  const byId = new Map<string, SigningAuthority>();
  for (const authority of authorities) {
    const id = authorityId(authority.certificate);
    if (!byId.has(id)) byId.set(id, authority);
  }
  return [...byId.values()];
}

const fingerprints = (authorities: readonly SigningAuthority[]): string =>
  authorities.map(({ certificate }) => fingerprintOf(certificate)).join();
