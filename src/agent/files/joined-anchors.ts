import type { ClusterTrustBundle } from "../../features/certificates/resources.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import {
  certificateBlocks,
  encodeCertificatesPem,
  parseCertificatesPem,
} from "../../pki/certificates/certificates-pem.ts";

/** The anchors of several bundles. */
interface JoinedAnchors {
  readonly pem: string;
  readonly count: number;
}

/**
 * The anchors of bundles as one PEM text: in the order of the bundles' names, each anchor once, without comments. Throws Error for an
 * anchor that is no certificate, because programs refuse a whole file that contains one.
 */
export function joinedAnchors(bundles: Iterable<ClusterTrustBundle>): JoinedAnchors {
  const nameOf = ({ metadata }: ClusterTrustBundle): string => metadata.name ?? "";
  const sorted = [...bundles].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const anchors = new Set(sorted.flatMap(anchorsOf));
  return { pem: [...anchors].join(""), count: anchors.size };
}

/** The anchors of a bundle. The server may answer with any type, so the field is checked. */
function anchorsOf({ metadata, spec }: ClusterTrustBundle): string[] {
  const text: unknown = (spec as Partial<ClusterTrustBundle["spec"]> | undefined)?.trustBundle;
  if (typeof text !== "string") throw new Error(`the trust bundle ${metadata.name} has no text in the server's answer`);
  try {
    return parseCertificatesPem(text).map((anchor) => encodeCertificatesPem([anchor]));
  } catch (cause) {
    throw new Error(`the trust bundle ${metadata.name} has an anchor that is no certificate: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** Whether two PEM texts have the same anchors, in any order. */
export function haveSameAnchors(one: string, other: string): boolean {
  if (one === other) return true;
  const sorted = (text: string): string =>
    certificateBlocks(text)
      .map((der) => der.toString("base64"))
      .toSorted()
      .join();
  return sorted(one) === sorted(other);
}
