import type { Names } from "../../../machinery/api/names.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../../pki/certificates-pem.ts";
import { publishedBundle } from "./bundle-names.ts";
import type { ClusterTrustBundle } from "./cluster-trust-bundles.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { PublishedRecalls } from "./published-recalls.ts";
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
 * recall (`PublishedRecalls`).
 */
export function trustBundlePublisher(options: TrustBundlePublisherOptions): Controller {
  return {
    name: "trust-bundle-publisher",
    start(context) {
      const { client, clock, informers, names } = context;
      const bundles = informers.of(clusterTrustBundleResource(names));
      const replacedKey = replacedAnnotation(names);
      const isOwnSigner = (signerName: string): boolean => options.signerNames().includes(signerName);
      const recalls = new PublishedRecalls({ isOwnSigner, names });
      const isSame = (one: ClusterTrustBundle, other: ClusterTrustBundle): boolean =>
        one.spec.trustBundle === other.spec.trustBundle &&
        one.metadata.annotations?.[replacedKey] === other.metadata.annotations?.[replacedKey];
      const queue = controllerQueue(context, {
        reconcile: async (signerName) => {
          queue.addAfter(signerName, intervalMilliseconds);
          addNewSigners();
          const anchors = options.anchorsFor(signerName);
          if (anchors.length === 0) return "nothing to do: the signer has no CA here";
          const writer = client.resource(clusterTrustBundleResource(names));
          const existing = bundles.get(publishedBundle(signerName));
          const bundle = bundleOf(signerName, { existing, anchors, names, now: clock.now(), options });
          if (existing === undefined) {
            if (recalls.mustWaitOnce(signerName)) return "waits for the last changes of the deleted bundle";
            await ignoreCodes([409], writer.create(recalls.carriedOver(signerName, bundle)));
            return "published the signer's CA in a new bundle";
          }
          if (isSame(existing, bundle)) return "nothing to do: the bundle is current";
          await writer.update(bundle);
          return "updated the bundle";
        },
      });
      const known = new Set<string>();
      const addNewSigners = (): void => {
        for (const signerName of options.signerNames()) {
          if (!known.has(signerName)) queue.add(signerName);
          known.add(signerName);
        }
      };
      const add = ({ spec: { signerName = "" } }: ClusterTrustBundle): void => {
        if (isOwnSigner(signerName)) queue.add(signerName);
      };
      bundles.addHandler({
        onAdd: (bundle) => recalls.observe(bundle, { isDeleted: false }),
        onUpdate(bundle) {
          recalls.observe(bundle, { isDeleted: false });
          add(bundle);
        },
        onDelete(bundle) {
          recalls.observe(bundle, { isDeleted: true });
          add(bundle);
        },
      });
      return { queue, onSynced: addNewSigners };
    },
  };
}

/** When each replaced anchor is removed, in an annotation of its bundle. Stored bundles have this key. */
const replacedAnnotation = (names: Names): string => `${names.group("signet")}/retired-trust-anchors`;

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
