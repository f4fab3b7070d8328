import { noBytes } from "../../../machinery/api/bytes/no-bytes.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import type { FollowedObjects } from "../../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { configMapResource } from "../../core/index.ts";
import type { ConfigMap } from "../../core/index.ts";
import { revocationResource } from "../../revocation/index.ts";
import type { Revocation } from "../../revocation/index.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { issuedCertificateResource } from "../resources.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import type { RevocationSettings } from "../settings.ts";
import type { ConfiguredSigner } from "../signers/signer-configuration.ts";
import { authorityId, maySignLists, shards } from "./addresses.ts";
import { ListWriter } from "./list-writer.ts";
import { ListedCertificates } from "./listed-certificates.ts";
import type { EncodedList } from "./listed-certificates.ts";
import { ListsWithoutKeys } from "./lists-without-keys.ts";
import { parseStoredListName, storedListName } from "./stored-list.ts";
import type { Log } from "../../../machinery/logging/log.ts";

interface RevocationListPublisherOptions {
  readonly settings: RevocationSettings;
  /** The CAs whose keys are here: the signing CAs, and the CAs of earlier and later rotations. */
  readonly authorities: () => readonly SigningAuthority[];
  /** The configured signers, whose certificates may name other URLs than the settings do. */
  readonly configuredSigners: () => readonly Pick<ConfiguredSigner, "revocationUrl">[];
}

/** The keys of the queue: publish all lists, and check whether there are other CAs. */
const listsKey = "lists";
const authoritiesKey = "authorities";
/** How often to check for new CAs, whose certificates name their lists at once. */
const pollMilliseconds = 2000;
/** The pause before lists are published, because revocations often come together. */
const settlingMilliseconds = 1000;
/** A list is signed again at least this often, so that each expired certificate is on one list after it has expired. */
const longestRefreshMilliseconds = 30 * 60_000;
/** With very many revocations, at most this part of the time is used for finding and encoding them. */
const busyShare = 1 / 10;
const longestPauseMilliseconds = 60_000;

/**
 * Signs a revocation list for each CA, and stores it for all servers to serve. Only the process that runs the controllers does so: a list
 * has the same number and content everywhere. The numbers grow, whatever happens to the process, the clock or the store.
 */
export const revocationListPublisher = (options: RevocationListPublisherOptions): Controller => ({
  name: "revocation-list-publisher",
  start: (context) => new RevocationListPublisher(context, options).run(),
});

class RevocationListPublisher {
  readonly #name: string;
  readonly #options: RevocationListPublisherOptions;
  readonly #refreshMilliseconds: number;
  readonly #clock: Clock;
  readonly #monotonic: Clock;
  readonly #log: Pick<Log, "info" | "error">;
  readonly #namespace: string;
  readonly #revocations: FollowedObjects<Revocation>;
  readonly #records: FollowedObjects<IssuedCertificate>;
  readonly #configMaps: FollowedObjects<ConfigMap>;
  readonly #queue: WorkQueue;
  readonly #writer: ListWriter;
  readonly #listed = new ListedCertificates();
  readonly #withoutKeys: ListsWithoutKeys;
  /** The ids of the CAs that were logged because their certificates do not allow lists. */
  readonly #loggedAsUnable = new Set<string>();

  #isSynced = false;
  /** Whether `#publishSoon` has already queued the lists. */
  #isDue = false;
  /** When to publish at the earliest, on the monotonic clock. */
  #notBefore = 0;
  /** When the inventory was last searched for all lists, in milliseconds since the epoch. */
  #searchedAt = 0;
  /** The CAs whose lists were published, and the base URLs of these lists. */
  #publishedFor = "";
  #encodedLines = 0;

  constructor(context: ControllerContext, options: RevocationListPublisherOptions) {
    const { name, client, clock, monotonic, informers, log, names } = context;
    const { settings } = options;
    this.#name = name;
    this.#options = options;
    this.#refreshMilliseconds = Math.min(longestRefreshMilliseconds, settings.listLifetimeMilliseconds / 4);
    this.#clock = clock;
    this.#monotonic = monotonic;
    this.#log = log;
    this.#namespace = names.namespaces.system;
    this.#revocations = informers.of(revocationResource(names));
    this.#records = informers.of(issuedCertificateResource(names));
    this.#configMaps = informers.of(configMapResource(names));
    this.#queue = controllerQueue(context, { reconcile: (key) => this.#reconcile(key) });
    this.#writer = new ListWriter({
      names,
      client,
      configMaps: this.#configMaps,
      settings,
      urls: () => this.#urls(),
      refreshMilliseconds: this.#refreshMilliseconds,
      clock,
      log,
    });
    this.#withoutKeys = new ListsWithoutKeys(log);
  }

  run(): StartedController {
    this.#revocations.addHandler({
      onAdd: (revocation) => {
        if (this.#listed.addRevocation(revocation)) this.#publishSoon();
      },
      onDelete: (revocation) => {
        if (this.#listed.removeRevocation(revocation)) this.#publishSoon();
      },
    });
    this.#records.addHandler({
      isInterested: () => this.#listed.hasRevocations,
      onAdd: (record) => {
        if (this.#listed.addRecord(record)) this.#publishSoon();
      },
    });
    this.#configMaps.addHandler({
      onDelete: ({ metadata: { namespace, name = "" } }) => {
        if (namespace === this.#namespace && parseStoredListName(name) !== undefined) this.#publishSoon();
      },
    });
    return {
      queue: this.#queue,
      onSynced: () => {
        this.#isSynced = true;
        this.#queue.add(listsKey);
        this.#queue.addAfter(authoritiesKey, pollMilliseconds);
      },
    };
  }

  #publishSoon(): void {
    if (this.#isDue || !this.#isSynced) return;
    this.#isDue = true;
    this.#queue.addAfter(listsKey, Math.max(settlingMilliseconds, this.#notBefore - this.#monotonic.now()));
  }

  async #reconcile(key: string): Promise<string> {
    if (key === listsKey) return this.#publishAll();
    this.#queue.addAfter(authoritiesKey, pollMilliseconds);
    const isOfSameCas = this.#scopeOf(this.#authorities()) === this.#publishedFor;
    if (isOfSameCas && !this.#isRefreshDue(this.#clock.now())) return "nothing to do: the CAs are the same";
    this.#publishSoon();
    return isOfSameCas ? "will publish the lists again" : "will publish the lists of other CAs";
  }

  /** Compares times, because timers do not notice that a machine was suspended or its clock was set. */
  #isRefreshDue(now: number): boolean {
    return Math.abs(now - this.#searchedAt) >= this.#refreshMilliseconds;
  }

  #authorities(): readonly SigningAuthority[] {
    return distinct(this.#options.authorities());
  }

  #urls(): readonly string[] {
    const { settings, configuredSigners } = this.#options;
    const named = configuredSigners().map(({ revocationUrl = "" }) => revocationUrl);
    return [settings.url, ...named.filter((url) => url !== "")];
  }

  #scopeOf(authorities: readonly SigningAuthority[]): string {
    return [...authorities.map(({ certificate }) => fingerprintOf(certificate)), ...this.#urls()].join();
  }

  async #publishAll(): Promise<string> {
    this.#isDue = false;
    const authorities = this.#authorities();
    this.#publishedFor = this.#scopeOf(authorities);
    let busyMilliseconds = await this.#refresh();
    let written = 0;
    const failures: unknown[] = [];
    for (const authority of authorities) {
      if (!this.#maySign(authority)) continue;
      const work = new LongWork();
      const list = await this.#listed.encoded(formatDistinguishedName(authority.certificate.subject), work);
      busyMilliseconds += work.busyMilliseconds;
      try {
        written += await this.#write(authority, list);
      } catch (error) {
        failures.push(error); // such as an unavailable PKCS #11 token: the lists of other CAs must not wait for it
      }
    }
    const signed = new Set(authorities.map(({ certificate }) => authorityId(certificate)));
    const stored = { configMaps: this.#configMaps, namespace: this.#namespace };
    await this.#withoutKeys.report({ ...stored, signed, now: this.#clock.now() });
    this.#notBefore = this.#monotonic.now() + Math.min(longestPauseMilliseconds, busyMilliseconds / busyShare);
    if (failures.length > 1) throw new AggregateError(failures, [...new Set(failures.map(messageOf))].join("; "));
    if (failures.length > 0) throw failures[0];
    this.#queue.addAfter(listsKey, this.#refreshMilliseconds);
    const encoded = this.#listed.encodedLines - this.#encodedLines;
    this.#encodedLines = this.#listed.encodedLines;
    return `published ${written} revocation lists; encoded ${encoded} entries`;
  }

  /** Updates the entries of the lists. Returns how many milliseconds this kept the process busy. */
  async #refresh(): Promise<number> {
    const work = new LongWork();
    const now = this.#clock.now();
    if (this.#isRefreshDue(now)) {
      this.#searchedAt = now;
      this.#listed.searchAgain();
    }
    const expiredBefore = now - this.#refreshMilliseconds;
    await this.#listed.refresh({ records: () => this.#records.list(), expiredBefore, work });
    return work.busyMilliseconds;
  }

  /** Whether a CA's certificate allows signing lists. If not, logs this once. */
  #maySign({ certificate }: SigningAuthority): boolean {
    if (maySignLists(certificate)) return true;
    const id = authorityId(certificate);
    if (!this.#loggedAsUnable.has(id)) {
      this.#log.error(
        { controller: this.#name, ca: certificate.subject.commonName },
        "this CA's key usage lacks cRLSign, so verifiers would not accept its revocation list and none is published: " +
          "replace its certificate as docs/revocation.md says",
      );
    }
    this.#loggedAsUnable.add(id);
    return false;
  }

  /** Writes those lists of a CA that are outdated in the store. Returns their number. */
  async #write(authority: SigningAuthority, { whole, parts }: EncodedList): Promise<number> {
    // Certificates that name a part need it as long as they are valid, also after the setting has changed.
    const firstPart = `${this.#namespace}/${storedListName(authorityId(authority.certificate), "0")}`;
    const isSharded = this.#options.settings.isSharded || this.#configMaps.get(firstPart) !== undefined;
    let written = 0;
    if (await this.#writer.write({ authority, shard: undefined, entries: whole })) written++;
    for (const shard of isSharded ? shards : []) {
      if (await this.#writer.write({ authority, shard, entries: parts.get(shard) ?? noBytes })) written++;
    }
    return written;
  }
}

/**
 * Removes duplicates, because several signers may have the same CA. Of several certificates of one key, the first stays: it is the one that
 * signs now.
 */
function distinct(authorities: readonly SigningAuthority[]): readonly SigningAuthority[] {
  const byId = new Map<string, SigningAuthority>();
  for (const authority of authorities) {
    const id = authorityId(authority.certificate);
    if (!byId.has(id)) byId.set(id, authority);
  }
  return [...byId.values()];
}
