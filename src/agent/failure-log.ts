import type { Clock } from "../machinery/api/clock.ts";
import { failureReason } from "./failure-reason.ts";
import type { Log } from "../machinery/logging/log.ts";

interface FailureLogOptions extends FailureTexts {
  readonly log: Log;
  /** A clock that is never set. */
  readonly monotonic: Clock;
}

interface FailureTexts {
  /** What has failed; the reason follows it. */
  readonly failure: string;
  /** What is in order again. Undefined: another line says it. */
  readonly recovery?: string;
}

/** Makes the log of what is tried again and again. */
export type OpenFailureLog = (texts: FailureTexts) => FailureLog;

const reminderMilliseconds = 15 * 60_000;
/** What fails after it has worked for so long is another outage. */
const calmMilliseconds = 60_000;
/** A server's text may be another one each time. */
const mostReasons = 16;

/**
 * Logs the failures of what is tried again and again: each reason once, and again every quarter of an hour, and that it works again.
 * So an outage of days does not fill the log, and its end is in it.
 */
export class FailureLog {
  readonly #options: FailureLogOptions;
  /** When each reason was logged. */
  readonly #logged = new Map<string, number>();
  #failures = 0;
  #worksSince: number | undefined;
  #isRecoveryNews = false;
  #present: string | undefined;

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  /** What fails now, and why. Undefined while it works. */
  get present(): string | undefined {
    return this.#present;
  }

  failed(error: unknown, fields: Record<string, unknown> = {}): void {
    const { log, monotonic, failure } = this.#options;
    this.#failures++;
    const reason = failureReason(error);
    this.#present = `${failure}: ${reason}`;
    const now = monotonic.now();
    if (now - (this.#worksSince ?? now) >= calmMilliseconds) this.#logged.clear();
    this.#worksSince = undefined;
    if (now - (this.#logged.get(reason) ?? -Infinity) < reminderMilliseconds) return;
    if (this.#logged.size === mostReasons) this.#logged.clear();
    this.#logged.set(reason, now);
    this.#isRecoveryNews = true;
    log.warn({ ...fields, failures: this.#failures }, this.#present);
  }

  succeeded(): void {
    const { log, monotonic, recovery } = this.#options;
    this.#worksSince ??= monotonic.now();
    if (this.#isRecoveryNews && recovery !== undefined) log.info({ failures: this.#failures }, recovery);
    this.#isRecoveryNews = false;
    this.#failures = 0;
    this.#present = undefined;
  }
}
