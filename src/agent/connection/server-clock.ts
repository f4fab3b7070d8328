import type { Clock } from "../../machinery/api/clock.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";
import type { Log } from "../../machinery/logging/log.ts";

export interface ServerClockOptions {
  /** The machine's own clock. */
  readonly local: Clock;
  /**
   * A clock that is never set, and goes on while the machine sleeps. Left out: the machine's own, for a program that asks the server so
   * seldom that no answer would end a doubt.
   */
  readonly monotonic?: Clock;
  /** Called when the difference to the server has become worth a warning, and when it has disappeared (0). */
  readonly onSkew: (skewMilliseconds: number) => void;
}

/** A Date header has whole seconds, and an answer may be slow: they cannot explain more than this. */
const toleranceMilliseconds = 30_000;
/** No server's clock is there, and the times of Leases and files have four digits for the year. */
const firstImpossibleDate = Date.UTC(9999, 0);

/**
 * The server's time, from its answers. The server issues and checks certificates by its own clock, so an agent on a machine
 * with a wrong clock must use it too. Until the first answer, and when they differ by less than 30 s, it is the machine's own. Whoever
 * sets the machine's clock after that changes nothing here.
 */
export class ServerClock implements Clock {
  readonly #local: Clock;
  readonly #monotonic: Clock;
  readonly #onSkew: (skewMilliseconds: number) => void;
  /** How far the server is ahead of the machine; 0 within the tolerance. */
  #skew = 0;
  /** The server's time less that of the monotonic clock, at the last answer. */
  #monotonicSkew: number | undefined;

  constructor({ local, monotonic = local, onSkew }: ServerClockOptions) {
    this.#local = local;
    this.#monotonic = monotonic;
    this.#onSkew = onSkew;
  }

  now(): number {
    return this.#monotonicSkew === undefined ? this.#local.now() : this.#monotonic.now() + this.#monotonicSkew;
  }

  /** Returns a function that says how many milliseconds have passed since, also when the machine's clock was set meanwhile. */
  stopwatch(): () => number {
    const since = this.#monotonic.now();
    return () => this.#monotonic.now() - since;
  }

  /**
   * Compares an answer's Date with the machine's clock. `tookMilliseconds` is how long ago the request left. A Date before 1970 or
   * from the year 9999 on is ignored.
   */
  observe({ headers }: Pick<ClientResponse, "headers">, tookMilliseconds: number): void {
    const date = Date.parse(String(headers["date"] ?? ""));
    if (!(date >= 0 && date < firstImpossibleDate)) return;
    const receivedAt = this.#local.now();
    // The header was written between sending and receiving, and its fraction of a second is cut off.
    const difference = date + 500 - (receivedAt - tookMilliseconds / 2);
    const uncertainty = toleranceMilliseconds + tookMilliseconds / 2;
    const skew = Math.abs(difference) > uncertainty ? difference : 0;
    const isNews = Math.abs(skew - this.#skew) > toleranceMilliseconds;
    this.#skew = skew;
    this.#monotonicSkew = receivedAt + skew - this.#monotonic.now();
    if (isNews) this.#onSkew(skew);
  }
}

/** A transport whose answers set the clock. */
export const setsClock = (transport: Transport, serverClock: ServerClock): Transport => ({
  async send(request) {
    const elapsed = serverClock.stopwatch();
    const response = await transport.send(request);
    serverClock.observe(response, elapsed());
    return response;
  },
  close: () => transport.close(),
});

/** Tells people that the machine's clock differs from the server's, or agrees with it again (0). */
export function logSkew(milliseconds: number, log: Log): void {
  const skewSeconds = Math.round(milliseconds / 1000);
  if (skewSeconds === 0) log.info({}, "this machine's clock agrees with the server's again");
  else log.warn({ skewSeconds }, "this machine's clock differs from the server's, whose time is used for certificates");
}
