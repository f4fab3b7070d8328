import { timestamp } from "../../../machinery/api/clock.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import { parseRevocationList } from "../../../pki/revocation/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import type { ConfigMap } from "../../core/index.ts";
import { parseStoredListName, readStoredList } from "./stored-list.ts";
import type { Log } from "../../../machinery/logging/log.ts";

interface LastList {
  readonly ca: string;
  readonly nextUpdate: number;
  /** When the CA's certificate expires, in milliseconds since the epoch. After that its list is not needed. */
  readonly caEnds: number;
  hasEnded: boolean;
}

/**
 * Logs revocation lists that cannot be signed again, because the keys of their CAs are not here any more: once when this is noticed, and
 * once when the last list has expired.
 */
export class ListsWithoutKeys {
  readonly #log: Pick<Log, "info" | "error">;
  /** The last list of each CA, by the CA's id. */
  readonly #lists = new Map<string, LastList>();

  constructor(log: Pick<Log, "info" | "error">) {
    this.#log = log;
  }

  /** Checks the stored lists and logs changes. `signed` are the ids of the CAs whose keys are here. */
  async report({
    configMaps,
    namespace,
    signed,
    now,
  }: {
    readonly configMaps: { list(): Iterable<ConfigMap>; get(key: string): ConfigMap | undefined };
    readonly namespace: string;
    readonly signed: ReadonlySet<string>;
    readonly now: number;
  }): Promise<void> {
    for (const id of signed) this.#lists.delete(id);
    for (const { metadata } of configMaps.list()) {
      const parsed = metadata.namespace === namespace ? parseStoredListName(metadata.name ?? "") : undefined;
      if (parsed === undefined || parsed.name !== metadata.name || parsed.shard !== undefined || signed.has(parsed.id))
        continue;
      const known = this.#lists.get(parsed.id);
      if (known === undefined) await this.#learn(parsed, (name) => configMaps.get(`${namespace}/${name}`));
      const list = this.#lists.get(parsed.id);
      if (list !== undefined && now < list.caEnds) this.#tell(list, { isNew: known === undefined, now });
    }
  }

  async #learn(
    { name, id }: { readonly name: string; readonly id: string },
    find: (name: string) => ConfigMap | undefined,
  ): Promise<void> {
    const stored = await readStoredList(name, find);
    if (stored?.der === undefined) return;
    try {
      const { subject, notAfter } = parseCertificate(stored.issuer);
      const { nextUpdate } = parseRevocationList(stored.der);
      this.#lists.set(id, { ca: formatDistinguishedName(subject), nextUpdate, caEnds: notAfter, hasEnded: false });
    } catch {
      // Not a list: the code that serves lists reports it.
    }
  }

  #tell(list: LastList, { isNew, now }: { readonly isNew: boolean; readonly now: number }): void {
    const { ca, nextUpdate, hasEnded } = list;
    const until = timestamp(nextUpdate);
    if (now >= nextUpdate && !hasEnded) {
      list.hasEnded = true;
      this.#log.error(
        { controller: "revocation-list-publisher", ca, until },
        "the last revocation list of a CA has ended, and its key is not here: clients that need a list refuse its certificates",
      );
    } else if (isNew) {
      this.#log.error(
        { controller: "revocation-list-publisher", ca, until },
        "the key of a CA is not here any more, so its revocation list is not signed again: the last one is served until it " +
          "ends, without what is revoked from now on",
      );
    }
  }
}
