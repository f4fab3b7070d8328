import { latestRecall } from "../features/certificates/resources.ts";
import type { ClusterTrustBundle } from "../features/certificates/resources.ts";
import type { Names } from "../machinery/api/names.ts";
import { ignoreCodes } from "../machinery/client/ignore-codes.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import { bundleSelector, isFrom, mostBundles } from "./trust-bundle-follower.ts";

interface RecallOptions {
  readonly names: Names;
  readonly bundles: ResourceClient<ClusterTrustBundle>;
  readonly signerName: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
}

/**
 * Before which time the certificates of a signer were recalled, in milliseconds since the epoch: the latest that its bundles say and that
 * has come: one in the future would hide the others. 0: none were, or the server has no bundles for this agent. Rejects when it does not say.
 */
export async function readRecall({ names, bundles, signerName, now }: RecallOptions): Promise<number> {
  const source = { signerName };
  const list = bundles.listMetadata({ fieldSelector: bundleSelector(source), limit: mostBundles });
  const found = (await ignoreCodes([403, 404], list)) ?? [];
  return latestRecall(found.filter(isFrom(source, names)), { names, now });
}
