import { createHash } from "node:crypto";
import type { Sleep } from "../../machinery/api/clock.ts";
import { WakeSignal } from "../../machinery/scheduling/wake-signal.ts";
import type { Hook } from "../agent-settings.ts";
import { outputPath, writeCertificateOutput } from "./certificate-output.ts";
import type { CertificateOutput } from "./certificate-output.ts";
import { failureReason } from "../failure-reason.ts";
import type { OpenFailureLog } from "../failure-log.ts";
import type { HookRunner } from "./hook-runner.ts";
import { formatKeyPair } from "../certificates/key-pair.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { checkIntervalMilliseconds, ChangedFilesReport, rewriteMilliseconds } from "./changed-files-report.ts";
import type { Log } from "../../machinery/logging/log.ts";

interface PublishedCertificateOptions {
  readonly name: string;
  /** The pair in use. */
  readonly current: () => KeyPair | undefined;
  /** Where the agent itself keeps the pair. */
  readonly file: string;
  /** Writes that file again, and the links to the outputs, when they are missing. */
  readonly restore: () => void;
  readonly outputs: readonly CertificateOutput[];
  readonly hook: Hook | undefined;
  /** The file that the hook receives as changed. Default: the first output. */
  readonly changedFile?: string;
  readonly hooks: HookRunner;
  readonly failureLog: OpenFailureLog;
  readonly sleep: Sleep;
  readonly log: Log;
}

/** Keeps the files of a certificate the same as the pair in use, and runs its hook after they have changed or were repaired. */
export class PublishedCertificate {
  readonly #options: PublishedCertificateOptions;
  readonly #changedFiles: ChangedFilesReport;
  /** The digest of the contents of all files after the last check. */
  #written: string | undefined;
  #fault: string | undefined;
  /** Wakes `run` when files could not be written. */
  readonly #failed = new WakeSignal();

  constructor(options: PublishedCertificateOptions) {
    this.#options = options;
    this.#changedFiles = new ChangedFilesReport(options);
  }

  /** Why the files could not be written. Undefined: they are right. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * Writes the files unless they are right already, and runs the hook once all of them are. A file that cannot be written does not delay
   * the others: it is logged, and `run` tries it again.
   */
  publish(): void {
    const { name, current, file, restore, outputs, hook, hooks, log, changedFile } = this.#options;
    const pair = current();
    if (pair === undefined) return;
    const digests: string[] = [];
    const changed: string[] = [];
    const faults: string[] = [];
    const attempt = (write: () => void): void => {
      try {
        write();
      } catch (error) {
        faults.push(failureReason(error));
      }
    };
    attempt(restore);
    for (const output of outputs) {
      attempt(() => {
        const { digest, isChanged } = writeCertificateOutput(output, pair);
        digests.push(digest);
        if (isChanged) changed.push(outputPath(output));
      });
    }
    const digest = createHash("sha256").update(formatKeyPair(pair)).update(digests.join()).digest("hex");
    const hookFile = changedFile ?? outputs.map(outputPath)[0] ?? file;
    if (changed.length > 0 && !this.#changedFiles.foundChanges) hooks.repaired(hookFile);
    if (digest === this.#written) this.#changedFiles.checked(changed);
    else if (changed.length > 0) log.info({ certificate: name, files: changed }, "the files are written");
    this.#written = faults.length === 0 ? digest : undefined;
    if (faults.length > 0) return this.#fail(faults.join("; "));
    this.#fault = undefined;
    if (hook !== undefined) hooks.changed({ change: `${name}-certificate`, file: hookFile, digest, hook });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sleep } = this.#options;
    while (!signal.aborted) {
      this.#failed.renew();
      this.publish();
      await sleep(checkIntervalMilliseconds, this.#failed.or(signal));
      if (this.#fault !== undefined) await sleep(rewriteMilliseconds, signal);
    }
  }

  #fail(fault: string): void {
    const { name, log } = this.#options;
    if (fault !== this.#fault) log.error({ certificate: name }, `not all files are written: ${fault}`);
    this.#fault = fault;
    this.#failed.wake();
  }
}
