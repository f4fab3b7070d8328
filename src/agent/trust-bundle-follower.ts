import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ClusterTrustBundle } from "../features/certificates/resources.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import { removeUnfinished, writePublicFile } from "../machinery/files/atomic-file.ts";
import { checkWay } from "../machinery/files/check-way.ts";
import { makeFolder } from "../machinery/files/make-folder.ts";
import { readRegularFile } from "../machinery/files/regular-file.ts";
import { Informer } from "../machinery/loops/informer.ts";
import { backoffMilliseconds, unreachableBackoff } from "../machinery/loops/backoff.ts";
import { WakeSignal } from "../machinery/scheduling/wake-signal.ts";
import type { Sleep } from "../machinery/api/clock.ts";
import { largestAnswerBytes } from "./agent-clients.ts";
import type { OpenFailureLog } from "./failure-log.ts";
import { haveSameAnchors, joinedAnchors } from "./joined-anchors.ts";
import type { JoinedAnchors } from "./joined-anchors.ts";
import { lookMilliseconds, RewrittenFiles, rewriteMilliseconds } from "./rewritten-files.ts";
import { failureReason } from "./failure-reason.ts";
import type { TrustBundleFile } from "./agent-settings.ts";
import type { Log } from "../machinery/logging/log.ts";

export interface TrustBundleFollowerOptions {
  readonly followed: TrustBundleFile;
  readonly bundles: ResourceClient<ClusterTrustBundle>;
  readonly failureLog: OpenFailureLog;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: Log;
  /** Called with the file's contents at the start, after each change, and when they are found to be right. */
  readonly onContents: (file: string, contents: TrustBundleContents) => void;
  readonly onAnchors: (file: string, state: TrustBundleState) => void;
}

export interface TrustBundleContents {
  readonly pem: string;
  /** Whether the file had other contents, or none, and programs may have read it so. Not when that was found at each look. */
  readonly isRepaired: boolean;
}

export interface TrustBundleState {
  /** How many anchors the server has for the file. */
  readonly anchors: number;
  /** Why the file is not written. */
  readonly fault?: string;
}

/** Between two looks at what the server has: bundles that two writers change in turn must not keep the machine busy. */
const shortestPauseMilliseconds = 1000;
/** All of them are in memory, and each may have a mebibyte. */
export const mostBundles = 100;
/** A larger file than any answer of a server is not one that the agent has written. */
const largestBundleBytes = largestAnswerBytes;

/**
 * Keeps a file with the anchors of one bundle, or of all bundles of a signer, up to date until `signal` aborts. When there is
 * no bundle, the file stays as it is: deleting a bundle does not cut off every machine, and an empty file would make some
 * programs trust the system's CAs.
 */
export async function followTrustBundles(options: TrustBundleFollowerOptions, signal: AbortSignal): Promise<void> {
  const { followed, bundles, failureLog, random, log } = options;
  const { source, file } = followed;
  const saved = savedContents(file);
  // The agent may have been killed after it wrote the file, before the hook ran.
  if (saved !== undefined) options.onContents(file, { pem: saved.toString("utf8"), isRepaired: false });
  const outage = failureLog({
    failure: `cannot follow the trust bundles for ${file}`,
    recovery: `follows the trust bundles for ${file} again`,
  });
  const informer = new Informer(bundles, {
    selectors: { fieldSelector: bundleSelector(source) },
    mostObjects: mostBundles,
    mostWatchedBytes: largestAnswerBytes,
    onError: (error) => outage.failed(error, { ...source }),
    onHeard: () => outage.succeeded(),
    backoffMilliseconds: (failures) =>
      backoffMilliseconds(unreachableBackoff, { failures: failures + 1, random: random() }),
  });
  await informer.start(signal);
  const rewritten = new RewrittenFiles(options);
  const wake = new WakeSignal();
  let last: Outcome | undefined;
  // Many anchors take seconds to read, and to compare: each look uses what the last one has found.
  /** What the server has now, until it is in the file. */
  let wanted: WantedAnchors | undefined;
  /** The digest of the file's contents when they have these anchors. */
  let rightDigest: string | undefined;
  /** The digest of the file's contents when they have others, and could not be replaced. */
  let wrongDigest: string | undefined;
  const changed = (): void => {
    wanted = undefined;
    rightDigest = undefined;
    wrongDigest = undefined;
    wake.wake();
  };
  informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  while (!signal.aborted) {
    wake.renew();
    const found = savedContents(file);
    const digest = found && digestOf(found);
    const wasRight = rightDigest !== undefined;
    let outcome: Outcome | undefined;
    if (digest === undefined || digest !== rightDigest) {
      wanted ??= wantedAnchors([...informer.list()].filter((bundle) => isFollowed(bundle, source)));
      outcome = writeAnchors(wanted, {
        ...options,
        found: digest === wrongDigest ? undefined : found?.toString("utf8"),
        isRepaired: !rewritten.foundChanges,
      });
      if (outcome.state === "absent" && last?.state !== "absent") {
        log.warn({ ...source, file }, "there is no such trust bundle: the file stays as it is");
      }
      if (outcome.state === "failed" && (last?.state !== "failed" || last.fault !== outcome.fault)) {
        log.error({ ...source, file }, `the trust bundle stays as it was: ${outcome.fault}`);
      }
      if (outcome.state === "written" && !wasRight) {
        log.info({ ...source, file, anchors: outcome.anchors }, "wrote the trust bundle");
      }
      if (outcome.state !== "failed") wanted = undefined; // it may be large
      rightDigest = "digest" in outcome ? outcome.digest : undefined;
      wrongDigest = outcome.state === "failed" ? digest : undefined;
      last = outcome;
    }
    if (wasRight) rewritten.looked(outcome?.state === "written" ? [file] : []);
    await options.sleep(shortestPauseMilliseconds, signal);
    const wait = last?.state === "failed" ? rewriteMilliseconds : lookMilliseconds;
    await options.sleep(wait, wake.or(signal));
    await setImmediate(); // several changes that came together are one write
  }
}

/** The field selector of the bundles whose anchors go into a file. */
export const bundleSelector = (source: TrustBundleFile["source"]): string =>
  "bundleName" in source ? `metadata.name=${source.bundleName}` : `spec.signerName=${source.signerName}`;

/** A server may answer with others too, such as one that does not know the selector: their anchors would be trusted for this purpose. */
export const isFollowed = ({ metadata, spec }: ClusterTrustBundle, source: TrustBundleFile["source"]): boolean =>
  "bundleName" in source
    ? metadata.name === source.bundleName
    : (spec as Partial<ClusterTrustBundle["spec"]> | undefined)?.signerName === source.signerName;

/** What became of a file. `failed`: it could not be written, or what the server has is nothing to write. Digests are of its contents. */
type Outcome =
  | { readonly state: "right"; readonly digest: string }
  | { readonly state: "written"; readonly digest: string; readonly anchors: number }
  | { readonly state: "absent" }
  | { readonly state: "failed"; readonly fault: string };

interface FoundFile extends TrustBundleFollowerOptions {
  /** What is in the file now. Undefined: nothing, or something else than what is wanted. */
  readonly found: string | undefined;
  readonly isRepaired: boolean;
}

/** `fault`: the server's answer is nothing to write. */
type WantedAnchors = JoinedAnchors | { readonly fault: string };

function wantedAnchors(bundles: readonly ClusterTrustBundle[]): WantedAnchors {
  try {
    return joinedAnchors(bundles);
  } catch (error) {
    return { fault: failureReason(error) };
  }
}

function writeAnchors(wanted: WantedAnchors, { found, isRepaired, ...options }: FoundFile): Outcome {
  const { onContents, onAnchors } = options;
  const { file } = options.followed;
  if ("fault" in wanted) {
    onAnchors(file, { anchors: 0, ...wanted });
    return { state: "failed", ...wanted };
  }
  const { pem, count: anchors } = wanted;
  if (anchors === 0) {
    onAnchors(file, { anchors });
    return { state: "absent" };
  }
  // Their order means nothing, so programs need not be reloaded for another order.
  if (found !== undefined && haveSameAnchors(found, pem)) {
    onAnchors(file, { anchors });
    // An earlier try may have failed after it had put the file there.
    onContents(file, { pem: found, isRepaired: false });
    return { state: "right", digest: digestOf(found) };
  }
  try {
    checkWay(dirname(file), {});
    makeFolder(dirname(file), { mode: 0o755 });
    writePublicFile(file, pem);
    removeUnfinished(file);
  } catch (error) {
    const fault = failureReason(error);
    onAnchors(file, { anchors, fault });
    return { state: "failed", fault };
  }
  onAnchors(file, { anchors });
  onContents(file, { pem, isRepaired });
  return { state: "written", digest: digestOf(pem), anchors };
}

const digestOf = (contents: string | Buffer): string => createHash("sha256").update(contents).digest("hex");

function savedContents(file: string): Buffer | undefined {
  try {
    return readRegularFile(file, { largestBytes: largestBundleBytes })?.contents;
  } catch {
    return undefined; // writing it tells what is wrong
  }
}
