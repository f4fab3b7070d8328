import { setImmediate } from "node:timers/promises";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import { followRegistry } from "../../../machinery/registry/reads/follow-registry.ts";
import { collectionRange } from "../../../machinery/registry/stored/storage-key.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { parseRevocationList } from "../../../pki/revocation/certificate-revocation-list.ts";
import { checkSignature } from "../../../pki/keys/check-signature.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { ConfigMap } from "../../core/index.ts";
import { backdateMilliseconds } from "../backdate.ts";
import { authorityId } from "./addresses.ts";
import { parseStoredListName, readStoredList } from "./stored-list.ts";

/** A revocation list that is served. */
interface PublishedList {
  readonly der: Buffer;
  /** The ETag of the bytes, without quotes. */
  readonly tag: string;
  readonly number: number;
  /** When the list was signed, in milliseconds since the epoch. */
  readonly signedAt: number;
  /** Milliseconds since the epoch. */
  readonly nextUpdate: number;
  readonly issuer: Certificate;
}

/**
 * The stored lists, in memory. A list is served only if the CA in its name has signed it, because a user who may write ConfigMaps could
 * store anything there.
 */
export class PublishedLists {
  readonly #registry: ResourceRegistry<ConfigMap>;
  readonly #namespace: string;
  readonly #onBadList: (name: string, fault: unknown) => void;
  readonly #lists = new Map<string, PublishedList>();
  readonly #unread = new Set<string>();
  #reading: Promise<void> | undefined;

  constructor(options: {
    readonly configMaps: ResourceRegistry<ConfigMap>;
    readonly namespace: string;
    readonly onBadList: (name: string, fault: unknown) => void;
  }) {
    this.#registry = options.configMaps;
    this.#namespace = options.namespace;
    this.#onBadList = options.onBadList;
    const { start, end } = collectionRange(this.#registry.definition, this.#namespace);
    const note = (key: string): void => {
      const parsed = key.startsWith(start) ? parseStoredListName(key.slice(start.length)) : undefined;
      if (parsed !== undefined) this.#changed(parsed.name);
    };
    followRegistry(this.#registry, {
      onLoaded: () => {
        for (const name of this.#lists.keys()) this.#changed(name);
        for (const { key } of this.#registry.cache.range({ start, end })) note(key);
      },
      onEvent: ({ key }) => note(key),
    });
  }

  /** Resolves when every list that was there at the call has been read. */
  async ready(): Promise<void> {
    await this.#reading;
  }

  /** The list whose first ConfigMap has this name. */
  find(name: string): PublishedList | undefined {
    return this.#lists.get(name);
  }

  /** All lists, and all parts of lists, by name. */
  all(): ReadonlyMap<string, PublishedList> {
    return this.#lists;
  }

  /** Marks a list as changed. It is read a little later, because a list of many ConfigMaps changes many times. */
  #changed(name: string): void {
    this.#unread.add(name);
    this.#reading ??= this.#read();
  }

  async #read(): Promise<void> {
    await setImmediate();
    for (const name of this.#unread) {
      this.#unread.delete(name);
      try {
        await this.#readOne(name);
      } catch (error) {
        this.#onBadList(name, error);
      }
    }
    this.#reading = undefined;
  }

  async #readOne(name: string): Promise<void> {
    const find = (one: string): ConfigMap | undefined =>
      this.#registry.peek({ namespace: this.#namespace, name: one })?.object;
    const stored = await readStoredList(name, find);
    if (stored === undefined) return void this.#lists.delete(name);
    const { der } = stored;
    // The rest of the list is being written. Until then the previous list is served.
    if (der === undefined) return;
    const { sha256: tag } = stored;
    if (this.#lists.get(name)?.tag === tag) return;
    const issuer = parseCertificate(stored.issuer);
    const list = parseRevocationList(der);
    if (authorityId(issuer) !== parseStoredListName(name)?.id) throw new PkiError("it is not of the CA of its name");
    // Parsing and checking a large list both take a while: let other work run between them.
    await setImmediate();
    checkSignature({
      signed: list.tbsCertList,
      signature: list.signature,
      algorithm: list.signatureAlgorithm,
      publicKey: issuer.publicKey,
      sha1: "refused",
    });
    const { number, thisUpdate, nextUpdate } = list;
    this.#lists.set(name, { der, tag, number, nextUpdate, issuer, signedAt: thisUpdate + backdateMilliseconds });
  }
}
