import type { Clock, Schedule } from "../api/clock.ts";
import { TokenBucket } from "../scheduling/token-bucket.ts";
import { waitAtMost } from "../scheduling/wait-at-most.ts";

/** The destination of lines: a file, or a server. */
export interface LineTarget {
  /** Delivers lines. Rejects when none of them was delivered. Never called while another call runs. */
  deliver(lines: readonly string[]): Promise<void>;
  /** Tries to deliver once, without waiting, because the process is about to exit. */
  deliverAtExit?(lines: readonly string[]): void;
  /** Whether `close` can end a running delivery. If not, `close` is not called while a delivery runs. */
  readonly isInterruptible?: boolean;
  close(): Promise<void> | void;
}

export interface EventQueueOptions {
  readonly target: LineTarget;
  readonly schedule: Schedule;
  /** A monotonic clock. */
  readonly monotonic: Clock;
  /** How many events may wait. More are lost. */
  readonly maximumEvents: number;
  /** The limit of events in one delivery. */
  readonly batchEvents: number;
  /** The limit of bytes in one delivery of more than one event. */
  readonly batchBytes: number;
  /** How long the first event of a batch waits for others. */
  readonly waitMilliseconds: number;
  /** Limits deliveries. Undefined: there is no limit. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Whether a failed batch is tried again until it is delivered, or is lost. */
  readonly afterFailure: "retry" | "drop";
  /** Called for each failed delivery. */
  readonly onFailure: (error: unknown) => void;
  /** Called when a delivery succeeds after failures or losses, with the number of events that were lost meanwhile. */
  readonly onRecovered: (lost: number) => void;
}

interface Waiting {
  readonly line: string;
  /** Called, perhaps more than once, when the line is delivered or lost, or the caller need not wait. Undefined: no caller waits. */
  readonly release: ((error?: unknown) => void) | undefined;
  /** Whether the line must not be delivered after its caller was told that it is lost, so that a failed delivery is not tried again. */
  readonly isStrict: boolean;
  /** Whether the line reports what has already happened, so that it is delivered also after its caller has stopped waiting. */
  readonly hasHappened: boolean;
}

const isReleasable = ({ release, isStrict }: Waiting): boolean => release !== undefined && !isStrict;

/** The limit for the bytes of all waiting lines. */
const maximumBytes = 16 * 1024 * 1024;
const retryMilliseconds = 1000;
/** After so long, a delivery counts as hanging, and callers that need not wait stop waiting. */
const patienceMilliseconds = 2000;
/** How long callers wait that must not continue without their line. A hanging webhook with its retries takes minutes. */
const strictMilliseconds = 10_000;

/**
 * Collects lines and delivers them in batches, in order, one delivery at a time. Adding a line never waits: when too many lines wait, new
 * lines are lost and counted.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  /** How many of the first lines in `#waiting` are being delivered. */
  #inDelivery = 0;
  #isClosed = false;
  #isDropping = false;
  #isFailing = false;
  #isHanging = false;
  #lostSinceFailure = 0;
  readonly #throttle: TokenBucket | undefined;
  /** Events that will never be delivered. */
  lost = 0;

  constructor(options: EventQueueOptions) {
    this.#options = options;
    const { throttle, monotonic } = options;
    this.#throttle = throttle && new TokenBucket({ ...throttle, clock: monotonic });
  }

  /** Adds a line without a line break. The line is lost when too many wait. */
  add(line: string): void {
    this.#push({ line, release: undefined, isStrict: false, hasHappened: true });
  }

  /**
   * Adds a line. The promise resolves when the line is delivered or lost, or when a delivery hangs or will be tried again. Undefined: the
   * caller need not wait.
   */
  attempt(line: string): Promise<void> | undefined {
    if (this.#isHanging || (this.#isTriedAgain && this.#isFailing)) {
      this.add(line);
      return undefined;
    }
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const isTaken = this.#push({ line, release: () => release(), isStrict: false, hasHappened: true });
    return isTaken ? released : undefined;
  }

  /**
   * Adds a line. Resolves when the line is delivered. Rejects when it is lost, or after ten seconds. After that, a line that reports what
   * has already happened remains in the queue. Another line is lost, unless it is being delivered. A failed delivery is not tried again.
   */
  async deliver(line: string, { hasHappened }: { readonly hasHappened: boolean }): Promise<void> {
    let cancel = (): void => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const release = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
        const one: Waiting = { line, release, isStrict: true, hasHappened };
        if (!this.#push(one)) throw new Error("too many wait already");
        cancel = this.#options.schedule(() => this.#giveUp(one), strictMilliseconds);
      });
    } finally {
      cancel();
    }
  }

  /**
   * Delivers the waiting lines for at most the given time, and closes the target. Resolves with the number of events that are lost then.
   */
  async close({ withinMilliseconds }: { readonly withinMilliseconds: number }): Promise<number> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await waitAtMost(withinMilliseconds, this.#run());
    this.#isDropping = true;
    const left = this.#waiting.length;
    this.#lose(this.#waiting.splice(0), new Error("the server stops"));
    // The system may still run a hanging delivery, whose file must stay open.
    if (this.#running === undefined || this.#options.target.isInterruptible === true) await this.#closeTarget();
    return left;
  }

  deliverAtExit(): void {
    if (this.#isClosed || this.#running !== undefined) return;
    try {
      this.#options.target.deliverAtExit?.(this.#waiting.map(({ line }) => line));
    } catch {
      // The process ends, so this cannot be reported any more.
    }
  }

  /** Closes the target. Never rejects: a missing file, for instance, must not prevent the server from stopping. */
  async #closeTarget(): Promise<void> {
    try {
      await this.#options.target.close();
    } catch (error) {
      this.#options.onFailure(error);
    }
  }

  get #isTriedAgain(): boolean {
    return this.#options.afterFailure === "retry";
  }

  #push(one: Waiting): boolean {
    const { maximumEvents, waitMilliseconds, schedule, batchEvents } = this.#options;
    const bytes = Buffer.byteLength(one.line);
    if (this.#isClosed || this.#waiting.length >= maximumEvents || this.#bytes + bytes > maximumBytes) {
      this.lost++;
      this.#lostSinceFailure++;
      this.#options.onFailure(new Error("too many wait already"));
      return false;
    }
    this.#waiting.push(one);
    this.#bytes += bytes;
    if (this.#running !== undefined) return true;
    if (this.#waiting.length >= batchEvents || one.release !== undefined) void this.#run();
    else this.#cancelTimer ??= schedule(() => void this.#run(), waitMilliseconds);
    return true;
  }

  #run(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running ??= this.#deliverAll();
    return this.#running;
  }

  /** Never rejects. */
  async #deliverAll(): Promise<void> {
    // Waits, so that lines that are added in this turn of the event loop join the same delivery.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#isDropping && (await this.#deliverNext()));
    // Directly after the last check of #waiting, without a wait: a line that is added from now on starts a new run.
    this.#running = undefined;
  }

  /** Delivers the next batch. Resolves with false when the queue is closed and the rest cannot be delivered. */
  async #deliverNext(): Promise<boolean> {
    const { onFailure, onRecovered } = this.#options;
    await this.#turn();
    const batch = this.#nextBatch();
    this.#inDelivery = batch.length;
    try {
      await this.#deliverBatch(batch);
      this.#remove(batch);
      for (const { release } of batch) release?.();
      if (!this.#isFailing && this.#lostSinceFailure === 0) return true;
      this.#isFailing = false;
      onRecovered(this.#lostSinceFailure);
      this.#lostSinceFailure = 0;
    } catch (error) {
      if (this.#isDropping) return false;
      this.#isFailing = true;
      if (!this.#isTriedAgain || batch[0]?.isStrict === true) {
        this.#remove(batch);
        this.#lose(batch, error);
        onFailure(error);
      } else {
        onFailure(error);
        this.#releaseCallers();
        if (this.#isClosed) return false;
        await this.#pause(retryMilliseconds);
      }
    }
    return true;
  }

  async #deliverBatch(batch: readonly Waiting[]): Promise<void> {
    const { target, schedule } = this.#options;
    const cancel = schedule(() => this.#hangs(), patienceMilliseconds);
    try {
      await target.deliver(batch.map(({ line }) => line));
    } finally {
      cancel();
      this.#isHanging = false;
    }
  }

  #hangs(): void {
    this.#isHanging = true;
    if (!this.#waiting.some(isReleasable)) return;
    this.#options.onFailure(new Error(`it takes longer than ${patienceMilliseconds / 1000} s`));
    this.#releaseCallers();
  }

  /** Ends the wait of all callers whose lines will be delivered later. */
  #releaseCallers(): void {
    for (const one of this.#waiting) if (isReleasable(one)) one.release?.();
  }

  #giveUp(one: Waiting): void {
    const error = new Error(`it takes longer than ${strictMilliseconds / 1000} s`);
    const place = this.#waiting.indexOf(one);
    if (one.hasHappened || place < this.#inDelivery) one.release?.(error);
    else {
      this.#waiting.splice(place, 1);
      this.#bytes -= Buffer.byteLength(one.line);
      this.#lose([one], error);
    }
    this.#options.onFailure(error);
  }

  #nextBatch(): Waiting[] {
    const { batchEvents, batchBytes } = this.#options;
    let end = 0;
    for (let bytes = 0; end < Math.min(this.#waiting.length, batchEvents); end++) {
      bytes += Buffer.byteLength(this.#waiting[end]?.line ?? "");
      if (end > 0 && bytes > batchBytes) break;
    }
    return this.#waiting.slice(0, end);
  }

  /** Removes a batch after its delivery. Until then it keeps its place, so that nothing is lost while it is tried again. */
  #remove(batch: readonly Waiting[]): void {
    this.#inDelivery = 0;
    if (this.#isDropping) return;
    this.#waiting.splice(0, batch.length);
    for (const { line } of batch) this.#bytes -= Buffer.byteLength(line);
  }

  #lose(batch: readonly Waiting[], error: unknown): void {
    this.lost += batch.length;
    this.#lostSinceFailure += batch.length;
    for (const { release } of batch) release?.(error);
  }

  /** Waits until the limit allows a delivery (a token bucket, as in upstream). */
  async #turn(): Promise<void> {
    const throttle = this.#throttle;
    if (throttle === undefined) return;
    while (throttle.available() < 1 && !this.#isClosed) await this.#pause(throttle.millisecondsUntil(1));
    throttle.take();
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.#options.schedule(resolve, milliseconds));
  }
}
