import { isUnfinished } from "../../features/certificates/requests/certificate-request-state.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../../features/certificates/resources.ts";
import type { CertificateSigningRequest } from "../../features/certificates/resources.ts";
import type { IssuedCertificate } from "../../features/certificates/inventory/issued-certificates.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { followInTurns } from "../../machinery/registry/reads/follow-in-turns.ts";
import type { ResourceRegistry } from "../../machinery/registry/resource-registry.ts";
import type { StoredObject } from "../../machinery/registry/stored/stored-object.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { LongWork } from "../../machinery/scheduling/long-work.ts";

interface FollowedCertificatesOptions {
  readonly stores: Stores;
  signerLabel(signerName: string): string;
}

/**
 * The numbers of certificate requests and of certificate records for metrics, by the labels of their signers. Objects are followed only
 * from the first call on, so that servers without a scraper pay nothing. There may be a million of them, so each call works in turns of the
 * event loop.
 */
export class FollowedCertificates {
  readonly #options: FollowedCertificatesOptions;
  #waiting: SignerNumbers<CertificateSigningRequest> | undefined;
  #ends: SignerNumbers<IssuedCertificate> | undefined;

  constructor(options: FollowedCertificatesOptions) {
    this.#options = options;
  }

  /** The number of requests that are neither issued nor refused. */
  waiting(): Promise<ReadonlyMap<string, number>> {
    const { stores, signerLabel } = this.#options;
    this.#waiting ??= new SignerNumbers(stores.of(certificateSigningRequestResource), (request) =>
      isUnfinished(request) ? 1 : undefined,
    );
    return this.#waiting.combined(signerLabel, (count = 0) => count + 1);
  }

  /** The earliest expiry among the recorded certificates that expire after `now`, in milliseconds since the epoch. */
  soonestEnds(now: number): Promise<ReadonlyMap<string, number>> {
    const { stores, signerLabel } = this.#options;
    this.#ends ??= new SignerNumbers(stores.of(issuedCertificateResource), ({ spec }) => Date.parse(spec.notAfter));
    return this.#ends.combined(signerLabel, (soonest, end) =>
      end > now ? Math.min(soonest ?? Infinity, end) : soonest,
    );
  }
}

interface OfSigner extends ApiObject {
  readonly spec: { readonly signerName: string };
}

/** The number that `numberOf` returns for each object of a resource, by its signer. Objects for which it is undefined are left out. */
class SignerNumbers<T extends OfSigner> {
  readonly #ready: () => Promise<void>;
  readonly #numberOf: (object: T) => number | undefined;
  /** The numbers by the signer's name, and then by the object's key. */
  readonly #numbers = new Map<string, Map<string, number>>();

  constructor(registry: ResourceRegistry<T>, numberOf: (object: T) => number | undefined) {
    this.#numberOf = numberOf;
    this.#ready = followInTurns(registry, {
      clear: () => this.#numbers.clear(),
      add: (stored) => this.#add(stored),
      remove: (stored) => this.#remove(stored),
    });
  }

  /** Combines the numbers of all signers with the same label. A label for which the result is undefined is left out. */
  async combined(
    labelOf: (signerName: string) => string,
    combine: (known: number | undefined, next: number) => number | undefined,
  ): Promise<ReadonlyMap<string, number>> {
    await this.#ready();
    const found = new Map<string, number>();
    const work = new LongWork();
    for (const [signerName, numbers] of this.#numbers) {
      const label = labelOf(signerName);
      let result = found.get(label);
      for (const number of numbers.values()) {
        result = combine(result, number);
        const pause = work.pause();
        if (pause !== undefined) await pause;
      }
      if (result !== undefined) found.set(label, result);
    }
    return found;
  }

  #add(stored: StoredObject<T>): void {
    if (stored.unreadable !== undefined) return;
    const { key, object } = stored;
    const number = this.#numberOf(object);
    if (number === undefined) return;
    const { signerName } = object.spec;
    const others = this.#numbers.get(signerName);
    if (others === undefined) this.#numbers.set(signerName, new Map([[key, number]]));
    else others.set(key, number);
  }

  #remove({ key, object }: StoredObject<T>): void {
    const { signerName } = object.spec;
    const others = this.#numbers.get(signerName);
    others?.delete(key);
    if (others?.size === 0) this.#numbers.delete(signerName);
  }
}
