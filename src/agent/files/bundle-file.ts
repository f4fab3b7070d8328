import { hash } from "node:crypto";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ClusterTrustBundle } from "../../features/certificates/resources.ts";
import { writePublicFile } from "../../machinery/files/atomic-file.ts";
import { removeUnfinished } from "../../machinery/files/unfinished-files.ts";
import { makeGuardedFolder } from "../../machinery/files/folders/make-guarded-folder.ts";
import { readRegularFile } from "../../machinery/files/regular-file.ts";
import { largestAnswerBytes } from "../connection/agent-clients.ts";
import type { TrustBundleFile } from "../agent-settings.ts";
import type { OpenFailureLog } from "../failure-log.ts";
import { encodeAnchors, encodingOf } from "./encode-anchors.ts";
import { failureReason } from "../failure-reason.ts";
import { haveSameAnchors, joinedAnchors } from "./joined-anchors.ts";
import { ChangedFilesReport } from "./changed-files-report.ts";
import type { Log } from "../../machinery/logging/log.ts";

export interface BundleFileOptions {
  readonly followed: TrustBundleFile;
  readonly failureLog: OpenFailureLog;
  readonly log: Log;
  /** Called with the file's contents at the start, after each write, and when a comparison finds them right. */
  readonly onContents: (file: string, found: TrustBundleContents) => void;
  readonly onAnchors: (file: string, state: TrustBundleState) => void;
}

export interface TrustBundleContents {
  readonly contents: Buffer;
  /**
   * Whether programs may have read other contents, or a missing file, before the agent wrote the file. False when the check before found
   * that too.
   */
  readonly isRepaired: boolean;
}

export interface TrustBundleState {
  /** How many anchors the server has for the file. */
  readonly anchors: number;
  /** Why the file is not written. */
  readonly fault?: string;
}

/**
 * The agent writes no larger file than this. The factor is needed because a store of very short anchors is larger than the server's answer.
 */
const largestBundleBytes = 2 * largestAnswerBytes;

/**
 * The result of a check of the file, and how many anchors the server has. `failed`: the file could not be written, or the server's anchors
 * cannot be used.
 */
type Outcome = { readonly anchors: number } & (
  | { readonly state: "right" | "written"; readonly contents: Buffer }
  | { readonly state: "absent" }
  | { readonly state: "failed"; readonly fault: string }
);

/** `fault`: the server's anchors cannot be used, or there is no password for the store. */
type WantedFile = { readonly contents: Buffer; readonly anchors: number } | { readonly fault: string };

/** A file of trust anchors. The result of a check is kept for the next check, because many anchors take seconds to read and to compare. */
export class BundleFile {
  readonly #options: BundleFileOptions;
  readonly #changedFiles: ChangedFilesReport;
  /** What the server has now. Undefined once it is in the file. */
  #wanted: WantedFile | undefined;
  /** The encoding at the last check. */
  #encoding: ReturnType<typeof encodingOf> | undefined;
  /**
   * The contents of the file that were compared with the server's anchors. `isRight` is false when they are wrong and could not be
   * replaced.
   */
  #compared: { readonly digest: string | undefined; readonly isRight: boolean } | undefined;
  #last: Outcome | undefined;

  constructor(options: BundleFileOptions) {
    this.#options = options;
    this.#changedFiles = new ChangedFilesReport(options);
  }

  /** Whether the last check could not make the file right. */
  get isFailing(): boolean {
    return this.#last?.state === "failed";
  }

  /** Reports the file's contents for the hook: the agent may have been killed after it wrote the file, before the hook ran. */
  reportSaved(): void {
    const { followed, onContents } = this.#options;
    const saved = savedContents(followed.file);
    if (saved !== undefined) onContents(followed.file, { contents: saved, isRepaired: false });
  }

  /** Says that the server's anchors have changed. */
  anchorsChanged(): void {
    this.#wanted = undefined;
    this.#compared = undefined;
  }

  /** Checks the file, and writes it unless it has the server's anchors. */
  check(bundles: () => readonly ClusterTrustBundle[]): void {
    const { file } = this.#options.followed;
    const encoding = encodingOf(this.#options.followed);
    if (!isDeepStrictEqual(encoding, this.#encoding)) this.anchorsChanged();
    this.#encoding = encoding;
    const found = savedContents(file);
    const digest = found && digestOf(found);
    const isKnown = this.#compared !== undefined && this.#compared.digest === digest;
    const wasRight = this.#compared?.isRight === true;
    if (isKnown && wasRight) return this.#changedFiles.checked([]);
    this.#wanted ??= wantedFile(bundles(), encoding);
    const outcome = this.#makeRight(this.#wanted, isKnown ? undefined : found);
    this.#report(outcome, { wasRight });
    this.#last = outcome;
    if (outcome.state === "failed") this.#compared = { digest, isRight: false };
    else {
      this.#compared = "contents" in outcome ? { digest: digestOf(outcome.contents), isRight: true } : undefined;
      this.#wanted = undefined; // the contents may be large
    }
    if (wasRight) this.#changedFiles.checked(outcome.state === "written" ? [file] : []);
  }

  /**
   * Writes the file unless its contents are right. `found`: the contents to compare. Undefined: the file is missing, or its contents are
   * known to be wrong.
   */
  #makeRight(wanted: WantedFile, found: Buffer | undefined): Outcome {
    const { file, store } = this.#options.followed;
    if ("fault" in wanted) return { state: "failed", anchors: 0, ...wanted };
    const { contents, anchors } = wanted;
    if (anchors === 0) return { state: "absent", anchors };
    if (found !== undefined && (store === undefined ? hasSamePem(found, contents) : found.equals(contents))) {
      return { state: "right", anchors, contents: found };
    }
    try {
      makeGuardedFolder(dirname(file), { mode: 0o755 });
      writePublicFile(file, contents);
      removeUnfinished(file);
      return { state: "written", anchors, contents };
    } catch (error) {
      return { state: "failed", anchors, fault: failureReason(error) };
    }
  }

  /** Reports the outcome of each check, and logs a new one. `ChangedFilesReport` reports a file that somebody has changed. */
  #report(outcome: Outcome, { wasRight }: { readonly wasRight: boolean }): void {
    const { log, followed, onContents, onAnchors } = this.#options;
    const { source, file } = followed;
    const { anchors } = outcome;
    onAnchors(file, { anchors, ...("fault" in outcome && { fault: outcome.fault }) });
    if ("contents" in outcome) {
      // Also when the file is right: an earlier write may have failed after its rename.
      const isRepaired = outcome.state === "written" && !this.#changedFiles.foundChanges;
      onContents(file, { contents: outcome.contents, isRepaired });
    }
    const last = this.#last;
    if (outcome.state === "absent" && last?.state !== "absent") {
      log.warn(
        { ...source, file },
        "there is no such trust bundle, or none with a certificate: the file stays as it is",
      );
    }
    if (outcome.state === "failed" && (last?.state !== "failed" || last.fault !== outcome.fault)) {
      log.error({ ...source, file }, `the trust bundle stays as it was: ${outcome.fault}`);
    }
    if (outcome.state === "written" && !wasRight) {
      log.info({ ...source, file, anchors }, "wrote the trust bundle");
    }
  }
}

function wantedFile(bundles: readonly ClusterTrustBundle[], encoding: ReturnType<typeof encodingOf>): WantedFile {
  try {
    const { pem, count } = joinedAnchors(bundles);
    if ("fault" in encoding) return encoding;
    return { contents: encodeAnchors(pem, encoding), anchors: count };
  } catch (error) {
    return { fault: failureReason(error) };
  }
}

/** A new order of the anchors is no change, so that programs are not reloaded for it. A store has an order of its own. */
const hasSamePem = (found: Buffer, wanted: Buffer): boolean =>
  haveSameAnchors(found.toString("utf8"), wanted.toString("utf8"));

const digestOf = (contents: Buffer): string => hash("sha256", contents, "hex");

function savedContents(file: string): Buffer | undefined {
  try {
    return readRegularFile(file, { largestBytes: largestBundleBytes })?.contents;
  } catch {
    return undefined; // the write tells what is wrong
  }
}
