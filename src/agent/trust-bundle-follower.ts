import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ClusterTrustBundle } from "../features/certificates/resources.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import { writePublicFile } from "../machinery/files/atomic-file.ts";
import { makeFolder } from "../machinery/files/make-folder.ts";
import { Informer } from "../machinery/loops/informer.ts";
import { backoffMilliseconds, unreachableBackoff } from "../machinery/loops/repetition.ts";
import type { Sleep } from "../machinery/loops/repetition.ts";
import { decodePemBlocks, encodePem } from "../pki/pem.ts";
import { failureText } from "./agent-log.ts";
import type { AgentLog } from "./agent-log.ts";
import type { TrustBundleFile } from "./agent-settings.ts";

export interface TrustBundleFollowerOptions {
  readonly followed: TrustBundleFile;
  readonly bundles: ResourceClient<ClusterTrustBundle>;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: AgentLog;
  /** Called when the file was written with other contents. */
  readonly onChanged: (file: string) => void;
  readonly onAnchors: (file: string, count: number) => void;
}

/** After a full disk, say. */
const rewriteMilliseconds = 10_000;

/**
 * Keeps a file with the anchors of one bundle, or of all bundles of a signer, until `signal` aborts. When no bundle is
 * there (any more) the file stays as it is: whoever deletes a bundle does not cut off every machine, and an empty file
 * would make some programs believe the system's CAs.
 */
export async function followTrustBundles(options: TrustBundleFollowerOptions, signal: AbortSignal): Promise<void> {
  const { followed, bundles, random, log } = options;
  const { source } = followed;
  const fieldSelector =
    "bundleName" in source ? `metadata.name=${source.bundleName}` : `spec.signerName=${source.signerName}`;
  const informer = new Informer(bundles, {
    selectors: { fieldSelector },
    onError: (error) => log.warn({ ...source }, `lost sight of the trust bundles: ${failureText(error)}`),
    backoffMilliseconds: (failures) =>
      backoffMilliseconds(unreachableBackoff, { failures: failures + 1, random: random() }),
  });
  await informer.start(signal);
  if (signal.aborted) return;
  let isScheduled = false;
  const changed = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    // A list tells of its objects one by one: they become one file.
    setImmediate(() => {
      isScheduled = false;
      if (signal.aborted || writeAnchors([...informer.list()], options)) return;
      void options.sleep(rewriteMilliseconds, signal).then(changed);
    });
  };
  informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  changed();
}

/** Returns false when the file could not be written. */
function writeAnchors(found: readonly ClusterTrustBundle[], options: TrustBundleFollowerOptions): boolean {
  const { source, file } = options.followed;
  const { log, onChanged, onAnchors } = options;
  const { pem, count } = joinedAnchors(found);
  onAnchors(file, count);
  if (count === 0) {
    log.warn({ ...source, file }, "there is no such trust bundle: the file stays as it is");
    return true;
  }
  try {
    if (existsSync(file) && readFileSync(file, "utf8") === pem) return true;
    makeFolder(dirname(file), { mode: 0o755 });
    writePublicFile(file, pem);
  } catch (error) {
    log.error({ ...source, file }, `cannot write the trust bundle: ${failureText(error)}`);
    return false;
  }
  log.info({ ...source, file, anchors: count }, "wrote the trust bundle");
  onChanged(file);
  return true;
}

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
