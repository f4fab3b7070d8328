import type { Names } from "../../../machinery/api/names.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { publishedBundle } from "./bundle-names.ts";
import type { ClusterTrustBundle } from "./cluster-trust-bundles.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { PublishedBundles } from "./published-bundles.ts";
import { clusterTrustBundleResource } from "../resources.ts";
import { formatRemovalTimes, parseRemovalTimes, publishedAnchors } from "./published-anchors.ts";

export interface TrustBundlePublisherOptions {
  /** Called at each interval: there may be new ones. */
  signerNames(): readonly string[];
  /** The CA certificates that a signer signs with now, or will soon; called at each interval. */
  anchorsFor(signerName: string): readonly Certificate[];
  /** How long a certificate of a replaced anchor may still be in use: the longest validity, in milliseconds. */
  overlapMilliseconds(signerName: string): number;
  /** Whether a CA was retired: then it is not published any more, whatever it signed. */
  isRetired(anchor: Certificate): boolean;
}

/** How often the CAs are checked. */
const intervalMilliseconds = 5_000;

/**
 * Publishes a ClusterTrustBundle for each signer that has a CA. A replaced CA stays in the bundle as long as a
 * certificate that it signed may be valid. An annotation stores when it is removed. A bundle that takes the place of a deleted one has its
 * recall (`PublishedBundles`).
 */
export const trustBundlePublisher = (options: TrustBundlePublisherOptions): Controller => ({
  name: "trust-bundle-publisher",
  start: (context) => new TrustBundlePublisher(context, options),
});

class TrustBundlePublisher implements StartedController {
  readonly queue: WorkQueue;
  readonly #context: ControllerContext;
  readonly #options: TrustBundlePublisherOptions;
  readonly #published: PublishedBundles;
  /** The signers whose bundles are looked after. */
  readonly #known = new Set<string>();

  /** Called without its object. */
  readonly onSynced = (): void => this.#addNewSigners();

  constructor(context: ControllerContext, options: TrustBundlePublisherOptions) {
    this.#context = context;
    this.#options = options;
    this.#published = new PublishedBundles({ isOwnSigner: (name) => this.#isOwnSigner(name), names: context.names });
    this.queue = controllerQueue(context, { reconcile: (signerName) => this.#reconcile(signerName) });
    context.informers.of(clusterTrustBundleResource(context.names)).addHandler({
      onAdd: (bundle) => this.#published.observe(bundle, { isDeleted: false }),
      onUpdate: (bundle) => {
        this.#published.observe(bundle, { isDeleted: false });
        this.#add(bundle);
      },
      onDelete: (bundle) => {
        this.#published.observe(bundle, { isDeleted: true });
        this.#add(bundle);
      },
    });
  }

  async #reconcile(signerName: string): Promise<string> {
    this.queue.addAfter(signerName, intervalMilliseconds);
    this.#addNewSigners();
    const anchors = this.#options.anchorsFor(signerName);
    if (anchors.length === 0) return "nothing to do: the signer has no CA here";
    const { client, clock, names } = this.#context;
    const writer = client.resource(clusterTrustBundleResource(names));
    const existing = this.#published.of(signerName);
    const bundle = bundleOf(signerName, { existing, anchors, names, now: clock.now(), options: this.#options });
    if (existing === undefined) {
      const creation = this.#published.create(bundle, (carriedOver) => writer.create(carriedOver));
      await ignoreCodes([409], creation);
      return "published the signer's CA in a new bundle";
    }
    if (isCurrent(existing, { wanted: bundle, names })) return "nothing to do: the bundle is current";
    await writer.update(bundle);
    return "updated the bundle";
  }

  #addNewSigners(): void {
    for (const signerName of this.#options.signerNames()) {
      if (!this.#known.has(signerName)) this.queue.add(signerName);
      this.#known.add(signerName);
    }
  }

  #add({ spec: { signerName = "" } }: ClusterTrustBundle): void {
    if (this.#isOwnSigner(signerName)) this.queue.add(signerName);
  }

  #isOwnSigner(signerName: string): boolean {
    return this.#options.signerNames().includes(signerName);
  }
}

/** When each replaced anchor is removed, in an annotation of its bundle. Stored bundles have this key. */
const replacedAnnotation = (names: Names): string => `${names.group("signet")}/retired-trust-anchors`;

/** Whether a bundle has the wanted anchors, and says the same of when they are removed. */
const isCurrent = (
  { spec, metadata }: ClusterTrustBundle,
  { wanted, names }: { readonly wanted: ClusterTrustBundle; readonly names: Names },
): boolean => {
  const key = replacedAnnotation(names);
  return (
    spec.trustBundle === wanted.spec.trustBundle && metadata.annotations?.[key] === wanted.metadata.annotations?.[key]
  );
};

interface BundleParts {
  readonly existing: ClusterTrustBundle | undefined;
  /** The CA certificates that the signer uses now. */
  readonly anchors: readonly Certificate[];
  readonly names: Names;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly options: TrustBundlePublisherOptions;
}

/** The bundle as it should be: what else is in the existing one stays. */
function bundleOf(signerName: string, { existing, anchors, names, now, options }: BundleParts): ClusterTrustBundle {
  const replacedKey = replacedAnnotation(names);
  const published = existing === undefined ? [] : parseCertificatesPem(existing.spec.trustBundle);
  const wanted = publishedAnchors({
    current: anchors,
    published: published.filter((anchor) => !options.isRetired(anchor)),
    replaced: parseRemovalTimes(existing?.metadata.annotations?.[replacedKey]),
    now,
    overlapMilliseconds: options.overlapMilliseconds(signerName),
  });
  return {
    apiVersion: `${names.group("certificates")}/v1beta1`,
    kind: "ClusterTrustBundle",
    ...existing,
    metadata: {
      name: publishedBundle(signerName),
      ...existing?.metadata,
      annotations: { ...existing?.metadata.annotations, [replacedKey]: formatRemovalTimes(wanted.replaced) },
    },
    spec: {
      signerName,
      trustBundle: encodeCertificatesPem(wanted.anchors),
    },
  };
}
