import { setImmediate } from "node:timers/promises";
import { ownSignerName, signerOfBundle } from "../../features/certificates/resources.ts";
import type { ClusterTrustBundle } from "../../features/certificates/resources.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import type { ResourceClient } from "../../machinery/client/api-client.ts";
import { Informer } from "../../machinery/loops/informer.ts";
import { unreachableBackoff } from "../../machinery/loops/backoff.ts";
import { WakeSignal } from "../../machinery/scheduling/wake-signal.ts";
import type { Sleep } from "../../machinery/api/clock.ts";
import { largestAnswerBytes } from "../connection/agent-clients.ts";
import type { TrustBundleFile } from "../agent-settings.ts";
import { BundleFile } from "./bundle-file.ts";
import type { BundleFileOptions } from "./bundle-file.ts";
import { checkIntervalMilliseconds, rewriteMilliseconds } from "./changed-files-report.ts";

interface TrustBundleFollowerOptions extends BundleFileOptions {
  readonly names: Names;
  readonly bundles: ResourceClient<ClusterTrustBundle>;
  readonly random: () => number;
  readonly sleep: Sleep;
}

/** The shortest time between two reads of the server's bundles: bundles that two writers change in turn must not keep the machine busy. */
const shortestPauseMilliseconds = 1000;
/** The most bundles of one file. All of them are in memory, and each may have a mebibyte. */
export const mostBundles = 100;

/**
 * Keeps a file up to date with the anchors of one bundle, or of all bundles of a signer, until `signal` aborts. When there is no bundle,
 * the file stays as it is: the deletion of a bundle must not cut off every machine, and an empty file would make some programs trust the
 * system's CAs.
 */
export async function followTrustBundles(options: TrustBundleFollowerOptions, signal: AbortSignal): Promise<void> {
  const { followed, names, bundles, failureLog, random, sleep } = options;
  const { source, file } = followed;
  const outage = failureLog({
    failure: `cannot follow the trust bundles for ${file}`,
    recovery: `follows the trust bundles for ${file} again`,
  });
  const bundleFile = new BundleFile(options);
  bundleFile.reportSaved();
  const informer = new Informer(bundles, {
    selectors: { fieldSelector: bundleSelector(source) },
    mostObjects: mostBundles,
    mostWatchedBytes: largestAnswerBytes,
    onError: (error) => outage.failed(error, { ...source }),
    onHeard: () => outage.succeeded(),
    backoff: unreachableBackoff,
    random,
  });
  await informer.start(signal);
  const wake = new WakeSignal();
  const changed = (): void => {
    bundleFile.anchorsChanged();
    wake.wake();
  };
  informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  while (!signal.aborted) {
    wake.renew();
    bundleFile.check(() => [...informer.list()].filter(isFrom(source, names)));
    await sleep(shortestPauseMilliseconds, signal);
    await sleep(bundleFile.isFailing ? rewriteMilliseconds : checkIntervalMilliseconds, wake.or(signal));
    await setImmediate(); // several changes at the same time lead to one write
  }
}

/** The field selector of the bundles whose anchors go into a file. */
export const bundleSelector = (source: TrustBundleFile["source"]): string =>
  "bundleName" in source ? `metadata.name=${source.bundleName}` : `spec.signerName=${source.signerName}`;

/**
 * Returns a function that tells whether a bundle belongs to the source. A server may also send others, such as a server that does not know
 * the selector, and their anchors would be trusted for this purpose.
 */
export function isFrom(
  source: TrustBundleFile["source"],
  names: Names,
): (bundle: Pick<ApiObject, "metadata">) => boolean {
  if ("bundleName" in source) return ({ metadata }) => metadata.name === source.bundleName;
  // The server selects bundles by either spelling of the name.
  const own = ownSignerName(names, source.signerName);
  return ({ metadata }) => ownSignerName(names, signerOfBundle(metadata.name ?? "")) === own;
}
