import type { FailureLog, OpenFailureLog } from "../failure-log.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** How often the agent checks the files that it has written, because somebody may remove or change them. */
export const checkIntervalMilliseconds = 60_000;
/** The wait before a failed write is tried again, for example on a full disk. */
export const rewriteMilliseconds = 10_000;

/**
 * Reports files that differ from what the agent wrote. After one check, it says that somebody has removed or changed them. After two checks
 * in a row, it says that something else writes them too, such as another agent, so that programs may read either contents.
 */
export class ChangedFilesReport {
  readonly #log: Log;
  readonly #sharing: FailureLog;
  /** How many checks in a row found files that something else had written. */
  #checksWithChanges = 0;

  constructor({ log, failureLog }: { readonly log: Log; readonly failureLog: OpenFailureLog }) {
    this.#log = log;
    this.#sharing = failureLog({
      failure: "files change between two looks",
      recovery: "only this agent writes its files now",
    });
  }

  /** Whether the last check found changes. Something else may write the files again and again, and a hook should not run each time. */
  get foundChanges(): boolean {
    return this.#checksWithChanges > 0;
  }

  /** Reports the files that this check found changed, and that the agent has written again. Empty: none. */
  checked(files: readonly string[]): void {
    this.#checksWithChanges = files.length === 0 ? 0 : this.#checksWithChanges + 1;
    if (this.#checksWithChanges === 0) return this.#sharing.succeeded();
    if (this.#checksWithChanges === 1) {
      return this.#log.warn(
        { files },
        "somebody has removed or changed these files, their mode or their owner: they are written again as the settings say",
      );
    }
    this.#sharing.failed(
      new Error(
        `something else writes ${files.join(", ")} too: does another agent have the same files? give each its own`,
      ),
    );
  }
}
