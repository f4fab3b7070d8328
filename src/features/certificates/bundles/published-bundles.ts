import type { Names } from "../../../machinery/api/names.ts";
import { publishedBundle } from "./bundle-names.ts";
import type { ClusterTrustBundle } from "./cluster-trust-bundles.ts";
import { recallAnnotation } from "./recall.ts";

interface PublishedBundlesOptions {
  /** Whether the server publishes a bundle for the signer. */
  readonly isOwnSigner: (signerName: string) => boolean;
  readonly names: Names;
}

interface ObservedBundle {
  readonly bundle: ClusterTrustBundle;
  readonly isDeleted: boolean;
}

/**
 * The published bundles, and the recalls also of deleted ones: who may delete bundles, but not `attest`, must not take a recall back.
 * Another process does not know them. They are what changes told, unlike an informer's objects, which may be ahead of its changes: a bundle
 * can be gone there before its last recall was told.
 */
export class PublishedBundles {
  readonly #isOwnSigner: (signerName: string) => boolean;
  readonly #recallKey: string;
  /** What was last observed of the bundle of each signer. */
  readonly #observed = new Map<string, ObservedBundle>();

  constructor({ isOwnSigner, names }: PublishedBundlesOptions) {
    this.#isOwnSigner = isOwnSigner;
    this.#recallKey = recallAnnotation(names);
  }

  /** Call it for each change of a bundle. Others than those that the server publishes do not count. */
  observe(bundle: ClusterTrustBundle, { isDeleted }: Pick<ObservedBundle, "isDeleted">): void {
    const { signerName = "" } = bundle.spec;
    if (bundle.metadata.name !== publishedBundle(signerName)) return;
    // Nobody publishes another one for a signer that is not the server's.
    if (isDeleted && !this.#isOwnSigner(signerName)) this.#observed.delete(signerName);
    else this.#observed.set(signerName, { bundle, isDeleted });
  }

  /** Undefined while there is none. */
  of(signerName: string): ClusterTrustBundle | undefined {
    const last = this.#observed.get(signerName);
    return last?.isDeleted === false ? last.bundle : undefined;
  }

  /** Creates a bundle, with the recall of the deleted one in whose place it comes. Rejects as `write` does. */
  async create(
    { metadata, ...bundle }: ClusterTrustBundle,
    write: (bundle: ClusterTrustBundle) => Promise<ClusterTrustBundle>,
  ): Promise<void> {
    const { signerName = "" } = bundle.spec;
    const last = this.#observed.get(signerName);
    const recall = last?.bundle.metadata.annotations?.[this.#recallKey];
    const annotations = { ...metadata.annotations, ...(recall !== undefined && { [this.#recallKey]: recall }) };
    const created = await write({ ...bundle, metadata: { ...metadata, annotations } });
    // Later changes of it may have been told already.
    if (this.#observed.get(signerName) === last) this.observe(created, { isDeleted: false });
  }
}
