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
 * The published bundles, and the recalls of deleted bundles: a user who may delete bundles, but not `attest`, must not be able to undo a
 * recall. The recalls of deleted bundles are known in this process only. This class collects the state from change events, because an
 * informer's objects may be ahead of its events: a bundle can be missing there before the event of its last recall.
 */
export class PublishedBundles {
  readonly #isOwnSigner: (signerName: string) => boolean;
  readonly #recallKey: string;
  /** The last observed state of each signer's bundle. */
  readonly #observed = new Map<string, ObservedBundle>();

  constructor({ isOwnSigner, names }: PublishedBundlesOptions) {
    this.#isOwnSigner = isOwnSigner;
    this.#recallKey = recallAnnotation(names);
  }

  /** Records a change of a bundle. Ignores bundles that the server does not publish. */
  observe(bundle: ClusterTrustBundle, { isDeleted }: Pick<ObservedBundle, "isDeleted">): void {
    const { signerName = "" } = bundle.spec;
    if (bundle.metadata.name !== publishedBundle(signerName)) return;
    // For a signer that is not the server's, nobody will publish a new bundle.
    if (isDeleted && !this.#isOwnSigner(signerName)) this.#observed.delete(signerName);
    else this.#observed.set(signerName, { bundle, isDeleted });
  }

  /** The bundle of a signer. Undefined when it does not exist. */
  of(signerName: string): ClusterTrustBundle | undefined {
    const last = this.#observed.get(signerName);
    return last?.isDeleted === false ? last.bundle : undefined;
  }

  /** Creates a bundle, with the recall of the deleted bundle that it replaces. Rejects as `write` does. */
  async create(
    { metadata, ...bundle }: ClusterTrustBundle,
    write: (bundle: ClusterTrustBundle) => Promise<ClusterTrustBundle>,
  ): Promise<void> {
    const { signerName = "" } = bundle.spec;
    const last = this.#observed.get(signerName);
    const recall = last?.bundle.metadata.annotations?.[this.#recallKey];
    const annotations = { ...metadata.annotations, ...(recall !== undefined && { [this.#recallKey]: recall }) };
    const created = await write({ ...bundle, metadata: { ...metadata, annotations } });
    // Only if no later change was observed meanwhile.
    if (this.#observed.get(signerName) === last) this.observe(created, { isDeleted: false });
  }
}
