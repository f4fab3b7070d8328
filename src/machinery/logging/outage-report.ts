import { messageOf } from "../api/thrown-error.ts";

export interface OutageReportOptions {
  /** Called for the first failure, and for a later one with another reason. */
  readonly onFailure: (reason: string) => void;
  /** Called for the first success after a failure. */
  readonly onRecovery: () => void;
}

const maximumReasonCharacters = 500;

/** Reports once that something fails, again when the reason changes, and once that it works again. */
export class OutageReport {
  readonly #options: OutageReportOptions;
  #reason: string | undefined;

  constructor(options: OutageReportOptions) {
    this.#options = options;
  }

  /** Why the last attempt failed. Undefined: it succeeded, or there was no attempt yet. */
  get reason(): string | undefined {
    return this.#reason;
  }

  failed(error: unknown): void {
    const reason = messageOf(error).slice(0, maximumReasonCharacters);
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#options.onFailure(reason);
  }

  succeeded(): void {
    if (this.#reason === undefined) return;
    this.#reason = undefined;
    this.#options.onRecovery();
  }
}
