import type { Clock } from "../../machinery/api/clock.ts";
import type { ClientResponse, Transport } from "../../machinery/client/transport.ts";
import type { Log } from "../../machinery/logging/log.ts";

interface ServerClockOptions {
  /** The machine's own clock. */
  readonly local: Clock;
  /**
   * A monotonic clock that continues while the machine sleeps. Default: the machine's own clock, for a program that asks the
   * server too rarely to notice a change.
   */
  readonly monotonic?: Clock;
  /** Called with the difference to the server when it has become worth a warning, and with 0 when it has disappeared. */
  readonly onSkew: (skewMilliseconds: number) => void;
}

/** The largest difference that the precision of a Date header (whole seconds) and a slow answer can explain. */
const toleranceMilliseconds = 30_000;
/** No server's clock shows such a time, and the times of Leases and file names have four digits for the year. */
const firstImpossibleDate = Date.UTC(9999, 0);

/**
 * The server's time, computed from its answers. The server issues and checks certificates by its own clock, so an agent on a machine with a
 * wrong clock must use it too. Until the first answer, and while the two differ by less than 30 s, it is the machine's own time. A change
 * of the machine's clock after an answer does not change the server's time here.
 */
export class ServerClock implements Clock {
  readonly #local: Clock;
  readonly #monotonic: Clock;
  readonly #onSkew: (skewMilliseconds: number) => void;
  /** How many milliseconds the server is ahead of the machine; 0 within the tolerance. */
  #skew = 0;
  /** The server's time minus the monotonic clock's, at the last answer. */
  #monotonicSkew: number | undefined;

  constructor({ local, monotonic = local, onSkew }: ServerClockOptions) {
    this.#local = local;
    this.#monotonic = monotonic;
    this.#onSkew = onSkew;
  }

  now(): number {
    return this.#monotonicSkew === undefined ? this.#local.now() : this.#monotonic.now() + this.#monotonicSkew;
  }

  /** Returns a function that returns the milliseconds since this call, even if the machine's clock was set in between. */
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
    // The header was written between sending and receiving, and without its fraction of a second.
    const difference = date + 500 - (receivedAt - tookMilliseconds / 2);
    const uncertainty = toleranceMilliseconds + tookMilliseconds / 2;
    const skew = Math.abs(difference) > uncertainty ? difference : 0;
    const isNews = Math.abs(skew - this.#skew) > toleranceMilliseconds;
    this.#skew = skew;
    this.#monotonicSkew = receivedAt + skew - this.#monotonic.now();
    if (isNews) this.#onSkew(skew);
  }
}

/** A transport whose answers set `serverClock`. */
export const setsClock = (transport: Transport, serverClock: ServerClock): Transport => ({
  async send(request) {
    const elapsed = serverClock.stopwatch();
    const response = await transport.send(request);
    serverClock.observe(response, elapsed());
    return response;
  },
  close: () => transport.close(),
});

/** Logs that the machine's clock differs from the server's, or that the two agree again (0). */
export function logSkew(milliseconds: number, log: Log): void {
  const skewSeconds = Math.round(milliseconds / 1000);
  if (skewSeconds === 0) log.info({}, "this machine's clock agrees with the server's again");
  else log.warn({ skewSeconds }, "this machine's clock differs from the server's, whose time is used for certificates");
}
