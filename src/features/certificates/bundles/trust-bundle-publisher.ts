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

interface TrustBundlePublisherOptions {
  /** The signers with bundles. Called at each interval, because there may be new signers. */
  signerNames(): readonly string[];
  /** The CA certificates with which a signer signs now, or will soon. Called at each interval. */
  anchorsFor(signerName: string): readonly Certificate[];
  /** The longest validity of a replaced anchor's certificates, in milliseconds: so long they may still be in use. */
  overlapMilliseconds(signerName: string): number;
  /** Whether a CA was retired. A retired CA is not published any more, even if its certificates are valid. */
  isRetired(anchor: Certificate): boolean;
}

/** How often to check whether the CAs have changed. */
const intervalMilliseconds = 5_000;

/**
 * Publishes a ClusterTrustBundle for each signer that has a CA. A replaced CA stays in the bundle as long as a certificate that it signed
 * may be valid; an annotation stores when to remove it. A bundle that replaces a deleted one keeps its recall (see `PublishedBundles`).
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
  /** The signers whose bundles are published. */
  readonly #known = new Set<string>();

  /** An arrow function, because it is called without its object. */
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

/** The annotation of a bundle with the removal times of replaced anchors. Stored bundles have this key, so it cannot change. */
const replacedAnnotation = (names: Names): string => `${names.group("signet")}/retired-trust-anchors`;

/** Whether a bundle has the wanted anchors and removal times. */
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

/** The wanted bundle. All other fields of the existing bundle stay. */
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
