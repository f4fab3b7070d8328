import type { Clock } from "../machinery/api/clock.ts";
import type { ClientResponse } from "../machinery/client/transport.ts";

export interface ServerClockOptions {
  /** The machine's own clock. */
  readonly local: Clock;
  /** Called when the difference to the server became worth a warning, and when it is none any more (0). */
  readonly onSkew: (skewMilliseconds: number) => void;
}

/** A difference that a Date header's whole seconds and a slow answer cannot explain. */
const toleranceMilliseconds = 30_000;

/**
 * The server's time, as its answers tell it: certificates are issued and judged by that clock, so an agent on a machine
 * whose clock is wrong must go by it too. Until the first answer, and within 30 s, it is the machine's own.
 */
export class ServerClock implements Clock {
  readonly #local: Clock;
  readonly #onSkew: (skewMilliseconds: number) => void;
  #skew = 0;

  constructor({ local, onSkew }: ServerClockOptions) {
    this.#local = local;
    this.#onSkew = onSkew;
  }

  now(): number {
    return this.#local.now() + this.#skew;
  }

  /** How far the server is ahead of the machine; 0 within the tolerance. */
  get skewMilliseconds(): number {
    return this.#skew;
  }

  /** Compares an answer's Date with the machine's clock. `sentAt` is when the request left, by that clock. */
  observe({ headers }: Pick<ClientResponse, "headers">, sentAt: number): void {
    const date = Date.parse(String(headers["date"] ?? ""));
    if (Number.isNaN(date)) return;
    const receivedAt = this.#local.now();
    // The header was written somewhere between sending and receiving, and its fraction of a second is cut off.
    const difference = date + 500 - (sentAt + receivedAt) / 2;
    const uncertainty = toleranceMilliseconds + (receivedAt - sentAt) / 2;
    const skew = Math.abs(difference) > uncertainty ? difference : 0;
    const isNews = (skew === 0) !== (this.#skew === 0) || Math.abs(skew - this.#skew) > toleranceMilliseconds;
    this.#skew = skew;
    if (isNews) this.#onSkew(skew);
  }
}
