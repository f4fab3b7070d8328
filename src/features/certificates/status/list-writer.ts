import { noBytes } from "../../../machinery/api/bytes/no-bytes.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { parseRevocationList, signRevocationList } from "../../../pki/revocation/certificate-revocation-list.ts";
import type { RevocationList } from "../../../pki/revocation/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { configMapResource } from "../../core/index.ts";
import type { ConfigMap } from "../../core/index.ts";
import { backdateMilliseconds } from "../backdate.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import type { RevocationSettings } from "../settings.ts";
import { authorityId, listAddress, revocationPath } from "./addresses.ts";
import { readStoredList, storedChunks, storedListName, storedListObjects, storedListVersion } from "./stored-list.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** Room for one URL per signer, and some replaced URLs. */
const maximumDistributionPoints = 128;
const longestDistributionPoint = 512;

/** A larger DER value could not be read here. A certificate of a sharded list is in a smaller list. */
const maximumListBytes = 15 * 1024 * 1024;

interface ListWriterOptions {
  readonly names: Names;
  readonly client: ApiClient;
  /** The cached ConfigMaps, by `namespace/name`. */
  readonly configMaps: { get(key: string): ConfigMap | undefined };
  readonly settings: Pick<RevocationSettings, "listLifetimeMilliseconds">;
  /** The base URLs in certificates, each in the form of `--revocation-url`. */
  readonly urls: () => readonly string[];
  /** The age at which a list is signed again. */
  readonly refreshMilliseconds: number;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "error">;
}

interface ListToWrite {
  readonly authority: SigningAuthority;
  readonly shard: string | undefined;
  readonly entries: Buffer;
}

/** The properties of a stored list that the writer compares. */
interface ComparedList {
  readonly entries: Buffer;
  readonly distributionPoints: readonly string[];
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  /** The DER of the CA's certificate. */
  readonly issuer: Buffer;
  readonly number: number;
}

type WantedList = Pick<ComparedList, "entries" | "distributionPoints"> & { readonly now: number };
type NewList = Pick<ComparedList, "number" | "issuer"> & { readonly der: Buffer };

/** Signs lists and stores them. Does not read again lists that it has stored itself. */
export class ListWriter {
  readonly #options: ListWriterOptions;
  readonly #namespace: string;
  readonly #written = new Map<string, ComparedList & { readonly version: string }>();

  constructor(options: ListWriterOptions) {
    this.#options = options;
    this.#namespace = options.names.namespaces.system;
  }

  /** Writes a list, unless the stored list has the same entries and is recent. Returns whether it wrote. Rejects like the client. */
  async write({ authority, shard, entries }: ListToWrite): Promise<boolean> {
    const { settings, clock, log } = this.#options;
    const id = authorityId(authority.certificate);
    const name = storedListName(id, shard);
    const before = storedChunks(name, (one) => this.#find(one));
    const previous = await this.#stored(name);
    const now = clock.now();
    const issuer = authority.certificate.der;
    const distributionPoints = shard === undefined ? [] : this.#distributionPoints(listAddress(id, shard), previous);
    const wanted = { entries, distributionPoints, now };
    if (previous !== undefined && previous.issuer.equals(issuer) && this.#isCurrent(previous, wanted)) return false;
    if (entries.length > maximumListBytes) {
      const fault = "the revocation list would be too large, so it is not published";
      log.error({ controller: "revocation-list-publisher", ca: id, bytes: entries.length }, fault);
      return false;
    }
    // After a restore from a backup the previous number is too low. The time is not.
    const number = Math.max((previous?.number ?? 0) + 1, Math.floor(now / 1000));
    const thisUpdate = Math.floor((now - backdateMilliseconds) / 1000) * 1000;
    const nextUpdate = thisUpdate + backdateMilliseconds + settings.listLifetimeMilliseconds;
    const list = { entries, number, distributionPoints, thisUpdate, nextUpdate };
    const der = await signRevocationList(list, authority);
    const version = await this.#store(name, { list: { number, der, issuer }, before });
    if (shard === undefined && previous !== undefined) this.#logSharedKey(previous, authority.certificate);
    this.#written.set(name, { ...list, issuer, version });
    return true;
  }

  /**
   * The URLs under which certificates name a part of a list. Verifiers refuse a part without the URL in the certificate, so the URLs of
   * earlier settings stay. Only URLs of this part are kept, because nobody has checked who stored the list that had them.
   */
  #distributionPoints(address: string, previous: ComparedList | undefined): readonly string[] {
    const path = revocationPath + address;
    const urls = this.#options.urls().map((url) => url + path);
    const isOwn = (url: string): boolean => url.endsWith(path) && url.length <= longestDistributionPoint;
    const all = new Set([...urls, ...(previous?.distributionPoints.filter(isOwn) ?? [])]);
    return [...all].slice(0, maximumDistributionPoints);
  }

  #find(name: string): ConfigMap | undefined {
    return this.#options.configMaps.get(`${this.#namespace}/${name}`);
  }

  async #stored(name: string): Promise<ComparedList | undefined> {
    const find = (one: string): ConfigMap | undefined => this.#find(one);
    const written = this.#written.get(name);
    if (written !== undefined && written.version === storedListVersion(name, find)) return written;
    const stored = await readStoredList(name, find);
    if (stored === undefined) return undefined;
    const { der, issuer, number } = stored;
    const none = { entries: noBytes, distributionPoints: [], thisUpdate: 0, nextUpdate: 0 };
    return { ...(parsedList(der) ?? none), issuer, number };
  }

  /**
   * Logs that an earlier CA with another name had the same key. The URLs in certificates contain the id of the key, and the list at a URL
   * names one issuer, so it cannot serve both names.
   */
  #logSharedKey(previous: ComparedList, { rawSubject, subject }: Certificate): void {
    const earlier = orPkiError(() => parseCertificate(previous.issuer));
    if (earlier instanceof PkiError || earlier.rawSubject.equals(rawSubject)) return;
    const names = { ca: formatDistinguishedName(subject), before: formatDistinguishedName(earlier.subject) };
    this.#options.log.error(
      { controller: "revocation-list-publisher", ...names },
      "this CA has the key of an earlier CA with another name, whose certificates have neither a revocation list nor OCSP from now " +
        "on: verifiers that need one refuse them; give a CA with another name another key",
    );
  }

  #isCurrent(list: ComparedList, { entries, distributionPoints, now }: WantedList): boolean {
    const { refreshMilliseconds, settings } = this.#options;
    const ageMilliseconds = now - backdateMilliseconds - list.thisUpdate;
    // A negative age: the clock was set back, and verifiers might refuse the list as not valid yet.
    const isYoung = ageMilliseconds > -backdateMilliseconds && ageMilliseconds < refreshMilliseconds;
    const isAsLong = list.nextUpdate - list.thisUpdate === settings.listLifetimeMilliseconds + backdateMilliseconds;
    const isSameScope = distributionPoints.join() === list.distributionPoints.join();
    return isYoung && isAsLong && isSameScope && list.entries.equals(entries);
  }

  /** Stores a list and returns the version of its objects. `before`: the stored objects when the list was made. */
  async #store(
    name: string,
    { list, before }: { readonly list: NewList; readonly before: ReadonlyMap<string, ConfigMap> },
  ) {
    const { client, names } = this.#options;
    const writer = client.resource(configMapResource(names), this.#namespace);
    const work = new LongWork();
    const versions: string[] = [];
    const leftovers = new Map(before);
    for (const object of storedListObjects({ name, namespace: this.#namespace, list })) {
      const { metadata, data = {}, binaryData = {} } = object;
      const { name: chunk = "" } = metadata;
      let existing = before.get(chunk);
      leftovers.delete(chunk);
      // Somebody has made the ConfigMap immutable: no update would be accepted.
      if (existing?.immutable === true) {
        await writer.delete(chunk, { resourceVersion: existing.metadata.resourceVersion ?? "" });
        existing = undefined;
      }
      // With the version that was read, so that one of two writers fails, and starts again from the other's number. Signing may have taken
      // long.
      const stored =
        existing === undefined ? await writer.create(object) : await writer.update({ ...existing, data, binaryData });
      versions.unshift(stored.metadata.resourceVersion ?? "");
      await work.pause();
    }
    for (const [leftover, { metadata }] of leftovers) {
      const { resourceVersion = "" } = metadata;
      await ignoreCodes([404, 409], writer.delete(leftover, { resourceVersion }));
    }
    return versions.join();
  }
}

/** Parses a stored list. Undefined for bytes that are not a list: somebody else stored them, and they are replaced. */
function parsedList(der: Buffer | undefined): RevocationList | undefined {
  const list = orPkiError(() => der && parseRevocationList(der));
  return list instanceof PkiError ? undefined : list;
}
