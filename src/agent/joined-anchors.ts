import { decodePemBlocks, encodePem } from "../pki/pem.ts";
import type { ClusterTrustBundle } from "../features/certificates/resources.ts";

/** The anchors of bundles as one PEM text: by the bundles' names, each anchor once, without text around them. */
export function joinedAnchors(bundles: Iterable<ClusterTrustBundle>): { readonly pem: string; readonly count: number } {
  const nameOf = ({ metadata }: ClusterTrustBundle): string => metadata.name ?? "";
  const sorted = [...bundles].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const anchors = new Set(
    sorted.flatMap(({ spec }) =>
      decodePemBlocks(spec.trustBundle)
        .filter(({ type }) => type === "CERTIFICATE")
        .map(({ bytes }) => encodePem("CERTIFICATE", bytes)),
    ),
  );
  return { pem: [...anchors].join(""), count: anchors.size };
}
