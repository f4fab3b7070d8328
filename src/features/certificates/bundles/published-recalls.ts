import type { Names } from "../../../machinery/api/names.ts";
import { publishedBundle } from "./bundle-names.ts";
import type { ClusterTrustBundle } from "./cluster-trust-bundles.ts";
import { recallAnnotation } from "./recall.ts";

interface PublishedRecallsOptions {
  /** Whether the server publishes a bundle for the signer. */
  readonly isOwnSigner: (signerName: string) => boolean;
  readonly names: Names;
}

interface ObservedBundle {
  readonly recall: string | undefined;
  /** False: changes that were not observed yet may bring another recall. */
  readonly isDeleted: boolean;
}

/**
 * The recalls of the published bundles, also of deleted ones: who may delete bundles, but not `attest`, must not take a recall back.
 * Another process does not know them.
 */
export class PublishedRecalls {
  readonly #isOwnSigner: (signerName: string) => boolean;
  readonly #recallKey: string;
  /** What was last observed of the bundle of each signer. */
  readonly #observed = new Map<string, ObservedBundle>();

  constructor({ isOwnSigner, names }: PublishedRecallsOptions) {
    this.#isOwnSigner = isOwnSigner;
    this.#recallKey = recallAnnotation(names);
  }

  /** Call it for each change of a bundle. Others than those that the server publishes do not count. */
  observe(
    { metadata, spec: { signerName = "" } }: ClusterTrustBundle,
    { isDeleted }: Pick<ObservedBundle, "isDeleted">,
  ): void {
    if (metadata.name !== publishedBundle(signerName)) return;
    // Nobody publishes another one for a signer that is not the server's.
    if (isDeleted && !this.#isOwnSigner(signerName)) this.#observed.delete(signerName);
    else this.#observed.set(signerName, { recall: metadata.annotations?.[this.#recallKey], isDeleted });
  }

  /** Whether a bundle is gone whose deletion was not observed yet. Says so once: it may never be, where a change was lost. */
  mustWaitOnce(signerName: string): boolean {
    const last = this.#observed.get(signerName);
    if (last?.isDeleted !== false) return false;
    this.#observed.set(signerName, { ...last, isDeleted: true });
    return true;
  }

  /** A new bundle with the recall of the deleted one in whose place it comes. */
  carriedOver(signerName: string, { metadata, ...bundle }: ClusterTrustBundle): ClusterTrustBundle {
    const recall = this.#observed.get(signerName)?.recall;
    const annotations = { ...metadata.annotations, ...(recall !== undefined && { [this.#recallKey]: recall }) };
    return { ...bundle, metadata: { ...metadata, annotations } };
  }
}
