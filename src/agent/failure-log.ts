import type { Clock } from "../machinery/api/clock.ts";
import { failureReason } from "./failure-reason.ts";
import type { Log } from "../machinery/logging/log.ts";

interface FailureLogOptions extends FailureTexts {
  readonly log: Log;
  /** A clock that changes of the system time do not affect. */
  readonly monotonic: Clock;
}

interface FailureTexts {
  /** The failed work, as the beginning of the line. The reason follows it. */
  readonly failure: string;
  /** What works again, for the log. Undefined: another line says it. */
  readonly recovery?: string;
  /** When each reason was logged. Shared by logs whose work fails together, so that only one of them logs a reason. */
  readonly logged?: Map<string, number>;
}

/** Opens the log of work that is tried again and again. */
export type OpenFailureLog = (texts: FailureTexts) => FailureLog;

const reminderMilliseconds = 15 * 60_000;
/** After this time without a failure, a new failure begins a new outage. */
const calmMilliseconds = 60_000;
/** The most reasons in a quarter of an hour: a server may send a new text each time. */
const mostReasons = 20;

const lastReason = `${mostReasons} reasons in a quarter of an hour, others are not logged; for an agent, signet agent status shows the latest`;

/** A time in a reason would make each reason a new one. */
const timePattern = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/**
 * Logs the failures of work that is tried again and again: each reason once, and again every quarter of an hour, with at most 20 reasons in
 * that time. Logs when the work succeeds again. So an outage of days does not fill the log, and its end is logged.
 */
export class FailureLog {
  readonly #options: FailureLogOptions;
  readonly #logged: Map<string, number>;
  #failures = 0;
  #worksSince: number | undefined;
  #isRecoveryNews = false;
  #present: string | undefined;

  constructor(options: FailureLogOptions) {
    this.#options = options;
    this.#logged = options.logged ?? new Map();
  }

  /** The failure and its reason, while the work fails. Undefined while it works. */
  get present(): string | undefined {
    return this.#present;
  }

  failed(error: unknown, fields: Record<string, unknown> = {}): void {
    const { log, monotonic, failure } = this.#options;
    this.#failures++;
    const reason = failureReason(error);
    this.#present = `${failure}: ${reason}`;
    const now = monotonic.now();
    const worksSince = this.#worksSince ?? now;
    this.#worksSince = undefined;
    if (now - worksSince >= calmMilliseconds) this.#forget((loggedAt) => loggedAt <= worksSince);
    this.#forget((loggedAt) => now - loggedAt >= reminderMilliseconds);
    const known = reason.replaceAll(timePattern, "");
    if (this.#logged.has(known) || this.#logged.size >= mostReasons) return;
    this.#logged.set(known, now);
    this.#isRecoveryNews = true;
    const isLast = this.#logged.size === mostReasons;
    log.warn({ ...fields, failures: this.#failures }, isLast ? `${this.#present} (${lastReason})` : this.#present);
  }

  succeeded(): void {
    const { log, monotonic, recovery } = this.#options;
    this.#worksSince ??= monotonic.now();
    if (this.#isRecoveryNews && recovery !== undefined) log.info({ failures: this.#failures }, recovery);
    this.#isRecoveryNews = false;
    this.#failures = 0;
    this.#present = undefined;
  }

  #forget(isForgotten: (loggedAt: number) => boolean): void {
    for (const [reason, loggedAt] of this.#logged) if (isForgotten(loggedAt)) this.#logged.delete(reason);
  }
}
